// The runs of a session that are in flight beside each other.
#ifndef GRAPHRUN_RUNTIME_SESSION_FLIGHTS_H_
#define GRAPHRUN_RUNTIME_SESSION_FLIGHTS_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/session/active_plan.h"

namespace graphrun::runtime {

/// Flights decide who runs: several callers on lanes of one plan, or one who is alone and may load
/// and drop plans. The session's mutex guards it; a caller who is alone holds that all the time.
class Flights {
 public:
  using Lock = std::unique_lock<std::mutex>;

  /// Waits until nothing is in flight. Runs that come meanwhile wait for this caller.
  void waitAlone(Lock& lock);
  /// A lane of `plan` for one run; none where another plan's runs are in flight, or somebody waits
  /// to be alone.
  std::optional<size_t> take(const ActivePlan& plan);
  /// Returns whether all lanes are taken, and the plan may have more of them.
  bool wantsLanes(const ActivePlan& plan) const;
  /// Waits until `plan` may have a lane for this caller, or somebody was alone.
  void wait(Lock& lock, const ActivePlan& plan);
  /// The run on `lane` has ended; whether it was the last one in flight.
  bool giveBack(size_t lane);

 private:
  const ActivePlan* plan_ = nullptr;  // whose lanes are taken, or were last
  std::vector<bool> taken_;           // by lane
  size_t count_ = 0;
  size_t waitAlone_ = 0;             // callers
  std::condition_variable freed_;    // for lanes of plan_, each of which one caller can take
  std::condition_variable changed_;  // for all else
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_FLIGHTS_H_
