// `graphrun worker` runs a worker process.
#ifndef GRAPHRUN_RUNTIME_WORKER_WORKER_MAIN_H_
#define GRAPHRUN_RUNTIME_WORKER_WORKER_MAIN_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/control/security.h"
#include "runtime/worker/worker_core.h"

namespace graphrun::runtime {

struct WorkerMainOptions {
  std::string listen;  ///< "host:port", "unix:/path"
  Security security;
  int parentFd = -1;  ///< ends the process when the one that started it is gone
  std::string model;  ///< a model file whose weights need not be sent; "" for none
  WorkerCoreOptions core;
};

/// A process with workers, or that is one, takes so much before it has any memory for plans:
/// threads of gRPC, UCX and its own, and address space in bytes for those libraries and the
/// compiler's. 20 threads and 190 MiB besides their stacks were measured.
inline constexpr uint64_t kThreadsOfWorker = 24;
inline constexpr uint64_t kBytesOfWorker = uint64_t{256} << 20;

/// Versions of this build, for joining.
BuildVersions buildVersions();

/// Serves coordinators until one asks to shut down, the parent is gone, or SIGTERM, SIGINT or
/// SIGHUP comes: the latter two not with a parent, SIGHUP not where it was ignored from the start.
/// Prints "listening at ADDRESS" to stderr unless started by a parent. To be called before other
/// threads exist.
absl::Status runWorker(const WorkerMainOptions& options);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_WORKER_WORKER_MAIN_H_
