// The coordinator's heartbeat: one thread that asks all workers and gives up the silent ones.
#ifndef GRAPHRUN_RUNTIME_CONTROL_PULSE_H_
#define GRAPHRUN_RUNTIME_CONTROL_PULSE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "runtime/control/heartbeat.h"
#include "runtime/control/limits.h"
#include "runtime/control/worker_client.h"

namespace graphrun::runtime {

/// Sends heartbeats to joined workers. A worker that is silent for the timeout, or that says that
/// it is no longer ours, is marked lost (all calls to it end) and reported once. Thread-safe.
class Pulse {
 public:
  /// `onLost` is called from the pulse's threads and must not block.
  explicit Pulse(HeartbeatMonitor::OnLost onLost, Millis interval = kHeartbeatInterval,
                 Millis timeout = kHeartbeatTimeout);
  ~Pulse();

  /// A worker that is about to join may be declared lost from now on; it gets no heartbeats yet.
  void expect(std::shared_ptr<WorkerClient> client);
  /// Starts with a worker that has joined; the client is shared until remove().
  void add(std::shared_ptr<WorkerClient> client);
  /// Stops with it, before it is asked to leave.
  void remove(const std::string& worker);
  /// Reports a worker lost by other knowledge, as the end of its process.
  void declareLost(const std::string& worker, const absl::Status& why);
  /// The worker's monotonic clock minus ours, from the fastest heartbeat so far, after some more in
  /// a row, for 50 ms at most: one alone may be off by half a millisecond. Nothing when none was
  /// answered.
  std::optional<int64_t> clockOffsetNanos(const std::string& worker);

 private:
  struct State;
  void loop();

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_PULSE_H_
