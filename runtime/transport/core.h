// All transports have this in common: links and their tokens, edges and their slots, waiting. An
// implementation adds how messages travel. Internal to this folder.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_CORE_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_CORE_H_

#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/transport/edge.h"
#include "runtime/transport/event_count.h"
#include "runtime/transport/handle_table.h"
#include "runtime/transport/transport.h"
#include "runtime/transport/wire.h"

namespace graphrun::runtime {

/// A waiter polls for so long past the last activity without a thought of others: as long as a
/// message over shared memory and its answer take. Who waits longer may wait for one that has no
/// core.
inline constexpr int64_t kSpinNanos = 1'000;
/// The same where a core that was offered lately went to somebody who computes: at each offer he
/// gets all that the scheduler gives at a time, some milliseconds.
inline constexpr int64_t kWarySpinNanos = 40'000;
/// A core is back so late from one who computes, and this is remembered for so long.
inline constexpr int64_t kSliceNanos = 500'000;
inline constexpr int64_t kWaryNanos = 50'000'000;
/// A waiter polls for so long, past the last activity, while nobody else wants its core: waking a
/// thread takes longer than most kernels, and between 5 and 200 us, so that no step would take what
/// the last did.
inline constexpr int64_t kPatienceNanos = 2'000'000;
/// A core that was offered and is back later than this was wanted.
inline constexpr int64_t kOfferNanos = 20'000;
/// A sleeping waiter may miss its cancel flag for so long.
inline constexpr int64_t kSleepSliceNanos = 50'000'000;
/// close() waits for so long for the network to let go of an edge's memory.
inline constexpr int64_t kCloseGraceNanos = 100'000'000;

/// A peer may take so long to answer a hello before it is said again, and after ever longer pauses.
inline constexpr int64_t kHelloPauseNanos = 100'000'000;
inline constexpr int64_t kMaxHelloPauseNanos = 2'000'000'000;
/// A link says this often that it lives, and is lost after such a silence: as the control plane has
/// it, within 3 s.
inline constexpr int64_t kBeatNanos = 500'000'000;
inline constexpr int64_t kSilenceNanos = 2'500'000'000;
/// Whoever has not listened for so long cannot tell whether the others were silent.
inline constexpr int64_t kDeafNanos = 1'000'000'000;
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

using EdgeKey = std::pair<uint64_t, uint32_t>;  // plan, edge

/// This process's view of one peer. Implementations derive from it.
struct Link {
  virtual ~Link() = default;
  uint32_t rank = 0;
  LinkToken token;
  std::atomic<bool> welcomed{false};
  std::atomic<bool> failed{false};
  absl::Status failure;  // written once, before failed
  std::string name;      // "worker node1"; guarded by the core's mutex, as are:
  int64_t heardAt = 0;   // the peer's last beat; 0: not listened yet
  int64_t nextBeat = 0;
  // When hello is said again while this end is not welcomed.
  int64_t nextHello = kNever;
  int64_t helloPause = kHelloPauseNanos;
  // Announcements that came before openSend.
  std::map<EdgeKey, ControlMessage> announced;
};

/// Locks: `mutex_` guards links and lists of edges; it is never held while messages are sent or an
/// implementation's functions are called, so that in-process peers may call each other.
/// `failMutex_` guards the setting of failures and is innermost.
class TransportCore : public Transport {
 public:
  ~TransportCore() override;

  uint32_t rank() const override { return rank_.load(); }
  absl::Status setRank(uint32_t rank) override;
  bool carries(absl::string_view memory) const override { return memory.empty(); }
  /// Returns whether it carries a kind of memory of devices.
  virtual bool carriesDeviceMemory() const { return false; }
  bool sharesMemory() const override { return false; }
  absl::Status connect(uint32_t rank, absl::string_view address, LinkToken token) override;
  void namePeer(uint32_t rank, const std::string& name) override;
  absl::Status waitConnected(uint32_t rank, const WaitOptions& options) override;
  absl::StatusOr<SendEdge*> openSend(const EdgeSpec& spec) override;
  absl::StatusOr<RecvEdge*> openRecv(const EdgeSpec& spec,
                                     absl::Span<void* const> buffers) override;
  void close(SendEdge* edge) override;
  void close(RecvEdge* edge) override;
  absl::Status registerMemory(void*, size_t, absl::string_view) override {
    return absl::OkStatus();
  }
  void unregisterMemory(void*) override {}
  void leave() override { leaving_.store(true); }
  void markPeerFailed(uint32_t rank, const absl::Status& cause) override;
  absl::Status wait(absl::FunctionRef<bool()> ready, const WaitOptions& options) override;
  void wakeWaiters() override { events_.notify(); }
  void sendCredits() override {}
  TransportStats stats() const override;

  // To be implemented: how things travel. May be called by any thread.

  /// A link to `address`; the caller fills in rank and token.
  virtual absl::StatusOr<std::unique_ptr<Link>> makeLink(uint32_t rank,
                                                         absl::string_view address) = 0;
  virtual void postControl(Link& link, const ControlMessage& message) = 0;
  /// Sends a slot; finishSend when its data is no longer read.
  virtual void postData(Link& link, SendSlot& slot) = 0;
  /// Sends a slot's credit, maybe later with a payload for the same peer: takeCredit, and
  /// finishCredit when it has gone.
  virtual void postCredit(Link& link, RecvSlot& slot) = 0;
  /// Called after a link failed: whatever waits in queues to or from it may be dropped.
  virtual void onLinkFailed(Link&) {}
  /// Sleeps until `events_` is notified or `untilNanos`; messages must move meanwhile.
  virtual void sleep(uint32_t ticket, int64_t untilNanos) { events_.wait(ticket, untilNanos); }

  // For implementations to call on arrival and completion, by any thread, also from callbacks of a
  // network's library, through which nothing may unwind: where memory runs out, the link fails.

  void onControl(const void* message, size_t bytes) noexcept;
  /// The slot that the payload is to be put into, or null if it is to be dropped.
  RecvSlot* beginReceive(const DataHeader& header, size_t bytes) noexcept;
  /// The payload of a slot from beginReceive lies at `data`, or is lost if !status.ok().
  void finishReceive(RecvSlot& slot, const void* data, const absl::Status& status) noexcept;
  void onCredit(const CreditHeader& header) noexcept;
  void finishSend(SendSlot& slot, const absl::Status& status) noexcept;
  /// The credit of a slot that was released, which from now on may be used again.
  static CreditHeader takeCredit(RecvSlot& slot) noexcept;
  void finishCredit(RecvSlot& slot, const absl::Status& status) noexcept;
  /// Counts and logs a message that was not accepted. When edges close, some are usual.
  void dropMessage(absl::string_view why, LogLevel level = LogLevel::kWarning) noexcept;

  static TransportCore& ownerOf(const SendSlot& slot) { return *slot.edge->core_; }
  static TransportCore& ownerOf(const RecvSlot& slot) { return *slot.edge->core_; }
  static Link& linkOf(const SendSlot& slot) { return *slot.edge->link_; }
  static Link& linkOf(const RecvSlot& slot) { return *slot.edge->link_; }
  static const EdgeSpec& specOf(const SendSlot& slot) { return slot.edge->spec_; }
  static const EdgeSpec& specOf(const RecvSlot& slot) { return slot.edge->spec_; }
  /// Returns whether a payload comes from the host's memory and lands in such.
  static bool isOfHosts(const SendSlot& slot) {
    return slot.edge->spec_.memory.empty() && slot.edge->remoteOnHost_;
  }

 protected:
  friend class Edge;
  friend class SendEdge;
  friend class RecvEdge;
  explicit TransportCore(uint32_t rank) : rank_(rank) {}

  /// Fails one edge; the first cause stays.
  void failEdge(Edge& edge, absl::Status cause);
  void failStep(Edge& edge, const absl::Status& cause);
  void failLink(Link& link, const absl::Status& cause);
  /// Says on the welcomed links that this end lives, where that is due, and fails those that were
  /// silent for too long: called by a transport whose own thread moves messages at all times.
  /// `listened`: what had come was taken in just before. When to call again.
  int64_t keepAlive(int64_t now, bool listened);
  /// The links that have not failed.
  std::vector<Link*> liveLinks();

  EventCount events_;
  std::atomic<int> drivers_{0};  // waiters that poll, not those that sleep

 private:
  absl::Status drive(absl::FunctionRef<bool()> ready, const WaitOptions& options);
  bool offerCore(int64_t now);

  struct Outgoing {
    Link* link;
    ControlMessage message;
  };
  using Outbox = std::vector<Outgoing>;

  void post(const Outbox& outbox);
  void takeControl(const void* bytes, size_t size);
  RecvSlot* takeSlot(RecvEdge& edge, const DataHeader& header, size_t bytes);
  void failSender(const void* bytes, size_t size) noexcept;
  ControlMessage message(const Link& link, ControlKind kind) const;
  ControlMessage announcement(const RecvEdge& edge, ControlKind kind) const;
  absl::StatusOr<Link*> findLink(uint32_t rank);
  absl::Status checkUnlinked(uint32_t rank);
  absl::Status checkSpec(const EdgeSpec& spec) const;
  void repeatHellos(int64_t now);
  int64_t patience(const Link& link) const;
  void onHello(const ControlMessage& hello, Outbox& outbox);
  void onPeerMessage(const ControlMessage& message, Outbox& outbox);
  void announceAll(Link& link, Outbox& outbox);
  void matchAnnouncement(SendEdge& edge, const ControlMessage& announcement);
  template <typename E>
  void retire(E* edge, std::map<EdgeKey, std::unique_ptr<E>>& open,
              std::vector<std::unique_ptr<E>>& retired);
  void reap();

  /// Made beforehand: copying it allocates nothing.
  const absl::Status notTakenIn_ =
      absl::ResourceExhaustedError("what the peer sent could not be taken in, as memory ran out");
  std::atomic<uint32_t> rank_;
  mutable std::mutex mutex_;
  std::mutex failMutex_;
  std::unordered_map<uint32_t, std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<Link>> oldLinks_;  // replaced after a failure
  int64_t listenedAt_ = 0;                       // guarded by mutex_
  std::atomic<int64_t> nextHello_{kNever};       // the earliest of all links
  std::atomic<int64_t> waryUntil_{0};            // see kWarySpinNanos
  std::atomic<uint64_t> idleNanos_{0};           // see TransportStats
  std::map<EdgeKey, std::unique_ptr<SendEdge>> sends_;
  std::map<EdgeKey, std::unique_ptr<RecvEdge>> recvs_;
  std::vector<std::unique_ptr<SendEdge>> retiredSends_;
  std::vector<std::unique_ptr<RecvEdge>> retiredRecvs_;
  HandleTable<SendEdge> sendHandles_;
  HandleTable<RecvEdge> recvHandles_;
  std::atomic<uint64_t> dropped_{0};
  std::atomic<bool> leaving_{false};
};

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_CORE_H_
