// Who owns the UCX worker, what it sends and what it takes.
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/transport/ucx_transport.h"

namespace graphrun::runtime {
namespace {

// A credit or small payload waits for so long for a payload to go with.
constexpr int64_t kHoldNanos = 30'000;

/// Cancelled is what the end of this transport does to what the peer did not take before.
void tellNotSent(const Link& link, ucs_status_t status) noexcept {
  if (status == UCS_OK) {
    return;
  }
  try {
    log(status == UCS_ERR_CANCELED ? LogLevel::kDebug : LogLevel::kWarning,
        absl::StrCat("link to rank ", link.rank,
                     ": sending a control message: ", ucx().ucs_status_string(status)));
  } catch (...) {  // NOLINT(bugprone-empty-catch): there is no memory to say it
  }
}

TransportCore& coreOf(void* self) { return *static_cast<UcxTransport*>(self); }

/// Returns whether that was one, of the size that it says.
bool readHeader(const void* bytes, size_t size, PayloadHeader& header) noexcept {
  if (size < PayloadHeader::sizeOf(0, 0) || size > sizeof header) {
    return false;
  }
  std::memcpy(&header, bytes, size);
  return header.credits <= kMostRidingCredits && header.payloads <= kMostRidingPayloads &&
         header.size() == size;
}

}  // namespace

// --- Owning the worker

void UcxTransport::own() {
  while (!tryOwn()) {
    sched_yield();
  }
}

// After letting go, looks for commands of those who did not get the worker meanwhile.
void UcxTransport::disown() {
  bool needed = pending_;
  pending_ = false;
  owned_.store(false);
  while (!commands_.empty() && tryOwn()) {
    drain();
    needed |= pending_;
    pending_ = false;
    owned_.store(false);
  }
  if (needed) {
    kickIfAsleep();
  }
}

void UcxTransport::submit(Command* command) {
  if (!tryOwn()) {
    commands_.push(command);
    if (!tryOwn()) {
      return;
    }
    drain();
  } else {
    begin(*command);
  }
  disown();
}

bool UcxTransport::drain() {
  Command* command = commands_.takeAll();
  bool any = command != nullptr;
  while (command != nullptr) {
    Command* next = command->next;
    begin(*command);
    command = next;
  }
  return any;
}

bool UcxTransport::progress() {
  if (!tryOwn()) {
    return false;
  }
  bool any = drain();
  any |= ucx().ucp_worker_progress(worker_) != 0;
  if (held_ != 0 && nowNanos() - heldSince_ >= kHoldNanos) {
    any |= sendHeld();
  }
  driven_.fetch_add(1, std::memory_order_relaxed);
  disown();
  return any;
}

// --- Sending

void UcxTransport::begin(Command& command) {
  switch (command.kind) {
    case CommandKind::kData:
      return beginData(static_cast<SendSlot&>(command));
    case CommandKind::kCredit:
      return beginCredit(static_cast<RecvSlot&>(command));
    case CommandKind::kControl:
      return beginControl(static_cast<ControlCommand&>(command));
  }
}

/// Returns whether nobody is awake who would send what is held back if no payload comes to take it
/// along.
bool UcxTransport::mayHold() const { return backgroundState_.load() != Background::kAsleep; }

void UcxTransport::beginData(SendSlot& slot) {
  if (slot.mayRide && slot.bytes <= RidingPayload::kMostBytes && isOfHosts(slot) && mayHold()) {
    auto& link = static_cast<UcxLink&>(linkOf(slot));
    return hold(link, link.heldPayloads, slot);
  }
  sendData(slot);
}

void UcxTransport::sendData(SendSlot& slot) {
  Link& link = linkOf(slot);
  if (link.failed.load()) {
    return finishSend(slot, link.failure);
  }
  const EdgeSpec& spec = specOf(slot);
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.memory_type = ucxMemoryType(spec.memory);
  if (!isOfHosts(slot)) {  // an eager payload lands in host memory
    params.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = UCP_AM_SEND_FLAG_RNDV;
  }
  params.user_data = &slot;
  params.cb.send = [](void* request, ucs_status_t status, void* data) noexcept {
    auto& sent = *static_cast<SendSlot*>(data);
    ucx().ucp_request_free(request);
    ownerOf(sent).finishSend(sent, ucxStatus(status, "sending a payload"));
  };
  auto& to = static_cast<UcxLink&>(link);
  addRiding(to, slot.header);
  void* request = ucx().ucp_am_send_nbx(to.endpoint, kDataAm, &slot.header, slot.header.size(),
                                        slot.data, slot.bytes, &params);
  if (UCS_PTR_IS_PTR(request)) {
    pending_ = true;
  } else {
    finishSend(slot, ucxStatus(UCS_PTR_STATUS(request), "sending a payload"));
  }
}

/// Puts what is held for the link behind a payload's header.
void UcxTransport::addRiding(UcxLink& link, PayloadHeader& header) {
  uint8_t* end = header.riding;
  auto append = [&](const auto& message) {
    std::memcpy(end, &message, sizeof message);
    end += sizeof message;
  };
  header.credits = 0;
  for (; link.heldCredits != nullptr && header.credits < kMostRidingCredits; ++header.credits) {
    RecvSlot& slot = takeHeld(link.heldCredits);
    append(takeCredit(slot));
    finishCredit(slot, absl::OkStatus());
  }
  header.payloads = 0;
  for (; link.heldPayloads != nullptr && header.payloads < kMostRidingPayloads; ++header.payloads) {
    SendSlot& slot = takeHeld(link.heldPayloads);
    RidingPayload payload{slot.header.data, slot.bytes, {}};
    std::copy_n(static_cast<const uint8_t*>(slot.data), slot.bytes, payload.payload);
    append(payload);
    finishSend(slot, absl::OkStatus());
  }
  ridden_.fetch_add(header.payloads, std::memory_order_relaxed);
}

void UcxTransport::beginCredit(RecvSlot& slot) {
  if (!mayHold()) {
    return sendCredit(slot);
  }
  auto& link = static_cast<UcxLink&>(linkOf(slot));
  hold(link, link.heldCredits, slot);
}

template <typename Slot>
Slot& UcxTransport::takeHeld(Slot*& list) {
  Slot& slot = *list;
  list = static_cast<Slot*>(slot.next);
  --held_;
  return slot;
}

/// Holds it back, in a list of the link's, for a payload to the same peer.
template <typename Slot>
void UcxTransport::hold(UcxLink& link, Slot*& list, Slot& slot) {
  slot.next = list;
  list = &slot;
  heldSince_ = held_++ != 0 ? heldSince_ : nowNanos();
  if (!link.isHolding) {
    link.isHolding = true;
    link.nextHolding = holding_;
    holding_ = &link;
  }
}

/// Sends what is held: a payload takes the rest along, credits are messages of their own. Whether
/// that was any.
bool UcxTransport::sendHeld() {
  const bool any = held_ != 0;
  for (; holding_ != nullptr; holding_ = holding_->nextHolding) {
    holding_->isHolding = false;
    while (holding_->heldPayloads != nullptr) {
      sendData(takeHeld(holding_->heldPayloads));
    }
    while (holding_->heldCredits != nullptr) {
      sendCredit(takeHeld(holding_->heldCredits));
    }
  }
  return any;
}

void UcxTransport::sendCredits() {
  if (tryOwn()) {  // whoever else has it sends them in time
    sendHeld();
    disown();
  }
}

TransportStats UcxTransport::stats() const {
  TransportStats stats = TransportCore::stats();
  stats.loneCredits = loneCredits_.load();
  stats.ridden = ridden_.load();
  return stats;
}

void UcxTransport::sendCredit(RecvSlot& slot) {
  Link& link = linkOf(slot);
  takeCredit(slot);
  if (link.failed.load()) {
    return finishCredit(slot, link.failure);
  }
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.user_data = &slot;
  params.cb.send = [](void* request, ucs_status_t status, void* data) noexcept {
    auto& sent = *static_cast<RecvSlot*>(data);
    ucx().ucp_request_free(request);
    ownerOf(sent).finishCredit(sent, ucxStatus(status, "sending a credit"));
  };
  loneCredits_.fetch_add(1, std::memory_order_relaxed);
  void* request = ucx().ucp_am_send_nbx(static_cast<UcxLink&>(link).endpoint, kCreditAm,
                                        &slot.credit, sizeof slot.credit, nullptr, 0, &params);
  if (UCS_PTR_IS_PTR(request)) {
    pending_ = true;
  } else {
    finishCredit(slot, ucxStatus(UCS_PTR_STATUS(request), "sending a credit"));
  }
}

void UcxTransport::postControl(Link& link, const ControlMessage& message) {
  submit(new ControlCommand(&static_cast<UcxLink&>(link), message));
}

void UcxTransport::beginControl(ControlCommand& command) {
  std::unique_ptr<ControlCommand> owner(&command);
  if (command.link->failed.load()) {
    return;
  }
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  params.user_data = &command;
  params.cb.send = [](void* request, ucs_status_t status, void* data) noexcept {
    std::unique_ptr<ControlCommand> sent(static_cast<ControlCommand*>(data));
    ucx().ucp_request_free(request);
    tellNotSent(*sent->link, status);
  };
  ucp_ep_h endpoint =
      command.message.kind == ControlKind::kBeat ? command.link->beats : command.link->endpoint;
  void* request = ucx().ucp_am_send_nbx(endpoint, kControlAm, &command.message,
                                        sizeof command.message, nullptr, 0, &params);
  if (UCS_PTR_IS_PTR(request)) {
    pending_ = true;
    [[maybe_unused]] ControlCommand* freedByCallback = owner.release();
  } else if (UCS_PTR_IS_ERR(request)) {
    failLink(*command.link, ucxStatus(UCS_PTR_STATUS(request), "sending a control message"));
  }
}

// --- Receiving: called from ucp_worker_progress, by the owner; nothing may unwind through libucp

ucs_status_t UcxTransport::onControlAm(void* self, const void* header, size_t headerBytes, void*,
                                       size_t, const ucp_am_recv_param_t*) noexcept {
  coreOf(self).onControl(header, headerBytes);
  return UCS_OK;
}

ucs_status_t UcxTransport::onCreditAm(void* self, const void* header, size_t headerBytes, void*,
                                      size_t, const ucp_am_recv_param_t*) noexcept {
  CreditHeader credit;
  if (headerBytes != sizeof credit) {
    coreOf(self).dropMessage("a credit of the wrong size");
    return UCS_OK;
  }
  std::memcpy(&credit, header, sizeof credit);
  coreOf(self).onCredit(credit);
  return UCS_OK;
}

/// The credits and payloads behind a payload's header.
void UcxTransport::takeRiding(const PayloadHeader& header) noexcept {
  const uint8_t* next = header.riding;
  auto take = [&](auto& message) {
    std::memcpy(&message, next, sizeof message);
    next += sizeof message;
  };
  for (uint32_t i = 0; i < header.credits; ++i) {
    CreditHeader credit;
    take(credit);
    onCredit(credit);
  }
  for (uint32_t i = 0; i < header.payloads; ++i) {
    RidingPayload riding;
    take(riding);
    if (riding.bytes > RidingPayload::kMostBytes) {
      dropMessage("a payload behind another whose size cannot be");
    } else if (RecvSlot* slot = beginReceive(riding.data, riding.bytes)) {
      land(*slot, riding.payload, riding.bytes);
    }
  }
}

/// Takes a payload that came with its message.
void UcxTransport::land(RecvSlot& slot, const void* data, size_t bytes) noexcept {
  if (!specOf(slot).memory.empty()) {
    return finishReceive(slot, nullptr, eagerForDevice_);
  }
  if (bytes != 0) {
    std::memcpy(slot.buffer, data, bytes);
  }
  finishReceive(slot, slot.buffer, absl::OkStatus());
}

ucs_status_t UcxTransport::onDataAm(void* self, const void* header, size_t headerBytes, void* data,
                                    size_t bytes, const ucp_am_recv_param_t* param) noexcept {
  auto& transport = *static_cast<UcxTransport*>(self);
  PayloadHeader message;
  if (!readHeader(header, headerBytes, message)) {
    transport.dropMessage("a payload whose header has the wrong size");
    return UCS_OK;
  }
  transport.takeRiding(message);
  RecvSlot* slot = transport.beginReceive(message.data, bytes);
  if (slot == nullptr) {
    return UCS_OK;
  }
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
    transport.land(*slot, data, bytes);
    return UCS_OK;
  }
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  params.memory_type = ucxMemoryType(specOf(*slot).memory);
  params.user_data = slot;
  params.cb.recv_am = [](void* request, ucs_status_t status, size_t, void* user) noexcept {
    auto& landed = *static_cast<RecvSlot*>(user);
    ucx().ucp_request_free(request);
    ownerOf(landed).finishReceive(landed, landed.buffer, ucxStatus(status, "receiving a payload"));
  };
  void* request = ucx().ucp_am_recv_data_nbx(transport.worker_, data, slot->buffer, bytes, &params);
  if (UCS_PTR_IS_PTR(request)) {
    return UCS_INPROGRESS;
  }
  transport.finishReceive(*slot, slot->buffer,
                          ucxStatus(UCS_PTR_STATUS(request), "receiving a payload"));
  return UCS_OK;
}

}  // namespace graphrun::runtime
