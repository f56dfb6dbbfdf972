// Edges: opening and closing them, and what goes over them in steps.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/transport/core.h"

namespace graphrun::runtime {
namespace {

constexpr uint32_t kMaxSlots = 1024;

}  // namespace

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

}  // namespace graphrun::runtime
