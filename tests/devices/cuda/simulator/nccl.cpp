// The simulator's NCCL: non-blocking communicators of several GPUs, of one process or of several.
// What a member calls while it is still in progress, or after an abort, fails; a kernel waits for
// the other members until it is aborted.
#include <nccl.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <list>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/devices/cuda/simulator/gpu_state.h"
#include "tests/devices/cuda/simulator/nccl_reduce.h"
#include "tests/devices/cuda/simulator/nccl_wire.h"

namespace graphrun::testing {
namespace {

using Clock = std::chrono::steady_clock;

/// How often one has to ask before a communicator can be ready.
constexpr int kLeastAsked = 3;
/// After which a stream that nobody waits for does its collectives anyway: members need them.
constexpr std::chrono::milliseconds kMostLate{5};

/// A collective that was put into a stream.
struct Put {
  std::weak_ptr<StreamState> stream;
  uint64_t end;  ///< pieces of the stream's work up to it
  Clock::time_point since;
};

struct Communicator {
  ncclUniqueId id{};
  int rank = 0;
  int members = 0;
  int gpu = 0;
  int socket = -1;
  MessageReader reader;
  std::deque<std::string> results;  ///< of what was asked of the hub, in order
  ncclResult_t state = ncclInProgress;
  int asked = 0;               ///< since it is in progress
  std::function<void()> then;  ///< when it is no more
  bool isConnected = false;    ///< the first collective connects
  bool isAborted = false;
  bool isFinalized = false;
  bool isLeaving = false;  ///< and the hub was told
  std::deque<Put> put;

  ~Communicator() { close(socket); }
};
using Pointer = std::shared_ptr<Communicator>;

/// Where a collective reads and writes.
struct Operands {
  CUdeviceptr from;
  CUdeviceptr to;
  size_t fromBytes;
  size_t toBytes;
};

// Guarded by the GPU's mutex.
std::list<Pointer>& all() {
  static auto* const kAll = new std::list<Pointer>();
  return *kAll;
}

/// Texts stay: nobody knows how long they are read.
std::atomic<const char*> lastError{""};
void setLastError(const std::string& text) {
  static auto* const kTexts = new std::list<std::string>();
  lastError = kTexts->emplace_back(text).c_str();
}

ncclResult_t fail(ncclResult_t result, const std::string& why) {
  setLastError(why);
  return result;
}

Pointer find(ncclComm_t handle) {
  for (const Pointer& communicator : all()) {
    if (reinterpret_cast<ncclComm_t>(communicator.get()) == handle) {
      return communicator;
    }
  }
  setLastError("there is no such communicator, or no more");
  return nullptr;
}

bool tell(const Communicator& communicator, Message message) {
  const std::string text = textOf(std::move(message));
  for (size_t done = 0; done < text.size();) {
    const ssize_t sent = send(communicator.socket, &text[done], text.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    done += static_cast<size_t>(sent);
  }
  return true;
}

/// What came from the hub. A member that is gone is not noticed, unless it is still being met.
void hear(Communicator& communicator) {
  const bool isThere = communicator.reader.take(communicator.socket);
  while (std::optional<Message> message = communicator.reader.next()) {
    if (message->head.kind == Meet::kFailed) {
      communicator.state = static_cast<ncclResult_t>(message->head.type);
      setLastError(message->bytes);
    } else {
      communicator.results.push_back(std::move(message->bytes));
    }
  }
  if (!isThere && communicator.state == ncclInProgress && communicator.results.empty()) {
    communicator.state = fail(ncclRemoteError, "the process where the ranks meet is gone");
  }
}

/// Does collectives that nobody waited for: a real GPU needs no host to go on.
void doOverdue(Communicator& communicator, std::chrono::milliseconds late) {
  while (!communicator.put.empty()) {
    const Put& first = communicator.put.front();
    std::shared_ptr<StreamState> stream = first.stream.lock();
    if (stream != nullptr && stream->done < first.end &&
        (Clock::now() - first.since < late ||
         gpu().finish(*stream, first.end) == CUDA_ERROR_NOT_READY)) {
      return;
    }
    communicator.put.pop_front();
  }
}

/// Tells the hub when its last collective is done.
void finalize(Communicator& communicator) {
  if (communicator.isFinalized && !communicator.isLeaving) {
    doOverdue(communicator, std::chrono::milliseconds(0));
    if (communicator.put.empty()) {
      communicator.isLeaving = true;
      tell(communicator, {{.kind = Meet::kFinalize}, {}});
    }
  }
}

/// As long as the process lives.
void keepGoing() {
  while (true) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::lock_guard lock(gpu().mutex);
    for (const Pointer& communicator : std::list<Pointer>(all())) {
      doOverdue(*communicator, kMostLate);
    }
  }
}

void startGoing() {
  static std::once_flag once;
  std::call_once(once, [] { std::thread(keepGoing).detach(); });
}

void begin(Communicator& communicator, std::function<void()> then) {
  communicator.state = ncclInProgress;
  communicator.asked = 0;
  communicator.then = std::move(then);
}

/// The answer to what was begun, when it is there and was asked for often enough.
ncclResult_t stateOf(Communicator& communicator) {
  hear(communicator);
  if (communicator.state == ncclInProgress && ++communicator.asked >= kLeastAsked &&
      !communicator.results.empty()) {
    communicator.results.pop_front();
    communicator.state = ncclSuccess;
    if (communicator.then != nullptr) {
      std::exchange(communicator.then, nullptr)();
    }
  }
  return communicator.state;
}

/// What the GPU does: sends its operand, waits for the result.
Work workOf(const Pointer& communicator, const Head& head, const Operands& operands) {
  auto isSent = std::make_shared<bool>(false);
  return [communicator, head, operands, isSent] {
    if (communicator->isAborted) {
      return CUDA_SUCCESS;
    }
    GpuState& state = gpu();
    if (!*isSent) {
      const void* from = state.view(operands.from, operands.fromBytes);
      if (from == nullptr) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
      }
      *isSent = true;
      tell(*communicator, {head, {static_cast<const char*>(from), operands.fromBytes}});
    }
    hear(*communicator);
    if (communicator->results.empty()) {
      return CUDA_ERROR_NOT_READY;
    }
    void* to = state.view(operands.to, operands.toBytes);
    if (to == nullptr) {
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    communicator->results.front().copy(static_cast<char*>(to), operands.toBytes);
    communicator->results.pop_front();
    return CUDA_SUCCESS;
  };
}

void putWork(const Pointer& communicator, const std::shared_ptr<StreamState>& stream,
             const Head& head, const Operands& operands) {
  stream->queue.push_back(workOf(communicator, head, operands));
  communicator->put.push_back({stream, ++stream->put, Clock::now()});
}

/// Whether the tensors overlap otherwise than a collective may work in place.
bool overlap(const Communicator& communicator, const Head& head, const Operands& operands) {
  const auto rank = static_cast<uint64_t>(communicator.rank);
  const bool isInPlace = head.kind == Meet::kAllReduce ? operands.from == operands.to
                         : head.kind == Meet::kAllGather
                             ? operands.from == operands.to + rank * operands.fromBytes
                             : operands.to == operands.from + rank * operands.toBytes;
  return !isInPlace && operands.from < operands.to + operands.toBytes &&
         operands.to < operands.from + operands.fromBytes;
}

ncclResult_t check(const Communicator& communicator, const StreamState& stream, const Head& head,
                   const Operands& operands) {
  if (communicator.state == ncclInProgress) {
    return fail(ncclInvalidArgument,
                "Attempt to use communicator before the previous operation returned ncclSuccess");
  }
  if (communicator.state != ncclSuccess) {
    return communicator.state;
  }
  if (communicator.isFinalized || stream.gpu != communicator.gpu || stream.capture != nullptr) {
    return fail(ncclInvalidUsage, communicator.isFinalized ? "the communicator was finalized"
                                  : stream.capture != nullptr
                                      ? "the simulator records no collectives"
                                      : "the stream is another GPU's");
  }
  if (elementBytes(head.type) == 0 || head.operation < 0 || head.operation >= ncclNumOps) {
    return fail(ncclInvalidArgument, "no such type or operation");
  }
  if (overlap(communicator, head, operands)) {
    return fail(ncclInvalidUsage, "operand and result overlap");
  }
  return ncclSuccess;
}

/// What is scattered or gathered has `count` elements for each member.
ncclResult_t collective(Meet kind, const void* from, void* to, size_t count, int type,
                        int operation, ncclComm_t handle, cudaStream_t where, bool isScattered,
                        bool isGathered) {
  GpuState& state = gpu();
  std::lock_guard lock(state.mutex);
  const Pointer communicator = find(handle);
  auto found = state.streams.find(where);
  if (communicator == nullptr || found == state.streams.end()) {
    return ncclInvalidArgument;
  }
  const std::shared_ptr<StreamState> stream = found->second;
  const size_t bytes = count * elementBytes(type);
  const auto members = static_cast<size_t>(communicator->members);
  const Operands operands = {reinterpret_cast<CUdeviceptr>(from), reinterpret_cast<CUdeviceptr>(to),
                             isScattered ? bytes * members : bytes,
                             isGathered ? bytes * members : bytes};
  Head head;
  head.kind = kind;
  head.type = type;
  head.operation = operation;
  head.count = count;
  if (ncclResult_t result = check(*communicator, *stream, head, operands); result != ncclSuccess) {
    return result;
  }
  ++state.counts.collectives;
  if (communicator->isConnected) {
    putWork(communicator, stream, head, operands);
    return ncclSuccess;
  }
  tell(*communicator, {{.kind = Meet::kConnect}, {}});
  communicator->isConnected = true;
  begin(*communicator, [weak = std::weak_ptr(communicator), stream, head, operands,
                        before = stream->put] {
    const Pointer its = weak.lock();
    if (stream->put != before) {
      its->state = fail(ncclInvalidUsage, "the stream went on before the collective was in it");
      return;
    }
    putWork(its, stream, head, operands);
  });
  return ncclInProgress;
}

}  // namespace
}  // namespace graphrun::testing

using namespace graphrun::testing;  // NOLINT: what follows has C's names

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return kTexts[result];
}

const char* ncclGetLastError(ncclComm_t) { return lastError; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  *id = {};
  const std::string name = openHub();
  name.copy(id->internal, sizeof id->internal - 1);
  return name.empty() ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* handle, int members, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  GpuState& state = gpu();
  std::lock_guard lock(state.mutex);
  if (config == nullptr || config->magic != 0xcafebeef || config->blocking != 0) {
    return fail(ncclInvalidUsage, "the simulator has non-blocking communicators only");
  }
  if (!hasContext() || rank < 0 || rank >= members) {
    return fail(ncclInvalidArgument, "no context, or no such rank");
  }
  auto made = std::make_shared<Communicator>();
  made->rank = rank;
  made->members = members;
  made->gpu = currentGpu();
  made->socket = connectToHub(std::string(id.internal, strnlen(id.internal, sizeof id.internal)));
  if (made->socket < 0) {
    return fail(ncclSystemError, "nobody listens for this id");
  }
  Head hello;
  hello.rank = rank;
  hello.members = members;
  hello.gpu = static_cast<uint64_t>(getpid()) << 8 | static_cast<uint64_t>(made->gpu);
  tell(*made, {hello, {}});
  *handle = reinterpret_cast<ncclComm_t>(made.get());
  all().push_back(std::move(made));
  ++state.counts.libraryObjects;
  startGoing();
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* result) {
  std::lock_guard lock(gpu().mutex);
  const Pointer communicator = find(handle);
  if (communicator == nullptr) {
    return ncclInvalidArgument;
  }
  finalize(*communicator);
  *result = stateOf(*communicator);
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream) {
  return collective(Meet::kAllReduce, from, to, count, type, operation, handle, stream, false,
                    false);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t handle, cudaStream_t stream) {
  return collective(Meet::kReduceScatter, from, to, count, type, operation, handle, stream, true,
                    false);
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t handle, cudaStream_t stream) {
  return collective(Meet::kAllGather, from, to, count, type, 0, handle, stream, false, true);
}

/// Its collectives go on; it is done when all members are.
ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  std::lock_guard lock(gpu().mutex);
  const Pointer communicator = find(handle);
  if (communicator == nullptr) {
    return ncclInvalidArgument;
  }
  if (communicator->state != ncclSuccess || communicator->isFinalized) {
    return fail(ncclInvalidArgument, "it is in progress, failed, or was finalized");
  }
  communicator->isFinalized = true;
  begin(*communicator, nullptr);
  finalize(*communicator);
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  std::lock_guard lock(gpu().mutex);
  const Pointer communicator = find(handle);
  if (communicator == nullptr) {
    return ncclInvalidArgument;
  }
  if (!communicator->isFinalized || communicator->state != ncclSuccess) {
    return fail(ncclInvalidUsage, "it would block: it was not finalized before");
  }
  all().remove(communicator);
  --gpu().counts.libraryObjects;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  std::lock_guard lock(gpu().mutex);
  const Pointer communicator = find(handle);
  if (communicator == nullptr) {
    return ncclInvalidArgument;
  }
  communicator->isAborted = true;
  communicator->then = nullptr;
  all().remove(communicator);
  --gpu().counts.libraryObjects;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() { return ncclSuccess; }
ncclResult_t ncclGroupEnd() { return ncclSuccess; }

}  // extern "C"
