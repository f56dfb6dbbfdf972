// A WorkerTeam is the workers of a cluster: started or joined, all or none, and linked.
#ifndef GRAPHRUN_RUNTIME_SESSION_WORKER_TEAM_H_
#define GRAPHRUN_RUNTIME_SESSION_WORKER_TEAM_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cluster/cluster_description.h"
#include "runtime/control/local_workers.h"
#include "runtime/control/pulse.h"
#include "runtime/control/worker_client.h"
#include "runtime/session/progress.h"
#include "runtime/worker/step_line.h"
#include "runtime/worker/worker_core.h"

namespace graphrun::runtime {

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

struct TeamWorker {
  std::string name;
  uint32_t rank = 0;
  bool startedHere = false;
  std::shared_ptr<WorkerClient> client;
  std::unique_ptr<StepStarter> line = nullptr;  // of the call by which it serves steps
};

/// One thread at a time.
class WorkerTeam {
 public:
  /// Told from threads of its own, until `end`: this worker is lost.
  using OnLost = std::function<void(const std::string& worker, const absl::Status& why)>;

  /// `options` and `core`, this process's own worker, must outlive it. Tensors of workers that are
  /// started here take the same interfaces as its own.
  WorkerTeam(const CoordinatorOptions& options, WorkerCore* core, OnLost onLost)
      : options_(options), core_(core), onLost_(std::move(onLost)) {}

  /// Starts and joins all workers and links them. After a failure comes `end`.
  absl::Status start();
  /// Ends the workers that it started, leaves the others. It may then be started again.
  void end(const absl::Status& why);

  std::vector<TeamWorker>& workers() { return workers_; }
  /// Returns the workers' offers when they joined, by name.
  const std::map<std::string, JoinedWorker>& joined() const { return joined_; }
  /// Returns a worker's clock less this process's, if it is known.
  std::optional<int64_t> clockOffsetNanos(const std::string& worker) const {
    return pulse_->clockOffsetNanos(worker);
  }
  /// Calls `work` for each worker, side by side; returns when all are done.
  static void forEach(absl::Span<TeamWorker* const> workers,
                      absl::FunctionRef<void(TeamWorker&)> work);
  /// Tells what takes time.
  void tell(const Progress& progress) const;

 private:
  absl::Status checkDevices() const;
  absl::Status prepareProcesses();
  absl::StatusOr<std::string> addressOf(const GivenWorker& worker);
  absl::Status makeClients();
  absl::Status join();
  absl::Status joinAll(Millis timeout);
  void letGo();
  absl::Status linkAll();

  const CoordinatorOptions& options_;
  WorkerCore* const core_;
  const OnLost onLost_;
  std::string job_;
  std::unique_ptr<LocalWorkers> local_;
  std::vector<TeamWorker> workers_;
  std::map<std::string, JoinedWorker> joined_;
  std::unique_ptr<Pulse> pulse_;
};

/// The first failure of several threads.
class FirstFailure {
 public:
  void update(const absl::Status& status) {
    std::lock_guard lock(mutex_);
    if (first_.ok()) {
      first_ = status;
    }
  }
  absl::Status get() {
    std::lock_guard lock(mutex_);
    return first_;
  }

 private:
  std::mutex mutex_;
  absl::Status first_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_WORKER_TEAM_H_
