// Workers that the coordinator starts on this machine (`address: local`), and ends again.
#ifndef GRAPHRUN_RUNTIME_CONTROL_LOCAL_WORKERS_H_
#define GRAPHRUN_RUNTIME_CONTROL_LOCAL_WORKERS_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {

class WorkerClient;

struct LocalWorkersOptions {
  /// Program and first arguments: {"/usr/bin/graphrun", "worker"}. `--listen unix:… --parent-fd 3`
  /// and the worker's own arguments follow.
  std::vector<std::string> command;
  /// Called once, from a thread of this class, when a worker ends that was not asked to; must not
  /// block. The status names it and says how it ended.
  std::function<void(const std::string& worker, const absl::Status& why)> onExit;
  Millis readyTimeout{20'000};
  Millis shutdownTimeout{2'000};   // for the Shutdown call, and again for the exit after it
  Millis terminateTimeout{1'000};  // from SIGTERM to SIGKILL
};

/// Owns the processes: each is reaped, and none outlives this object or, killed by the kernel, this
/// process. Their sockets lie in a private directory that goes with them. Thread-safe.
class LocalWorkers {
 public:
  static absl::StatusOr<std::unique_ptr<LocalWorkers>> create(LocalWorkersOptions options);
  /// stopAll({}).
  ~LocalWorkers();

  /// Starts a worker and waits until it listens. Its address, or why it does not live.
  absl::StatusOr<std::string> start(const std::string& name,
                                    absl::Span<const std::string> arguments = {});
  /// Ends all workers, side by side: the Shutdown call for those with a client in `clients`, then
  /// SIGCONT and SIGTERM, then SIGKILL. Returns when all are reaped. A worker that needed SIGKILL
  /// is logged.
  void stopAll(absl::Span<WorkerClient* const> clients);
  /// Returns how a worker that start() returned has ended; OK while it runs.
  absl::Status ended(const std::string& name) const;
  /// The process of a running worker; NotFound once it has ended.
  absl::StatusOr<pid_t> pidOf(const std::string& name) const;
  /// Returns where the sockets are.
  const std::string& directory() const;

 private:
  struct Impl;
  explicit LocalWorkers(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_LOCAL_WORKERS_H_
