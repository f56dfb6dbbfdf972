#include "tests/devices/cuda/simulator/gpu_state.h"

#include <bit>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace graphrun::testing {
namespace {

Peers peersOf(const std::string& text) {
  return text == "none" ? Peers::kNone : text == "broken" ? Peers::kBroken : Peers::kAll;
}

HostMemory hostMemoryOf(const std::string& text) {
  return text == "locked"         ? HostMemory::kLocked
         : text == "never_locked" ? HostMemory::kNeverLocked
                                  : HostMemory::kAny;
}

}  // namespace

GpuState::GpuState() {
  if (const char* count = std::getenv("GRAPHRUN_SIMULATED_GPUS")) {
    gpus = std::min(std::atoi(count), kMostGpus);
  }
  if (const char* given = std::getenv("GRAPHRUN_SIMULATED_PEERS")) {
    peers = peersOf(given);
  }
  if (const char* given = std::getenv("GRAPHRUN_SIMULATED_HOST_MEMORY")) {
    hostMemory = hostMemoryOf(given);
  }
  if (const char* given = std::getenv("GRAPHRUN_SIMULATED_REFUSALS")) {
    refusals = absl::StrSplit(given, ',', absl::SkipEmpty());
  }
}

std::string uuidOf(int gpu) { return absl::StrFormat("00000000-0000-0000-0000-%012x", gpu); }

GpuState& gpu() {
  static auto* const kOnly = new GpuState();
  return *kOnly;
}

CUresult GpuState::enterCall(const char* function, bool needsContext) {
  if (auto fault = faults.find(function); fault != faults.end()) {
    if (fault->second.second == 0) {
      CUresult result = fault->second.first;
      faults.erase(fault);
      return result;
    }
    --fault->second.second;
  }
  if (lost != CUDA_SUCCESS) {
    return lost;
  }
  return needsContext && !hasContext() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

ptx::Allocation GpuState::allocation(CUdeviceptr address) const {
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) {
    return {};
  }
  const auto& [begin, its] = *std::prev(after);
  const int user = acting >= 0 ? acting : currentGpu();
  if (its.pool->gpu != user && !its.pool->others.contains(user)) {
    return {};
  }
  return {begin, begin + its.bytes, std::bit_cast<uint8_t*>(begin & ~kDeviceBit)};
}

void* GpuState::view(CUdeviceptr address, size_t size) {
  ptx::Allocation found = allocation(address);
  bool within = address <= found.end && size <= found.end - address;
  return within ? found.host + (address - found.begin) : nullptr;
}

std::optional<bool> GpuState::isLocked(const void* piece, size_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(piece), end = begin + bytes;
  auto behind = locked.lower_bound(end);
  if (behind == locked.begin()) {
    return false;
  }
  const auto& [first, size] = *std::prev(behind);
  if (first + size <= begin) {
    return false;
  }
  return first <= begin && end <= first + size ? std::optional(true) : std::nullopt;
}

CUresult GpuState::put(CUstream stream, Work work) {
  auto found = streams.find(stream);
  if (found == streams.end()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  StreamState& its = *found->second;
  if (its.gpu != currentGpu()) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  if (its.capture != nullptr) {
    its.capture->work.push_back(std::move(work));
  } else {
    its.queue.push_back(std::move(work));
    ++its.put;
  }
  return CUDA_SUCCESS;
}

CUresult GpuState::finish(StreamState& stream, uint64_t upTo) {
  while (stream.done < upTo && !stream.queue.empty()) {
    if (lost == CUDA_SUCCESS) {
      const int before = std::exchange(acting, stream.gpu);
      const CUresult result = stream.queue.front()();
      acting = before;
      if (result == CUDA_ERROR_NOT_READY) {
        return result;
      }
      lost = result;
    }
    stream.queue.pop_front();
    ++stream.done;
  }
  return lost;
}

void resetGpus(int count, size_t bytes) {
  GpuState& state = gpu();
  std::lock_guard lock(state.mutex);
  state.counts = GpuCounts();
  state.gpus = count;
  state.bytes = bytes;
  state.used.fill(0);
  state.peers = Peers::kAll;
  state.hostMemory = HostMemory::kAny;
  state.managed = true;
  state.version = 13000;
  state.init = state.lost = CUDA_SUCCESS;
  state.fault.clear();
  state.faults.clear();
}

void failCall(const std::string& function, CUresult result, int passed) {
  gpu().faults[function] = {result, passed};
}

void setPeers(Peers peers) { gpu().peers = peers; }
void setHostMemory(HostMemory memory) { gpu().hostMemory = memory; }
void setManaged(bool managed) { gpu().managed = managed; }
void clearFaults() { gpu().faults.clear(); }

void reviveGpus() { gpu().lost = CUDA_SUCCESS; }

void setDriver(int version, CUresult init) {
  gpu().version = version;
  gpu().init = init;
}

GpuCounts gpuCounts() {
  GpuState& state = gpu();
  std::lock_guard lock(state.mutex);
  for (auto& [handle, stream] : state.streams) {
    state.finish(*stream, stream->put);
  }
  return state.counts;
}

}  // namespace graphrun::testing
