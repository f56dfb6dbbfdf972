// A Unix socket that only its owner can reach: private directory, and the peer's user checked.
#ifndef GRAPHRUN_RUNTIME_CONTROL_UNIX_LISTENER_H_
#define GRAPHRUN_RUNTIME_CONTROL_UNIX_LISTENER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/control/fd_watch.h"

namespace graphrun::runtime {

/// Makes `dir` with mode 0700 if it is missing. PermissionDenied if it is another user's, a
/// symbolic link, or open to group or others.
absl::Status ensurePrivateDirectory(const std::string& dir);

/// OK unless a socket lies at `path` that belongs to another user than us or root: a coordinator
/// does not hand its model to a stranger.
absl::Status checkSocketOwner(const std::string& path);

/// OK if the process at the other end of the socket runs as our user or as root.
absl::Status checkPeerUser(int fd);

/// Listens at a path and passes on the connections whose peer is allowed.
class UnixListener {
 public:
  /// Binds `path` (absolute, short enough for a socket) and starts to listen. A socket that a dead
  /// process left is replaced; AlreadyExists when a living one answers there.
  static absl::StatusOr<std::unique_ptr<UnixListener>> create(const std::string& path);
  /// Accepts on a thread of its own from now on; `onConnection` owns the (non-blocking) descriptor.
  void start(std::function<void(int fd)> onConnection);
  /// Stops accepting and removes the socket. Idempotent.
  void stop();
  ~UnixListener();
  UnixListener(const UnixListener&) = delete;
  UnixListener& operator=(const UnixListener&) = delete;

 private:
  UnixListener(std::string path, std::unique_ptr<FdWatch> watch);
  void acceptOne();

  std::string path_;
  std::unique_ptr<FdWatch> watch_;  // null once it is stopped
  std::function<void(int fd)> onConnection_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_UNIX_LISTENER_H_
