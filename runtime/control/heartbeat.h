// Liveness: who has been silent for too long. Pure bookkeeping over an injected clock; the thread
// that sends heartbeats is in pulse.h, the one that watches the coordinator in worker_service.cpp.
#ifndef GRAPHRUN_RUNTIME_CONTROL_HEARTBEAT_H_
#define GRAPHRUN_RUNTIME_CONTROL_HEARTBEAT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/clock.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {

/// Nanoseconds of a monotonic clock.
using ClockFn = std::function<int64_t()>;

/// Finds out that this process itself did not run (SIGSTOP, a suspended machine): then the silence
/// of others proves nothing. Not synchronised.
class StallGuard {
 public:
  StallGuard(Millis timeout, int64_t now);
  /// Nanoseconds by which deadlines must move, 0 in normal operation. Call it at each check.
  int64_t stalledFor(int64_t now);

 private:
  int64_t limit_;
  int64_t lastCheck_;
};

/// The coordinator's view of its workers. Thread-safe; callbacks run on the thread that calls
/// check() or declareLost(), without locks held.
class HeartbeatMonitor {
 public:
  using OnLost = std::function<void(const std::string& worker, const absl::Status& why)>;

  HeartbeatMonitor(Millis timeout, OnLost onLost, ClockFn clock = nowNanos);

  /// From now on `worker` may be declared lost; it may be silent until it is added.
  void expect(const std::string& worker);
  /// Starts to watch `worker`, seen now. A worker that was lost stays lost.
  void add(const std::string& worker);
  /// Stops to watch it: it was asked to leave.
  void remove(const std::string& worker);
  /// Notes a sign of life.
  void seen(const std::string& worker);
  /// Reports `worker` lost at once (its process ended, it was restarted); only the first time
  /// counts.
  void declareLost(const std::string& worker, const absl::Status& why);
  /// Reports each worker that has been silent for the timeout.
  void check();
  bool isLost(const std::string& worker) const;

 private:
  struct Entry {
    int64_t lastSeen = 0;
    bool lost = false;
    bool expected = false;  // not yet watched
  };
  const Millis timeout_;
  const OnLost onLost_;
  const ClockFn clock_;
  mutable std::mutex mutex_;
  StallGuard guard_;
  std::map<std::string, Entry> workers_;
};

/// The worker's view of its coordinator. Thread-safe.
class CoordinatorWatch {
 public:
  explicit CoordinatorWatch(ClockFn clock = nowNanos);

  /// A coordinator joined: `name` is for messages.
  void start(const std::string& name, Millis timeout);
  /// It left in an orderly way, or was declared lost and dealt with.
  void stop();
  /// Notes a sign of life.
  void seen();
  /// Why the coordinator counts as lost, once; nothing while it lives or none is watched.
  std::optional<absl::Status> check();

 private:
  const ClockFn clock_;
  std::mutex mutex_;
  bool active_ = false;
  std::string name_;
  Millis timeout_{0};
  int64_t lastSeen_ = 0;
  StallGuard guard_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_HEARTBEAT_H_
