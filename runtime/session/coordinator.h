// The client's side of a cluster: starts or joins the workers, loads plans on them, runs steps, and
// notices when one is lost.
#ifndef GRAPHRUN_RUNTIME_SESSION_COORDINATOR_H_
#define GRAPHRUN_RUNTIME_SESSION_COORDINATOR_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/trace_json.h"
#include "runtime/cluster/cluster_description.h"
#include "runtime/control/local_workers.h"
#include "runtime/control/pulse.h"
#include "runtime/control/worker_client.h"
#include "runtime/format/plan_file.h"
#include "runtime/session/plan_workers.h"
#include "runtime/session/steps_under_way.h"
#include "runtime/session/worker_team.h"
#include "runtime/worker/step_line.h"
#include "runtime/worker/worker_core.h"

namespace graphrun::runtime {

/// One thread at a time, but for `finish` and what Pulse calls.
class Coordinator {
 public:
  /// `core`: this process's own worker; must outlive the coordinator. Tensors of workers that are
  /// started here take the same interfaces as its own.
  Coordinator(CoordinatorOptions options, WorkerCore* core);
  /// Ends the workers that it started, leaves the others.
  ~Coordinator();

  /// Starts and joins all workers and links them; once. Where that fails none is kept, and it may
  /// be tried again.
  absl::Status start();
  /// Returns the workers' offers when they joined, by name.
  const std::map<std::string, JoinedWorker>& joined() const { return team_.joined(); }

  /// Loads a plan on all workers that have a part of it, this process included. Reports by worker.
  /// Each device may spend `tuneNanos` on measuring kernels.
  absl::StatusOr<std::map<std::string, std::vector<DeviceReport>>> load(
      const format::PlanFile& plan, uint64_t tuneNanos = 0);
  void unload(const format::PlanFile& plan);
  /// A step that the workers have been told to run.
  struct Flight;
  /// Starts one step on the workers; `finish` must follow. Steps may be in flight beside each other
  /// where they are of one plan: they run in the order in which they began. Fails, without a step
  /// in flight, once the cluster is lost; Aborted once a step of the plan has failed.
  absl::StatusOr<Flight> begin(const std::shared_ptr<LoadedPlan>& ownPart, uint64_t step,
                               Millis timeout);
  /// Runs this process's part of the step, on `lane`, and waits until it ended everywhere. A
  /// failure ends all steps in flight; the first cause is returned. Several threads may, each with
  /// a flight and a lane of its own.
  absl::Status finish(Flight flight, size_t lane);
  /// Both.
  absl::Status run(const std::shared_ptr<LoadedPlan>& ownPart, uint64_t step, Millis timeout);
  /// Traces of the workers, on this process's clock.
  std::vector<TraceProcess> traces();
  /// Why the cluster is of no more use; OK while it is.
  absl::Status lost() const;

 private:
  /// A worker that has a part of a step.
  struct StepWorker {
    TeamWorker* worker;
    bool getsInputs;  // from this process
  };

  void onLost(const std::string& name, const absl::Status& why);
  /// The ids by which the members of a plan's communicators meet.
  using CommunicatorIds = std::vector<CommunicatorId>;
  absl::StatusOr<CommunicatorIds> meet(const format::PlanFile& plan);
  absl::StatusOr<std::vector<std::string>> newCommunicatorIds(
      const std::string& worker, const format::PlanFile& plan,
      absl::Span<const uint32_t> communicators);
  absl::StatusOr<size_t> sendWeights(TeamWorker& worker, const format::PlanFile& plan,
                                     std::set<uint32_t>& sent);
  absl::StatusOr<std::vector<DeviceReport>> prepareOn(TeamWorker& worker,
                                                      const format::PlanFile& plan,
                                                      uint64_t tuneNanos,
                                                      const CommunicatorIds& communicatorIds);
  using Reports = std::map<std::string, std::vector<DeviceReport>>;
  absl::Status handOut(const format::PlanFile& plan);
  absl::StatusOr<Reports> prepare(const format::PlanFile& plan, uint64_t tuneNanos,
                                  const CommunicatorIds& communicatorIds);
  absl::Status onAll(const format::PlanFile& plan,
                     absl::FunctionRef<absl::Status(TeamWorker& worker)> there,
                     absl::FunctionRef<absl::Status()> here);
  absl::Status giveUp(const format::PlanFile& plan, const absl::Status& why);
  /// A start on the line of a worker.
  struct Start {
    TeamWorker* worker = nullptr;
    std::optional<uint64_t> number;  // none: it could not be sent
    bool done = false;
  };
  absl::StatusOr<uint64_t> startOn(const StepWorker& worker, const StepStart& start);
  absl::Status waitUntilDone(Flight& flight);
  absl::Status abandon(const Flight& flight);
  /// Workers with a part of the plan, without this process.
  std::vector<TeamWorker*> workersOf(const format::PlanFile& plan);
  /// The same for a step; found once for steps of one plan.
  const std::vector<StepWorker>& workersOfStep(const format::PlanFile& plan);

  const CoordinatorOptions options_;
  WorkerCore* core_;
  bool started_ = false;
  WorkerTeam team_;
  const std::shared_ptr<StepsUnderWay> steps_;
  std::optional<uint64_t> stepPlan_;     // the plan of the last step,
  std::vector<StepWorker> stepWorkers_;  // and the workers that have a part of it

  mutable std::mutex mutex_;  // guards what the threads of team_ use
  absl::Status lost_;
  std::shared_ptr<LoadedPlan> running_;
};

struct Coordinator::Flight {
  /// Returns whether the step ended on all workers.
  bool isDone();

  std::shared_ptr<LoadedPlan> own;
  uint64_t step = 0;
  int64_t deadlineNanos = 0;
  std::vector<Start> starts;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_COORDINATOR_H_
