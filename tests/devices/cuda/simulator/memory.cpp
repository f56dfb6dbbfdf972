// The simulator's memory: pools, host memory and copies.
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/devices/cuda/simulator/gpu_state.h"

using graphrun::testing::gpu;
using graphrun::testing::GpuState;
using graphrun::testing::Memory;
using graphrun::testing::PoolState;

namespace {
PoolState& stateOf(CUmemoryPool pool) { return *reinterpret_cast<PoolState*>(pool); }

CUresult allocate(CUdeviceptr* address, size_t bytes, const PoolState& its) {
  GpuState& state = gpu();
  size_t rounded = (bytes + 255) / 256 * 256;
  size_t& used = state.used[static_cast<size_t>(its.gpu)];
  if (bytes > state.bytes || rounded > state.bytes - used) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  void* memory = std::aligned_alloc(256, rounded);
  if (memory == nullptr) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  std::memset(memory, 0xcd, rounded);  // no zeros by chance
  *address = reinterpret_cast<CUdeviceptr>(memory) | graphrun::testing::kDeviceBit;
  state.memory[*address] = {bytes, &its};
  used += rounded;
  ++state.counts.deviceMemory;
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  GpuState& state = gpu();
  auto found = state.memory.find(address);
  if (found == state.memory.end()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Memory& its = found->second;
  state.used[static_cast<size_t>(its.pool->gpu)] -= (its.bytes + 255) / 256 * 256;
  std::free(std::bit_cast<void*>(address & ~graphrun::testing::kDeviceBit));
  state.memory.erase(found);
  --state.counts.deviceMemory;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  GR_SIMULATED(cuMemGetInfo)
  *total = state.bytes;
  *free = state.bytes - state.used[static_cast<size_t>(graphrun::testing::currentGpu())];
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  GR_SIMULATED(cuMemPoolCreate)
  ++state.counts.pools;
  *pool = reinterpret_cast<CUmemoryPool>(new PoolState{properties->location.id, {}});
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  GR_SIMULATED(cuMemPoolDestroy)
  --state.counts.pools;
  delete &stateOf(pool);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) {
  GR_SIMULATED(cuMemPoolSetAttribute)
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* wishes, size_t count) {
  GR_SIMULATED(cuMemPoolSetAccess)
  PoolState& its = stateOf(pool);
  for (size_t i = 0; i < count; ++i) {
    const int other = wishes[i].location.id;
    if (other != its.gpu && state.peers == graphrun::testing::Peers::kNone) {
      return CUDA_ERROR_INVALID_DEVICE;
    }
    if (wishes[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
      its.others.erase(other);
    } else {
      its.others.insert(other);
    }
  }
  return CUDA_SUCCESS;
}

/// In the order of the stream: what was given back before can be had.
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  GR_SIMULATED(cuMemAllocFromPoolAsync)
  PoolState& its = stateOf(pool);
  if (state.streams.at(stream)->gpu != its.gpu) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  state.finish(*state.streams.at(stream), state.streams.at(stream)->put);
  return allocate(address, bytes, its);
}

/// Of the context's GPU, which no other has access to.
CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  GR_SIMULATED(cuMemAlloc)
  static PoolState owners[graphrun::testing::kMostGpus];
  PoolState& its = owners[graphrun::testing::currentGpu()];
  its.gpu = graphrun::testing::currentGpu();
  return bytes == 0 ? CUDA_ERROR_INVALID_VALUE : allocate(address, bytes, its);
}

CUresult cuMemFree(CUdeviceptr address) {
  GR_SIMULATED(cuMemFree)
  return release(address);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  GR_SIMULATED(cuMemFreeAsync)
  return state.put(stream, [address] { return release(address); });
}

CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  GR_SIMULATED(cuMemHostAlloc)
  if (bytes > (size_t{1} << 40)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  state.locked[reinterpret_cast<uintptr_t>(*memory)] = bytes;
  ++state.counts.hostMemory;
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void* memory) {
  GR_SIMULATED(cuMemFreeHost)
  if (state.locked.erase(reinterpret_cast<uintptr_t>(memory)) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::free(memory);
  --state.counts.hostMemory;
  return CUDA_SUCCESS;
}

/// Whole pages only: the driver locks all of a page, and what else is in it would be locked in
/// part.
CUresult cuMemHostRegister(void* memory, size_t bytes, unsigned) {
  GR_SIMULATED(cuMemHostRegister)
  const auto address = reinterpret_cast<uintptr_t>(memory);
  if (state.hostMemory == graphrun::testing::HostMemory::kNeverLocked) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (bytes == 0 || address % 4096 != 0 || bytes % 4096 != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (state.isLocked(memory, bytes) != false) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  state.locked[address] = bytes;
  ++state.counts.hostMemory;
  return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void* memory) {
  GR_SIMULATED(cuMemHostUnregister)
  if (state.locked.erase(reinterpret_cast<uintptr_t>(memory)) == 0) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  --state.counts.hostMemory;
  return CUDA_SUCCESS;
}

/// What a copy from or to memory of the host gives at once: it is refused where a part is locked.
static CUresult enterHost(GpuState& state, const void* memory, size_t bytes) {
  const std::optional<bool> isLocked = state.isLocked(memory, bytes);
  const bool isPageable = isLocked == false;
  state.counts.pageableCopies += isPageable ? 1 : 0;
  return !isLocked || (isPageable && state.hostMemory == graphrun::testing::HostMemory::kLocked)
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
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
  const void* host = hostFrom != nullptr ? hostFrom : hostTo;
  if (CUresult refused = host == nullptr ? CUDA_SUCCESS : enterHost(state, host, bytes);
      refused != CUDA_SUCCESS) {
    return refused;
  }
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

/// Each address must be of the GPU that it is said to be of. Access to each other is not needed.
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                           CUcontext fromContext, size_t bytes, CUstream stream) {
  GR_SIMULATED(cuMemcpyPeerAsync)
  ++state.counts.copies;
  ++state.counts.peerCopies;
  return state.put(stream, [&state, to, from, bytes, target = graphrun::testing::gpuOf(toContext),
                            source = graphrun::testing::gpuOf(fromContext)] {
    const int acting = std::exchange(state.acting, source);
    const void* read = state.view(from, bytes);
    state.acting = target;
    void* written = state.view(to, bytes);
    state.acting = acting;
    if (read == nullptr || written == nullptr) {
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    std::memcpy(written, read, bytes);
    if (state.peers == graphrun::testing::Peers::kBroken && source != target) {
      std::memset(written, 0xcd, bytes);
    }
    return CUDA_SUCCESS;
  });
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
