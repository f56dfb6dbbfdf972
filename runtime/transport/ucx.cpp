#include "runtime/transport/ucx.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/log.h"
#include "runtime/transport/core.h"
#include "runtime/transport/ucx_context.h"
#include "runtime/transport/ucx_library.h"

namespace graphrun::runtime {
namespace {

enum AmId : unsigned { kControlAm = 0, kDataAm = 1, kCreditAm = 2 };

constexpr int64_t kNapNanos = 100'000;
// A credit or small payload waits for so long for a payload to go with.
constexpr int64_t kHoldNanos = 30'000;
// The background thread sleeps on UCX's event fd; this is only a net under it.
constexpr int64_t kBackgroundSleepNanos = 500'000'000;
constexpr int64_t kFlushNanos = 200'000'000;

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

/// UCX's number of a kind of memory, by the name that its devices give it; none for others.
constexpr std::pair<absl::string_view, ucs_memory_type_t> kMemoryTypes[] = {
    {"", UCS_MEMORY_TYPE_HOST},
    {"cuda", UCS_MEMORY_TYPE_CUDA},
};

ucs_memory_type_t ucxMemoryType(absl::string_view memory) {
  for (const auto& [name, type] : kMemoryTypes) {
    if (name == memory) {
      return type;
    }
  }
  return UCS_MEMORY_TYPE_UNKNOWN;
}

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

bool UcxTransport::carries(absl::string_view memory) const {
  const ucs_memory_type_t type = ucxMemoryType(memory);
  return type != UCS_MEMORY_TYPE_UNKNOWN && (memoryTypes_ & (1ULL << type)) != 0;
}

bool UcxTransport::carriesDeviceMemory() const {
  return std::any_of(std::begin(kMemoryTypes), std::end(kMemoryTypes),
                     [this](const auto& row) { return !row.first.empty() && carries(row.first); });
}

// --- Starting and ending

absl::Status UcxTransport::start(const UcxOptions& options) {
  GR_ASSIGN_OR_RETURN(context_, makeUcxContext(options));
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  GR_RETURN_IF_ERROR(ucxStatus(ucx().ucp_context_query(context_.get(), &attributes), "asking UCX"));
  memoryTypes_ = attributes.memory_types;
  GR_RETURN_IF_ERROR(startWorker());
  kickFd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (kickFd_ < 0) {
    return absl::ErrnoToStatus(errno, "making an event fd");
  }
  background_ = std::thread([this] { runBackground(); });
  return absl::OkStatus();
}

absl::Status UcxTransport::startWorker() {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  GR_RETURN_IF_ERROR(
      ucxStatus(ucx().ucp_worker_create(context_.get(), &params, &worker_), "making a UCX worker"));
  GR_RETURN_IF_ERROR(
      ucxStatus(ucx().ucp_worker_get_efd(worker_, &eventFd_), "getting UCX's event fd"));
  GR_RETURN_IF_ERROR(setHandler(kControlAm, onControlAm));
  GR_RETURN_IF_ERROR(setHandler(kDataAm, onDataAm));
  GR_RETURN_IF_ERROR(setHandler(kCreditAm, onCreditAm));
  GR_ASSIGN_OR_RETURN(address_, packUcxAddress(worker_));
  return absl::OkStatus();
}

absl::Status UcxTransport::setHandler(AmId id, ucp_am_recv_callback_t callback) {
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = id;
  params.flags = UCP_AM_FLAG_WHOLE_MSG;
  params.cb = callback;
  params.arg = this;
  return ucxStatus(ucx().ucp_worker_set_am_recv_handler(worker_, &params), "setting a UCX handler");
}

UcxTransport::~UcxTransport() {
  if (background_.joinable()) {
    stop_.store(true);
    kickBackground();
    background_.join();
  }
  UcxQuiet quiet;
  if (worker_ != nullptr) {
    own();
    drain();
    sendHeld();
    closeEndpoints();
    ucx().ucp_worker_destroy(worker_);
    for (Command* command = commands_.takeAll(); command != nullptr;) {
      Command* next = command->next;
      if (command->kind == CommandKind::kControl) {
        delete static_cast<ControlCommand*>(command);
      }
      command = next;
    }
  }
  for (const auto& [data, handle] : memory_) {
    ucx().ucp_mem_unmap(context_.get(), handle);
  }
  if (kickFd_ >= 0) {
    ::close(kickFd_);
  }
}

// Lets what was sent to live peers leave; for a bounded time, as they may have died unnoticed.
void UcxTransport::closeEndpoints() {
  std::vector<void*> closing;
  for (Link* link : liveLinks()) {
    ucp_request_param_t params{};
    for (ucp_ep_h endpoint :
         {static_cast<UcxLink*>(link)->endpoint, static_cast<UcxLink*>(link)->beats}) {
      void* request = ucx().ucp_ep_close_nbx(endpoint, &params);
      if (UCS_PTR_IS_PTR(request)) {
        closing.push_back(request);
      }
    }
  }
  int64_t until = nowNanos() + kFlushNanos;
  while (!closing.empty()) {
    ucx().ucp_worker_progress(worker_);
    bool late = nowNanos() > until;
    std::erase_if(closing, [late](void* request) {
      bool done = late || ucx().ucp_request_check_status(request) != UCS_INPROGRESS;
      if (done) {
        ucx().ucp_request_free(request);
      }
      return done;
    });
  }
}

absl::StatusOr<std::unique_ptr<Link>> UcxTransport::makeLink(uint32_t peer,
                                                             absl::string_view address) {
  absl::StatusOr<std::string> workerAddress = unpackUcxAddress(address);
  if (!workerAddress.ok()) {
    return annotate(workerAddress.status(), absl::StrFormat("link to rank %d", peer));
  }
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = reinterpret_cast<const ucp_address_t*>(workerAddress->data());
  params.err_mode = UCP_ERR_HANDLING_MODE_NONE;  // PEER would cost shared memory its zero copy
  auto link = std::make_unique<UcxLink>();
  own();
  ucs_status_t status = ucx().ucp_ep_create(worker_, &params, &link->endpoint);
  if (status == UCS_OK) {
    status = ucx().ucp_ep_create(worker_, &params, &link->beats);
  }
  disown();
  GR_RETURN_IF_ERROR(ucxStatus(status, absl::StrFormat("link to rank %d", peer)));
  return link;
}

absl::Status UcxTransport::registerMemory(void* data, size_t bytes, absl::string_view memory) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE;
  params.address = data;
  params.length = bytes;
  params.memory_type = ucxMemoryType(memory);
  if (!carries(memory)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "UCX %s was built without support for this kind of memory; put a %s-aware UCX on the "
        "library path",
        ucxVersion(), absl::AsciiStrToUpper(memory)));
  }
  ucp_mem_h handle = nullptr;
  std::lock_guard lock(memoryMutex_);
  if (memory_.contains(data)) {
    return absl::AlreadyExistsError("this memory is already registered");
  }
  own();  // the context is as little thread-safe as its worker: mt_workers_shared is not set
  ucs_status_t status = ucx().ucp_mem_map(context_.get(), &params, &handle);
  disown();
  GR_RETURN_IF_ERROR(ucxStatus(status, absl::StrFormat("registering %d bytes", bytes)));
  memory_[data] = handle;
  return absl::OkStatus();
}

void UcxTransport::unregisterMemory(void* data) {
  std::lock_guard lock(memoryMutex_);
  if (auto node = memory_.extract(data); !node.empty()) {
    own();
    ucx().ucp_mem_unmap(context_.get(), node.mapped());
    disown();
  }
}

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

/// Returns whether that was one, of the size that it says.
bool readHeader(const void* bytes, size_t size, PayloadHeader& header) noexcept {
  if (size < PayloadHeader::sizeOf(0, 0) || size > sizeof header) {
    return false;
  }
  std::memcpy(&header, bytes, size);
  return header.credits <= kMostRidingCredits && header.payloads <= kMostRidingPayloads &&
         header.size() == size;
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

// --- The background thread

void UcxTransport::kickBackground() {
  uint64_t one = 1;
  // The only failure is a full counter, which wakes as well.
  [[maybe_unused]] ssize_t written = write(kickFd_, &one, sizeof one);
}

void UcxTransport::kickIfAsleep() {
  if (backgroundState_.load() == Background::kAsleep) {
    kickBackground();
  }
}

// A waiter that goes to sleep leaves the driving to the background thread, at once.
void UcxTransport::sleep(uint32_t ticket, int64_t untilNanos) {
  if (backgroundState_.load() == Background::kNapping) {
    kickBackground();
  }
  events_.wait(ticket, untilNanos);
}

// Sleeps on UCX's event fd too, unless it only naps. True if kicked.
bool UcxTransport::rest(Background how, int64_t nanos) {
  pollfd fds[] = {{kickFd_, POLLIN, 0}, {eventFd_, POLLIN, 0}};
  timespec timeout{nanos / 1'000'000'000, nanos % 1'000'000'000};
  bool kicked = false;
  if (ppoll(fds, how == Background::kAsleep ? 2 : 1, &timeout, nullptr) > 0 &&
      fds[0].revents != 0) {
    uint64_t count = 0;
    kicked = read(kickFd_, &count, sizeof count) > 0;
  }
  backgroundState_.store(Background::kRunning);
  return kicked;
}

bool UcxTransport::tryOwnAWhile() {
  for (int i = 0; i < 16; ++i) {
    if (tryOwn()) {
      return true;
    }
    sched_yield();
  }
  return false;
}

// While waiters drive, naps, as waking for each message would only take their time. Once they have
// stopped for the length of a nap, or one went to sleep and kicked, drives until nothing moves,
// then sleeps on UCX's event fd.
void UcxTransport::runBackground() {
  while (!stop_.load()) {
    if (drivers_.load() > 0 || !tryOwnAWhile()) {
      napWhileOthersDrive();
      continue;
    }
    while (drain() || sendHeld() || ucx().ucp_worker_progress(worker_) != 0) {
      tend(/*listened=*/true);
    }
    pending_ = false;
    backgroundState_.store(Background::kAsleep);  // before disown, so that later senders see it
    ucs_status_t armed = ucx().ucp_worker_arm(worker_);
    disown();
    tend(/*listened=*/true);
    if (armed == UCS_OK) {
      rest(Background::kAsleep,
           std::clamp<int64_t>(nextTended_ - nowNanos(), 0, kBackgroundSleepNanos));
    }
    backgroundState_.store(Background::kRunning);
  }
}

void UcxTransport::napWhileOthersDrive() {
  bool driven = true;
  bool kicked = false;
  while (driven && !kicked && !stop_.load()) {
    uint64_t before = driven_.load(std::memory_order_relaxed);
    backgroundState_.store(Background::kNapping);
    kicked = rest(Background::kNapping, kNapNanos);
    driven = driven_.load(std::memory_order_relaxed) != before;
    tend(driven);
  }
}

void UcxTransport::tend(bool listened) {
  if (int64_t now = nowNanos(); now >= nextTended_) {
    nextTended_ = std::clamp(keepAlive(now, listened), now + kBeatNanos / 10, now + kBeatNanos);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> makeUcxTransport(const UcxOptions& options) {
  auto transport = std::make_unique<UcxTransport>(options.rank);
  GR_RETURN_IF_ERROR(transport->start(options));
  return transport;
}

}  // namespace graphrun::runtime
