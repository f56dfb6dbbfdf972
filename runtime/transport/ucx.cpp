#include "runtime/transport/ucx.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "runtime/base/pair_table.h"
#include "runtime/transport/ucx_transport.h"

namespace graphrun::runtime {
namespace {

constexpr int64_t kFlushNanos = 200'000'000;

/// UCX's number of a kind of memory, by the name that its devices give it; none for others.
constexpr std::pair<absl::string_view, ucs_memory_type_t> kMemoryTypes[] = {
    {"", UCS_MEMORY_TYPE_HOST},
    {"cuda", UCS_MEMORY_TYPE_CUDA},
};

}  // namespace

ucs_memory_type_t ucxMemoryType(absl::string_view memory) {
  return valueFor(kMemoryTypes, memory).value_or(UCS_MEMORY_TYPE_UNKNOWN);
}

bool UcxTransport::carries(absl::string_view memory) const {
  const ucs_memory_type_t type = ucxMemoryType(memory);
  return type != UCS_MEMORY_TYPE_UNKNOWN && (memoryTypes_ & (1ULL << type)) != 0;
}

bool UcxTransport::carriesDeviceMemory() const {
  return std::any_of(std::begin(kMemoryTypes), std::end(kMemoryTypes),
                     [this](const auto& row) { return !row.first.empty() && carries(row.first); });
}

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

absl::StatusOr<std::unique_ptr<Transport>> makeUcxTransport(const UcxOptions& options) {
  auto transport = std::make_unique<UcxTransport>(options.rank);
  GR_RETURN_IF_ERROR(transport->start(options));
  return transport;
}

}  // namespace graphrun::runtime
