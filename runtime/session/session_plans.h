// SessionPlans finds, loads and improves the plans of a session.
#ifndef GRAPHRUN_RUNTIME_SESSION_SESSION_PLANS_H_
#define GRAPHRUN_RUNTIME_SESSION_SESSION_PLANS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/trace_json.h"
#include "runtime/session/active_plans.h"
#include "runtime/session/plan_source.h"
#include "runtime/session/session_setup.h"
#include "runtime/session/session_statistics.h"
#include "runtime/session/stage_input.h"
#include "runtime/worker/disk_cache.h"

namespace graphrun::runtime {

/// Finds plans for stages of runs, keeps them loaded, learns what their runs took and has better
/// ones take their place. Not thread-safe: nothing may be in flight, but for what is const.
class SessionPlans {
 public:
  /// Runs a plan once, whose outputs are dropped.
  using RunOnce = std::function<absl::Status(ActivePlan&, absl::Span<const StageInput> values)>;

  /// Both must outlive it.
  SessionPlans(SessionSetup& setup, SessionStatistics& statistics, RunOnce runOnce);
  /// Once the setup is open.
  void open();

  /// Finds a plan for these shapes, which is not loaded.
  absl::StatusOr<FoundPlan> find(const Stage& stage, absl::Span<const PlannedInput> planned,
                                 PlanWishes wishes = {});
  /// Fails when a plan was found without the elements of an input.
  absl::Status checkPlaceable(const FoundPlan& found) const;
  /// Returns the plan for the stage, loaded. `values` give elements when the planner needs some;
  /// null when it does and there are none.
  absl::StatusOr<ActivePlan*> planFor(const Stage& stage, std::vector<PlannedInput> planned,
                                      absl::Span<const StageInput> values);
  /// Chooses the plan's kernels, if that is due before its next run; after an error it is gone.
  absl::Status tuneIfDue(ActivePlan& plan);
  /// Returns the plan for `values` if it is loaded, nothing is due before its next run, and its
  /// runs may be in flight beside each other.
  ActivePlan* planInFlight(const std::string& graph, absl::Span<const StageInput> values);
  /// The workers that have states, by the states' names, as far as plans were loaded.
  const std::map<std::string, std::string>& stateWorkers() const { return stateWorkers_; }
  /// Returns the one used last; null when there is none.
  const ActivePlan* last() const { return active_->last(); }
  void drop(ActivePlan& plan) { active_->drop(plan); }

  /// Returns the last events of the plan, on all workers.
  std::vector<TraceProcess> tracesOf(const ActivePlan& plan) const;
  /// Keeps what the runs of all plans took, unless a worker was lost.
  void learnAll();

 private:
  absl::StatusOr<ActivePlan*> loadWithin(const Stage& stage, absl::Span<const PlannedInput> planned,
                                         const std::string& signature, FoundPlan found);
  bool mayTrySplit(const ActivePlan& plan, absl::Span<const StageInput> values) const;
  bool isForMany(const ActivePlan& plan) const;
  bool mayImprove(const ActivePlan& plan) const;
  absl::StatusOr<ActivePlan*> improve(ActivePlan& plan, const Stage& stage,
                                      absl::Span<const PlannedInput> planned,
                                      absl::Span<const StageInput> values);
  absl::StatusOr<ActivePlan*> trySplitPlan(ActivePlan& plan, const Stage& stage,
                                           absl::Span<const PlannedInput> planned,
                                           absl::Span<const StageInput> values);
  absl::StatusOr<ActivePlan*> judgePlan(ActivePlan& plan, const Stage& stage,
                                        absl::Span<const PlannedInput> planned);
  absl::StatusOr<ActivePlan*> replace(ActivePlan& plan, FoundPlan better);
  void learn(const ActivePlan& plan);
  void noteStates(const ActivePlan& plan);
  void noteLoad(const ActivePlan& plan) { statistics_.noteLoad(plan, active_->evicted()); }
  /// Warns, with what the model is called.
  void warn(absl::string_view what) const;

  SessionSetup& setup_;
  SessionStatistics& statistics_;
  const RunOnce runOnce_;
  DiskCache cache_;
  PlanSource source_;
  std::unique_ptr<ActivePlans> active_;  // null before open
  // Inputs whose elements decide shapes, by the signature without them.
  std::map<std::string, std::vector<std::string>> deciding_;
  std::map<std::string, std::string> stateHomes_;    // devices, by state
  std::map<std::string, std::string> stateWorkers_;  // the same, workers
  std::set<std::string> noted_;                      // notes of plans that the user was told
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_SESSION_PLANS_H_
