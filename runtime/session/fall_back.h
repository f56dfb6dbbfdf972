// Whether a plan on several devices is better than one device: asked of its runs.
#ifndef GRAPHRUN_RUNTIME_SESSION_FALL_BACK_H_
#define GRAPHRUN_RUNTIME_SESSION_FALL_BACK_H_

#include <functional>

#include "absl/status/statusor.h"
#include "runtime/session/active_plan.h"
#include "runtime/session/plan_source.h"

namespace graphrun::runtime {

/// What judging a plan asks its session for.
struct JudgingSession {
  /// A plan for the same inputs on the best single device, which the disk does not have.
  std::function<absl::StatusOr<FoundPlan>()> findSingle;
  std::function<void(const FoundPlan&)> keep;    ///< on the disk
  std::function<void(const ActivePlan&)> learn;  ///< what its runs took
  /// Loads the second in the place of the first; where that fails, the first again.
  std::function<absl::StatusOr<ActivePlan*>(ActivePlan&, FoundPlan)> replace;
  /// What counts is not how long a run takes but how often one ends, of those that are in flight
  /// beside others.
  bool isForMany = false;
};

/// Looks, after some runs of `plan`, whether they take longer than was promised and longer than the
/// best single device promises to take; if so, that is loaded in its place, and after some runs of
/// its own the faster of the two stays, here and on the disk. A placement on several devices may be
/// wrong in ways that no prediction knows; on one device it is the sum of what was measured.
/// Returns the plan that is now loaded; `plan` may be gone. After an error neither is loaded.
absl::StatusOr<ActivePlan*> judge(ActivePlan& plan, const JudgingSession& session);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_FALL_BACK_H_
