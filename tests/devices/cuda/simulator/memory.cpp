// The simulator's memory: pools, host memory and copies.
#include <bit>
#include <cstdlib>
#include <cstring>

#include "tests/devices/cuda/simulator/gpu_state.h"

using graphrun::testing::gpu;
using graphrun::testing::GpuState;

extern "C" {

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  GR_SIMULATED(cuMemGetInfo)
  *total = state.bytes;
  *free = state.bytes - state.used;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps*) {
  GR_SIMULATED(cuMemPoolCreate)
  ++state.counts.pools;
  *pool = reinterpret_cast<CUmemoryPool>(new int(0));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  GR_SIMULATED(cuMemPoolDestroy)
  --state.counts.pools;
  delete reinterpret_cast<int*>(pool);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) {
  GR_SIMULATED(cuMemPoolSetAttribute)
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool, const CUmemAccessDesc*, size_t) {
  GR_SIMULATED(cuMemPoolSetAccess)
  return CUDA_SUCCESS;
}

/// In the order of the stream: what was given back before can be had.
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool,
                                 CUstream stream) {
  GR_SIMULATED(cuMemAllocFromPoolAsync)
  state.finish(*state.streams.at(stream), state.streams.at(stream)->put);
  size_t rounded = (bytes + 255) / 256 * 256;
  if (bytes > state.bytes || rounded > state.bytes - state.used) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  void* memory = std::aligned_alloc(256, rounded);
  if (memory == nullptr) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::memset(memory, 0xcd, rounded);  // no zeros by chance
  *address = reinterpret_cast<CUdeviceptr>(memory) | graphrun::testing::kDeviceBit;
  state.memory[*address] = bytes;
  state.used += rounded;
  ++state.counts.deviceMemory;
  return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  GR_SIMULATED(cuMemFreeAsync)
  return state.put(stream, [&state, address] {
    auto found = state.memory.find(address);
    if (found == state.memory.end()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    state.used -= (found->second + 255) / 256 * 256;
    std::free(std::bit_cast<void*>(address & ~graphrun::testing::kDeviceBit));
    state.memory.erase(found);
    --state.counts.deviceMemory;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  GR_SIMULATED(cuMemHostAlloc)
  if (bytes > (size_t{1} << 40)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  ++state.counts.hostMemory;
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void* memory) {
  GR_SIMULATED(cuMemFreeHost)
  std::free(memory);
  --state.counts.hostMemory;
  return CUDA_SUCCESS;
}

/// Copies `bytes` when the stream gets there; a null view is an address that is not there.
static CUresult copyLater(const char* function, CUdeviceptr to, const void* hostFrom,
                          CUdeviceptr from, void* hostTo, size_t bytes, CUstream stream) {
  GpuState& state = gpu();
  std::lock_guard lock(state.mutex);
  if (CUresult early = state.enterCall(function); early != CUDA_SUCCESS) {
    return early;
  }
  ++state.counts.copies;
  return state.put(stream, [&state, to, hostFrom, from, hostTo, bytes] {
    const void* source = hostFrom != nullptr ? hostFrom : state.view(from, bytes);
    void* target = hostTo != nullptr ? hostTo : state.view(to, bytes);
    if (source == nullptr || target == nullptr) {
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    std::memcpy(target, source, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copyLater("cuMemcpyHtoDAsync", to, from, 0, nullptr, bytes, stream);
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyLater("cuMemcpyDtoHAsync", 0, nullptr, from, to, bytes, stream);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyLater("cuMemcpyDtoDAsync", to, nullptr, from, nullptr, bytes, stream);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes,
                           CUstream stream) {
  return copyLater("cuMemcpyPeerAsync", to, nullptr, from, nullptr, bytes, stream);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  GR_SIMULATED(cuMemsetD8Async)
  return state.put(stream, [&state, to, value, bytes] {
    void* target = state.view(to, bytes);
    if (target == nullptr) {
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    std::memset(target, value, bytes);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
