// Callers of one device on several threads, one at a time.
#ifndef GRAPHRUN_RUNTIME_EXECUTOR_EXCLUSIVE_RUNNER_H_
#define GRAPHRUN_RUNTIME_EXECUTOR_EXCLUSIVE_RUNNER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/executor/executor_thread.h"

namespace graphrun::runtime {

/// An ExclusiveRunner lets one executor at a time use a device. Where a device's kernels use
/// several threads, these wait for the one thread that first ran them: OpenMP gives each caller a
/// team of its own. So runs of plans and sessions take turns, and the teams of two callers neither
/// exist nor fight for cores: the first caller runs on its own thread; once another has come, all
/// run on a thread of the device. Thread-safe.
class ExclusiveRunner {
 public:
  /// `device` must outlive this.
  explicit ExclusiveRunner(devices::Device* device) : device_(device) {}

  /// Executor::run of an executor of this device, which must not wait for runs on other devices:
  /// they may wait for their turn.
  bool run(Executor* executor, uint64_t firstStep, uint32_t steps);

 private:
  devices::Device* device_;
  std::mutex mutex_;
  std::thread::id first_;                   // the caller that runs on its own thread
  std::unique_ptr<ExecutorThread> thread_;  // null: there was but one caller so far
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_EXECUTOR_EXCLUSIVE_RUNNER_H_
