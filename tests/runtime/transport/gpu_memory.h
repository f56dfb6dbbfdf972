// Memory that the host cannot use, as that of GPUs, over host memory.
#ifndef GRAPHRUN_TESTS_RUNTIME_TRANSPORT_GPU_MEMORY_H_
#define GRAPHRUN_TESTS_RUNTIME_TRANSPORT_GPU_MEMORY_H_

#include <bit>
#include <cstdint>
#include <cstring>

namespace graphrun::runtime::testing {

/// No address of the host has this bit: whoever takes such an address for one dies of it.
inline constexpr uintptr_t kGpuBit = uintptr_t{1} << 62;

inline void* asGpu(void* memory) {
  return std::bit_cast<void*>(std::bit_cast<uintptr_t>(memory) | kGpuBit);
}
inline void* asHost(const void* memory) {
  return std::bit_cast<void*>(std::bit_cast<uintptr_t>(memory) & ~kGpuBit);
}
/// Copies between memory of both kinds: SimOptions::copy.
inline void copyAny(void* to, const void* from, size_t bytes) {
  std::memcpy(asHost(to), asHost(from), bytes);
}

}  // namespace graphrun::runtime::testing

#endif  // GRAPHRUN_TESTS_RUNTIME_TRANSPORT_GPU_MEMORY_H_
