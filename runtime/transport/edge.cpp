#include "runtime/transport/edge.h"

#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "runtime/transport/core.h"

namespace graphrun::runtime {

bool Edge::failed() const { return failed_.load() || link_->failed.load(); }

absl::Status Edge::status() const {
  if (failed_.load()) {
    return annotate(failure_, name());
  }
  if (link_->failed.load()) {
    return annotate(link_->failure, name());
  }
  return absl::OkStatus();
}

std::string Edge::name() const {
  if (!spec_.name.empty()) {
    return absl::StrFormat("edge %d %s", spec_.edge, spec_.name);
  }
  return absl::StrFormat("edge %d (plan %x) %s rank %d", spec_.edge, spec_.plan, direction_,
                         spec_.peer);
}

absl::Status Edge::waitFor(absl::FunctionRef<bool()> ready, uint64_t step, const char* forWhat,
                           const WaitOptions& options) const {
  if (ready()) {
    return absl::OkStatus();
  }
  absl::Status waited = core_->wait([&] { return failed() || ready(); }, options);
  if (ready()) {
    return absl::OkStatus();
  }
  GR_RETURN_IF_ERROR(status());
  return annotate(waited, absl::StrFormat("%s, step %d, waiting for %s%s", name(), step, forWhat,
                                          link_->welcomed.load()
                                              ? ""
                                              : "; the peer has not accepted the link (is it up, "
                                                "and was it given the same token?)"));
}

SendEdge::SendEdge(TransportCore* core, Link* link, const EdgeSpec& spec)
    : Edge(core, link, spec, "to"), slots_(new SendSlot[spec.slots]) {
  for (uint32_t i = 0; i < spec.slots; ++i) {
    slots_[i].edge = this;
  }
}

bool SendEdge::slotFree(uint64_t step) const {
  return remote_.load() != 0 && slots_[step % spec_.slots].state.load() == 0;
}

absl::StatusOr<bool> SendEdge::trySend(uint64_t step, const void* data, size_t bytes,
                                       bool mayRide) {
  if (failed()) {
    return status();
  }
  if (bytes > spec_.maxBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: step %d has %d bytes, the plan allows %d; the value is larger than "
                        "the shapes that were planned",
                        name(), step, bytes, spec_.maxBytes));
  }
  SendSlot& slot = slots_[step % spec_.slots];
  if (remote_.load() == 0 || slot.state.load() != 0) {
    return false;
  }
  slot.data = data;
  slot.bytes = bytes;
  slot.mayRide = mayRide;
  slot.header.data = {remote_.load(std::memory_order_relaxed), handle_, step};
  slot.nextStep.store(step + 1, std::memory_order_relaxed);
  slot.state.store(SendSlot::kBusy | SendSlot::kUncredited);
  pins_.fetch_add(1);
  core_->postData(*link_, slot);
  return true;
}

absl::Status SendEdge::send(uint64_t step, const void* data, size_t bytes,
                            const WaitOptions& options, bool mayRide) {
  while (true) {
    absl::StatusOr<bool> started = trySend(step, data, bytes, mayRide);
    if (!started.ok()) {
      return started.status();
    }
    if (*started) {
      return absl::OkStatus();
    }
    GR_RETURN_IF_ERROR(waitSlot(step, options));
  }
}

absl::Status SendEdge::waitSlot(uint64_t step, const WaitOptions& options) const {
  return waitFor([&] { return slotFree(step); }, step, "the consumer to give back a slot", options);
}

bool SendEdge::sent(uint64_t step) const {
  const SendSlot& slot = slots_[step % spec_.slots];
  uint32_t state = slot.state.load();
  uint64_t next = slot.nextStep.load(std::memory_order_relaxed);
  return next > step + 1 || (next == step + 1 && (state & SendSlot::kBusy) == 0);
}

absl::Status SendEdge::waitSent(uint64_t step, const WaitOptions& options) const {
  return waitFor([&] { return sent(step); }, step, "the payload to be taken", options);
}

// A credit may overtake the local completion, so each clears its own bit.
void SendEdge::onCredit(uint64_t step) {
  SendSlot& slot = slots_[step % spec_.slots];
  if (slot.nextStep.load(std::memory_order_relaxed) == step + 1) {
    slot.state.fetch_and(~(SendSlot::kUncredited | (spec_.inPlace ? SendSlot::kBusy : 0)));
  }
}

RecvEdge::RecvEdge(TransportCore* core, Link* link, const EdgeSpec& spec,
                   absl::Span<void* const> buffers)
    : Edge(core, link, spec, "from"), slots_(new RecvSlot[spec.slots]) {
  for (uint32_t i = 0; i < spec.slots; ++i) {
    slots_[i].edge = this;
    slots_[i].buffer = spec.inPlace ? nullptr : buffers[i];
  }
}

std::optional<Received> RecvEdge::poll(uint64_t step) const {
  const RecvSlot& slot = slots_[step % spec_.slots];
  if (slot.tag.load() != RecvSlot::tagOf(step, RecvSlot::kReady)) {
    return std::nullopt;
  }
  return Received{slot.data, slot.bytes};
}

absl::StatusOr<Received> RecvEdge::wait(uint64_t step, const WaitOptions& options) const {
  GR_RETURN_IF_ERROR(waitFor([&] { return poll(step).has_value(); }, step, "the payload", options));
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): it was waited for
  return *poll(step);
}

void RecvEdge::release(uint64_t step) {
  RecvSlot& slot = slots_[step % spec_.slots];
  if (slot.tag.load() != RecvSlot::tagOf(step, RecvSlot::kReady)) {
    core_->failEdge(*this, absl::InternalError(absl::StrFormat(
                               "step %d was released but has not landed; the executor is at "
                               "fault",
                               step)));
    return;
  }
  slot.credit.step = step;
  pins_.fetch_add(1);
  slot.tag.store(RecvSlot::tagOf(step, RecvSlot::kReleased));
  core_->postCredit(*link_, slot);
}

}  // namespace graphrun::runtime
