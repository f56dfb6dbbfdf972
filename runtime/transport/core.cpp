#include "runtime/transport/core.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/log.h"

namespace graphrun::runtime {
namespace {

constexpr uint32_t kMaxSlots = 1024;
// Bound of what a peer can make this process remember before it knows its edges.
constexpr size_t kMaxAnnouncements = 1 << 20;
constexpr uint64_t kMaxLoggedDrops = 100;

inline void relaxCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Why a link that is silent failed.
absl::Status silence(const Link& link) {
  return absl::UnavailableError(absl::StrFormat(
      "%s is lost: nothing was heard from it for %.1f s; it died or hangs, or the network between "
      "is cut",
      link.name.empty() ? absl::StrFormat("rank %d", link.rank) : link.name, 1e-9 * kSilenceNanos));
}

}  // namespace

TransportCore::~TransportCore() = default;

// --- Links

absl::StatusOr<Link*> TransportCore::findLink(uint32_t rank) {
  auto it = links_.find(rank);
  if (it == links_.end()) {
    return absl::NotFoundError(
        absl::StrFormat("rank %d has no link to rank %d; connect comes first", rank_.load(), rank));
  }
  return it->second.get();
}

ControlMessage TransportCore::message(const Link& link, ControlKind kind) const {
  ControlMessage message;
  message.kind = kind;
  message.rank = rank_;
  message.token = link.token;
  return message;
}

void TransportCore::post(const Outbox& outbox) {
  for (const Outgoing& outgoing : outbox) {
    postControl(*outgoing.link, outgoing.message);
  }
}

absl::Status TransportCore::checkUnlinked(uint32_t rank) {
  auto it = links_.find(rank);
  if (it != links_.end() && !it->second->failed.load()) {
    return absl::AlreadyExistsError(
        absl::StrFormat("rank %d is already linked to rank %d", rank_.load(), rank));
  }
  return absl::OkStatus();
}

absl::Status TransportCore::setRank(uint32_t rank) {
  std::lock_guard lock(mutex_);
  if (!links_.empty() && rank != rank_.load()) {
    return absl::FailedPreconditionError(
        absl::StrFormat("rank %d has links already; it cannot become rank %d", rank_.load(), rank));
  }
  rank_.store(rank);
  return absl::OkStatus();
}

absl::Status TransportCore::connect(uint32_t rank, absl::string_view address, LinkToken token) {
  {
    std::lock_guard lock(mutex_);
    GR_RETURN_IF_ERROR(checkUnlinked(rank));
  }
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Link> made, makeLink(rank, address));
  made->rank = rank;
  made->token = token;
  Outbox outbox;
  {
    std::lock_guard lock(mutex_);
    GR_RETURN_IF_ERROR(checkUnlinked(rank));  // again: another thread may have been faster
    std::unique_ptr<Link>& entry = links_[rank];
    if (entry != nullptr) {
      oldLinks_.push_back(std::move(entry));
    }
    entry = std::move(made);
    outbox.push_back({entry.get(), message(*entry, ControlKind::kHello)});
    entry->nextHello = nowNanos() + entry->helloPause;
    nextHello_.store(std::min(nextHello_.load(), entry->nextHello));
  }
  post(outbox);
  return absl::OkStatus();
}

absl::Status TransportCore::waitConnected(uint32_t rank, const WaitOptions& options) {
  Link* link = nullptr;
  {
    std::lock_guard lock(mutex_);
    GR_ASSIGN_OR_RETURN(link, findLink(rank));
  }
  absl::Status waited =
      wait([link] { return link->welcomed.load() || link->failed.load(); }, options);
  if (link->failed.load()) {
    return annotate(link->failure, absl::StrFormat("link to rank %d", rank));
  }
  return annotate(waited, absl::StrFormat("link to rank %d: the peer has not accepted it (is it "
                                          "up, and was it given the same token?)",
                                          rank));
}

// The first hello is lost if the peer had no link to this rank yet.
void TransportCore::repeatHellos(int64_t now) {
  if (now < nextHello_.load()) {
    return;
  }
  Outbox outbox;
  {
    std::lock_guard lock(mutex_);
    int64_t next = kNever;
    for (const auto& [rank, link] : links_) {
      if (link->welcomed.load() || link->failed.load()) {
        continue;
      }
      if (now >= link->nextHello) {
        outbox.push_back({link.get(), message(*link, ControlKind::kHello)});
        link->helloPause = std::min(2 * link->helloPause, kMaxHelloPauseNanos);
        link->nextHello = now + link->helloPause;
      }
      next = std::min(next, link->nextHello);
    }
    nextHello_.store(next);
  }
  post(outbox);
}

void TransportCore::namePeer(uint32_t rank, const std::string& name) {
  std::lock_guard lock(mutex_);
  if (auto it = links_.find(rank); it != links_.end()) {
    it->second->name = name;
  }
}

/// Returns how long a link may be silent. A process that copies a payload may do nothing else
/// meanwhile: it gets a nanosecond more for each byte that may be under way. `mutex_` is held.
int64_t TransportCore::patience(const Link& link) const {
  int64_t nanos = kSilenceNanos;
  auto add = [&](const auto& edges, auto&& isUnderWay) {
    for (const auto& [key, edge] : edges) {
      for (uint32_t i = 0; edge->link_ == &link && i < edge->spec_.slots; ++i) {
        nanos += isUnderWay(edge->slots_[i]) ? static_cast<int64_t>(edge->spec_.maxBytes) : 0;
      }
    }
  };
  add(sends_, [](const SendSlot& slot) { return (slot.state.load() & SendSlot::kBusy) != 0; });
  add(recvs_, [](const RecvSlot& slot) {
    return (slot.tag.load() & RecvSlot::kPhaseMask) == RecvSlot::kLanding;
  });
  return nanos;
}

int64_t TransportCore::keepAlive(int64_t now, bool listened) {
  if (leaving_.load()) {
    return kNever;
  }
  Outbox outbox;
  std::vector<std::pair<Link*, absl::Status>> silent;
  int64_t next = kNever;
  {
    std::lock_guard lock(mutex_);
    const bool wasDeaf = now - listenedAt_ > kDeafNanos;
    listenedAt_ = listened ? now : listenedAt_;
    for (const auto& [rank, link] : links_) {
      if (!link->welcomed.load() || link->failed.load()) {
        continue;
      }
      link->heardAt = link->heardAt == 0 || wasDeaf ? now : link->heardAt;
      if (listened && now - link->heardAt > kSilenceNanos &&
          now - link->heardAt > patience(*link)) {
        silent.emplace_back(link.get(), silence(*link));
        continue;
      }
      if (now >= link->nextBeat) {
        outbox.push_back({link.get(), message(*link, ControlKind::kBeat)});
        link->nextBeat = now + kBeatNanos;
      }
      next = std::min({next, link->nextBeat, link->heardAt + kSilenceNanos});
    }
  }
  post(outbox);
  for (const auto& [link, why] : silent) {
    failLink(*link, why);
  }
  return next;
}

void TransportCore::failLink(Link& link, const absl::Status& cause) {
  {
    std::lock_guard lock(failMutex_);
    if (link.failed.load()) {
      return;
    }
    link.failure = cause.ok() ? absl::UnavailableError("the peer failed") : cause;
    link.failed.store(true);
  }
  onLinkFailed(link);
  events_.notify();
}

void TransportCore::markPeerFailed(uint32_t rank, const absl::Status& cause) {
  Link* link = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (auto it = links_.find(rank); it != links_.end()) {
      link = it->second.get();
    }
  }
  if (link != nullptr) {
    failLink(*link, cause);
  }
}

std::vector<Link*> TransportCore::liveLinks() {
  std::lock_guard lock(mutex_);
  std::vector<Link*> live;
  for (const auto& [rank, link] : links_) {
    if (!link->failed.load()) {
      live.push_back(link.get());
    }
  }
  return live;
}

void TransportCore::failEdge(Edge& edge, absl::Status cause) {
  {
    std::lock_guard lock(failMutex_);
    if (edge.failed_.load()) {
      return;
    }
    edge.failure_ = std::move(cause);
    edge.failed_.store(true);
  }
  events_.notify();
}

// Of a failed link, the link's own cause says more.
void TransportCore::failStep(Edge& edge, const absl::Status& cause) {
  if (!edge.link_->failed.load()) {
    failEdge(edge, cause);
  }
}

// --- Messages of the loading time
// A hello is kept by nobody: whoever links later says its own, which the other answers by welcome
// and, if it was not welcomed yet, by hello again.

void TransportCore::dropMessage(absl::string_view why, LogLevel level) noexcept {
  if (dropped_.fetch_add(1) >= kMaxLoggedDrops) {
    return;
  }
  try {
    log(level, absl::StrCat("transport of rank ", rank_.load(), ": dropped ", why));
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is no memory to say it, and it is counted
  }
}

// Here and in takeSlot texts are joined by StrCat: where memory runs out, StrFormat ends the
// process, as it throws from a destructor.
void TransportCore::onControl(const void* bytes, size_t size) noexcept {
  try {
    takeControl(bytes, size);
  } catch (...) {
    failSender(bytes, size);
  }
}

/// Fails the link that a control message came by, if it proves that it did.
void TransportCore::failSender(const void* bytes, size_t size) noexcept {
  ControlMessage message;
  if (size != sizeof message) {
    return;
  }
  std::memcpy(&message, bytes, sizeof message);
  Link* link = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto it = links_.find(message.rank);
    link = it != links_.end() && it->second->token == message.token ? it->second.get() : nullptr;
  }
  if (link != nullptr) {
    failLink(*link, notTakenIn_);
  }
}

void TransportCore::takeControl(const void* bytes, size_t size) {
  ControlMessage message;
  if (size != sizeof message) {
    dropMessage(absl::StrCat("a control message of ", size, " bytes, expected ", sizeof message));
    return;
  }
  std::memcpy(&message, bytes, sizeof message);
  if (message.magic != kWireMagic) {
    dropMessage(absl::StrCat("a control message of protocol ", absl::Hex(message.magic),
                             ", expected ", absl::Hex(kWireMagic),
                             "; the peer runs another version of GraphRun"));
    return;
  }
  Outbox outbox;
  {
    std::lock_guard lock(mutex_);
    if (message.kind == ControlKind::kHello) {
      onHello(message, outbox);
    } else {
      onPeerMessage(message, outbox);
    }
  }
  post(outbox);
  events_.notify();
}

void TransportCore::onHello(const ControlMessage& hello, Outbox& outbox) {
  auto it = links_.find(hello.rank);
  if (it == links_.end() || it->second->failed.load()) {
    dropMessage("a hello from one that there is no link to, or not yet", LogLevel::kDebug);
    return;
  }
  Link& link = *it->second;
  if (link.token != hello.token) {
    dropMessage(
        absl::StrCat("a hello from one that calls itself rank ", hello.rank, ": wrong token"));
    return;
  }
  outbox.push_back({&link, message(link, ControlKind::kWelcome)});
  if (!link.welcomed.load()) {
    outbox.push_back({&link, message(link, ControlKind::kHello)});
  }
}

void TransportCore::onPeerMessage(const ControlMessage& message, Outbox& outbox) {
  auto it = links_.find(message.rank);
  if (it == links_.end() || it->second->failed.load() || it->second->token != message.token) {
    dropMessage(absl::StrCat("a message from one that calls itself rank ", message.rank,
                             ": no link, or wrong token"));
    return;
  }
  Link& link = *it->second;
  EdgeKey key{message.plan, message.edge};
  switch (message.kind) {
    case ControlKind::kWelcome:
      if (!link.welcomed.exchange(true)) {
        announceAll(link, outbox);
      }
      return;
    case ControlKind::kBeat:
      link.heardAt = nowNanos();
      return;
    case ControlKind::kAnnounce:
      if (auto open = sends_.find(key); open != sends_.end() && open->second->link_ == &link) {
        matchAnnouncement(*open->second, message);
      } else if (link.announced.size() < kMaxAnnouncements) {
        link.announced[key] = message;
      } else {
        dropMessage("an announcement: too many edges that are not open here");
      }
      return;
    case ControlKind::kWithdraw:
      link.announced.erase(key);
      return;
    default:
      dropMessage(
          absl::StrCat("a control message of unknown kind ", static_cast<uint32_t>(message.kind)));
  }
}

ControlMessage TransportCore::announcement(const RecvEdge& edge, ControlKind kind) const {
  ControlMessage announcement = message(*edge.link_, kind);
  announcement.plan = edge.spec_.plan;
  announcement.edge = edge.spec_.edge;
  announcement.handle = edge.handle_;
  announcement.maxBytes = edge.spec_.maxBytes;
  announcement.slots = edge.spec_.slots;
  announcement.inPlace = edge.spec_.inPlace ? 1 : 0;
  announcement.memory = edge.spec_.memory.empty() ? kOnHost : kOnDevice;
  return announcement;
}

void TransportCore::announceAll(Link& link, Outbox& outbox) {
  for (const auto& [key, edge] : recvs_) {
    if (edge->link_ == &link) {
      outbox.push_back({&link, announcement(*edge, ControlKind::kAnnounce)});
    }
  }
}

void TransportCore::matchAnnouncement(SendEdge& edge, const ControlMessage& announcement) {
  const EdgeSpec& spec = edge.spec_;
  if (edge.remote_.load() != 0) {  // steps go by the first, whose facts they read without a lock
    dropMessage("a second announcement of an edge");
    return;
  }
  if (announcement.slots != spec.slots || announcement.maxBytes < spec.maxBytes ||
      (announcement.inPlace != 0) != spec.inPlace) {
    failEdge(edge, absl::FailedPreconditionError(absl::StrCat(
                       "the two ends differ: sender has ", spec.slots, " slots of ", spec.maxBytes,
                       " bytes, in place ", spec.inPlace, "; receiver has ", announcement.slots,
                       " of ", announcement.maxBytes, ", in place ", announcement.inPlace,
                       "; load the same plan on both")));
    return;
  }
  const bool isOnHost = announcement.memory == kOnHost;
  if (!isOnHost && !(announcement.memory == kOnDevice && carriesDeviceMemory())) {
    failEdge(edge, absl::FailedPreconditionError(
                       "the receiver has its buffers in a kind of memory that this end's network "
                       "does not carry; workers agree on that when they are linked"));
    return;
  }
  edge.remoteOnHost_ = isOnHost;
  edge.remote_.store(announcement.handle);
}

// --- Opening and closing

absl::Status TransportCore::checkSpec(const EdgeSpec& spec) const {
  if (spec.slots == 0 || spec.slots > kMaxSlots) {
    return absl::InvalidArgumentError(absl::StrFormat("edge %d has %d slots, expected 1 to %d",
                                                      spec.edge, spec.slots, kMaxSlots));
  }
  if (spec.inPlace && !sharesMemory()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "edge %d is in place, but its ends do not share an address space", spec.edge));
  }
  if (!carries(spec.memory)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "edge %d is in a kind of memory that this network does not carry", spec.edge));
  }
  return absl::OkStatus();
}

absl::StatusOr<SendEdge*> TransportCore::openSend(const EdgeSpec& spec) {
  GR_RETURN_IF_ERROR(checkSpec(spec));
  std::lock_guard lock(mutex_);
  GR_ASSIGN_OR_RETURN(Link * link, findLink(spec.peer));
  EdgeKey key{spec.plan, spec.edge};
  if (sends_.contains(key)) {
    return absl::AlreadyExistsError(
        absl::StrFormat("edge %d of plan %x is already open for sending", spec.edge, spec.plan));
  }
  std::unique_ptr<SendEdge> edge(new SendEdge(this, link, spec));
  edge->handle_ = sendHandles_.add(edge.get());
  if (edge->handle_ == 0) {
    return absl::ResourceExhaustedError("over a million edges are open");
  }
  if (auto early = link->announced.extract(key); !early.empty()) {
    matchAnnouncement(*edge, early.mapped());
  }
  return (sends_[key] = std::move(edge)).get();
}

absl::StatusOr<RecvEdge*> TransportCore::openRecv(const EdgeSpec& spec,
                                                  absl::Span<void* const> buffers) {
  GR_RETURN_IF_ERROR(checkSpec(spec));
  if (buffers.size() != (spec.inPlace ? 0 : spec.slots)) {
    return absl::InvalidArgumentError(absl::StrFormat("edge %d got %d slot buffers, expected %d",
                                                      spec.edge, buffers.size(),
                                                      spec.inPlace ? 0 : spec.slots));
  }
  Outbox outbox;
  RecvEdge* opened = nullptr;
  {
    std::lock_guard lock(mutex_);
    GR_ASSIGN_OR_RETURN(Link * link, findLink(spec.peer));
    EdgeKey key{spec.plan, spec.edge};
    if (recvs_.contains(key)) {
      return absl::AlreadyExistsError(absl::StrFormat(
          "edge %d of plan %x is already open for receiving", spec.edge, spec.plan));
    }
    std::unique_ptr<RecvEdge> edge(new RecvEdge(this, link, spec, buffers));
    edge->handle_ = recvHandles_.add(edge.get());
    if (edge->handle_ == 0) {
      return absl::ResourceExhaustedError("over a million edges are open");
    }
    if (link->welcomed.load()) {
      outbox.push_back({link, announcement(*edge, ControlKind::kAnnounce)});
    }
    opened = (recvs_[key] = std::move(edge)).get();
  }
  post(outbox);
  return opened;
}

// Lets the network finish with the edge for a moment; if it does not, the edge is kept, and with it
// the owner of its memory, until it does or the transport goes.
template <typename E>
void TransportCore::retire(E* edge, std::map<EdgeKey, std::unique_ptr<E>>& open,
                           std::vector<std::unique_ptr<E>>& retired) {
  edge->pins_.fetch_add(1);  // against a reap by another close
  {
    std::lock_guard lock(mutex_);
    auto it = open.find({edge->spec_.plan, edge->spec_.edge});
    retired.push_back(std::move(it->second));
    open.erase(it);
  }
  int64_t until = nowNanos() + (edge->link_->failed.load() ? 0 : kCloseGraceNanos);
  progress();
  // An absl::Status of this wait would say nothing that the list of retired edges does not.
  wait([edge] { return edge->pins_.load() == 1; }, WaitOptions{until}).IgnoreError();
  edge->pins_.fetch_sub(1);
  reap();
}

void TransportCore::close(SendEdge* edge) {
  {
    std::lock_guard lock(mutex_);
    sendHandles_.remove(edge->handle_);
  }
  retire(edge, sends_, retiredSends_);
}

void TransportCore::close(RecvEdge* edge) {
  Outbox outbox;
  {
    std::lock_guard lock(mutex_);
    recvHandles_.remove(edge->handle_);
    if (edge->link_->welcomed.load() && !edge->link_->failed.load() && !leaving_.load()) {
      outbox.push_back({edge->link_, announcement(*edge, ControlKind::kWithdraw)});
    }
  }
  post(outbox);
  retire(edge, recvs_, retiredRecvs_);
}

void TransportCore::reap() {
  std::vector<std::unique_ptr<SendEdge>> sends;
  std::vector<std::unique_ptr<RecvEdge>> recvs;
  std::lock_guard lock(mutex_);
  auto take = [](auto& retired, auto& freed) {
    auto unpinned = std::partition(retired.begin(), retired.end(),
                                   [](const auto& edge) { return edge->pins_.load() != 0; });
    std::move(unpinned, retired.end(), std::back_inserter(freed));
    retired.erase(unpinned, retired.end());
  };
  take(retiredSends_, sends);
  take(retiredRecvs_, recvs);
}

TransportStats TransportCore::stats() const {
  std::lock_guard lock(mutex_);
  TransportStats stats;
  stats.openEdges = sends_.size() + recvs_.size();
  stats.retiredEdges = retiredSends_.size() + retiredRecvs_.size();
  stats.droppedMessages = dropped_.load();
  stats.idleNanos = idleNanos_.load(std::memory_order_relaxed);
  return stats;
}

// --- Steps

RecvSlot* TransportCore::beginReceive(const DataHeader& header, size_t bytes) noexcept {
  auto edge = recvHandles_.enter(header.recvHandle);
  if (!edge) {
    dropMessage("a payload for an edge that is not open", LogLevel::kDebug);
    return nullptr;
  }
  try {
    return edge->failed() ? nullptr : takeSlot(*edge.get(), header, bytes);
  } catch (...) {
    failLink(*edge->link_, notTakenIn_);
    return nullptr;
  }
}

RecvSlot* TransportCore::takeSlot(RecvEdge& edge, const DataHeader& header, size_t bytes) {
  RecvSlot& slot = edge.slots_[header.step % edge.spec_.slots];
  uint64_t tag = slot.tag.load();
  if (bytes > edge.spec_.maxBytes) {
    failEdge(edge, absl::InvalidArgumentError(absl::StrCat("step ", header.step, " came with ",
                                                           bytes, " bytes, the plan allows ",
                                                           edge.spec_.maxBytes)));
    return nullptr;
  }
  if ((tag & RecvSlot::kPhaseMask) != RecvSlot::kFree ||
      !slot.tag.compare_exchange_strong(tag, RecvSlot::tagOf(header.step, RecvSlot::kLanding))) {
    failEdge(edge, absl::InternalError(absl::StrCat("step ", header.step,
                                                    " came while its slot still held step ",
                                                    tag >> 2, "; the sender ignores credits")));
    return nullptr;
  }
  slot.bytes = bytes;
  slot.credit.sendHandle = header.sendHandle;
  edge.pins_.fetch_add(1);
  return &slot;
}

// What follows allocates nothing: a status is copied by counting.

void TransportCore::finishReceive(RecvSlot& slot, const void* data,
                                  const absl::Status& status) noexcept {
  RecvEdge& edge = *slot.edge;
  if (status.ok()) {
    uint64_t step = slot.tag.load() >> 2;
    slot.data = data;
    slot.tag.store(RecvSlot::tagOf(step, RecvSlot::kReady));
  } else {
    failStep(edge, status);
  }
  edge.pins_.fetch_sub(1);  // the edge may be gone from here on
  events_.notify();
}

void TransportCore::onCredit(const CreditHeader& header) noexcept {
  if (auto edge = sendHandles_.enter(header.sendHandle)) {
    edge->onCredit(header.step);
  } else {
    dropMessage("a credit for an edge that is not open", LogLevel::kDebug);
  }
  events_.notify();
}

void TransportCore::finishSend(SendSlot& slot, const absl::Status& status) noexcept {
  SendEdge& edge = *slot.edge;
  if (!status.ok()) {
    failStep(edge, status);
  }
  if (!edge.spec_.inPlace) {  // in place, the credit says that the data was read
    slot.state.fetch_and(~SendSlot::kBusy);
  }
  edge.pins_.fetch_sub(1);  // the edge may be gone from here on
  events_.notify();
}

CreditHeader TransportCore::takeCredit(RecvSlot& slot) noexcept {
  const CreditHeader credit = slot.credit;
  slot.tag.store(RecvSlot::kFree);
  return credit;
}

void TransportCore::finishCredit(RecvSlot& slot, const absl::Status& status) noexcept {
  RecvEdge& edge = *slot.edge;
  if (!status.ok()) {
    failStep(edge, status);
  }
  edge.pins_.fetch_sub(1);
}

// --- Waiting

absl::Status TransportCore::wait(absl::FunctionRef<bool()> ready, const WaitOptions& options) {
  if (ready()) {
    return absl::OkStatus();
  }
  drivers_.fetch_add(1);
  absl::Status status = drive(ready, options);
  drivers_.fetch_sub(1);
  return status;
}

/// Returns whether nobody took it for long.
bool TransportCore::offerCore(int64_t now) {
  sched_yield();
  const int64_t back = nowNanos();
  if (back - now > kSliceNanos) {
    waryUntil_.store(back + kWaryNanos, std::memory_order_relaxed);
  }
  if (back - now > kOfferNanos) {
    return false;
  }
  idleNanos_.fetch_add(static_cast<uint64_t>(back - now), std::memory_order_relaxed);
  return true;
}

absl::Status TransportCore::drive(absl::FunctionRef<bool()> ready, const WaitOptions& options) {
  int64_t activeAt = nowNanos();
  while (!ready()) {
    int64_t now = nowNanos();
    if (options.cancel != nullptr && options.cancel->load()) {
      return absl::CancelledError("cancelled");
    }
    if (now >= options.deadlineNanos) {
      return absl::DeadlineExceededError("the deadline passed");
    }
    if (progress()) {
      activeAt = now;
    } else if (now - activeAt <
               (now < waryUntil_.load(std::memory_order_relaxed) ? kWarySpinNanos : kSpinNanos)) {
      relaxCpu();
    } else if (now - activeAt < kPatienceNanos) {
      if (!offerCore(now)) {
        activeAt = now - kPatienceNanos;
      }
    } else {
      repeatHellos(now);
      drivers_.fetch_sub(1);
      uint32_t ticket = events_.prepare();
      if (!ready() && !(options.cancel != nullptr && options.cancel->load())) {
        sleep(ticket, std::min(options.deadlineNanos, now + kSleepSliceNanos));
      }
      events_.done();
      drivers_.fetch_add(1);
    }
  }
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
