#include "devices/compiler/instruction_writer.h"

#include "absl/strings/str_cat.h"
#include "devices/compiler/attributes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace graphrun::devices {

absl::Status InstructionWriter::addInputs(mlir::func::FuncOp partition) {
  for (mlir::BlockArgument argument : partition.getArguments()) {
    uint32_t index = argument.getArgNumber();
    TensorDesc desc = denseDesc(argument);
    Buffer buffer;
    buffer.kind = BufferKind::kInput;
    buffer.index = index;
    GR_ASSIGN_OR_RETURN(buffer.bytes, layouts_.bytes(desc));
    uint32_t id = values_.newBuffer(std::move(buffer));
    values_.define(argument, id, desc);
    auto name = partition.getArgAttrOfType<mlir::StringAttr>(index, ir::kNameAttr);
    executable_.inputs.push_back({name ? name.str() : absl::StrCat("input", index), id, desc});
  }
  return absl::OkStatus();
}

absl::Status InstructionWriter::addPlain(mlir::Operation* op,
                                         llvm::ArrayRef<mlir::Value> operands) {
  return llvm::TypeSwitch<mlir::Operation*, absl::Status>(op)
      .Case([&](ir::SendOp send) { return addSend(send, operands[0]); })
      .Case([&](ir::RecvOp receive) { return addReceive(receive); })
      .Case([&](mlir::func::ReturnOp end) { return addReturn(end, operands); })
      .Case([&](ir::StateOp state) { return values_.addState(state); })
      .Case([&](ir::UpdateOp) { return addUpdate(operands); })
      .Default([&](mlir::Operation*) { return addView(op, operands[0]); });
}

absl::Status InstructionWriter::addScratch(Instruction& instruction, uint64_t bytes) {
  if (bytes > 0) {
    TensorDesc desc{runtime::ElementType::kU8, {static_cast<int64_t>(bytes)}};
    GR_ASSIGN_OR_RETURN(uint32_t buffer, values_.newArenaBuffer(desc));
    instruction.scratch = Argument{buffer, desc};
  }
  return absl::OkStatus();
}

absl::Status InstructionWriter::addView(mlir::Operation* op, mlir::Value value) {
  GR_ASSIGN_OR_RETURN(Argument input, values_.readDense(value));
  values_.define(op->getResult(0), input.buffer, denseDesc(op->getResult(0)));
  return absl::OkStatus();
}

absl::Status InstructionWriter::addSend(ir::SendOp op, mlir::Value value) {
  Instruction instruction;
  instruction.kernel = "send";
  instruction.operation = "gr.send";
  instruction.label = labelOf(op);
  instruction.edge = static_cast<uint32_t>(op.getEdge());
  GR_ASSIGN_OR_RETURN(Argument input, values_.readDense(value));
  instruction.inputs = {input};
  executable_.instructions.push_back(std::move(instruction));
  return absl::OkStatus();
}

absl::Status InstructionWriter::addReceive(ir::RecvOp op) {
  Instruction instruction;
  instruction.kernel = "receive";
  instruction.operation = "gr.recv";
  instruction.label = labelOf(op);
  instruction.edge = static_cast<uint32_t>(op.getEdge());
  TensorDesc desc = denseDesc(op.getResult());
  Buffer buffer;
  buffer.kind = BufferKind::kReceive;
  buffer.index = instruction.edge;
  GR_ASSIGN_OR_RETURN(buffer.bytes, layouts_.bytes(desc));
  uint32_t id = values_.newBuffer(std::move(buffer));
  values_.define(op.getResult(), id, desc);
  instruction.outputs = {{id, desc}};
  executable_.instructions.push_back(std::move(instruction));
  return absl::OkStatus();
}

absl::Status InstructionWriter::addUpdate(llvm::ArrayRef<mlir::Value> operands) {
  GR_ASSIGN_OR_RETURN(Argument state, values_.readDense(operands[0]));
  updates_.emplace_back(executable_.buffers[state.buffer].index, operands[1]);
  return absl::OkStatus();
}

absl::Status InstructionWriter::finishUpdates(const llvm::DenseSet<uint32_t>& wholes) {
  for (const auto& [index, value] : updates_) {
    const std::string label = absl::StrCat(executable_.states[index].name, "/update");
    GR_ASSIGN_OR_RETURN(Argument next,
                        ownBuffer(value, BufferKind::kNextState, index, label, wholes));
    executable_.states[index].next = next.buffer;
  }
  return absl::OkStatus();
}

absl::StatusOr<Argument> InstructionWriter::ownBuffer(mlir::Value value, BufferKind kind,
                                                      uint32_t index, const std::string& label,
                                                      const llvm::DenseSet<uint32_t>& wholes) {
  GR_ASSIGN_OR_RETURN(Argument argument, values_.readDense(value));
  Buffer& buffer = executable_.buffers[argument.buffer];
  bool isPart = buffer.within.has_value();
  if (buffer.kind == BufferKind::kArena && !isPart && !wholes.contains(argument.buffer)) {
    // Written by its producer straight into the memory that is bound.
    buffer.kind = kind;
    buffer.index = index;
    return argument;
  }
  Buffer copy;
  copy.kind = kind;
  copy.index = index;
  copy.bytes = buffer.bytes;
  Instruction instruction;
  instruction.kernel = "copy";
  instruction.operation = "copy";
  instruction.label = label;
  instruction.inputs = {argument};
  instruction.outputs = {{values_.newBuffer(std::move(copy)), argument.desc}};
  Argument output = instruction.outputs[0];
  executable_.instructions.push_back(std::move(instruction));
  return output;
}

absl::Status InstructionWriter::addReturn(mlir::func::ReturnOp op,
                                          llvm::ArrayRef<mlir::Value> operands) {
  auto partition = op->getParentOfType<mlir::func::FuncOp>();
  llvm::DenseSet<uint32_t> wholes;  // buffers that have parts
  for (const Buffer& buffer : executable_.buffers) {
    if (buffer.within) {
      wholes.insert(*buffer.within);
    }
  }
  GR_RETURN_IF_ERROR(finishUpdates(wholes));
  for (auto [index, value] : llvm::enumerate(operands)) {
    GR_ASSIGN_OR_RETURN(Argument output, ownBuffer(value, BufferKind::kOutput,
                                                   static_cast<uint32_t>(index), "output", wholes));
    auto name = partition.getResultAttrOfType<mlir::StringAttr>(index, ir::kNameAttr);
    executable_.outputs.push_back(
        {name ? name.str() : absl::StrCat("output", index), output.buffer, output.desc});
  }
  return absl::OkStatus();
}

}  // namespace graphrun::devices
