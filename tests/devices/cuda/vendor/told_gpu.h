// NVIDIA's own cuDNN, told of a GPU that is not there.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_VENDOR_TOLD_GPU_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_VENDOR_TOLD_GPU_H_

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "devices/cuda/cudnn/cudnn_graph.h"
#include "devices/cuda/driver/libraries.h"

namespace graphrun::devices::cuda {

/// Bytes that a block of threads may have of a multiprocessor's shared memory. Source: CUDA's
/// programming guide, "Compute Capabilities".
inline int sharedMemory(int capability) {
  switch (capability) {
    case 80:
      return 166912;
    case 86:
    case 89:
    case 120:
      return 101376;
    default:
      return 232448;
  }
}

/// What cuDNN 9 wants to know of a GPU; the numbers are an H100's.
inline std::string properties(int capability) {
  return R"({"deviceVer":)" + std::to_string(capability * 10) +
         R"(,"deviceId":0,"cudaDeviceId":0,"driverVer":13000,"totalGlobalMem":85899345920,
"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,
"multiProcessorCount":132,"warpSize":32,"maxSharedMemoryPerBlock":49152,
"maxSharedMemoryPerBlockOptin":)" +
         std::to_string(sharedMemory(capability)) + R"(,"reservedSharedMemoryPerBlock":1024,
"maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,
"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"smClockRateKHz":1980000,
"memClockRateKHz":2619000,"l2CacheSize":52428800,"deviceName":"a GPU"})";
}

/// The installed library and a GPU for it, or neither.
struct ToldGpu {
  explicit ToldGpu(int capability) {
    auto found = libraries.cudnn();
    if (!found.ok()) {
      WARN("cuDNN was not asked: " << found.status().message());
      return;
    }
    std::string text = properties(capability);
    CudnnDescriptorBuilder builder(**found, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "GPU");
    builder.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                std::vector<char>(text.begin(), text.end()));
    auto made = builder.finish();
    if (!made.ok()) {
      WARN("this cuDNN takes no such description of a GPU: " << made.status().message());
      return;
    }
    described.push_back(*std::move(made));
    target = {*found, nullptr, described[0].get()};
  }

  Libraries libraries;
  std::vector<CudnnDescriptor> described;
  CudnnTarget target;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_VENDOR_TOLD_GPU_H_
