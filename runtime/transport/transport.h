// The tensor plane: moves the value of an edge from the process that made it to the one that needs
// it, step after step, into memory that was planned when the plan was loaded.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_TRANSPORT_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_TRANSPORT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/clock.h"

namespace graphrun::runtime {

class SendEdge;
class RecvEdge;

/// The secret that both ends of a link were given on the control plane.
struct LinkToken {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const LinkToken&) const = default;
};

/// One end of an edge. Both ends must state the same plan, edge, slots and inPlace, and the
/// receiver at least the sender's maxBytes; else the sender's edge fails and says what differs.
struct EdgeSpec {
  uint64_t plan = 0;    ///< Key of this loading of the plan: unique, so that nothing stale matches.
  uint32_t edge = 0;    ///< Dense id in the plan.
  uint32_t peer = 0;    ///< Rank of the other end; may be one's own.
  size_t maxBytes = 0;  ///< Upper bound of a payload.
  uint32_t slots = 2;   ///< Steps that may be in flight, 1 to 1024.
  bool inPlace = false;  ///< The consumer reads the producer's buffer; only if sharesMemory().
  /// The kind of memory that this end's payloads lie in, as devices name it (DeviceKind::memory);
  /// empty: the host's. The other end's may be of another kind, as long as the transports of both
  /// carry both.
  std::string memory = {};
  /// Owner of the memory that payloads are read from or land in. The edge holds it as long as the
  /// transport may touch that memory, which after the loss of a peer can be longer than the edge is
  /// open. May be null for memory that outlives the transport.
  std::shared_ptr<const void> owner;
  std::string name =
      {};  ///< For messages: "'conv1' from node0/cpu:0 to node1/cpu:0"; may be empty.
};

/// A payload that has landed. Valid until RecvEdge::release of its step.
struct Received {
  const void* data = nullptr;
  size_t bytes = 0;
};

/// WaitOptions say how long to wait: every wait has an end.
struct WaitOptions {
  int64_t deadlineNanos;                      ///< In terms of nowNanos().
  const std::atomic<bool>* cancel = nullptr;  ///< Ends the wait when it becomes true (seen within
                                              ///< 50 ms, at once after Transport::wakeWaiters).

  static WaitOptions within(int64_t nanos, const std::atomic<bool>* cancelFlag = nullptr) {
    return {nowNanos() + nanos, cancelFlag};
  }
};

struct TransportStats {
  size_t openEdges = 0;
  size_t retiredEdges = 0;  ///< Closed, but the network may still touch their memory.
  uint64_t droppedMessages = 0;
  uint64_t loneCredits = 0;  ///< Credits that were messages of their own (UCX).
  uint64_t ridden = 0;       ///< Payloads that were no messages of their own (UCX).
  /// The time for which waiters polled while their core was offered to others, and nobody wanted
  /// it.
  uint64_t idleNanos = 0;
};

/// The tensor plane of one process and one kind of network. All methods are thread-safe except as
/// edge.h says. Everything but wait and progress is for loading time, and may lock and allocate.
///
/// Links: each of two peers calls connect with the other's address blob and the token that both
/// were given. The first message on a link carries the token; whatever comes without the right one
/// is dropped and logged. Order of the two calls does not matter.
///
/// Edges: the receiver tells the sender of an opened edge, which gives the sender `slots` credits.
/// A step takes the credit of slot `step % slots` and the consumer's release gives it back, so a
/// slow consumer holds the producer, and memory is bounded. Nothing depends on message order.
///
/// Liveness: UCX's transport says on each link that it lives, twice a second, and fails a link that
/// is silent for 2.5 s. What else is known of a peer's end is reported from outside by
/// markPeerFailed. Both end every wait on the peer.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Rank of this process.
  virtual uint32_t rank() const = 0;
  /// Changes it, as a worker learns its rank after it has given its address away. Before the first
  /// connect; FailedPrecondition later.
  virtual absl::Status setRank(uint32_t rank) = 0;
  /// The address that peers pass to connect. Binary.
  virtual std::string localAddress() const = 0;
  /// Returns whether payloads may lie in memory of this kind (EdgeSpec::memory).
  virtual bool carries(absl::string_view memory) const = 0;
  /// Returns whether peers share this address space, as EdgeSpec::inPlace needs.
  virtual bool sharesMemory() const = 0;

  /// Begins the link to `rank`; does not wait for the peer. A rank whose link failed may be
  /// connected again (a restarted worker); its old edges stay failed.
  /// AlreadyExists: the rank has a live link. FailedPrecondition: the peer's network library is of
  /// another version. InvalidArgument: not an address of this kind.
  virtual absl::Status connect(uint32_t rank, absl::string_view address, LinkToken token) = 0;
  /// Names the peer of a link for messages, as "worker node1"; "rank 2" until it is told.
  virtual void namePeer(uint32_t rank, const std::string& name) = 0;
  /// Waits until `rank` has accepted this process's token.
  virtual absl::Status waitConnected(uint32_t rank, const WaitOptions& options) = 0;

  /// Opens the sending end. The edge belongs to the transport. A (plan, edge) is opened once per
  /// end. NotFound: no link to the peer.
  virtual absl::StatusOr<SendEdge*> openSend(const EdgeSpec& spec) = 0;
  /// Opens the receiving end; the payload of a step lands in `buffers[step % slots]`, each of at
  /// least maxBytes. Empty if and only if spec.inPlace.
  virtual absl::StatusOr<RecvEdge*> openRecv(const EdgeSpec& spec,
                                             absl::Span<void* const> buffers) = 0;
  /// Closes an edge that no thread uses any more; steps in flight are lost. Waits a moment (100 ms)
  /// for the network to let go of its memory; see EdgeSpec::owner. An inPlace receiver is to be
  /// closed before its sender's memory goes.
  virtual void close(SendEdge* edge) = 0;
  virtual void close(RecvEdge* edge) = 0;

  /// Makes a region known to the network adapters, which payloads then move from and to without
  /// being registered step by step. Unregister after closing the edges that use it.
  virtual absl::Status registerMemory(void* data, size_t bytes, absl::string_view memory) = 0;
  virtual void unregisterMemory(void* data) = 0;

  /// The job ends, here and on the peers: they are told of no edge that is closed from now on,
  /// since they may have gone. What was sent before still leaves.
  virtual void leave() = 0;
  /// Ends all waits on edges of `rank` with `cause`, now and later, and drops its messages.
  virtual void markPeerFailed(uint32_t rank, const absl::Status& cause) = 0;

  /// Moves messages along if nobody else does; true if anything happened. Only needed by those who
  /// poll without waiting.
  virtual bool progress() = 0;
  /// Returns once `ready()` holds; spins for up to 2 ms past the last activity, while nobody else
  /// wants the core, then sleeps. `ready` may be called often and must depend on edges of this
  /// transport only. Cancelled, DeadlineExceeded.
  virtual absl::Status wait(absl::FunctionRef<bool()> ready, const WaitOptions& options) = 0;
  /// Credits that were released, and payloads that may ride, go with the next payload for their
  /// peer, if one follows within some 30 us. This sends them now, for a caller who knows that none
  /// follows.
  virtual void sendCredits() = 0;
  /// Makes all waits look at their cancel flags now.
  virtual void wakeWaiters() = 0;

  virtual TransportStats stats() const = 0;
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_TRANSPORT_H_
