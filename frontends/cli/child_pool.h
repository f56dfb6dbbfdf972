// Runs numbered tasks in child processes, so that a crash or a hang loses one task only.
#ifndef GRAPHRUN_FRONTENDS_CLI_CHILD_POOL_H_
#define GRAPHRUN_FRONTENDS_CLI_CHILD_POOL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace graphrun::cli {

/// A TaskEnd says how a task went: what it returned, or how its process ended.
struct TaskEnd {
  bool returned = false;
  std::string text;  ///< what it returned; else "crashed: signal 11 (Segmentation fault)" or so
};

/// The processes are forked from this one, before it has threads: create and use the pool while the
/// process has one thread. Not thread-safe.
class ChildPool {
 public:
  using Task = std::function<std::string(size_t)>;
  using Done = std::function<void(size_t, const TaskEnd&)>;

  /// `task` runs in the children; `limit`: the longest that one task may take.
  ChildPool(size_t children, std::chrono::milliseconds limit, Task task);
  /// Kills children that are still at work.
  ~ChildPool();
  ChildPool(const ChildPool&) = delete;
  ChildPool& operator=(const ChildPool&) = delete;

  /// Runs the tasks 0 to `count` - 1 and calls `done` for each, in the order in which they end. A
  /// child that a task broke is replaced by a new one. Fails when no process can be started, or
  /// when one ends badly after its last task (a sanitizer reports leaks so).
  absl::Status run(size_t count, const Done& done);

 private:
  struct Child;

  absl::Status start(Child& child);
  void serve(int fd) const;
  void give(Child& child, size_t task);
  void receive(Child& child, const Done& done);
  void fail(Child& child, const std::string& why, const Done& done);
  void wait(const Done& done);
  absl::Status finish(Child& child);

  const std::chrono::milliseconds limit_;
  const Task task_;
  std::vector<Child> children_;
};

}  // namespace graphrun::cli

#endif  // GRAPHRUN_FRONTENDS_CLI_CHILD_POOL_H_
