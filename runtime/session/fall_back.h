// A plan on several devices falls back to one device when its runs show that this is better.
#ifndef GRAPHRUN_RUNTIME_SESSION_FALL_BACK_H_
#define GRAPHRUN_RUNTIME_SESSION_FALL_BACK_H_

#include <functional>

#include "absl/status/statusor.h"
#include "runtime/session/active_plan.h"
#include "runtime/session/plan_source.h"

namespace graphrun::runtime {

/// JudgingSession is what judging a plan needs from its session.
struct JudgingSession {
  /// A plan for the same inputs on the best single device, which the disk does not have.
  std::function<absl::StatusOr<FoundPlan>()> findSingle;
  std::function<void(const FoundPlan&)> keep;    ///< on the disk
  std::function<void(const ActivePlan&)> learn;  ///< what its runs took
  /// Loads the second in the place of the first; where that fails, the first again.
  std::function<absl::StatusOr<ActivePlan*>(ActivePlan&, FoundPlan)> replace;
  /// Remembers on the disk what one device takes in the place of a plan on several, in ns: what
  /// runs there took or, without any, what it promises. 0: nothing is known.
  std::function<void(const FoundPlan&, uint64_t)> rememberSingle;
  std::function<uint64_t(const FoundPlan&)> rememberedSingle;
  /// True when it does not count how long a run takes but how often one ends, of those that are in
  /// flight beside others.
  bool isForMany = false;
};

/// Returns whether runs since the plan was loaded tell what one takes: some that are alike, behind
/// the first, which finds nothing in any cache; or many. `isForMany`: many in any case, since those
/// in flight have to end before anything is changed; a plan is judged by those beside others.
bool haveRunsSettled(const ActivePlan& plan, bool isForMany);

/// Looks, once runs of `plan` have settled, whether they take longer than was promised and longer
/// than the best single device promises to take; if so, that is loaded in its place. A placement on
/// several devices may be wrong in ways that no prediction knows; on one device it is the sum of
/// what was measured. If that device's runs are shorter, the plan's own come again: the machine may
/// have been busy when they came first. What is faster both times stays, here and on the disk.
/// Returns the plan that is now loaded; `plan` may be gone. After an error neither is loaded.
absl::StatusOr<ActivePlan*> judge(ActivePlan& plan, const JudgingSession& session);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_FALL_BACK_H_
