// What the parts of the simulator share.
#ifndef GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_GPU_STATE_H_
#define GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_GPU_STATE_H_

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/devices/cuda/simulator/ptx_execution.h"
#include "tests/devices/cuda/simulator/simulator.h"

namespace graphrun::testing {

/// No address of the host has this bit: whoever takes a device address for one dies of it.
inline constexpr CUdeviceptr kDeviceBit = CUdeviceptr{1} << 62;

inline constexpr int kMostGpus = 16;

/// Gives CUDA_ERROR_NOT_READY as long as it waits for others, and is asked again.
using Work = std::function<CUresult()>;

struct Graph {
  std::vector<Work> work;
};

/// Memory of a GPU, and who may use it beside that one.
struct PoolState {
  int gpu = 0;
  std::set<int> others;
};

struct Memory {
  size_t bytes = 0;
  const PoolState* pool = nullptr;
};

struct StreamState {
  int gpu = 0;
  std::deque<Work> queue;
  uint64_t put = 0;  // pieces of work, from the first on
  uint64_t done = 0;
  std::unique_ptr<Graph> capture;  // null: work is queued
};

/// Where an event is: behind the first `put` pieces of a stream.
struct EventState {
  int gpu = 0;
  std::shared_ptr<StreamState> stream;
  uint64_t put = 0;
  bool asked = false;
  bool isTimed = true;
  std::optional<std::chrono::steady_clock::time_point> reached;  // the last time
};

class GpuState {
 public:
  std::recursive_mutex mutex;
  GpuCounts counts;
  int gpus = 1;
  size_t bytes = size_t{8} << 30;
  std::array<size_t, kMostGpus> used{};
  Peers peers = Peers::kAll;
  HostMemory hostMemory = HostMemory::kAny;
  std::set<std::string> refusals;  // what the libraries do not have: see simulator.h
  bool managed = true;
  int version = 13000;
  std::chrono::nanoseconds added{0};  // by which the GPU's clock is ahead of the host's
  CUresult init = CUDA_SUCCESS;
  CUresult lost = CUDA_SUCCESS;  // what every call gives once the context is lost
  std::string fault;             // what the last kernel that failed did
  std::map<std::string, std::pair<CUresult, int>> faults;
  std::map<CUdeviceptr, Memory> memory;
  std::map<uintptr_t, size_t> locked;  // memory of the host, by its address: bytes
  std::map<CUstream, std::shared_ptr<StreamState>> streams;
  std::map<int, int> retained;
  int acting = -1;  // whose stream is doing work; -1: none, it is the thread's context that counts

  GpuState();
  /// What a call gives before it does anything: a fault, the lost context, or no context.
  CUresult enterCall(const char* function, bool needsContext = true);
  /// The allocation that an address is in or behind; empty when there is none, or none that the GPU
  /// which acts may use.
  ptx::Allocation allocation(CUdeviceptr address) const;
  /// The host's view of a piece of device memory; null when it is not there, or not for the GPU.
  void* view(CUdeviceptr address, size_t size);
  /// Whether a piece of the host's memory is locked; nothing where a part of it is, or it is in
  /// several pieces that were locked one by one.
  std::optional<bool> isLocked(const void* memory, size_t bytes) const;
  /// Puts work into a stream, or into the graph that it records.
  CUresult put(CUstream stream, Work work);
  /// Does the work of `stream` up to its piece `upTo`; CUDA_ERROR_NOT_READY when it did not get
  /// there.
  CUresult finish(StreamState& stream, uint64_t upTo);
};

GpuState& gpu();
bool hasContext();
/// Of the thread's context, which there must be.
int currentGpu();
int gpuOf(CUcontext context);
/// As NVML writes it.
std::string uuidOf(int gpu);

}  // namespace graphrun::testing

/// Begins a function of the driver: locks, and leaves when it is to fail.
#define GR_SIMULATED(name, ...)                                                                    \
  auto& state = graphrun::testing::gpu();                                                          \
  std::lock_guard lock(state.mutex);                                                               \
  if (CUresult early = state.enterCall(#name __VA_OPT__(, ) __VA_ARGS__); early != CUDA_SUCCESS) { \
    return early;                                                                                  \
  }

#endif  // GRAPHRUN_TESTS_DEVICES_CUDA_SIMULATOR_GPU_STATE_H_
