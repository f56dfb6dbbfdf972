// The simulator's NVML: what is free of a GPU's memory, with no context.
#include "devices/cuda/driver/nvml.h"

#include <cstring>

#include "tests/devices/cuda/simulator/gpu_state.h"

using graphrun::testing::gpu;

namespace {
constexpr nvmlReturn_t kNotFound = 6;
}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() { return gpu().managed ? 0 : 9; }

const char* nvmlErrorString(nvmlReturn_t) { return "Driver Not Loaded"; }

/// A handle is the address of the GPU's place in the simulator.
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  auto& state = gpu();
  std::lock_guard lock(state.mutex);
  for (int i = 0; i < state.gpus; ++i) {
    if (uuid == "GPU-" + graphrun::testing::uuidOf(i)) {
      *device = reinterpret_cast<nvmlDevice_t>(&state.used[static_cast<size_t>(i)]);
      return 0;
    }
  }
  return kNotFound;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  auto& state = gpu();
  std::lock_guard lock(state.mutex);
  const size_t used = *reinterpret_cast<size_t*>(device);
  *memory = {state.bytes, state.bytes - used, used};
  return 0;
}

}  // extern "C"
