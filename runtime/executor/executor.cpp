#include "runtime/executor/executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

using devices::EdgeBinding;
using devices::OpRecord;

constexpr size_t kMinTraceEvents = 4096;
constexpr size_t kMaxTraceEvents = size_t{1} << 16;

uint64_t nextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

/// Room for some steps, within bounds.
size_t ringCapacity(size_t records) {
  return std::clamp(4 * (records + 1), kMinTraceEvents, kMaxTraceEvents);
}

absl::Status badProgram(const devices::Device& device, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("program for ", device.description().name, ": ", what));
}

}  // namespace

Executor::Executor(devices::Device* device, std::shared_ptr<devices::Program> program,
                   StepControl* control)
    : device_(device),
      program_(std::move(program)),
      collectives_(program_->collectives()),
      control_(control),
      id_(nextId()),
      records_(program_->records()),
      buffers_(program_->buffers()),
      ring_(ringCapacity(records_.size())) {}

absl::StatusOr<std::unique_ptr<Executor>> Executor::create(
    devices::Device* device, std::shared_ptr<devices::Program> program,
    absl::Span<const EdgeEnd> ends, StepControl* control) {
  std::unique_ptr<Executor> executor(new Executor(device, std::move(program), control));
  GR_RETURN_IF_ERROR(executor->addTransfers(ends));
  return executor;
}

absl::Status Executor::addTransfers(absl::Span<const EdgeEnd> ends) {
  if (ends.size() != program_->edges().size()) {
    return badProgram(*device_, absl::StrCat("it has ", program_->edges().size(), " edges, got ",
                                             ends.size(), " ends"));
  }
  for (const OpRecord& record : records_) {
    if (record.label >= program_->labels().size()) {
      return badProgram(*device_, absl::StrCat("label ", record.label, " is not in its table of ",
                                               program_->labels().size()));
    }
    if (record.kind != OpRecord::Kind::kCompute) {
      GR_RETURN_IF_ERROR(addTransfer(record, ends));
    } else if (record.run == nullptr) {
      return badProgram(*device_, absl::StrCat("operation '", program_->labels()[record.label],
                                               "' has no kernel"));
    }
  }
  if (transfers_.size() != ends.size()) {
    return badProgram(*device_, absl::StrCat(ends.size(), " edges, but ", transfers_.size(),
                                             " sends and receives"));
  }
  for (Transfer& transfer : transfers_) {
    transfer.forwarded =
        std::any_of(transfers_.begin(), transfers_.end(), [&](const Transfer& other) {
          return other.end.send != nullptr && other.buffer == transfer.buffer;
        });
  }
  return absl::OkStatus();
}

absl::Status Executor::addTransfer(const OpRecord& record, absl::Span<const EdgeEnd> ends) {
  absl::Span<const EdgeBinding> edges = program_->edges();
  bool send = record.kind == OpRecord::Kind::kSend;
  auto edge = std::find_if(edges.begin(), edges.end(), [&](const EdgeBinding& e) {
    return e.edge == record.edge && e.send == send && e.buffer == record.buffer;
  });
  if (edge == edges.end() || record.buffer >= buffers_.size()) {
    return badProgram(
        *device_, absl::StrCat(send ? "send" : "receive", " of edge ", record.edge, " and buffer ",
                               record.buffer, " is not among its edges"));
  }
  const EdgeEnd& end = ends[static_cast<size_t>(edge - edges.begin())];
  if ((end.send != nullptr) != send || (end.receive != nullptr) == send) {
    return badProgram(*device_, absl::StrCat("edge ", record.edge, " was opened the other way"));
  }
  transfers_.push_back({end, edge->spec.byteSize(), record.buffer, &record, false});
  return absl::OkStatus();
}

void Executor::bindInput(size_t index, void* data) {
  buffers_[program_->inputs()[index].buffer] = data;
}

void Executor::bindOutput(size_t index, void* data) {
  buffers_[program_->outputs()[index].buffer] = data;
}

bool Executor::run(uint64_t firstStep, uint32_t steps) {
  if (!enter()) {
    return false;
  }
  if (collectives_ != nullptr) {
    collectives_->setDeadline(waitOptions().deadlineNanos);
  }
  for (uint64_t step = firstStep; step < firstStep + steps; ++step) {
    if (!runStep(step)) {
      program_->synchronize();
      return false;
    }
  }
  return true;
}

bool Executor::enter() {
  thread_local uint64_t entered = 0;
  if (entered != id_) {
    absl::Status status = device_->attachThread();
    if (!status.ok()) {
      return fail(std::move(status), nullptr);
    }
    entered = id_;
  }
  return true;
}

bool Executor::runStep(uint64_t step) {
  beginStep(step);
  while (true) {
    switch (advance()) {
      case Progress::kDone:
        return true;
      case Progress::kFailed:
        return false;
      case Progress::kWaits:
        if (!block()) {
          return false;
        }
    }
  }
}

void Executor::beginStep(uint64_t step) {
  at_ = Position();
  at_.step = step;
  at_.begin = at_.start = nowNanos();
  at_.forwarded = transfers_.size();
  committed_ = false;
  for (size_t i = 0; i < states_.size(); ++i) {
    const devices::StateBinding& state = program_->states()[i];
    buffers_[state.buffer] = states_[i]->value();
    if (state.next) {
      buffers_[*state.next] = states_[i]->next();
    }
  }
}

void Executor::commitStates() {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (program_->states()[i].next) {
      states_[i]->commit();
    }
  }
  committed_ = true;
}

void Executor::revertStates() {
  for (size_t i = 0; committed_ && i < states_.size(); ++i) {
    if (program_->states()[i].next) {
      states_[i]->revert();
    }
  }
  committed_ = false;
}

Executor::Progress Executor::advance(size_t limit) {
  if (control_->stopped()) {
    return Progress::kFailed;
  }
  void* const* buffers = buffers_.data();
  for (; at_.record < records_.size(); ++at_.record) {
    const OpRecord& record = records_[at_.record];
    TraceKind kind = TraceKind::kKernel;
    uint32_t id = at_.record;
    if (record.kind == OpRecord::Kind::kCompute) [[likely]] {
      if (int code = record.run(record.state, buffers); code != 0) [[unlikely]] {
        fail(program_->errorMessage(record, code), &record);
        return Progress::kFailed;
      }
    } else {
      if (Progress moved = transfer(limit); moved != Progress::kDone) {
        return moved;
      }
      kind = record.kind == OpRecord::Kind::kSend ? TraceKind::kSend : TraceKind::kReceive;
      id = record.edge;
    }
    int64_t end = nowNanos();
    ring_.record({kind, id, at_.step, at_.start, end});
    at_.start = end;
    if (control_->stopped()) [[unlikely]] {
      return Progress::kFailed;
    }
  }
  return endStep(limit);
}

/// The send or receive that comes next. A wait for other steps, or for the reader of an earlier
/// one, is not what it takes.
Executor::Progress Executor::transfer(size_t limit) {
  if (at_.transfer >= limit) {
    at_.waitsForOthers = true;
    return Progress::kWaits;
  }
  if (at_.waitsForOthers) {
    at_.start = nowNanos();
  }
  const Transfer& transfer = transfers_[at_.transfer];
  const Progress moved = transfer.end.send != nullptr ? send(transfer) : receive(transfer);
  at_.waitsForOthers = moved == Progress::kWaits && transfer.end.send != nullptr;
  at_.transfer += moved == Progress::kDone ? 1 : 0;
  return moved;
}

Executor::Progress Executor::send(const Transfer& transfer) {
  absl::StatusOr<bool> sent =
      transfer.end.send->trySend(at_.step, buffers_[transfer.buffer], transfer.bytes);
  if (!sent.ok()) {
    fail(sent.status(), transfer.record);
    return Progress::kFailed;
  }
  return *sent ? Progress::kDone : Progress::kWaits;
}

Executor::Progress Executor::receive(const Transfer& transfer) {
  const RecvEdge& edge = *transfer.end.receive;
  const std::optional<Received> received = edge.poll(at_.step);
  if (!received.has_value()) {
    if (edge.failed()) {
      fail(edge.status(), transfer.record);
      return Progress::kFailed;
    }
    return Progress::kWaits;
  }
  if (received->bytes != transfer.bytes) {
    fail(absl::InternalError(absl::StrCat("step ", at_.step, " of edge ", transfer.record->edge,
                                          " brought ", received->bytes, " bytes, expected ",
                                          transfer.bytes)),
         transfer.record);
    return Progress::kFailed;
  }
  buffers_[transfer.buffer] = const_cast<void*>(received->data);
  return Progress::kDone;
}

Executor::Progress Executor::endStep(size_t limit) {
  if (!transfers_.empty()) {
    if (at_.transfer >= limit) {
      return Progress::kWaits;
    }
    giveBackSlots();
    if (Progress moved = giveBackForwarded(); moved != Progress::kDone) {
      return moved;
    }
    if (Progress moved = awaitSent(std::nullopt); moved != Progress::kDone) {
      return moved;
    }
  }
  commitStates();
  ring_.record({TraceKind::kStep, 0, at_.step, at_.begin, nowNanos()});
  return Progress::kDone;
}

// Before any wait for the readers of what was sent: two devices that read each other's memory would
// wait for ever.
void Executor::giveBackSlots() {
  if (std::exchange(at_.gaveBack, true)) {
    return;
  }
  for (const Transfer& transfer : transfers_) {
    if (transfer.end.receive != nullptr && !transfer.forwarded) {
      transfer.end.receive->release(at_.step);
    }
  }
}

// A tensor that went through here is given back once the next reader has taken it, the latest
// first: its readers come later in the plan's one order, so some device can always go on.
Executor::Progress Executor::giveBackForwarded() {
  for (; at_.forwarded > 0; --at_.forwarded) {
    const Transfer& transfer = transfers_[at_.forwarded - 1];
    if (transfer.end.receive == nullptr || !transfer.forwarded) {
      continue;
    }
    if (Progress moved = awaitSent(transfer.buffer); moved != Progress::kDone) {
      return moved;
    }
    transfer.end.receive->release(at_.step);
  }
  return Progress::kDone;
}

/// Returns whether what was sent of `buffer`, or of all, is taken.
Executor::Progress Executor::awaitSent(std::optional<uint32_t> buffer) {
  for (const Transfer& transfer : transfers_) {
    const SendEdge* edge = transfer.end.send;
    if (edge == nullptr || transfer.buffer != buffer.value_or(transfer.buffer) ||
        edge->sent(at_.step)) {
      continue;
    }
    at_.unsent = &transfer;
    if (edge->failed()) {
      fail(edge->status(), transfer.record);
      return Progress::kFailed;
    }
    return Progress::kWaits;
  }
  return Progress::kDone;
}

bool Executor::block() {
  const bool isAtEnd = at_.record == records_.size();
  const Transfer& transfer = isAtEnd ? *at_.unsent : transfers_[at_.transfer];
  const WaitOptions options = waitOptions();
  absl::Status status = isAtEnd ? transfer.end.send->waitSent(at_.step, options)
                        : transfer.end.send != nullptr
                            ? transfer.end.send->waitSlot(at_.step, options)
                            : transfer.end.receive->wait(at_.step, options).status();
  return status.ok() || fail(std::move(status), transfer.record);
}

void Executor::failTurn(uint64_t before) {
  const bool isAtEnd = at_.transfer == transfers_.size();
  fail(absl::DeadlineExceededError(
           absl::StrCat("step ", at_.step, " waited for step ", before, ", which is not done with ",
                        isAtEnd ? "its end" : absl::StrCat("its transfer ", at_.transfer))),
       isAtEnd ? nullptr : transfers_[at_.transfer].record);
}

bool Executor::fail(absl::Status status, const OpRecord* record) {
  if (!control_->stopped()) {  // else this is what another's failure led to
    control_->fail({std::move(status), record == nullptr ? "" : program_->labels()[record->label],
                    device_->description().name});
  }
  return false;
}

WaitOptions Executor::waitOptions() const {
  WaitOptions options = control_->waitOptions();
  options.deadlineNanos = deadlineNanos_.value_or(options.deadlineNanos);
  return options;
}

TraceStream Executor::trace() const {
  TraceStream stream;
  stream.name = device_->description().name;
  stream.events = ring_.snapshot();
  stream.kernelNames.reserve(records_.size());
  for (const OpRecord& record : records_) {
    stream.kernelNames.push_back(program_->labels()[record.label]);
  }
  for (const devices::RecordMemory& memory : program_->memory().records) {
    stream.kernelWeights.push_back(memory.weights);
    stream.kernelScratch.push_back(memory.scratch);
  }
  stream.kernelTimes = program_->kernelTimes();
  return stream;
}

}  // namespace graphrun::runtime
