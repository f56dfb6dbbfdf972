// An executor thread runs executors, and sleeps between steps.
#ifndef GRAPHRUN_RUNTIME_EXECUTOR_EXECUTOR_THREAD_H_
#define GRAPHRUN_RUNTIME_EXECUTOR_EXECUTOR_THREAD_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include "runtime/base/objective.h"
#include "runtime/executor/executor.h"
#include "runtime/transport/event_count.h"

namespace graphrun::runtime {

/// Runs executors on a thread of its own, in the order in which it was asked to. Both sides of a
/// hand-over spin for at most 50 us, then sleep. One caller at a time.
class ExecutorThread {
 public:
  ExecutorThread();
  /// Waits for the end of all that was asked for.
  ~ExecutorThread();
  ExecutorThread(const ExecutorThread&) = delete;
  ExecutorThread& operator=(const ExecutorThread&) = delete;

  /// Asks for Executor::run, once what was asked for before is done; wait must follow, and at most
  /// kMostStepsInFlight of them be missing. `deadlineNanos`: Executor::setDeadline, where one is
  /// given. The number of what was asked for.
  uint64_t start(Executor* executor, uint64_t firstStep, uint32_t steps,
                 std::optional<int64_t> deadlineNanos = std::nullopt);
  /// Waits for that, and returns what it returned.
  bool wait(uint64_t number);
  /// For the last one.
  bool wait() { return wait(asked_.load()); }

 private:
  struct Order {
    Executor* executor = nullptr;  // null: the thread is to end
    uint64_t firstStep = 0;
    uint32_t steps = 0;
    std::optional<int64_t> deadlineNanos;
    bool result = false;
  };

  void loop();
  Order& order(uint64_t number) { return orders_[number % orders_.size()]; }

  std::array<Order, kMostStepsInFlight> orders_;
  std::atomic<uint64_t> asked_{0};  // publishes an order
  std::atomic<uint64_t> done_{0};   // publishes its result
  EventCount asking_;
  EventCount finishing_;
  std::thread thread_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_EXECUTOR_EXECUTOR_THREAD_H_
