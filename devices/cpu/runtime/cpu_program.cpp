#include "devices/cpu/runtime/cpu_program.h"

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/runtime/kernel_list.h"
#include "devices/cpu/runtime/packing.h"
#include "devices/executable/kernel_refusals.h"
#include "devices/program_parts.h"

namespace graphrun::devices::cpu {
namespace {

int runKernel(void* state, void* const* buffers) {
  return static_cast<Kernel*>(state)->run(buffers);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuProgram>> CpuProgram::load(absl::Span<const uint8_t> bytes,
                                                             WeightSource& weights,
                                                             PackedWeights& packed,
                                                             const std::string& fingerprint,
                                                             uint64_t memoryLimit) {
  GR_ASSIGN_OR_RETURN(Executable executable, readExecutable(bytes, layoutBytes));
  GR_RETURN_IF_ERROR(checkFingerprint(executable, fingerprint));
  std::unique_ptr<CpuProgram> program(new CpuProgram());
  if (!executable.code.empty()) {
    GR_ASSIGN_OR_RETURN(program->code_, CodeImage::load(executable.code));
  }
  GR_RETURN_IF_ERROR(program->checkMemory(executable, memoryLimit));
  GR_RETURN_IF_ERROR(program->createInstructions(executable));
  program->countMemory(executable);
  GR_RETURN_IF_ERROR(program->placeArena(executable));
  GR_RETURN_IF_ERROR(program->pack(executable, weights, packed));
  program->bindings_.inputs = bindingsOf(executable.inputs);
  program->bindings_.outputs = bindingsOf(executable.outputs);
  program->bindings_.states = statesOf(executable.states);
  return program;
}

absl::Status CpuProgram::checkMemory(const Executable& executable, uint64_t limit) {
  GR_ASSIGN_OR_RETURN(memoryBytes_, memoryOf(executable));
  return checkMemoryLimit(memoryBytes_, limit, "weights and arena");
}

void CpuProgram::countMemory(const Executable& executable) {
  std::vector<bool> counted(executable.buffers.size(), false);
  std::vector<bool> isCopy(executable.buffers.size(), false);  // in another layout, for its reader
  recordMemory_.reserve(executable.instructions.size());
  for (const Instruction& instruction : executable.instructions) {
    RecordMemory& memory = recordMemory_.emplace_back();
    memory.scratch =
        instruction.scratch ? executable.buffers[instruction.scratch->buffer].bytes : 0;
    for (const Argument& input : instruction.inputs) {
      const Buffer& buffer = executable.buffers[input.buffer];
      if (buffer.isStored() && !counted[input.buffer]) {
        counted[input.buffer] = true;
        memory.weights += buffer.bytes;
      }
      memory.scratch += isCopy[input.buffer] ? buffer.bytes : 0;
    }
    for (const Argument& output : instruction.outputs) {
      isCopy[output.buffer] = instruction.operation == "reorder";
    }
  }
}

absl::Status CpuProgram::placeArena(const Executable& executable) {
  GR_ASSIGN_OR_RETURN(arena_, allocatePages(executable.arenaBytes, arenaPages_));
  touchMemory(arenaPages_);
  buffers_.resize(executable.buffers.size(), nullptr);
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (executable.buffers[i].kind == BufferKind::kArena) {
      buffers_[i] = arena_.get() + executable.buffers[i].offset;
    }
  }
  return absl::OkStatus();
}

absl::Status CpuProgram::createInstructions(const Executable& executable) {
  RefusalCollector refusals;
  for (size_t i = 0; i < executable.instructions.size(); ++i) {
    const Instruction& instruction = executable.instructions[i];
    GR_RETURN_IF_ERROR(refusals.take(createInstruction(instruction), instruction, i));
  }
  return refusals.status();
}

absl::Status CpuProgram::createInstruction(const Instruction& instruction) {
  OpRecord record;
  record.label = static_cast<uint32_t>(labels_.size());
  labels_.push_back(instruction.label);
  if (instruction.kernel == "send" || instruction.kernel == "receive") {
    bindings_.edges.push_back(bindEdge(instruction, record));
  } else {
    const KernelEntry* entry = findKernel(instruction.kernel);
    if (entry == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no kernel \"", instruction.kernel, "\""));
    }
    KernelContext context{onednn_, code_.get()};
    GR_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, createKernel(*entry, instruction, context));
    record.run = runKernel;
    record.state = kernel.get();
    kernels_.push_back(std::move(kernel));
  }
  records_.push_back(record);
  return absl::OkStatus();
}

absl::Status CpuProgram::pack(const Executable& executable, WeightSource& weights,
                              PackedWeights& packed) {
  packed.dropUnused();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (executable.buffers[i].isStored()) {
      absl::StatusOr<Stored> stored = store(executable.buffers[i], weights, packed);
      if (!stored.ok()) {
        return runtime::annotate(stored.status(), absl::StrCat("buffer ", i));
      }
      buffers_[i] =
          const_cast<uint8_t*>(stored->bytes);  // no instruction writes to a stored buffer
      stored_.push_back(std::move(stored->owner));
    }
  }
  return absl::OkStatus();
}

/// Returns what a weight or constant is read from: what another program packed, the mapped file, or
/// memory into which it is packed now.
absl::StatusOr<CpuProgram::Stored> CpuProgram::store(const Buffer& buffer, WeightSource& weights,
                                                     PackedWeights& packed) {
  Weight given{buffer.data, nullptr};
  if (buffer.kind == BufferKind::kWeight) {
    if (auto found = packed.find(buffer, weights.checksum(buffer.index))) {
      sharedBytes_ += buffer.bytes;
      return Stored{found.get(), found};
    }
    GR_ASSIGN_OR_RETURN(given, weights.weight(buffer.index));
  }
  if (given.owner != nullptr && isPacked(buffer, given.bytes)) {
    return Stored{given.bytes.data(), given.owner};
  }
  auto release = [&] {
    if (buffer.kind == BufferKind::kWeight) {
      weights.release(buffer.index);
    }
  };
  GR_ASSIGN_OR_RETURN(PackedWeights::Packed made, packed.get(buffer, given, onednn_, release));
  sharedBytes_ += made.shared ? buffer.bytes : 0;
  release();
  return Stored{made.bytes.get(), made.bytes};
}

absl::Status CpuProgram::errorMessage(const OpRecord& record, int code) const {
  std::string where = record.label < labels_.size() ? labels_[record.label] : "unknown instruction";
  if (record.state == nullptr) {
    return absl::InternalError(absl::StrCat(where, ": error ", code));
  }
  return runtime::annotate(static_cast<Kernel*>(record.state)->errorMessage(code), where);
}

}  // namespace graphrun::devices::cpu
