#include "devices/cuda/program/cuda_program.h"

#include <algorithm>
#include <utility>

#include "devices/cuda/driver/context.h"
#include "devices/cuda/kernels/layouts.h"
#include "devices/cuda/program/kernel_list.h"
#include "devices/executable/kernel_refusals.h"
#include "devices/program_parts.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

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
  if (streams_ != nullptr) {
    streams_->synchronize();
  }
  // All that belongs to the context goes while it is the thread's.
  states_.clear();
  code_.reset();
  errors_.reset();
  sent_.reset();
  buffers_.reset();
  streams_.reset();
}

absl::Status CudaProgram::prepare(const Executable& executable, WeightSource& weights,
                                  uint64_t limit) {
  if (!executable.states.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("state '", executable.states[0].name, "': GPUs keep no states"));
  }
  GR_ASSIGN_OR_RETURN(streams_, ProgramStreams::create(device_.context));
  GR_ASSIGN_OR_RETURN(buffers_,
                      ProgramBuffers::create(executable, weights, device_, streams_->in(), limit));
  sent_ = std::make_unique<SentValues>(device_.context, device_.pinned);
  hostBuffers_.resize(executable.buffers.size(), nullptr);
  GR_ASSIGN_OR_RETURN(std::vector<uint32_t> communicators, communicatorsOf(executable));
  communicators_->expect(std::move(communicators));
  if (!executable.code.empty()) {
    GR_ASSIGN_OR_RETURN(code_, CodeModule::load(device_.context, executable.code));
  }
  GR_ASSIGN_OR_RETURN(errors_, ErrorReports::create(executable, device_, streams_->compute()));
  GR_RETURN_IF_ERROR(createRecords(executable));
  bindings_.inputs = bindingsOf(executable.inputs);
  bindings_.outputs = bindingsOf(executable.outputs);
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
        record->awaited = sent_->arrival(action.buffer);
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
                        buffers_->addresses(),
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
      record->in.push_back({buffer, buffers_->address(buffer), bytes, nullptr, buffer});
    }
  }
  for (uint32_t buffer : action.out) {
    GR_ASSIGN_OR_RETURN(Copy copy, addCopyOut(executable, buffer));
    if (copy.bytes > 0) {
      record->out.push_back(copy);
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
absl::StatusOr<Copy> CudaProgram::addCopyOut(const Executable& executable, uint32_t buffer) {
  const Buffer& from = executable.buffers[buffer];
  if (!isBound(from) && hostBuffers_[buffer] == nullptr) {
    GR_ASSIGN_OR_RETURN(hostBuffers_[buffer], sent_->stage(from.bytes));
  }
  GR_ASSIGN_OR_RETURN(Event * arrived, sent_->makeArrival(buffer));
  return Copy{buffer, buffers_->address(buffer), from.bytes, arrived, buffer};
}

absl::Status CudaProgram::addEdge(const Executable& executable, const Action& action) {
  const Instruction& instruction = executable.instructions[action.instruction];
  OpRecord record;
  EdgeBinding edge = bindEdge(instruction, record);
  if (edge.send && executable.buffers[edge.buffer].isStored() &&
      hostBuffers_[edge.buffer] == nullptr) {
    GR_ASSIGN_OR_RETURN(Copy once, addCopyOut(executable, edge.buffer));
    GR_RETURN_IF_ERROR(streams_->copyOut(once, hostBuffers_.data()));
    GR_RETURN_IF_ERROR(streams_->out().synchronize());
  }
  record.label = static_cast<uint32_t>(labels_.size());
  labels_.push_back(instruction.label);
  records_.push_back(record);
  bindings_.edges.push_back(std::move(edge));
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

}  // namespace graphrun::devices::cuda
