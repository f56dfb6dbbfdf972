// SessionRuns has the runs of a session.
#ifndef GRAPHRUN_RUNTIME_SESSION_SESSION_RUNS_H_
#define GRAPHRUN_RUNTIME_SESSION_SESSION_RUNS_H_

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/trace_json.h"
#include "runtime/session/flights.h"
#include "runtime/session/run_queue.h"
#include "runtime/session/session_plans.h"
#include "runtime/session/session_setup.h"
#include "runtime/session/session_statistics.h"
#include "runtime/session/stage_input.h"

namespace graphrun::runtime {

/// Runs a session's model, stage by stage: alone, or in flight beside other runs where the plan
/// allows that. Thread-safe, but for what takes a lock.
class SessionRuns {
 public:
  /// All must outlive it.
  SessionRuns(SessionSetup& setup, SessionStatistics& statistics, SessionPlans& plans)
      : setup_(setup), statistics_(statistics), plans_(plans) {}

  /// Runs a graph of the model once; see Session::run. `begun` is told when its step has its
  /// number, if others may be in flight beside it.
  absl::Status run(absl::string_view graph, const std::vector<StageInput>& given,
                   std::vector<NamedTensor>& results, RunQueue::Begun begun);
  absl::StatusOr<TensorMap> runByName(absl::string_view graph, const TensorMap& given,
                                      RunQueue::Begun begun);

  /// Takes the session's mutex, once no run is in flight.
  Flights::Lock alone();
  /// Does the same while runs may be.
  Flights::Lock lock() { return Flights::Lock(mutex_); }

  /// Runs a plan once and drops its outputs, for whoever is alone.
  absl::Status runOnce(ActivePlan& plan, absl::Span<const StageInput> values);
  /// Does Session::writeTrace for whoever is alone.
  absl::Status writeTrace(const std::string& path) const;

 private:
  /// Runs a step whose inputs and outputs are bound.
  using Execute = absl::FunctionRef<absl::Status(ActivePlan& plan)>;

  absl::Status runOrdered(const ModelGraph& graph, std::vector<StageInput> values,
                          std::vector<NamedTensor>& results, Flights::Lock& lock,
                          RunQueue::Begun begun);
  absl::StatusOr<ActivePlan*> tunedPlanFor(const Stage& stage, absl::Span<const StageInput> values);
  absl::Status runStages(const ModelGraph& graph, std::vector<StageInput> values,
                         std::vector<NamedTensor>& results);
  absl::Status runStage(ActivePlan& plan, size_t lane, absl::Span<const StageInput> values,
                        std::vector<NamedTensor>& results, std::vector<StageInput>& made,
                        Execute execute);
  absl::Status runAlone(ActivePlan& plan, Millis timeout);
  std::optional<absl::Status> fly(ActivePlan& plan, size_t lane,
                                  absl::Span<const StageInput> values,
                                  std::vector<NamedTensor>& results, Flights::Lock& lock,
                                  RunQueue::Begun begun);
  void noteFailure(ActivePlan& plan);
  void noteStep(ActivePlan& plan, int64_t begin, bool ok);

  SessionSetup& setup_;
  SessionStatistics& statistics_;
  SessionPlans& plans_;
  std::mutex mutex_;
  Flights flights_;
  std::vector<TraceProcess> failed_;  // what a run did that failed
  std::vector<std::string> failedEdges_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_SESSION_RUNS_H_
