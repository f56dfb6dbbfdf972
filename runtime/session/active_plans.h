// The plans of a session that are loaded.
#ifndef GRAPHRUN_RUNTIME_SESSION_ACTIVE_PLANS_H_
#define GRAPHRUN_RUNTIME_SESSION_ACTIVE_PLANS_H_

#include <cstdint>
#include <list>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session/active_plan.h"
#include "runtime/session/coordinator.h"
#include "runtime/session/session.h"

namespace graphrun::runtime {

/// Loads plans, keeps them within `maxPlans` and `maxPlanBytes` of the options (the one used
/// longest ago goes first), and loads them anew when they were measured. Not thread-safe.
class ActivePlans {
 public:
  /// All must outlive it.
  ActivePlans(const SessionOptions& options, Coordinator& coordinator, WorkerCore& core,
              ProgressReport& progress)
      : options_(options), coordinator_(coordinator), core_(core), progress_(progress) {}

  /// The plan with this signature, from now on the one used last; null if it is not loaded.
  ActivePlan* find(const std::string& signature);

  /// Loads a plan for the stage with this number of a run. Errors are marked with their stage.
  absl::StatusOr<ActivePlan*> load(StageId stage, std::string signature, FoundPlan found);

  /// Measures which kernels are fastest for the plan and loads it again with them, if that is due
  /// before its next run. The first plan of a stage is measured when it is run again, with the
  /// whole budget: that is what warming up is for. Plans for other shapes must not hold up a
  /// service: their measuring takes a tenth of what their runs took. Returns whether it was loaded
  /// again; after an error the plan is gone.
  absl::StatusOr<bool> tuneIfDue(ActivePlan& plan);

  /// Returns whether tuneIfDue would load it again.
  bool isTuneDue(const ActivePlan& plan) const { return tuneNanos(plan) != 0; }

  /// Measures kernels for `nanos` at most, unless all are chosen, and loads the plan again.
  absl::Status tune(ActivePlan& plan, uint64_t nanos);

  void drop(ActivePlan& plan);

  /// All, the one used last first.
  const std::list<ActivePlan>& all() const { return plans_; }
  /// The one used last; null when there is none.
  const ActivePlan* last() const { return plans_.empty() ? nullptr : &plans_.front(); }

  /// Returns how many had to go for others.
  uint64_t evicted() const { return evicted_; }

 private:
  /// Returns the time that may be spent on measuring the plan before its next run, in nanoseconds.
  uint64_t tuneNanos(const ActivePlan& plan) const;
  absl::Status loadNow(ActivePlan& plan, uint64_t tuneNanos);

  const SessionOptions& options_;
  Coordinator& coordinator_;
  WorkerCore& core_;
  ProgressReport& progress_;
  std::list<ActivePlan> plans_;  // the one used last comes first
  std::set<StageId> tuned_;      // stages of which a plan was measured
  uint64_t evicted_ = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_ACTIVE_PLANS_H_
