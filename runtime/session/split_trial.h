// A trial runs a plan on split CPU devices to tell whether it is better there.
#ifndef GRAPHRUN_RUNTIME_SESSION_SPLIT_TRIAL_H_
#define GRAPHRUN_RUNTIME_SESSION_SPLIT_TRIAL_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session/active_plans.h"
#include "runtime/session/plan_source.h"

namespace graphrun::runtime {

/// A TrialSession is what a trial needs from its session.
struct TrialSession {
  std::function<absl::StatusOr<FoundPlan>(SplitWish)> find;  ///< a plan for the same inputs
  std::function<void(const FoundPlan&)> keep;                ///< on the disk
  std::function<absl::Status(ActivePlan&)> run;              ///< once; its outputs are dropped
  std::function<void(const ActivePlan&)> learn;              ///< what its runs took
};

/// Returns whether the plan is to be tried on split devices before its next run: it was made with
/// times that promise something, of which some are estimates, its kernels have been chosen, and a
/// run more changes no state.
bool isTrialDue(const ActivePlan& plan, uint64_t tuneNanos);

/// Runs `plan` some times, then one on split devices if that still promises a shorter step, and
/// keeps the faster one, here and on the disk: estimates of what operations take with fewer threads
/// are too rough to decide by, and what was measured on an idle core does not tell how cores get in
/// each other's way. `tuneNanos`: what may be spent on measuring kernels. Returns the plan that is
/// now loaded; `plan` may be gone. A trial that fails costs a warning; after an error both plans
/// are gone.
absl::StatusOr<ActivePlan*> trySplit(ActivePlan& plan, ActivePlans& plans, uint64_t tuneNanos,
                                     const TrialSession& session);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_SPLIT_TRIAL_H_
