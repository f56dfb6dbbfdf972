#include "devices/cuda/program/cuda_program.h"

#include <algorithm>
#include <utility>

#include "devices/cuda/driver/context.h"
#include "devices/cuda/driver/vendor_status.h"
#include "devices/cuda/kernels/kernel_errors.h"
#include "devices/cuda/kernels/layouts.h"
#include "devices/cuda/program/kernel_list.h"
#include "devices/executable/kernel_refusals.h"
#include "devices/program_parts.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

bool isBound(const Buffer& buffer) {
  return buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput ||
         buffer.kind == BufferKind::kReceive;
}

/// Bytes of bound buffers, one behind the other.
uint64_t boundBytes(const Executable& executable) {
  uint64_t bytes = 0;
  for (const Buffer& buffer : executable.buffers) {
    if (isBound(buffer)) {
      bytes += alignedBytes(buffer.bytes);
    }
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaProgram>> CudaProgram::load(absl::Span<const uint8_t> bytes,
                                                               WeightSource& weights,
                                                               const DeviceParts& device,
                                                               const std::string& fingerprint,
                                                               uint64_t memoryLimit) {
  GR_ASSIGN_OR_RETURN(Executable executable, readExecutable(bytes, layoutBytes));
  GR_RETURN_IF_ERROR(checkFingerprint(executable, fingerprint));
  ScopedContext scope(*device.context);
  std::unique_ptr<CudaProgram> program(new CudaProgram(device));
  GR_RETURN_IF_ERROR(program->prepare(executable, weights, memoryLimit));
  return program;
}

CudaProgram::~CudaProgram() {
  ScopedContext scope(*device_.context);
  communicators_.reset();
  waitForStreams();
  // All that belongs to the context goes while it is the thread's.
  states_.clear();
  code_.reset();
  staging_.clear();
  errors_.reset();
  seenErrors_.reset();
  stored_.clear();
  bound_.reset();
  arena_.reset();
  arrivals_.clear();
  handed_.clear();
  carried_.clear();
  for (std::unique_ptr<Event>* event : {&given_, &computed_, &finished_}) {
    event->reset();
  }
  for (std::unique_ptr<Stream>* stream : {&compute_, &copyIn_, &copyOut_}) {
    stream->reset();
  }
}

absl::Status CudaProgram::prepare(const Executable& executable, WeightSource& weights,
                                  uint64_t limit) {
  GR_RETURN_IF_ERROR(countMemory(executable, limit));
  GR_ASSIGN_OR_RETURN(std::vector<uint32_t> communicators, communicatorsOf(executable));
  communicators_->expect(std::move(communicators));
  for (std::unique_ptr<Stream>* stream : {&compute_, &copyIn_, &copyOut_}) {
    GR_ASSIGN_OR_RETURN(*stream, Stream::create(device_.context));
  }
  for (std::unique_ptr<Event>* event : {&given_, &computed_, &finished_}) {
    GR_ASSIGN_OR_RETURN(*event, Event::create(device_.context));
  }
  if (!executable.code.empty()) {
    GR_ASSIGN_OR_RETURN(code_, CodeModule::load(device_.context, executable.code));
  }
  GR_RETURN_IF_ERROR(placeBuffers(executable, weights));
  GR_RETURN_IF_ERROR(createErrors(executable));
  GR_RETURN_IF_ERROR(createRecords(executable));
  inputs_ = bindingsOf(executable.inputs);
  outputs_ = bindingsOf(executable.outputs);
  return absl::OkStatus();
}

absl::Status CudaProgram::countMemory(const Executable& executable, uint64_t limit) {
  GR_ASSIGN_OR_RETURN(memoryBytes_, memoryOf(executable));
  if (__builtin_add_overflow(memoryBytes_, boundBytes(executable), &memoryBytes_)) {
    return absl::InvalidArgumentError("executable: it is larger than all memory");
  }
  return checkMemoryLimit(memoryBytes_, limit, "weights, arena, inputs and outputs");
}

absl::Status CudaProgram::placeBuffers(const Executable& executable, WeightSource& weights) {
  GR_ASSIGN_OR_RETURN(arena_, device_.memory->allocate(executable.arenaBytes));
  GR_ASSIGN_OR_RETURN(bound_, device_.memory->allocate(boundBytes(executable)));
  hostBuffers_.resize(executable.buffers.size(), nullptr);
  CUdeviceptr address = bound_->address();
  for (size_t i = 0; i < executable.buffers.size(); ++i) {
    const Buffer& buffer = executable.buffers[i];
    if (buffer.kind == BufferKind::kArena) {
      addresses_.push_back(arena_->address() + buffer.offset);
    } else if (isBound(buffer)) {
      addresses_.push_back(address);
      address += alignedBytes(buffer.bytes);
    } else {
      auto placed = device_.weights->get(buffer, weights, *copyIn_);
      if (!placed.ok()) {
        return runtime::annotate(placed.status(), absl::StrCat("buffer ", i));
      }
      sharedBytes_ += placed->shared ? buffer.bytes : 0;
      addresses_.push_back(placed->memory->address());
      stored_.push_back(std::move(placed->memory));
    }
  }
  return absl::OkStatus();
}

absl::Status CudaProgram::createRecords(const Executable& executable) {
  GR_ASSIGN_OR_RETURN(std::vector<Action> actions, scheduleOf(executable));
  GR_ASSIGN_OR_RETURN(Kernels kernels, createKernels(executable, actions));
  for (const Action& action : actions) {
    auto record = std::make_unique<Record>(this, action.kind);
    switch (action.kind) {
      case Action::Kind::kLaunch:
      case Action::Kind::kCollective:
        GR_RETURN_IF_ERROR(addLaunch(executable, action, kernels));
        break;
      case Action::Kind::kAwait:
        record->awaited = arrivals_.at(action.buffer).get();
        addRecord(std::move(record), "wait for what is sent");
        break;
      case Action::Kind::kFinish:
        addRecord(std::move(record), "wait for the end");
        break;
      case Action::Kind::kSend:
      case Action::Kind::kReceive:
        GR_RETURN_IF_ERROR(addEdge(executable, action));
        break;
    }
  }
  return absl::OkStatus();
}

/// All that the libraries refuse is found at once, before anything is built of what they do not.
absl::StatusOr<CudaProgram::Kernels> CudaProgram::createKernels(
    const Executable& executable, const std::vector<Action>& actions) {
  KernelContext context{device_.context->driver(),
                        *device_.products,
                        *device_.cudnn,
                        communicators_.get(),
                        code_.get(),
                        addresses_,
                        errors_ == nullptr ? 0 : errors_->address()};
  Kernels kernels(executable.instructions.size());
  RefusalCollector refusals;
  for (const Action& action : actions) {
    for (uint32_t index : action.instructions) {
      const Instruction& instruction = executable.instructions[index];
      context.instruction = index;
      absl::StatusOr<std::unique_ptr<Kernel>> kernel = createKernel(instruction, context);
      GR_RETURN_IF_ERROR(refusals.take(kernel.status(), instruction, index));
      kernels[index] = kernel.ok() ? *std::move(kernel) : nullptr;
    }
  }
  GR_RETURN_IF_ERROR(refusals.status());
  return kernels;
}

absl::Status CudaProgram::addLaunch(const Executable& executable, const Action& action,
                                    Kernels& kernels) {
  const bool isRecorded = action.kind == Action::Kind::kLaunch;
  auto record = std::make_unique<Record>(this, Action::Kind::kLaunch);
  record->segment = std::make_unique<Segment>(device_.context, isRecorded);
  if (action.kind == Action::Kind::kCollective) {
    GR_ASSIGN_OR_RETURN(record->met, Event::create(device_.context));
  }
  for (uint32_t index : action.instructions) {
    record->segment->add(std::move(kernels[index]), executable.instructions[index].label);
  }
  for (uint32_t buffer : action.in) {
    if (uint64_t bytes = executable.buffers[buffer].bytes; bytes > 0) {
      record->in.push_back({buffer, addresses_[buffer], bytes, nullptr, buffer});
    }
  }
  for (uint32_t buffer : action.out) {
    GR_ASSIGN_OR_RETURN(Transfer transfer, addCopyOut(executable, buffer));
    if (transfer.bytes > 0) {
      record->out.push_back(transfer);
    }
  }
  // Not the label of an instruction: how long a launch takes does not tell how long the instruction
  // does.
  std::string label = absl::StrCat("launch ", record->segment->label());
  addRecord(std::move(record), std::move(label));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Kernel>> CudaProgram::createKernel(const Instruction& instruction,
                                                                  const KernelContext& context) {
  const KernelEntry* entry = findKernel(instruction.kernel);
  if (entry == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no kernel \"", instruction.kernel, "\""));
  }
  GR_RETURN_IF_ERROR(entry->choose(instruction).status());
  return entry->create(instruction, context);
}

/// A buffer of the arena that is sent gets memory of its own on the host, for good.
absl::StatusOr<CudaProgram::Transfer> CudaProgram::addCopyOut(const Executable& executable,
                                                              uint32_t buffer) {
  const Buffer& from = executable.buffers[buffer];
  if (!isBound(from) && hostBuffers_[buffer] == nullptr) {
    GR_ASSIGN_OR_RETURN(void* memory, device_.pinned->allocate(from.bytes));
    staging_.push_back(PinnedMemory(memory, GiveBack{device_.pinned}));
    hostBuffers_[buffer] = memory;
  }
  std::unique_ptr<Event>& arrived = arrivals_[buffer];
  if (arrived == nullptr) {
    GR_ASSIGN_OR_RETURN(arrived, Event::create(device_.context));
  }
  return Transfer{buffer, addresses_[buffer], from.bytes, arrived.get(), buffer};
}

absl::Status CudaProgram::addEdge(const Executable& executable, const Action& action) {
  const Instruction& instruction = executable.instructions[action.instruction];
  OpRecord record;
  EdgeBinding edge = bindEdge(instruction, record);
  if (edge.send && executable.buffers[edge.buffer].isStored() &&
      hostBuffers_[edge.buffer] == nullptr) {
    GR_ASSIGN_OR_RETURN(Transfer once, addCopyOut(executable, edge.buffer));
    GR_RETURN_IF_ERROR(GR_CU(device_.context->driver(), cuMemcpyDtoHAsync_v2,
                             hostBuffers_[edge.buffer], once.address, once.bytes, copyOut_->get()));
    GR_RETURN_IF_ERROR(copyOut_->synchronize());
  }
  record.label = static_cast<uint32_t>(labels_.size());
  labels_.push_back(instruction.label);
  records_.push_back(record);
  edges_.push_back(std::move(edge));
  return absl::OkStatus();
}

void CudaProgram::addRecord(std::unique_ptr<Record> state, std::string label) {
  OpRecord record;
  record.run = runRecord;
  record.state = state.get();
  record.label = static_cast<uint32_t>(labels_.size());
  labels_.push_back(std::move(label));
  records_.push_back(record);
  states_.push_back(std::move(state));
}

absl::Status CudaProgram::createErrors(const Executable& executable) {
  bool reports = std::any_of(executable.instructions.begin(), executable.instructions.end(),
                             [](const Instruction& instruction) {
                               return instruction.attributes.contains(kReportsErrors);
                             });
  if (!reports) {
    return absl::OkStatus();
  }
  for (const Instruction& instruction : executable.instructions) {
    instructionLabels_.push_back(instruction.label);
  }
  GR_ASSIGN_OR_RETURN(errors_, device_.memory->allocate(sizeof(ErrorRecord)));
  GR_ASSIGN_OR_RETURN(void* seen, device_.pinned->allocate(sizeof(ErrorRecord)));
  seenErrors_ = PinnedMemory(seen, GiveBack{device_.pinned});
  return clearErrors();
}

}  // namespace graphrun::devices::cuda
