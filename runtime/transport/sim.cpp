#include "runtime/transport/sim.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "runtime/transport/core.h"

namespace graphrun::runtime {
namespace {

using RankPair = std::pair<uint32_t, uint32_t>;

RankPair unordered(uint32_t a, uint32_t b) { return {std::min(a, b), std::max(a, b)}; }

/// SplitMix64's finaliser (Steele, Lea, Flood, OOPSLA 2014): one draw per (seed, message).
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

struct Message {
  int64_t deliverAt = 0;
  uint64_t number = 0;  // breaks ties
  uint32_t from = 0;
  uint32_t to = 0;
  CommandKind kind = CommandKind::kControl;
  ControlMessage control;
  CreditHeader credit;
  DataHeader header;
  size_t bytes = 0;
  std::vector<std::byte> copy;
  SendSlot* slot = nullptr;  // a rendezvous: still to be read
};

struct Later {
  bool operator()(const Message& a, const Message& b) const {
    return std::pair(a.deliverAt, a.number) > std::pair(b.deliverAt, b.number);
  }
};

constexpr absl::string_view kSimPrefix = "sim:";

}  // namespace

// One lock for the network, held while a message is delivered: the order of deliveries is then the
// order of their effects. Recursive, as deliveries send.
class SimNetworkImpl final : public SimNetwork {
 public:
  explicit SimNetworkImpl(const SimOptions& options) : options_(options) {}

  void cut(uint32_t a, uint32_t b) override { cutAfter(a, b, 0); }

  void cutAfter(uint32_t a, uint32_t b, uint64_t messages) override {
    std::lock_guard lock(mutex_);
    left_[unordered(a, b)] = messages;
  }

  void loseNext(uint32_t a, uint32_t b, uint64_t messages) override {
    std::lock_guard lock(mutex_);
    toLose_[unordered(a, b)] = messages;
  }

  uint64_t delivered() const override {
    std::lock_guard lock(mutex_);
    return delivered_;
  }

  uint64_t orderHash() const override {
    std::lock_guard lock(mutex_);
    return orderHash_;
  }

  bool copiesDeviceMemory() const { return static_cast<bool>(options_.copy); }

  bool add(TransportCore* transport) {
    std::lock_guard lock(mutex_);
    return transports_.emplace(transport->rank(), transport).second;
  }

  void remove(uint32_t rank) {
    std::lock_guard lock(mutex_);
    transports_.erase(rank);
    forget([rank](const Message& m) { return m.from == rank; });
  }

  void send(Message message) {
    std::lock_guard lock(mutex_);
    if (message.slot != nullptr && message.bytes <= options_.eagerBytes) {
      message.copy.resize(message.bytes);
      copy(message.copy.data(), message.slot->data, message.bytes);
      transports_.at(message.from)->finishSend(*message.slot, absl::OkStatus());
      message.slot = nullptr;
    }
    uint64_t nth = sent_[{message.from, message.to}]++;
    message.number = count_++;
    message.deliverAt = now_ + delay(message, nth);
    queue_.push_back(std::move(message));
    std::push_heap(queue_.begin(), queue_.end(), Later{});
  }

  bool deliverNext() {
    std::lock_guard lock(mutex_);
    if (queue_.empty()) {
      return false;
    }
    std::pop_heap(queue_.begin(), queue_.end(), Later{});
    Message message = std::move(queue_.back());
    queue_.pop_back();
    now_ = std::max(now_, message.deliverAt);
    if (lose(message)) {
      lost_.push_back(std::move(message));
      return true;
    }
    ++delivered_;
    orderHash_ = mix(orderHash_ ^ mix(message.number));
    deliver(message);
    return true;
  }

  /// `rank` has given up on `peer`: nothing it sent there will be read any more.
  void abandon(uint32_t rank, uint32_t peer) {
    std::lock_guard lock(mutex_);
    forget([=](const Message& m) { return m.from == rank && m.to == peer; });
  }

 private:
  int64_t delay(const Message& message, uint64_t nth) const {
    uint64_t draw = mix(mix(options_.seed ^ (uint64_t{message.from} << 32 | message.to)) ^ nth);
    uint64_t range = options_.maxDelayNanos - options_.minDelayNanos + 1;
    return options_.minDelayNanos + static_cast<int64_t>(draw % range);
  }

  bool lose(const Message& message) {
    if (auto lost = toLose_.find(unordered(message.from, message.to));
        lost != toLose_.end() && lost->second > 0) {
      --lost->second;
      return true;
    }
    auto left = left_.find(unordered(message.from, message.to));
    if (left == left_.end()) {
      return false;
    }
    if (left->second == 0) {
      return true;
    }
    --left->second;
    return false;
  }

  void deliver(Message& message) {
    auto it = transports_.find(message.to);
    if (it != transports_.end()) {
      switch (message.kind) {
        case CommandKind::kControl:
          it->second->onControl(&message.control, sizeof message.control);
          break;
        case CommandKind::kCredit:
          it->second->onCredit(message.credit);
          break;
        case CommandKind::kData:
          land(*it->second, message);
      }
    }
    finish(message, absl::OkStatus());
  }

  void copy(void* to, const void* from, size_t bytes) const {
    if (bytes == 0) {
      return;
    }
    if (options_.copy) {
      options_.copy(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  }

  void land(TransportCore& target, const Message& message) const {
    RecvSlot* landing = target.beginReceive(message.header, message.bytes);
    if (landing == nullptr) {
      return;
    }
    copy(landing->buffer, message.slot != nullptr ? message.slot->data : message.copy.data(),
         message.bytes);
    target.finishReceive(*landing, landing->buffer, absl::OkStatus());
  }

  void finish(Message& message, const absl::Status& status) {
    if (message.slot != nullptr) {
      transports_.at(message.from)->finishSend(*message.slot, status);
      message.slot = nullptr;
    }
  }

  template <typename P>
  void forget(P&& matches) {
    for (std::vector<Message>* list : {&queue_, &lost_}) {
      for (Message& message : *list) {
        if (matches(message) && message.slot != nullptr && transports_.contains(message.from)) {
          finish(message, absl::CancelledError("the link was given up"));
        }
      }
      std::erase_if(*list, matches);
    }
    std::make_heap(queue_.begin(), queue_.end(), Later{});
  }

  const SimOptions options_;
  mutable std::recursive_mutex mutex_;
  std::map<uint32_t, TransportCore*> transports_;
  std::vector<Message> queue_;  // a heap, next delivery first
  std::vector<Message> lost_;
  std::map<RankPair, uint64_t> sent_;
  std::map<RankPair, uint64_t> left_;  // messages until the cut
  std::map<RankPair, uint64_t> toLose_;
  int64_t now_ = 0;
  uint64_t count_ = 0;
  uint64_t delivered_ = 0;
  uint64_t orderHash_ = 0;
};

namespace {

class SimTransport final : public TransportCore {
 public:
  SimTransport(std::shared_ptr<SimNetworkImpl> network, uint32_t rank)
      : TransportCore(rank), network_(std::move(network)) {}

  ~SimTransport() override {
    if (joined_) {
      network_->remove(rank());
    }
  }

  bool join() { return joined_ = network_->add(this); }

  std::string localAddress() const override { return absl::StrCat(kSimPrefix, rank()); }
  bool progress() override { return network_->deliverNext(); }
  bool carriesDeviceMemory() const override { return network_->copiesDeviceMemory(); }
  bool carries(absl::string_view memory) const override {
    return memory.empty() || network_->copiesDeviceMemory();
  }

  absl::StatusOr<std::unique_ptr<Link>> makeLink(uint32_t peer,
                                                 absl::string_view address) override {
    uint32_t rank = 0;
    if (!absl::ConsumePrefix(&address, kSimPrefix) || !absl::SimpleAtoi(address, &rank) ||
        rank != peer) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "rank %d: not its simulated address: \"%s\"", peer, absl::CHexEscape(address)));
    }
    return std::make_unique<Link>();
  }

  void postControl(Link& link, const ControlMessage& message) override {
    Message m = begin(link, CommandKind::kControl);
    m.control = message;
    network_->send(std::move(m));
  }

  void postData(Link& link, SendSlot& slot) override {
    Message m = begin(link, CommandKind::kData);
    m.header = slot.header.data;
    m.bytes = slot.bytes;
    m.slot = &slot;
    network_->send(std::move(m));
  }

  void postCredit(Link& link, RecvSlot& slot) override {
    Message m = begin(link, CommandKind::kCredit);
    m.credit = takeCredit(slot);
    finishCredit(slot, absl::OkStatus());
    network_->send(std::move(m));
  }

  void onLinkFailed(Link& link) override { network_->abandon(rank(), link.rank); }

  // Other threads' messages come without a notification; real time does not matter here.
  void sleep(uint32_t ticket, int64_t untilNanos) override {
    events_.wait(ticket, std::min(untilNanos, nowNanos() + 200'000));
  }

 private:
  Message begin(const Link& link, CommandKind kind) const {
    Message message;
    message.from = rank();
    message.to = link.rank;
    message.kind = kind;
    return message;
  }

  std::shared_ptr<SimNetworkImpl> network_;
  bool joined_ = false;
};

}  // namespace

std::shared_ptr<SimNetwork> makeSimNetwork(const SimOptions& options) {
  return std::make_shared<SimNetworkImpl>(options);
}

absl::StatusOr<std::unique_ptr<Transport>> makeSimTransport(std::shared_ptr<SimNetwork> network,
                                                            uint32_t rank) {
  auto transport = std::make_unique<SimTransport>(
      std::static_pointer_cast<SimNetworkImpl>(std::move(network)), rank);
  if (!transport->join()) {
    return absl::AlreadyExistsError(absl::StrFormat("rank %d is already on the network", rank));
  }
  return transport;
}

}  // namespace graphrun::runtime
