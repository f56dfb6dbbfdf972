// Threads that wait for a file descriptor, one of them for the end of the process that started a
// worker.
#ifndef GRAPHRUN_RUNTIME_CONTROL_FD_WATCH_H_
#define GRAPHRUN_RUNTIME_CONTROL_FD_WATCH_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"

namespace graphrun::runtime {

/// Owns a descriptor, and tells when there is something to read, or its other end is closed.
class FdWatch {
 public:
  /// Takes ownership of `fd`, also when it fails: ResourceExhausted where the system has no more
  /// descriptors.
  static absl::StatusOr<std::unique_ptr<FdWatch>> create(int fd);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  int fd() const { return fd_; }
  /// Calls `onReady` from a thread of its own each time that there is something, until it returns
  /// false. Call once.
  void start(std::function<bool()> onReady);
  /// Ends that thread; returns when it has ended. Idempotent.
  void stop();

 private:
  FdWatch(int fd, int wake) : fd_(fd), wake_(wake) {}
  void watch();

  int fd_;
  int wake_;  // an eventfd that ends the thread
  std::function<bool()> onReady_;
  std::thread thread_;
};

/// The descriptor on which a worker started by LocalWorkers finds the pipe (`--parent-fd 3`) that
/// ties it to the process which started it.
inline constexpr int kParentFd = 3;

/// Calls `onParentGone` once, from the watch's thread, when the parent's end of the pipe closes,
/// whatever way the parent ended. Takes ownership of `fd`; InvalidArgument if it is not open.
absl::StatusOr<std::unique_ptr<FdWatch>> watchParent(int fd, std::function<void()> onParentGone);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_FD_WATCH_H_
