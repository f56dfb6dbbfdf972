// Steps in flight beside each other use edges in the order of their numbers.
#ifndef GRAPHRUN_RUNTIME_EXECUTOR_TRANSFER_ORDER_H_
#define GRAPHRUN_RUNTIME_EXECUTOR_TRANSFER_ORDER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "runtime/transport/event_count.h"
#include "runtime/transport/transport.h"

namespace graphrun::runtime {

/// What the executors of one device share that have a step in flight each: a step comes to a
/// transfer once the step before it has done that one, so that every edge sees its steps in order
/// and has one user at a time. Thread-safe; no lock, no allocation.
class TransferOrder {
 public:
  /// `transfers`: sends and receives of a step; its end counts as one more, the last. `first`: the
  /// number of the first step; those that follow have no gaps.
  TransferOrder(size_t transfers, uint64_t first);

  /// The index of a step's end.
  size_t end() const { return end_; }
  /// Waits until the step before `step` has done its transfer `index`. Cancelled, DeadlineExceeded.
  absl::Status await(uint64_t step, size_t index, const WaitOptions& options);
  /// Whether await would not wait. Cheap.
  bool isTurn(uint64_t step, size_t index) const { return turns_[index].load() >= step; }
  /// `step` has done its transfer `index`, at which the next step now is.
  void pass(uint64_t step, size_t index) {
    turns_[index].store(step + 1);
    passed_.notify();
  }
  /// Where those sleep that wait; they look at their cancel flag when it is notified.
  EventCount& waiters() { return passed_; }

 private:
  std::unique_ptr<std::atomic<uint64_t>[]> turns_;  // by transfer: the step that may do it
  const size_t end_;
  EventCount passed_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_EXECUTOR_TRANSFER_ORDER_H_
