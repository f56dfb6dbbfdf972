#include "runtime/worker/step_line.h"

#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/control/limits.h"

namespace graphrun::runtime {

struct StepLineMemory {
  std::array<StepStart, kStepLineSlots> starts;
  std::array<uint64_t, kStepLineSlots> dones;  // each the number of its start
};

namespace {

constexpr int64_t kMaxTimeoutNanos = std::chrono::nanoseconds(kMaxStepTimeout).count();

/// The edges of a line are no plan's: their key is the call's number from the top, and the rank of
/// the worker tells the lines of one coordinator apart.
EdgeSpec lineSpec(uint32_t peer, uint32_t worker, uint64_t run, bool isDone, size_t bytes,
                  std::shared_ptr<const void> owner) {
  EdgeSpec spec;
  spec.plan = ~run;
  spec.edge = 2 * worker + (isDone ? 1 : 0);
  spec.peer = peer;
  spec.maxBytes = bytes;
  spec.slots = kStepLineSlots;
  spec.owner = std::move(owner);
  spec.name =
      absl::StrCat(isDone ? "of done steps from" : "of steps to", " the worker of rank ", worker);
  return spec;
}

template <typename Message>
absl::StatusOr<RecvEdge*> receive(Transport& transport, const EdgeSpec& spec,
                                  std::array<Message, kStepLineSlots>& messages) {
  std::array<void*, kStepLineSlots> slots;
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i] = &messages[i];
  }
  return transport.openRecv(spec, slots);
}

/// Sends a message as number `number`, from memory that is its slot's.
template <typename Message>
absl::Status post(SendEdge& edge, uint64_t number, const Message& message,
                  std::array<Message, kStepLineSlots>& messages, const WaitOptions& options,
                  bool mayRide = false) {
  // The network may still read what the slot had before, although the other end has it already.
  if (number >= kStepLineSlots) {
    GR_RETURN_IF_ERROR(edge.waitSent(number - kStepLineSlots, options));
  }
  Message& slot = messages[number % kStepLineSlots];
  slot = message;
  return edge.send(number, &slot, sizeof slot, options, mayRide);
}

/// Checks what a coordinator of another build, or none at all, may send.
absl::Status check(const StepStart& start) {
  if (start.steps == 0 || start.steps > UINT32_MAX || start.firstStep > kMaxStep ||
      start.timeoutNanos == 0 || start.timeoutNanos > static_cast<uint64_t>(kMaxTimeoutNanos)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a start of ", start.steps, " steps from ", start.firstStep, " on within ",
                     start.timeoutNanos, " ns, expected 1 to ", UINT32_MAX, " steps from at most ",
                     kMaxStep, " on within 1 to ", kMaxTimeoutNanos, " ns"));
  }
  return absl::OkStatus();
}

}  // namespace

StepStarter::StepStarter(std::shared_ptr<Transport> transport,
                         std::shared_ptr<StepLineMemory> memory)
    : transport_(std::move(transport)), memory_(std::move(memory)) {}

StepStarter::~StepStarter() {
  if (dones_ != nullptr) {
    transport_->close(dones_);
  }
  if (starts_ != nullptr) {
    transport_->close(starts_);
  }
}

absl::StatusOr<std::unique_ptr<StepStarter>> StepStarter::open(std::shared_ptr<Transport> transport,
                                                               uint32_t rank, uint64_t run) {
  auto memory = std::make_shared<StepLineMemory>();
  std::unique_ptr<StepStarter> line(new StepStarter(std::move(transport), memory));
  GR_ASSIGN_OR_RETURN(line->starts_, line->transport_->openSend(lineSpec(
                                         rank, rank, run, false, sizeof(StepStart), memory)));
  GR_ASSIGN_OR_RETURN(
      line->dones_,
      receive(*line->transport_, lineSpec(rank, rank, run, true, sizeof(uint64_t), memory),
              memory->dones));
  return line;
}

absl::StatusOr<uint64_t> StepStarter::start(const StepStart& start, bool inputsFollow,
                                            const WaitOptions& options) {
  GR_RETURN_IF_ERROR(post(*starts_, started_, start, memory_->starts, options, inputsFollow));
  return started_++;
}

bool StepStarter::takeDone(uint64_t number) {
  if (!dones_->poll(number).has_value()) {
    return false;
  }
  dones_->release(number);
  return true;
}

StepServer::StepServer(std::shared_ptr<Transport> transport, std::shared_ptr<StepLineMemory> memory)
    : transport_(std::move(transport)), memory_(std::move(memory)) {}

StepServer::~StepServer() {
  if (starts_ != nullptr) {
    transport_->close(starts_);
  }
  if (dones_ != nullptr) {
    transport_->close(dones_);
  }
}

absl::StatusOr<std::unique_ptr<StepServer>> StepServer::open(std::shared_ptr<Transport> transport,
                                                             uint64_t run) {
  auto memory = std::make_shared<StepLineMemory>();
  std::unique_ptr<StepServer> line(new StepServer(std::move(transport), memory));
  const uint32_t rank = line->transport_->rank();
  GR_ASSIGN_OR_RETURN(line->starts_, receive(*line->transport_,
                                             lineSpec(kCoordinatorRank, rank, run, false,
                                                      sizeof(StepStart), memory),
                                             memory->starts));
  GR_ASSIGN_OR_RETURN(line->dones_,
                      line->transport_->openSend(
                          lineSpec(kCoordinatorRank, rank, run, true, sizeof(uint64_t), memory)));
  return line;
}

absl::StatusOr<StepStart> StepServer::next(const WaitOptions& options) {
  GR_ASSIGN_OR_RETURN(Received message, starts_->wait(next_, options));
  if (message.bytes != sizeof(StepStart)) {
    return absl::InvalidArgumentError(absl::StrCat("a start of steps has ", message.bytes,
                                                   " bytes, expected ", sizeof(StepStart)));
  }
  StepStart start;
  std::memcpy(&start, message.data, sizeof start);
  ++next_;
  GR_RETURN_IF_ERROR(check(start));
  return start;
}

absl::Status StepServer::done(const WaitOptions& options) {
  starts_->release(done_);  // goes with the message
  GR_RETURN_IF_ERROR(post(*dones_, done_, done_, memory_->dones, options));
  transport_->sendCredits();  // the next step may begin at once, and nobody would for its length
  ++done_;
  return absl::OkStatus();
}

}  // namespace graphrun::runtime
