// The worker's end of the pipe that ties it to the process which started it.
#ifndef GRAPHRUN_RUNTIME_CONTROL_PARENT_WATCH_H_
#define GRAPHRUN_RUNTIME_CONTROL_PARENT_WATCH_H_

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"

namespace graphrun::runtime {

/// The descriptor on which a worker started by LocalWorkers finds the pipe (`--parent-fd 3`).
inline constexpr int kParentFd = 3;

/// Calls `onParentGone` once, from its own thread, when the parent's end of the pipe closes,
/// whatever way the parent ended. Destruction stops the watch and closes the descriptor.
class ParentWatch {
 public:
  /// Takes ownership of `fd`. InvalidArgument if it is not open.
  static absl::StatusOr<std::unique_ptr<ParentWatch>> create(int fd,
                                                             std::function<void()> onParentGone);
  ~ParentWatch();
  ParentWatch(const ParentWatch&) = delete;
  ParentWatch& operator=(const ParentWatch&) = delete;

 private:
  ParentWatch(int fd, int wake, std::function<void()> onParentGone);
  void watch();

  int fd_;
  int wake_;  // an eventfd that ends the thread
  std::function<void()> onParentGone_;
  std::thread thread_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_PARENT_WATCH_H_
