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
  program_->setDeadline(waitOptions().deadlineNanos);
  for (uint64_t step = firstStep; step < firstStep + steps; ++step) {
    if (!runStep(step)) {
      program_->settle();
      return false;
    }
  }
  return true;
}

bool Executor::enter() {
  thread_local uint64_t entered = 0;
  if (entered != id_) {
    absl::Status status = device_->enter();
    if (!status.ok()) {
      return fail(std::move(status), nullptr);
    }
    entered = id_;
  }
  return true;
}

bool Executor::runStep(uint64_t step) {
  if (control_->stopped()) {
    return false;
  }
  void* const* buffers = buffers_.data();
  size_t transfers = 0;
  const int64_t begin = nowNanos();
  int64_t start = begin;
  uint32_t position = 0;
  for (const OpRecord& record : records_) {
    TraceKind kind = TraceKind::kKernel;
    uint32_t id = position++;
    if (record.kind == OpRecord::Kind::kCompute) [[likely]] {
      if (int code = record.run(record.state, buffers); code != 0) [[unlikely]] {
        return fail(program_->errorMessage(record, code), &record);
      }
    } else {
      bool sends = record.kind == OpRecord::Kind::kSend;
      if (!transfer(transfers++, step, start)) {
        return false;
      }
      kind = sends ? TraceKind::kSend : TraceKind::kReceive;
      id = record.edge;
    }
    int64_t end = nowNanos();
    ring_.record({kind, id, step, start, end});
    start = end;
    if (control_->stopped()) [[unlikely]] {
      return false;
    }
  }
  if (!transfers_.empty() && !finishStep(step)) {
    return false;
  }
  ring_.record({TraceKind::kStep, 0, step, begin, nowNanos()});
  return true;
}

/// Does a send or receive, which began at `start`; moves that behind a wait for other steps.
bool Executor::transfer(size_t index, uint64_t step, int64_t& start) {
  const Transfer& transfer = transfers_[index];
  const OpRecord& record = *transfer.record;
  if (order_ != nullptr && !order_->isTurn(step, index)) {
    if (!await(index, step, &record)) {
      return false;
    }
    start = nowNanos();
  }
  if (!(transfer.end.send != nullptr ? send(transfer, step, record, start)
                                     : receive(transfer, step, record))) {
    return false;
  }
  if (order_ != nullptr) {
    order_->pass(step, index);
  }
  return true;
}

bool Executor::await(size_t index, uint64_t step, const OpRecord* record) {
  absl::Status status = order_->await(step, index, waitOptions());
  return status.ok() || fail(std::move(status), record);
}

// A wait for the reader of an earlier step is not what the transfer takes.
bool Executor::send(const Transfer& transfer, uint64_t step, const OpRecord& record,
                    int64_t& start) {
  SendEdge& edge = *transfer.end.send;
  absl::StatusOr<bool> sent = edge.trySend(step, buffers_[transfer.buffer], transfer.bytes);
  while (sent.ok() && !*sent) {
    absl::Status waited = edge.waitSlot(step, waitOptions());
    start = nowNanos();
    sent = waited.ok() ? edge.trySend(step, buffers_[transfer.buffer], transfer.bytes) : waited;
  }
  return sent.ok() || fail(sent.status(), &record);
}

bool Executor::receive(const Transfer& transfer, uint64_t step, const OpRecord& record) {
  std::optional<Received> received = transfer.end.receive->poll(step);
  if (!received.has_value()) {
    absl::StatusOr<Received> waited = transfer.end.receive->wait(step, waitOptions());
    if (!waited.ok()) {
      return fail(waited.status(), &record);
    }
    received = *waited;
  }
  if (received->bytes != transfer.bytes) {
    return fail(
        absl::InternalError(absl::StrCat("step ", step, " of edge ", record.edge, " brought ",
                                         received->bytes, " bytes, expected ", transfer.bytes)),
        &record);
  }
  buffers_[transfer.buffer] = const_cast<void*>(received->data);
  return true;
}

bool Executor::finishStep(uint64_t step) {
  if (order_ == nullptr) {
    return giveBackSlots(step);
  }
  if (!await(order_->end(), step, nullptr) || !giveBackSlots(step)) {
    return false;
  }
  order_->pass(step, order_->end());
  return true;
}

// Slots go back before the wait: two devices that read each other's memory would wait for ever. A
// tensor that went through here is given back once the next reader has taken it, the latest first:
// its readers come later in the plan's one order, so some device can always go on.
bool Executor::giveBackSlots(uint64_t step) {
  for (const Transfer& transfer : transfers_) {
    if (transfer.end.receive != nullptr && !transfer.forwarded) {
      transfer.end.receive->release(step);
    }
  }
  for (auto transfer = transfers_.rbegin(); transfer != transfers_.rend(); ++transfer) {
    if (transfer->end.receive != nullptr && transfer->forwarded) {
      if (!waitSent(step, transfer->buffer)) {
        return false;
      }
      transfer->end.receive->release(step);
    }
  }
  return waitSent(step, std::nullopt);
}

bool Executor::waitSent(uint64_t step, std::optional<uint32_t> buffer) {
  for (const Transfer& transfer : transfers_) {
    if (transfer.end.send != nullptr && transfer.buffer == buffer.value_or(transfer.buffer) &&
        !transfer.end.send->sent(step)) {
      absl::Status status = transfer.end.send->waitSent(step, waitOptions());
      if (!status.ok()) {
        return fail(std::move(status), transfer.record);
      }
    }
  }
  return true;
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
  for (const devices::RecordMemory& memory : program_->recordMemory()) {
    stream.kernelWeights.push_back(memory.weights);
    stream.kernelScratch.push_back(memory.scratch);
  }
  stream.stepTimes = program_->stepTimes();
  return stream;
}

}  // namespace graphrun::runtime
