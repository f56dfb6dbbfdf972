// A worker service is the server of a worker's control plane.
#ifndef GRAPHRUN_RUNTIME_CONTROL_WORKER_SERVICE_H_
#define GRAPHRUN_RUNTIME_CONTROL_WORKER_SERVICE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/control/security.h"
#include "runtime/control/worker_handler.h"

namespace graphrun::runtime {

struct WorkerServiceOptions {
  std::string address;  // as parseAddress reads it; port 0 takes a free one
  Security security;
  BuildVersions versions;
};

/// Serves one coordinator at a time at exactly the address asked. Drops the job of a coordinator
/// that is silent (WorkerHandler::endJob). Thread-safe; the handler must outlive it.
class WorkerService {
 public:
  /// Listens from the moment it returns. FailedPrecondition for an address that needs certificates,
  /// AlreadyExists when it is taken; as controlPlane() without gRPC.
  static absl::StatusOr<std::unique_ptr<WorkerService>> start(const WorkerServiceOptions& options,
                                                              WorkerHandler* handler);
  /// Returns where it listens, with the real port.
  virtual const std::string& address() const = 0;
  /// This process's number: a restarted worker has another.
  virtual uint64_t incarnation() const = 0;
  /// Ends the job and all calls, and stops listening. Not to be called from a handler. Idempotent.
  virtual void stop() = 0;
  virtual ~WorkerService() = default;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_WORKER_SERVICE_H_
