// A thread for executors, asleep between steps.
#ifndef GRAPHRUN_RUNTIME_EXECUTOR_EXECUTOR_THREAD_H_
#define GRAPHRUN_RUNTIME_EXECUTOR_EXECUTOR_THREAD_H_

#include <atomic>
#include <cstdint>
#include <thread>

#include "runtime/executor/executor.h"
#include "runtime/transport/event_count.h"

namespace graphrun::runtime {

/// Runs executors on a thread of its own. Both sides of a hand-over spin for at most 50 us, then
/// sleep. One caller at a time.
class ExecutorThread {
 public:
  ExecutorThread();
  /// Waits for the end of what runs.
  ~ExecutorThread();
  ExecutorThread(const ExecutorThread&) = delete;
  ExecutorThread& operator=(const ExecutorThread&) = delete;

  /// Begins Executor::run; wait must follow.
  void start(Executor* executor, uint64_t firstStep, uint32_t steps);
  /// Returns what it returned.
  bool wait();

 private:
  void loop();

  Executor* executor_ = nullptr;  // null: the thread is to end
  uint64_t firstStep_ = 0;
  uint32_t steps_ = 0;
  bool result_ = false;
  std::atomic<uint64_t> asked_{0};  // publishes the order above
  std::atomic<uint64_t> done_{0};   // publishes the result
  EventCount asking_;
  EventCount finishing_;
  std::thread thread_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_EXECUTOR_EXECUTOR_THREAD_H_
