#include "runtime/transport/core.h"

#include <sched.h>

#include <algorithm>

#include "absl/strings/str_format.h"

namespace graphrun::runtime {
namespace {

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
