// Which runs are under way at a worker, and up to which one they are cancelled.
#ifndef GRAPHRUN_RUNTIME_CONTROL_RUN_LEDGER_H_
#define GRAPHRUN_RUNTIME_CONTROL_RUN_LEDGER_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>

#include "absl/status/status.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {

/// Makes Cancel reach a run that it overtook on the way, as well as one that is just starting.
/// Thread-safe.
class RunLedger {
 public:
  /// Forgets everything: a new job counts its runs from 1.
  void reset();
  /// Enters a run, or returns why it was cancelled before it came.
  absl::Status begin(uint64_t run);
  void end(uint64_t run);
  /// Cancels every run up to `throughRun`.
  void cancel(uint64_t throughRun, const absl::Status& cause);
  /// True once no cancelled run is under way, false after `patience`.
  bool settled(Millis patience);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<uint64_t> active_;
  uint64_t cancelledThrough_ = 0;
  absl::Status cause_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_RUN_LEDGER_H_
