#include "runtime/control/run_ledger.h"

namespace graphrun::runtime {

void RunLedger::reset() {
  std::lock_guard lock(mutex_);
  cancelledThrough_ = 0;
  cause_ = absl::OkStatus();
}

absl::StatusOr<RunLedger::Run> RunLedger::begin(uint64_t run) {
  std::lock_guard lock(mutex_);
  if (run <= cancelledThrough_) {
    return cause_;
  }
  active_.insert(run);
  return Run(this, run);
}

void RunLedger::end(uint64_t run) {
  std::lock_guard lock(mutex_);
  active_.erase(active_.find(run));
  changed_.notify_all();
}

void RunLedger::cancel(uint64_t throughRun, const absl::Status& cause) {
  std::lock_guard lock(mutex_);
  if (throughRun > cancelledThrough_) {
    cancelledThrough_ = throughRun;
    cause_ = cause;
  }
}

bool RunLedger::settled(Millis patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(
      lock, patience, [this] { return active_.empty() || *active_.begin() > cancelledThrough_; });
}

}  // namespace graphrun::runtime
