// The executors of one plan share a step control while steps run: the deadline, and the first
// failure.
#ifndef GRAPHRUN_RUNTIME_EXECUTOR_STEP_CONTROL_H_
#define GRAPHRUN_RUNTIME_EXECUTOR_STEP_CONTROL_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "devices/device.h"
#include "runtime/transport/transport.h"

namespace graphrun::runtime {

/// Why steps were stopped, and where.
struct StepFailure {
  absl::Status status;
  std::string label;   ///< of the operation, as in the model; "" when no operation failed
  std::string device;  ///< "node0/cpu:0"; "" when it came from outside
};

/// Stops all executors of a plan at the first failure. Thread-safe.
class StepControl {
 public:
  /// `transports`: those that executors wait on; they must outlive this.
  explicit StepControl(std::vector<Transport*> transports) : transports_(std::move(transports)) {}

  /// Before steps run: a program whose records wait for other devices, so that a failure
  /// interrupts it; it must outlive this.
  void interrupts(devices::CollectiveProgram* program) { collectives_.push_back(program); }

  /// Before steps run: the end of every wait, in terms of nowNanos().
  void begin(int64_t deadlineNanos) { deadlineNanos_.store(deadlineNanos); }
  WaitOptions waitOptions() const { return {deadlineNanos_.load(), &stopped_}; }

  /// Stops every executor; only the first failure counts. May be called from any thread, also
  /// before or after steps.
  void fail(StepFailure failure);
  /// Returns whether anything failed; cheap.
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  std::optional<StepFailure> failure() const;
  /// Forgets a failure, when no executor runs.
  void reset();

 private:
  const std::vector<Transport*> transports_;
  std::vector<devices::CollectiveProgram*> collectives_;
  std::atomic<int64_t> deadlineNanos_{0};
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  std::optional<StepFailure> failure_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_EXECUTOR_STEP_CONTROL_H_
