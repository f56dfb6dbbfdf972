// The coordinator's end of the control plane: one client a worker.
#ifndef GRAPHRUN_RUNTIME_CONTROL_WORKER_CLIENT_H_
#define GRAPHRUN_RUNTIME_CONTROL_WORKER_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/control/limits.h"
#include "runtime/control/security.h"
#include "runtime/control/worker_handler.h"

namespace graphrun::runtime {

struct WorkerClientOptions {
  std::string name;     // of the worker in the cluster
  std::string address;  // as parseAddress reads it
  Security security;
  BuildVersions versions;
  std::string job;  // kSecretBytes, the same for all workers of a run (randomSecret)
  Millis joinTimeout = kJoinTimeout;
  Millis callTimeout = kCallTimeout;
  Millis heartbeatTimeout = kHeartbeatTimeout;  // after which the worker gives us up
};

/// A JoinedWorker holds what a worker said when it joined.
struct JoinedWorker {
  WorkerOffer offer;
  BuildVersions versions;
  uint64_t incarnation = 0;
};

/// A weight to send; `data` (the mapped file) must stay valid during the call.
struct WeightSource {
  uint32_t index = 0;     // into Plan.weights
  uint64_t checksum = 0;  // XXH3-64 of the data, from the weight table
  absl::string_view data;
};

/// The answer to a heartbeat.
struct HeartbeatSample {
  int64_t clockOffsetNanos = 0;  // the worker's monotonic clock minus ours
  int64_t roundTripNanos = 0;    // the offset is off by at most half of it
};

/// All calls are thread-safe, block until their deadline at most, and fail with a status whose
/// message begins with the worker's name and address. A failure inside the worker carries a
/// FirstCause with the worker's name. After markLost every call, also one under way, fails at once
/// with that status.
class WorkerClient {
 public:
  /// Does not connect yet. FailedPrecondition for an address that needs certificates; as
  /// controlPlane() without gRPC.
  static absl::StatusOr<std::unique_ptr<WorkerClient>> create(const WorkerClientOptions& options);
  /// Cancels what is under way and waits for it.
  virtual ~WorkerClient() = default;

  virtual const std::string& name() const = 0;
  virtual const std::string& address() const = 0;

  /// Keeps trying until joinTimeout, so that it does not matter who starts first; logs what it
  /// waits for. Ends at once when the worker refuses (versions) or TLS says who we are not.
  virtual absl::StatusOr<JoinedWorker> join() = 0;
  /// As join, within `timeout`; ends with Aborted when the worker says for `busyPatience` that it
  /// serves another job: whoever holds other workers meanwhile must let go of them.
  virtual absl::StatusOr<JoinedWorker> joinUnlessBusy(Millis timeout, Millis busyPatience) = 0;
  /// Sends a plan; the worker verifies it.
  virtual absl::Status loadPlan(uint64_t plan, absl::string_view bytes) = 0;
  /// For each weight whether the worker has it already.
  virtual absl::StatusOr<std::vector<bool>> hasWeights(uint64_t plan,
                                                       absl::Span<const WeightId> weights) = 0;
  /// Sends weights in chunks of kChunkBytes with checksums; `sent` is told after each how many
  /// bytes have gone so far.
  virtual absl::Status putWeights(uint64_t plan, absl::Span<const WeightSource> weights,
                                  absl::FunctionRef<void(uint64_t bytes)> sent) = 0;
  virtual absl::Status connectPeers(uint32_t rank, absl::Span<const PeerInfo> peers) = 0;
  /// As WorkerHandler's; exactly one id for each communicator.
  virtual absl::StatusOr<std::vector<std::string>> newCommunicatorIds(
      uint64_t plan, absl::Span<const uint32_t> communicators) = 0;
  virtual absl::StatusOr<std::vector<DeviceReport>> preparePlan(
      uint64_t plan, uint64_t tuneNanos, absl::Span<const CommunicatorId> communicatorIds) = 0;
  /// Lets the worker run the steps that are started on its line of the tensor plane whose number
  /// is returned. `ended` is called exactly once, with the failure of a step or the cause of a
  /// cancellation, on a thread of gRPC; it must neither block nor destroy the client.
  virtual uint64_t serveStepsAsync(std::function<void(const absl::Status&)> ended) = 0;
  /// Ends every serveSteps sent before, also one that has not arrived yet. Returns when they have
  /// ended.
  virtual absl::Status cancel(const absl::Status& cause) = 0;
  virtual absl::Status unloadPlan(uint64_t plan) = 0;
  /// Ends our job at the worker, which is then free for another coordinator.
  virtual absl::Status leave(const absl::Status& why) = 0;
  /// Lets the worker process exit; for workers that we started ourselves.
  virtual absl::Status shutdown(Millis timeout) = 0;
  virtual absl::StatusOr<std::string> metrics() = 0;
  virtual absl::StatusOr<std::string> trace() = 0;

  /// One heartbeat; `done` is called once, and may destroy the client. FailedPrecondition: the
  /// worker no longer is ours.
  virtual void heartbeatAsync(Millis timeout,
                              std::function<void(absl::StatusOr<HeartbeatSample>)> done) = 0;
  /// Gives the worker up: see above. Only the first status counts.
  virtual void markLost(const absl::Status& why) = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_WORKER_CLIENT_H_
