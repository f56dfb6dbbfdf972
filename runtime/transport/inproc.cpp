#include "runtime/transport/inproc.h"

#include <sched.h>

#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "runtime/transport/core.h"

namespace graphrun::runtime {
namespace {

/// A way to a transport that may go away; what is sent after that is lost, as on a network.
class Port {
 public:
  explicit Port(TransportCore* target) : target_(target) {}

  template <typename F>
  void call(F&& deliver) {
    users_.fetch_add(1);
    if (TransportCore* target = target_.load()) {
      deliver(*target);
    }
    users_.fetch_sub(1);
  }

  void shut() {
    target_.store(nullptr);
    while (users_.load() != 0) {
      sched_yield();
    }
  }

 private:
  std::atomic<TransportCore*> target_;
  std::atomic<uint32_t> users_{0};
};

struct InprocLink : Link {
  std::shared_ptr<Port> port;
};

constexpr absl::string_view kInprocPrefix = "inproc:";

}  // namespace

class InprocHub {
 public:
  bool add(uint32_t rank, std::shared_ptr<Port> port) {
    std::lock_guard lock(mutex_);
    return ports_.emplace(rank, std::move(port)).second;
  }
  void remove(uint32_t rank) {
    std::lock_guard lock(mutex_);
    ports_.erase(rank);
  }
  std::shared_ptr<Port> find(uint32_t rank) {
    std::lock_guard lock(mutex_);
    auto it = ports_.find(rank);
    return it == ports_.end() ? nullptr : it->second;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::shared_ptr<Port>> ports_;
};

namespace {

class InprocTransport final : public TransportCore {
 public:
  InprocTransport(std::shared_ptr<InprocHub> hub, uint32_t rank)
      : TransportCore(rank), hub_(std::move(hub)), port_(std::make_shared<Port>(this)) {}

  ~InprocTransport() override {
    if (joined_) {
      hub_->remove(rank());
    }
    port_->shut();
  }

  bool join() { return joined_ = hub_->add(rank(), port_); }

  std::string localAddress() const override { return absl::StrCat(kInprocPrefix, rank()); }
  bool sharesMemory() const override { return true; }
  bool progress() override { return false; }

  absl::StatusOr<std::unique_ptr<Link>> makeLink(uint32_t peer,
                                                 absl::string_view address) override {
    uint32_t rank = 0;
    if (!absl::ConsumePrefix(&address, kInprocPrefix) || !absl::SimpleAtoi(address, &rank)) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "rank %d: not an in-process address: \"%s\"", peer, absl::CHexEscape(address)));
    }
    auto link = std::make_unique<InprocLink>();
    link->port = hub_->find(rank);
    if (link->port == nullptr) {
      return absl::NotFoundError(
          absl::StrFormat("rank %d is not in this process; it needs another transport", peer));
    }
    return link;
  }

  void postControl(Link& link, const ControlMessage& message) override {
    portOf(link).call([&](TransportCore& peer) { peer.onControl(&message, sizeof message); });
  }

  void postData(Link& link, SendSlot& slot) override {
    portOf(link).call([&](TransportCore& peer) {
      RecvSlot* landing = peer.beginReceive(slot.header.data, slot.bytes);
      if (landing == nullptr) {
        return;
      }
      if (landing->buffer != nullptr && slot.bytes != 0) {
        std::memcpy(landing->buffer, slot.data, slot.bytes);
      }
      const void* data = landing->buffer != nullptr ? landing->buffer : slot.data;
      peer.finishReceive(*landing, data, absl::OkStatus());
    });
    finishSend(slot, absl::OkStatus());
  }

  void postCredit(Link& link, RecvSlot& slot) override {
    const CreditHeader credit = takeCredit(slot);
    finishCredit(slot, absl::OkStatus());
    portOf(link).call([&](TransportCore& peer) { peer.onCredit(credit); });
  }

 private:
  static Port& portOf(Link& link) { return *static_cast<InprocLink&>(link).port; }

  std::shared_ptr<InprocHub> hub_;
  std::shared_ptr<Port> port_;
  bool joined_ = false;
};

}  // namespace

std::shared_ptr<InprocHub> makeInprocHub() { return std::make_shared<InprocHub>(); }

absl::StatusOr<std::unique_ptr<Transport>> makeInprocTransport(std::shared_ptr<InprocHub> hub,
                                                               uint32_t rank) {
  auto transport = std::make_unique<InprocTransport>(std::move(hub), rank);
  if (!transport->join()) {
    return absl::AlreadyExistsError(
        absl::StrFormat("rank %d already has an in-process transport", rank));
  }
  return transport;
}

}  // namespace graphrun::runtime
