// The messages of the loading time.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/transport/core.h"

namespace graphrun::runtime {
namespace {

// Bound of what a peer can make this process remember before it knows its edges.
constexpr size_t kMaxAnnouncements = 1 << 20;
constexpr uint64_t kMaxLoggedDrops = 100;

}  // namespace

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

}  // namespace graphrun::runtime
