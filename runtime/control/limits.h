// The control plane has these bounds and default times. Each bound is enforced by both sides.
#ifndef GRAPHRUN_RUNTIME_CONTROL_LIMITS_H_
#define GRAPHRUN_RUNTIME_CONTROL_LIMITS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace graphrun::runtime {

/// Version of control.proto's meaning; both ends must have the same.
inline constexpr uint32_t kControlProtocol = 2;

/// Payload bytes of one chunk of a plan, a weight or a trace.
inline constexpr size_t kChunkBytes = size_t{1} << 20;
/// The largest message that either end accepts; a longer one is refused unread.
inline constexpr size_t kMaxMessageBytes = size_t{4} << 20;
/// The most bytes of a call's headers that either end accepts.
inline constexpr int kMaxMetadataBytes = 64 << 10;
/// The largest plan. Weights do not count: they travel on their own.
inline constexpr size_t kMaxPlanBytes = size_t{512} << 20;
/// The largest single weight.
inline constexpr uint64_t kMaxWeightBytes = uint64_t{1} << 40;
/// The largest trace that a client collects from one worker.
inline constexpr size_t kMaxTraceBytes = size_t{256} << 20;
/// The largest transport address blob of one worker.
inline constexpr size_t kMaxAddressBytes = size_t{64} << 10;
/// The most peers of one job, and devices of one worker.
inline constexpr size_t kMaxPeers = 1024;
/// The most communicators of one plan, and bytes by which the members of one meet.
inline constexpr size_t kMaxCommunicators = 1024;
inline constexpr size_t kMaxCommunicatorIdBytes = 1024;
/// Weights asked about in one HasWeights message.
inline constexpr size_t kMaxWeightsAQuery = size_t{64} << 10;
/// Bytes of a status message on the wire; longer ones are cut, with a mark.
inline constexpr size_t kMaxErrorBytes = size_t{8} << 10;
/// Bytes of a name (node, op, device, worker) on the wire.
inline constexpr size_t kMaxNameBytes = 1024;
/// A worker sends at most so many texts of kMaxErrorBytes about one thing.
inline constexpr size_t kMaxWorkerNotes = 64;
/// The highest number of a step that a run may begin at; tensors carry it in 62 bits.
inline constexpr uint64_t kMaxStep = uint64_t{1} << 61;
/// The most that a monotonic clock may say, before or after its zero, and that all that a trace
/// tells of may have taken together, in nanoseconds: 36 years. Sums of some of these fit 64 bits.
inline constexpr int64_t kMaxClockNanos = int64_t{1} << 60;
/// Bytes of the job id and of a tensor-link token: 128 bits.
inline constexpr size_t kSecretBytes = 16;

using Millis = std::chrono::milliseconds;

/// The coordinator tries for so long to reach a worker: start order does not matter.
inline constexpr Millis kJoinTimeout{30'000};
/// Deadline of the calls that only exchange facts.
inline constexpr Millis kCallTimeout{10'000};
/// Deadline of PreparePlan, which compiles; a worker that died meanwhile is noticed by heartbeat.
inline constexpr Millis kPrepareTimeout{900'000};
/// After which no wait of a step goes on, if its caller does not say, and the most that may be
/// said.
inline constexpr Millis kStepTimeout{3'600'000};
inline constexpr Millis kMaxStepTimeout{7LL * 24 * 3'600'000};
/// Deadline of ServeSteps, which lasts as long as its job: heartbeats tell when a peer is lost.
inline constexpr Millis kServeTimeout{366LL * 24 * 3'600'000};
/// Slowest link that transfers are waited for, in bytes per millisecond (1 MB/s).
inline constexpr uint64_t kMinTransferBytesPerMs = 1000;
/// Time between two heartbeats.
inline constexpr Millis kHeartbeatInterval{500};
/// Silence after which a peer is lost; with the interval of checks it stays under 3 s.
inline constexpr Millis kHeartbeatTimeout{2'500};
/// After which a connection is closed that the other machine acknowledges nothing on: what waits to
/// be written there cannot be cancelled.
inline constexpr Millis kConnectionTimeout{3'000};
/// Time between two signs of life of a connection itself. Without them there is no such timeout.
inline constexpr Millis kConnectionPing{10'000};
/// Silence is looked for this often.
inline constexpr Millis kHeartbeatCheck{100};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_LIMITS_H_
