// The run ledger knows which runs are under way at a worker, and up to which one they are
// cancelled.
#ifndef GRAPHRUN_RUNTIME_CONTROL_RUN_LEDGER_H_
#define GRAPHRUN_RUNTIME_CONTROL_RUN_LEDGER_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {

/// Makes Cancel reach a run that it overtook on the way, as well as one that is just starting.
/// Thread-safe.
class RunLedger {
 public:
  /// A run that is under way, for as long as this lives.
  class Run {
   public:
    Run(RunLedger* ledger, uint64_t number) : ledger_(ledger), number_(number) {}
    Run(Run&& other) noexcept
        : ledger_(std::exchange(other.ledger_, nullptr)), number_(other.number_) {}
    Run& operator=(Run&&) = delete;
    ~Run() {
      if (ledger_ != nullptr) {
        ledger_->end(number_);
      }
    }

   private:
    RunLedger* ledger_;
    uint64_t number_;
  };

  /// Forgets everything: a new job counts its runs from 1.
  void reset();
  /// Enters a run, or returns why it was cancelled before it came.
  absl::StatusOr<Run> begin(uint64_t run);
  /// Cancels every run up to `throughRun`.
  void cancel(uint64_t throughRun, const absl::Status& cause);
  /// True once no cancelled run is under way, false after `patience`.
  bool settled(Millis patience);

 private:
  void end(uint64_t run);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<uint64_t> active_;
  uint64_t cancelledThrough_ = 0;
  absl::Status cause_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_RUN_LEDGER_H_
