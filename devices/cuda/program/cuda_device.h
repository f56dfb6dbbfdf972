// A GPU of NVIDIA's as a device.
#ifndef GRAPHRUN_DEVICES_CUDA_PROGRAM_CUDA_DEVICE_H_
#define GRAPHRUN_DEVICES_CUDA_PROGRAM_CUDA_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "devices/device.h"

namespace graphrun::devices::cuda {

/// The GPU `description.index` that the driver offers this process. `memoryBytes` 0: what is free
/// now, less a margin. Its `allocate` gives page-locked host memory: what session and executor bind
/// to programs is on the host, programs copy it to the GPU and back. Thread-safe but for
/// `attachThread`. NotFound when there is no such GPU, FailedPrecondition when the driver is too
/// old.
absl::StatusOr<std::unique_ptr<Device>> createCudaDevice(const DeviceDescription& description);

/// The compute capability of the GPU of a device of that fingerprint, 10 * major + minor: 80, 90.
/// InvalidArgument for the fingerprint of another device.
absl::StatusOr<int> computeCapabilityOf(absl::string_view fingerprint);

/// Every GPU that the driver offers this process, with what is free of its memory, less a margin,
/// in whole GiB, so that a plan for it can be used again; found once. None without a driver.
std::vector<DeviceDescription> discoverCudaDevices();

/// OK when createCudaDevice would find the GPU; cheap after the first time.
absl::Status checkCudaDevice(const DeviceDescription& description);

/// Tells, a line each, which driver, GPUs and libraries were found, what is missing and how to get
/// it, and how tensors go from GPU to GPU. Makes contexts of several GPUs, to try that.
std::vector<std::string> cudaFindings();

/// The same with other libraries than those of the process, which must outlive the device.
class Libraries;
absl::StatusOr<std::unique_ptr<Device>> createCudaDevice(const DeviceDescription& description,
                                                         Libraries& libraries);
std::vector<DeviceDescription> discoverCudaDevices(Libraries& libraries);
std::vector<std::string> cudaFindings(Libraries& libraries);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_PROGRAM_CUDA_DEVICE_H_
