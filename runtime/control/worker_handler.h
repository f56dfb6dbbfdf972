// A worker handler does what the coordinator asks of a worker; runtime/worker implements it.
#ifndef GRAPHRUN_RUNTIME_CONTROL_WORKER_HANDLER_H_
#define GRAPHRUN_RUNTIME_CONTROL_WORKER_HANDLER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/device_description.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {

/// Versions that two ends compare when they meet.
struct BuildVersions {
  std::string graphrun;
  std::string ucx;  // "" without UCX
};

/// A JobInfo says who asks a worker to join.
struct JobInfo {
  std::string job;          // kSecretBytes
  std::string coordinator;  // "host:pid"
  std::string worker;       // the name this worker has in the cluster
};

/// A WorkerOffer lists the devices and libraries that a worker brings.
struct WorkerOffer {
  std::string transportAddress;  // opaque; at most kMaxAddressBytes
  std::vector<DeviceDescription> devices;
  std::vector<std::string> missing;  // kinds of devices that it has none of, and why
  bool carriesGpuMemory = false;     // its network was seen to carry memory of its GPUs
};

/// A weight's identity, whatever its name and model.
struct WeightId {
  uint64_t checksum = 0;  // XXH3-64 of the data
  uint64_t bytes = 0;
};

/// A piece of a weight as it arrives.
struct WeightPiece {
  uint64_t plan = 0;
  uint32_t index = 0;  // into Plan.weights
  WeightId id;
  uint64_t offset = 0;
  absl::string_view data;  // valid during the call
  bool last = false;       // id.checksum was verified over all pieces
};

/// One other end of tensor links.
struct PeerInfo {
  uint32_t rank = 0;
  std::string name;
  std::string transportAddress;
  std::string token;              // kSecretBytes
  bool carriesGpuMemory = false;  // as it said when it joined
};

/// Members of a communicator find each other by its CommunicatorId.
struct CommunicatorId {
  uint32_t communicator = 0;  // position in Plan.communicators
  std::string data;  // of devices::Collectives::newCommunicatorId; at most kMaxCommunicatorIdBytes
};

/// A DeviceReport says what became of a partition on its device.
struct DeviceReport {
  std::string device;
  uint64_t peakBytes = 0;
  uint64_t prepareNanos = 0;
  bool fromCache = false;
  bool tuned = false;              // no choice of a kernel waits for a measurement
  uint64_t sharedBytes = 0;        // of peakBytes, what plans loaded before hold as well
  std::string fingerprint;         // Device::fingerprint: equal ones take equal times
  uint32_t handedOver = 0;         // edges into it that the devices move without the host's memory
  std::vector<std::string> notes;  // of edges into it that go a longer way, and why
  std::vector<std::string> refusals;  // kernels in whose place others had to be chosen, and why
};

/// The work behind a WorkerService. Calls come from gRPC's threads. Of one job, join … serveSteps
/// and unloadPlan come as the coordinator sends them, possibly side by side; cancel, metrics and
/// trace may come at any time beside them. All that a handler is given has passed the control
/// plane's checks (peer authenticated, job current, sizes bounded, checksums right), but the
/// content of a plan has not: it comes as bytes to be verified. Failures carry a FirstCause where
/// one is known.
class WorkerHandler {
 public:
  virtual ~WorkerHandler() = default;

  /// A coordinator takes this worker. The same job may join twice (its first reply was lost).
  virtual absl::StatusOr<WorkerOffer> join(const JobInfo& job) = 0;
  /// `bytes` hold a Plan with the hash `plan`; to be verified before anything is believed.
  virtual absl::Status loadPlan(uint64_t plan, std::string bytes) = 0;
  /// For each weight whether it need not be sent, because a cache has it.
  virtual absl::StatusOr<std::vector<bool>> hasWeights(uint64_t plan,
                                                       absl::Span<const WeightId> weights) = 0;
  /// The pieces of one weight come in order, without gaps, from one thread.
  virtual absl::Status putWeights(const WeightPiece& piece) = 0;
  /// This worker is `rank`; the others are `peers`.
  virtual absl::Status connectPeers(uint32_t rank, absl::Span<const PeerInfo> peers) = 0;
  /// Returns where the members of these communicators of the plan are to meet, one for each, in
  /// their order: the first member of each is a device of this worker.
  virtual absl::StatusOr<std::vector<std::string>> newCommunicatorIds(
      uint64_t plan, absl::Span<const uint32_t> communicators) = 0;
  /// Compiles the plan's partitions and allocates all that a step needs. Each device may spend
  /// `tuneNanos` on measuring which kernels are fastest. Then waits until the communicators that
  /// devices of this worker are members of, which meet as `communicatorIds` say, have all of
  /// theirs.
  virtual absl::StatusOr<std::vector<DeviceReport>> preparePlan(
      uint64_t plan, uint64_t tuneNanos, absl::Span<const CommunicatorId> communicatorIds) = 0;
  /// Runs the steps that the coordinator starts over the tensor plane, on its line of this number,
  /// until one fails, with its failure, or until it is cancelled. Never OK.
  virtual absl::Status serveSteps(uint64_t run) = 0;
  /// Ends all running calls soon, with `cause` as their status. Must not block; comes again while a
  /// call that it is meant for still runs.
  virtual void cancel(const absl::Status& cause) = 0;
  virtual absl::Status unloadPlan(uint64_t plan) = 0;
  /// The job is over (the coordinator left, or is lost: `why` then says so): drop its plans, links
  /// and memory. Called after cancel(), once no call of the job runs any more.
  virtual void endJob(const absl::Status& why) = 0;
  /// The coordinator that started this process asks it to exit: let the main thread return.
  virtual absl::Status shutdown() = 0;
  virtual absl::StatusOr<std::string> metrics() = 0;
  virtual absl::StatusOr<std::string> trace() = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_WORKER_HANDLER_H_
