// This sets UCX up the way GraphRun wants it. Internal to this folder.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_UCX_CONTEXT_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_UCX_CONTEXT_H_

#include <ucp/api/ucp.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/transport/ucx.h"

namespace graphrun::runtime {

struct UcxContextDeleter {
  void operator()(ucp_context_h context) const;
};
using UcxContext = std::unique_ptr<ucp_context, UcxContextDeleter>;

/// The one place where UCX's status codes become ours. `what` failed; the
/// text is left out when there is no memory for it, as callbacks of UCX may not throw.
absl::Status ucxStatus(ucs_status_t status, absl::string_view what) noexcept;

absl::StatusOr<UcxContext> makeUcxContext(const UcxOptions& options);

/// While one lives, UCX's messages to this thread are only for debugging: that a worker goes with
/// requests of dead peers is known.
class UcxQuiet {
 public:
  UcxQuiet() { ++depth(); }
  ~UcxQuiet() { --depth(); }
  UcxQuiet(const UcxQuiet&) = delete;
  UcxQuiet& operator=(const UcxQuiet&) = delete;
  static bool active() { return depth() > 0; }

 private:
  static int& depth() {
    thread_local int count = 0;
    return count;
  }
};

/// "1.13.1", of the library that runs.
std::string ucxVersion();

/// The address blob of a worker: the UCX version, as UCX does not say itself that versions cannot
/// talk to each other; where this process is; the worker's address for all its transports, and the
/// one for those of networks alone.
absl::StatusOr<std::string> packUcxAddress(ucp_worker_h worker);
/// The worker address in a blob by which this process reaches the peer. Peers that share IPC but
/// not the network, as containers of one host may, get the one for networks: UCX's shared memory
/// would carry their messages but wake nobody, as its signals are sockets of the network.
/// FailedPrecondition if the peer's UCX has another minor version.
absl::StatusOr<std::string> unpackUcxAddress(absl::string_view blob);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_UCX_CONTEXT_H_
