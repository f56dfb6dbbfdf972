// Steps of one plan in flight beside each other, moved along by one of the threads that wait.
#ifndef GRAPHRUN_RUNTIME_EXECUTOR_STEPS_IN_FLIGHT_H_
#define GRAPHRUN_RUNTIME_EXECUTOR_STEPS_IN_FLIGHT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "runtime/base/objective.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/step_control.h"
#include "runtime/transport/event_count.h"
#include "runtime/transport/transport.h"

namespace graphrun::runtime {

/// Steps on executors of one device with the same edges, each started by a thread of its own. One
/// of these threads polls for all of them: threads that poll beside each other take cores from
/// whoever computes. It wakes each of the others when its step is over, and hands the polling on
/// when its own is. A step comes to a transfer once the step before it has done that one, so that
/// every edge sees its steps in order and has one user at a time. Thread-safe; no lock, no
/// allocation.
class StepsInFlight {
 public:
  /// `transport`: that the edges are on; `control`: of all the executors. `first`: the number of
  /// the first step; those that follow have no gaps, and at most kMostStepsInFlight are in flight.
  StepsInFlight(Transport* transport, StepControl* control, uint64_t first)
      : transport_(transport), control_(control), lowest_(first) {}

  /// Runs a step, and returns when it and `others` are done: what else belongs to the step and
  /// arrives over the same transport. It may be called by any of the threads, often, and nothing
  /// waits for it behind the deadline. False: the step failed; the control knows why.
  bool run(Executor& executor, uint64_t step, int64_t deadlineNanos,
           absl::FunctionRef<bool()> others);

 private:
  enum class State : uint8_t { kUnderWay, kDone, kFailed };
  /// A step whose thread waits; it lives on the stack of that. All but the state is the driver's.
  struct Ticket {
    Executor& executor;
    const uint64_t step;
    const int64_t deadlineNanos;
    absl::FunctionRef<bool()> others;
    bool ran = false;  // the executor's part is done
    std::atomic<State> state{State::kUnderWay};
  };
  struct Slot {
    std::atomic<Ticket*> ticket{nullptr};
    std::atomic<uint64_t> step{0};  // of the ticket
    EventCount sleepers;            // its thread
    uint64_t over = 0;              // 1 + the last step that is over
  };

  Slot& slotOf(uint64_t step) { return slots_[step % slots_.size()]; }
  bool tryDrive() { return !driven_.load() && !driven_.exchange(true); }
  void drive(Ticket& own);
  void handOver();
  void advanceAll();
  Executor::Progress advance(Ticket& ticket, size_t limit);
  void expire(int64_t now);
  void end(Ticket& ticket, State state);
  template <typename Visit>
  void forEach(Visit visit);

  Transport* const transport_;
  StepControl* const control_;
  std::array<Slot, kMostStepsInFlight> slots_;
  std::atomic<bool> driven_{false};
  // By the thread that drives:
  uint64_t lowest_;               // the first step that is not over
  int64_t earliestDeadline_ = 0;  // of the steps that wait
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_EXECUTOR_STEPS_IN_FLIGHT_H_
