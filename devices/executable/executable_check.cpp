// The parts of an executable must agree before a kernel is made of it.
#include "absl/container/flat_hash_set.h"
#include "devices/executable/executable.h"
#include "devices/executable/quantized_elements.h"

namespace graphrun::devices {
namespace {

constexpr uint64_t kMaxArenaBytes = uint64_t{1} << 46;
constexpr uint32_t kMaxThreads = 4096;
constexpr size_t kMaxRank = 64;

absl::Status invalid(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("executable: ", where, ": ", what));
}

/// Bytes of `desc`, all its fields checked.
absl::StatusOr<uint64_t> checkedBytes(const TensorDesc& desc, absl::string_view where,
                                      LayoutBytes layoutBytes) {
  if (desc.dims.size() > kMaxRank) {
    return invalid(where, absl::StrCat("rank ", desc.dims.size(), ", expected at most ", kMaxRank));
  }
  auto bytes = layoutBytes(desc);
  if (!bytes.ok()) {
    return invalid(where, bytes.status().message());
  }
  return *bytes;
}

absl::Status checkStored(const Buffer& buffer, absl::string_view where, LayoutBytes layoutBytes) {
  GR_ASSIGN_OR_RETURN(uint64_t bytes, checkedBytes(buffer.desc, where, layoutBytes));
  if (bytes > buffer.bytes) {
    return invalid(where, absl::StrCat("needs ", bytes, " bytes, has ", buffer.bytes));
  }
  if (buffer.quantized) {
    const TensorDesc& source = buffer.source ? *buffer.source : buffer.desc;
    absl::Status known = checkQuantization(*buffer.quantized, source.type);
    if (!known.ok()) {
      return invalid(where, known.message());
    }
  }
  if (buffer.source) {
    GR_RETURN_IF_ERROR(checkedBytes(*buffer.source, where, layoutBytes).status());
    if (!buffer.source->layout.empty() && buffer.source->dims != buffer.desc.dims) {
      return invalid(where, absl::StrCat("its source ", buffer.source->spec().toString(),
                                         " has a layout, but not the dims of ",
                                         buffer.desc.spec().toString()));
    }
    if (buffer.source->spec().elementCount() != buffer.desc.spec().elementCount()) {
      return invalid(where, "its source has another number of elements");
    }
  }
  return absl::OkStatus();
}

absl::Status checkBuffer(const Executable& executable, const Buffer& buffer,
                         absl::string_view where, LayoutBytes layoutBytes) {
  switch (buffer.kind) {
    case BufferKind::kArena:
      if (buffer.offset > executable.arenaBytes ||
          buffer.bytes > executable.arenaBytes - buffer.offset) {
        return invalid(where, absl::StrCat("bytes [", buffer.offset, ", +", buffer.bytes,
                                           ") are outside the arena of ", executable.arenaBytes));
      }
      if (buffer.offset % runtime::kTensorAlignment != 0) {
        return invalid(where, absl::StrCat("offset ", buffer.offset, " is not aligned"));
      }
      return absl::OkStatus();
    case BufferKind::kWeight:
    case BufferKind::kConstant:
      return checkStored(buffer, where, layoutBytes);
    case BufferKind::kInput:
    case BufferKind::kOutput:
    case BufferKind::kReceive:
    case BufferKind::kState:
    case BufferKind::kNextState:
      return absl::OkStatus();  // checked with the endpoint, the instruction or the state
  }
  return invalid(where, "unknown kind");
}

/// An endpoint and its buffer name each other, and the buffer has the size of the dense tensor.
absl::Status checkEndpoint(const Executable& executable, const Endpoint& endpoint, size_t index,
                           BufferKind kind, LayoutBytes layoutBytes) {
  std::string where = absl::StrCat("endpoint ", endpoint.name);
  if (endpoint.buffer >= executable.buffers.size()) {
    return invalid(where, absl::StrCat("no buffer ", endpoint.buffer));
  }
  const Buffer& buffer = executable.buffers[endpoint.buffer];
  if (buffer.kind != kind || buffer.index != index) {
    return invalid(where, absl::StrCat("buffer ", endpoint.buffer, " is not bound to it"));
  }
  if (!endpoint.desc.layout.empty()) {
    return invalid(where, "is not dense");
  }
  GR_ASSIGN_OR_RETURN(uint64_t bytes, checkedBytes(endpoint.desc, where, layoutBytes));
  if (buffer.bytes != bytes) {
    return invalid(where, absl::StrCat("needs ", bytes, " bytes, its buffer has ", buffer.bytes));
  }
  return absl::OkStatus();
}

/// Buffer `id` is that of state `index`, and has the bytes of its first value.
absl::Status checkStateBuffer(const Executable& executable, uint32_t id, size_t index,
                              BufferKind kind, absl::string_view where) {
  if (id >= executable.buffers.size()) {
    return invalid(where, absl::StrCat("no buffer ", id));
  }
  const Buffer& buffer = executable.buffers[id];
  if (buffer.kind != kind || buffer.index != index) {
    return invalid(where, absl::StrCat("buffer ", id, " is not bound to it"));
  }
  const uint64_t bytes = executable.states[index].first.bytes;
  return buffer.bytes == bytes ? absl::OkStatus()
                               : invalid(where, absl::StrCat("needs ", bytes, " bytes, its buffer ",
                                                             id, " has ", buffer.bytes));
}

absl::Status checkState(const Executable& executable, size_t index, LayoutBytes layoutBytes) {
  const State& state = executable.states[index];
  const std::string where = absl::StrCat("state ", state.name);
  const Buffer& first = state.first;
  if (!first.isStored() || !first.desc.layout.empty() || first.source || first.quantized) {
    return invalid(where, "its first value is no plain dense tensor");
  }
  GR_RETURN_IF_ERROR(checkStored(first, where, layoutBytes));
  if (first.bytes != first.desc.spec().byteSize()) {
    return invalid(where, absl::StrCat("has ", first.bytes, " bytes, expected ",
                                       first.desc.spec().byteSize()));
  }
  if (first.kind == BufferKind::kConstant && first.data.size() != first.bytes) {
    return invalid(where, absl::StrCat("its first value has ", first.data.size(),
                                       " bytes, expected ", first.bytes));
  }
  GR_RETURN_IF_ERROR(checkStateBuffer(executable, state.buffer, index, BufferKind::kState, where));
  return state.next
             ? checkStateBuffer(executable, *state.next, index, BufferKind::kNextState, where)
             : absl::OkStatus();
}

absl::Status checkArgument(const Executable& executable, const Argument& argument,
                           absl::string_view where, LayoutBytes layoutBytes) {
  if (argument.buffer >= executable.buffers.size()) {
    return invalid(where, absl::StrCat("no buffer ", argument.buffer));
  }
  GR_ASSIGN_OR_RETURN(uint64_t bytes, checkedBytes(argument.desc, where, layoutBytes));
  uint64_t has = executable.buffers[argument.buffer].bytes;
  if (bytes > has) {
    return invalid(where,
                   absl::StrCat("needs ", bytes, " bytes, buffer ", argument.buffer, " has ", has));
  }
  return absl::OkStatus();
}

/// The results of an instruction must not land in what is to stay: weights, constants, inputs, and
/// what states were when the step began.
absl::Status checkWritable(const Executable& executable, const Argument& argument,
                           absl::string_view where) {
  BufferKind kind = executable.buffers[argument.buffer].kind;
  if (kind == BufferKind::kWeight || kind == BufferKind::kConstant || kind == BufferKind::kInput ||
      kind == BufferKind::kState) {
    return invalid(where, absl::StrCat("writes buffer ", argument.buffer, ", which is read-only"));
  }
  return absl::OkStatus();
}

absl::Status checkEdge(const Executable& executable, const Instruction& instruction,
                       absl::string_view where) {
  bool send = instruction.kernel == "send";
  const std::vector<Argument>& ends = send ? instruction.inputs : instruction.outputs;
  if (ends.size() != 1 || !ends[0].desc.layout.empty()) {
    return invalid(where, "expected one dense tensor");
  }
  const Buffer& buffer = executable.buffers[ends[0].buffer];
  if (!send && (buffer.kind != BufferKind::kReceive || buffer.index != instruction.edge ||
                buffer.bytes != ends[0].desc.spec().byteSize())) {
    return invalid(
        where, absl::StrCat("buffer ", ends[0].buffer, " is not that of edge ", instruction.edge));
  }
  return absl::OkStatus();
}

absl::Status checkInstruction(const Executable& executable, const Instruction& instruction,
                              size_t index, LayoutBytes layoutBytes) {
  std::string where =
      absl::StrCat("instruction ", index, " (", instruction.kernel, " ", instruction.label, ")");
  if (instruction.threads > kMaxThreads) {
    return invalid(where, absl::StrCat("asks for ", instruction.threads, " threads"));
  }
  for (const Argument& argument : instruction.inputs) {
    GR_RETURN_IF_ERROR(checkArgument(executable, argument, where, layoutBytes));
  }
  for (const Argument& argument : instruction.outputs) {
    GR_RETURN_IF_ERROR(checkArgument(executable, argument, where, layoutBytes));
    if (instruction.kernel != "receive") {
      GR_RETURN_IF_ERROR(checkWritable(executable, argument, where));
    }
  }
  for (const PostOp& op : instruction.postOps) {
    if (op.kind > PostOpKind::kBinaryDiv) {
      return invalid(where, "unknown kind of post-op");
    }
    if (op.operand) {
      GR_RETURN_IF_ERROR(checkArgument(executable, *op.operand, where, layoutBytes));
    }
  }
  if (instruction.scratch) {
    GR_RETURN_IF_ERROR(checkArgument(executable, *instruction.scratch, where, layoutBytes));
    GR_RETURN_IF_ERROR(checkWritable(executable, *instruction.scratch, where));
  }
  return instruction.kernel == "send" || instruction.kernel == "receive"
             ? checkEdge(executable, instruction, where)
             : absl::OkStatus();
}

bool isBoundToState(const Executable& executable, uint32_t id) {
  const Buffer& buffer = executable.buffers[id];
  if (buffer.index >= executable.states.size()) {
    return false;
  }
  const State& state = executable.states[buffer.index];
  return buffer.kind == BufferKind::kState ? state.buffer == id : state.next == id;
}

/// Every buffer that someone else binds has exactly one place that says its size.
absl::Status checkBound(const Executable& executable) {
  absl::flat_hash_set<uint32_t> received;
  for (const Instruction& instruction : executable.instructions) {
    if (instruction.kernel == "receive" && !received.insert(instruction.outputs[0].buffer).second) {
      return invalid(instruction.label,
                     absl::StrCat("edge ", instruction.edge, " is received twice"));
    }
  }
  for (uint32_t i = 0; i < executable.buffers.size(); ++i) {
    const Buffer& buffer = executable.buffers[i];
    const std::vector<Endpoint>& ends =
        buffer.kind == BufferKind::kInput ? executable.inputs : executable.outputs;
    bool endpoint = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput;
    if (buffer.kind == BufferKind::kState || buffer.kind == BufferKind::kNextState) {
      if (!isBoundToState(executable, i)) {
        return invalid(absl::StrCat("buffer ", i), "is bound to no state");
      }
      continue;
    }
    bool bound = endpoint ? buffer.index < ends.size() && ends[buffer.index].buffer == i
                          : buffer.kind != BufferKind::kReceive || received.contains(i);
    if (!bound) {
      return invalid(absl::StrCat("buffer ", i), "is bound by nothing");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<uint64_t> memoryOf(const Executable& executable) {
  uint64_t bytes = executable.arenaBytes;
  for (const Buffer& buffer : executable.buffers) {
    if (buffer.isStored() && __builtin_add_overflow(bytes, buffer.bytes, &bytes)) {
      return absl::InvalidArgumentError("executable: it is larger than all memory");
    }
  }
  for (const State& state : executable.states) {
    const uint64_t own = state.first.bytes * (state.next ? 2 : 1);
    if (own < state.first.bytes || __builtin_add_overflow(bytes, own, &bytes)) {
      return absl::InvalidArgumentError("executable: it is larger than all memory");
    }
  }
  return bytes;
}

absl::Status checkExecutable(const Executable& executable, LayoutBytes layoutBytes) {
  if (executable.arenaBytes > kMaxArenaBytes) {
    return invalid("arena", absl::StrCat(executable.arenaBytes, " bytes"));
  }
  for (size_t i = 0; i < executable.buffers.size(); ++i) {
    GR_RETURN_IF_ERROR(
        checkBuffer(executable, executable.buffers[i], absl::StrCat("buffer ", i), layoutBytes));
  }
  for (size_t i = 0; i < executable.inputs.size(); ++i) {
    GR_RETURN_IF_ERROR(
        checkEndpoint(executable, executable.inputs[i], i, BufferKind::kInput, layoutBytes));
  }
  for (size_t i = 0; i < executable.outputs.size(); ++i) {
    GR_RETURN_IF_ERROR(
        checkEndpoint(executable, executable.outputs[i], i, BufferKind::kOutput, layoutBytes));
  }
  absl::flat_hash_set<absl::string_view> states;
  for (size_t i = 0; i < executable.states.size(); ++i) {
    GR_RETURN_IF_ERROR(checkState(executable, i, layoutBytes));
    if (!states.insert(executable.states[i].name).second) {
      return invalid(absl::StrCat("state ", executable.states[i].name), "is there twice");
    }
  }
  for (size_t i = 0; i < executable.instructions.size(); ++i) {
    GR_RETURN_IF_ERROR(checkInstruction(executable, executable.instructions[i], i, layoutBytes));
  }
  return checkBound(executable);
}

}  // namespace graphrun::devices
