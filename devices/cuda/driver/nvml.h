// Declares the functions used of NVML, NVIDIA's management library, which comes with the driver.
// Its header does not come with every toolkit, so they are declared here as its reference tells
// them; they are the same in all versions. Internal to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_DRIVER_NVML_H_
#define GRAPHRUN_DEVICES_CUDA_DRIVER_NVML_H_

extern "C" {

using nvmlReturn_t = int;  // 0: done
using nvmlDevice_t = struct nvmlDevice_st*;

struct nvmlMemory_t {
  unsigned long long total;  // NOLINT(google-runtime-int): bytes
  unsigned long long free;   // NOLINT(google-runtime-int)
  unsigned long long used;   // NOLINT(google-runtime-int)
};

nvmlReturn_t nvmlInit_v2();
const char* nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory);

}  // extern "C"

#endif  // GRAPHRUN_DEVICES_CUDA_DRIVER_NVML_H_
