// UcxTransport is the transport over UCX. Internal to this folder.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_UCX_TRANSPORT_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_UCX_TRANSPORT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/transport/core.h"
#include "runtime/transport/ucx.h"
#include "runtime/transport/ucx_context.h"
#include "runtime/transport/ucx_library.h"

namespace graphrun::runtime {

/// Kinds of messages.
enum AmId : unsigned { kControlAm = 0, kDataAm = 1, kCreditAm = 2 };

struct UcxLink : Link {
  ucp_ep_h endpoint = nullptr;
  ucp_ep_h beats = nullptr;  // another connection: payloads on their way do not hold them up
  // Credits and payloads that wait for a payload, the latest first.
  RecvSlot* heldCredits = nullptr;
  SendSlot* heldPayloads = nullptr;
  UcxLink* nextHolding = nullptr;
  bool isHolding = false;  // it is in the list of links that may hold some
};

struct ControlCommand : Command {
  ControlCommand(UcxLink* to, const ControlMessage& toSend)
      : Command(CommandKind::kControl), link(to), message(toSend) {}
  UcxLink* link;
  ControlMessage message;
};

/// Many push, the owner of the UCX worker takes all. Lock-free; the nodes belong to their edges.
class CommandQueue {
 public:
  void push(Command* command) {
    Command* head = head_.load();
    do {
      command->next = head;
    } while (!head_.compare_exchange_weak(head, command));
  }
  bool empty() const { return head_.load() == nullptr; }
  /// All commands, oldest first.
  Command* takeAll() {
    Command* reversed = empty() ? nullptr : head_.exchange(nullptr);
    Command* first = nullptr;
    while (reversed != nullptr) {
      Command* next = reversed->next;
      reversed->next = first;
      first = reversed;
      reversed = next;
    }
    return first;
  }

 private:
  std::atomic<Command*> head_{nullptr};
};

/// One UCX worker and its context, touched only by the thread that holds `owned_`. Whoever waits or
/// sends takes it for as long as a call lasts; who does not get it leaves a command, which the
/// owner finds before or after letting go. The background thread moves messages while no one else
/// does.
class UcxTransport final : public TransportCore {
 public:
  explicit UcxTransport(uint32_t rank) : TransportCore(rank) {}
  ~UcxTransport() override;

  absl::Status start(const UcxOptions& options);

  std::string localAddress() const override { return address_; }
  bool carries(absl::string_view memory) const override;
  bool carriesDeviceMemory() const override;
  bool progress() override;
  absl::Status registerMemory(void* data, size_t bytes, absl::string_view memory) override;
  void unregisterMemory(void* data) override;

  absl::StatusOr<std::unique_ptr<Link>> makeLink(uint32_t peer, absl::string_view address) override;
  void postControl(Link& link, const ControlMessage& message) override;
  void postData(Link&, SendSlot& slot) override { submit(&slot); }
  void postCredit(Link&, RecvSlot& slot) override { submit(&slot); }
  void sendCredits() override;
  TransportStats stats() const override;
  void sleep(uint32_t ticket, int64_t untilNanos) override;

 private:
  enum class Background { kRunning, kNapping, kAsleep };

  absl::Status startWorker();
  absl::Status setHandler(AmId id, ucp_am_recv_callback_t callback);

  bool tryOwn() { return !owned_.load(std::memory_order_relaxed) && !owned_.exchange(true); }
  void own();
  void disown();
  void submit(Command* command);
  bool drain();
  void begin(Command& command);
  void beginData(SendSlot& slot);
  void beginCredit(RecvSlot& slot);
  template <typename Slot>
  void hold(UcxLink& link, Slot*& list, Slot& slot);
  template <typename Slot>
  Slot& takeHeld(Slot*& list);
  void addRiding(UcxLink& link, PayloadHeader& header);
  void sendData(SendSlot& slot);
  void sendCredit(RecvSlot& slot);
  bool sendHeld();
  void beginControl(ControlCommand& command);
  void takeRiding(const PayloadHeader& header) noexcept;
  void land(RecvSlot& slot, const void* data, size_t bytes) noexcept;
  bool mayHold() const;
  void kickBackground();
  void kickIfAsleep();

  void runBackground();
  void napWhileOthersDrive();
  void tend(bool listened);
  bool rest(Background how, int64_t nanos);
  bool tryOwnAWhile();
  void closeEndpoints();

  static ucs_status_t onControlAm(void* self, const void* header, size_t headerBytes, void* data,
                                  size_t bytes, const ucp_am_recv_param_t* param) noexcept;
  static ucs_status_t onDataAm(void* self, const void* header, size_t headerBytes, void* data,
                               size_t bytes, const ucp_am_recv_param_t* param) noexcept;
  static ucs_status_t onCreditAm(void* self, const void* header, size_t headerBytes, void* data,
                                 size_t bytes, const ucp_am_recv_param_t* param) noexcept;

  const absl::Status eagerForDevice_ =
      absl::InternalError("an eager payload came for device memory");
  UcxContext context_;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  uint64_t memoryTypes_ = 0;
  int eventFd_ = -1;
  int kickFd_ = -1;

  std::atomic<bool> owned_{false};
  CommandQueue commands_;
  // By the owner:
  bool pending_ = false;        // something was begun that needs progress to complete
  UcxLink* holding_ = nullptr;  // the links that may hold credits and payloads
  size_t held_ = 0;             // how many there are,
  int64_t heldSince_ = 0;       // and since when there are any
  std::atomic<uint64_t> loneCredits_{0};
  std::atomic<uint64_t> ridden_{0};
  std::atomic<uint64_t> driven_{0};  // counts the progress made by waiters

  std::thread background_;
  int64_t nextTended_ = 0;  // by the background thread: when keepAlive is due
  std::atomic<bool> stop_{false};
  std::atomic<Background> backgroundState_{Background::kRunning};

  std::mutex memoryMutex_;
  std::map<void*, ucp_mem_h> memory_;
};

/// UCX's number of a kind of memory, by the name that its devices give it.
ucs_memory_type_t ucxMemoryType(absl::string_view memory);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_UCX_TRANSPORT_H_
