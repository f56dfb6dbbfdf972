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
#include "runtime/session/progress.h"
#include "runtime/worker/step_line.h"
#include "runtime/worker/worker_core.h"

namespace graphrun::runtime {

/// The name of this process in plans; its rank is kCoordinatorRank.
inline constexpr char kClientName[] = "client";

/// The interfaces over which tensors reach all of `workers`, as a list with commas: loopback's for
/// those that are started here or reached on this machine only.
std::string interfacesFor(absl::Span<const GivenWorker> workers);

struct CoordinatorOptions {
  std::vector<GivenWorker> workers;  // with processes of their own, by rank from 1 on
  Security security;
  std::vector<std::string> workerCommand;
  std::vector<std::string> workerArguments;  // for those started here: the model file …
  Millis joinTimeout = kJoinTimeout;
  ProgressReport* progress = nullptr;  // must outlive the coordinator; null: nobody is told
};

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
  const std::map<std::string, JoinedWorker>& joined() const { return joined_; }

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
  struct Worker {
    std::string name;
    uint32_t rank = 0;
    bool startedHere = false;
    std::shared_ptr<WorkerClient> client;
    std::unique_ptr<StepStarter> line = nullptr;  // of the call by which it serves steps
  };
  struct Steps;
  /// A worker that has a part of a step.
  struct StepWorker {
    Worker* worker;
    bool getsInputs;  // from this process
  };

  absl::Status startAll();
  void endAll(const absl::Status& why);
  absl::Status checkDevices() const;
  absl::Status prepareProcesses();
  absl::StatusOr<std::string> addressOf(const GivenWorker& worker);
  absl::Status makeClients();
  absl::Status join();
  absl::Status joinAll(Millis timeout);
  void letGo();
  void tell(const Progress& progress) const;
  absl::Status linkAll();
  void onLost(const std::string& name, const absl::Status& why);
  /// The places where the members of a plan's communicators meet.
  using Meetings = std::vector<Meeting>;
  absl::StatusOr<Meetings> meet(const format::PlanFile& plan);
  absl::StatusOr<std::vector<std::string>> newMeetings(const std::string& worker,
                                                       const format::PlanFile& plan,
                                                       absl::Span<const uint32_t> communicators);
  absl::StatusOr<size_t> sendWeights(Worker& worker, const format::PlanFile& plan,
                                     std::set<uint32_t>& sent);
  absl::StatusOr<std::vector<DeviceReport>> prepareOn(Worker& worker, const format::PlanFile& plan,
                                                      uint64_t tuneNanos, const Meetings& meetings);
  using Reports = std::map<std::string, std::vector<DeviceReport>>;
  absl::Status handOut(const format::PlanFile& plan);
  absl::StatusOr<Reports> prepare(const format::PlanFile& plan, uint64_t tuneNanos,
                                  const Meetings& meetings);
  absl::Status onAll(const format::PlanFile& plan,
                     absl::FunctionRef<absl::Status(Worker& worker)> there,
                     absl::FunctionRef<absl::Status()> here);
  absl::Status giveUp(const format::PlanFile& plan, const absl::Status& why);
  /// A start on the line of a worker.
  struct Start {
    Worker* worker = nullptr;
    std::optional<uint64_t> number;  // none: it could not be sent
    bool done = false;
  };
  absl::StatusOr<uint64_t> startOn(const StepWorker& worker, const StepStart& start);
  absl::Status waitUntilDone(Flight& flight);
  absl::Status abandon(const Flight& flight);
  /// Workers with a part of the plan, without this process.
  std::vector<Worker*> workersOf(const format::PlanFile& plan);
  /// The same for a step; found once for steps of one plan.
  const std::vector<StepWorker>& workersOfStep(const format::PlanFile& plan);
  /// Calls `work` for each worker, side by side; returns when all are done.
  void forEach(absl::Span<Worker* const> workers, absl::FunctionRef<void(Worker&)> work);

  const CoordinatorOptions options_;
  WorkerCore* core_;
  bool started_ = false;
  std::string job_;
  std::unique_ptr<LocalWorkers> local_;
  std::vector<Worker> workers_;
  std::map<std::string, JoinedWorker> joined_;
  const std::shared_ptr<Steps> steps_;
  std::optional<uint64_t> stepPlan_;     // the plan of the last step,
  std::vector<StepWorker> stepWorkers_;  // and the workers that have a part of it

  mutable std::mutex mutex_;  // guards what the threads of pulse_ and local_ use
  absl::Status lost_;
  std::shared_ptr<LoadedPlan> running_;
  std::unique_ptr<Pulse> pulse_;
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
