#include "devices/cpu/compiler/lowering.h"

#include "absl/strings/str_cat.h"
#include "devices/cpu/compiler/attributes.h"
#include "devices/cpu/onednn_layouts.h"
#include "llvm/ADT/TypeSwitch.h"

namespace graphrun::devices::cpu {

absl::Status Lowering::lower(mlir::func::FuncOp partition, llvm::ArrayRef<Work> work,
                             llvm::ArrayRef<uint32_t> chosen) {
  GR_RETURN_IF_ERROR(lowerInputs(partition));
  // The last first: what it concatenates may be concatenations.
  for (size_t i = work.size(); i-- > 0;) {
    GR_RETURN_IF_ERROR(reserveParts(work[i], work[i].alternatives[chosen[i]]));
  }
  for (auto [piece, way] : llvm::zip(work, chosen)) {
    GR_RETURN_IF_ERROR(
        runtime::annotate(lowerWork(piece, piece.alternatives[way]), labelOf(piece.op)));
  }
  return absl::OkStatus();
}

absl::Status Lowering::lowerInputs(mlir::func::FuncOp partition) {
  for (mlir::BlockArgument argument : partition.getArguments()) {
    uint32_t index = argument.getArgNumber();
    TensorDesc desc = denseDesc(argument);
    Buffer buffer;
    buffer.kind = BufferKind::kInput;
    buffer.index = index;
    GR_ASSIGN_OR_RETURN(buffer.bytes, layoutBytes(desc));
    uint32_t id = values_.newBuffer(std::move(buffer));
    values_.define(argument, id, desc);
    auto name = partition.getArgAttrOfType<mlir::StringAttr>(index, ir::kNameAttr);
    executable_.inputs.push_back({name ? name.str() : absl::StrCat("input", index), id, desc});
  }
  return absl::OkStatus();
}

absl::Status Lowering::reserveParts(const Work& work, const Alternative& way) {
  if (way.parts.empty() || llvm::isa<ir::SplitOp>(work.op)) {
    return absl::OkStatus();
  }
  mlir::Value result = work.results[0];
  std::optional<Argument> whole = values_.reserved(result);
  if (!whole || !sameLayout(whole->desc, way.results[0])) {
    GR_ASSIGN_OR_RETURN(uint32_t buffer, values_.newArenaBuffer(way.results[0]));
    whole = Argument{buffer, way.results[0]};
    values_.reserve(result, *whole);
  }
  for (auto [operand, desc, offset] : llvm::zip(work.operands, way.operands, way.parts)) {
    Buffer part;
    part.within = whole->buffer;
    part.offset = offset;
    GR_ASSIGN_OR_RETURN(part.bytes, layoutBytes(desc));
    Argument place{values_.newBuffer(std::move(part)), desc};
    parts_[work.op].push_back(place);
    if (!values_.reserved(operand)) {
      values_.reserve(operand, place);
    }
  }
  return absl::OkStatus();
}

absl::Status Lowering::lowerConcat(const Work& work, const Alternative& way) {
  for (auto [operand, part] : llvm::zip(work.operands, parts_[work.op])) {
    GR_RETURN_IF_ERROR(values_.place(operand, part));
  }
  return values_.write(work.results[0], way.results[0]).status();
}

absl::Status Lowering::lowerSplit(const Work& work, const Alternative& way) {
  GR_ASSIGN_OR_RETURN(Argument whole, values_.read(work.operands[0], way.operands[0]));
  if (executable_.buffers[whole.buffer].kind != BufferKind::kArena) {
    // A view of an input: only the arena has parts.
    GR_ASSIGN_OR_RETURN(whole.buffer, values_.newArenaBuffer(whole.desc));
    GR_RETURN_IF_ERROR(values_.place(work.operands[0], whole));
  }
  for (auto [result, desc, offset] : llvm::zip(work.results, way.results, way.parts)) {
    Buffer part;
    part.within = whole.buffer;
    part.offset = offset;
    GR_ASSIGN_OR_RETURN(part.bytes, layoutBytes(desc));
    values_.define(result, values_.newBuffer(std::move(part)), desc);
  }
  return absl::OkStatus();
}

absl::Status Lowering::lowerWork(const Work& work, const Alternative& way) {
  if (!way.parts.empty()) {
    return llvm::isa<ir::SplitOp>(work.op) ? lowerSplit(work, way) : lowerConcat(work, way);
  }
  switch (work.kind) {
    case Work::Kind::kLibrary:
      return lowerLibrary(work, way);
    case Work::Kind::kMap:
      return lowerMap(work, way);
    case Work::Kind::kOther:
      break;
  }
  return lowerOther(work);
}

absl::Status Lowering::lowerOther(const Work& work) {
  return llvm::TypeSwitch<mlir::Operation*, absl::Status>(work.op)
      .Case([&](ir::SendOp send) { return lowerSend(send, work.operands[0]); })
      .Case([&](ir::RecvOp receive) { return lowerReceive(receive); })
      .Case([&](mlir::func::ReturnOp) { return lowerReturn(work); })
      .Default([&](mlir::Operation*) { return lowerView(work); });
}

absl::Status Lowering::lowerLibrary(const Work& work, const Alternative& way) {
  const LayoutChoice& choice = way.choice;
  Step step = way.step;
  step.kernel = std::string(way.kernel->name);
  step.label = work.library.step.label;
  auto operand = work.operands.begin();
  for (size_t i = 0; i < step.inputs.size(); ++i, ++operand) {
    bool hasSource = i < choice.sources.size() && !choice.sources[i].dims.empty();
    GR_ASSIGN_OR_RETURN(step.inputs[i], values_.read(*operand, choice.inputs[i],
                                                     hasSource ? &choice.sources[i] : nullptr));
  }
  std::optional<Argument> inPlace;
  for (size_t i = 0; i < step.postOps.size(); ++i) {
    if (step.postOps[i].kind == PostOpKind::kSum) {
      GR_ASSIGN_OR_RETURN(inPlace, values_.read(*operand++, choice.outputs[0]));
    } else if (step.postOps[i].operand) {
      GR_ASSIGN_OR_RETURN(step.postOps[i].operand, values_.read(*operand++, choice.postOps[i]));
    }
  }
  for (auto [i, result] : llvm::enumerate(work.results)) {
    if (inPlace) {
      values_.define(result, inPlace->buffer, choice.outputs[i]);
      step.outputs[i] = *inPlace;
      continue;
    }
    GR_ASSIGN_OR_RETURN(step.outputs[i], values_.write(result, choice.outputs[i]));
  }
  GR_RETURN_IF_ERROR(addScratch(step, choice.scratchBytes));
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Lowering::addScratch(Step& step, uint64_t bytes) {
  if (bytes > 0) {
    TensorDesc desc{runtime::ElementType::kU8, {static_cast<int64_t>(bytes)}};
    GR_ASSIGN_OR_RETURN(uint32_t buffer, values_.newArenaBuffer(desc));
    step.scratch = Argument{buffer, desc};
  }
  return absl::OkStatus();
}

absl::Status Lowering::lowerMap(const Work& work, const Alternative& way) {
  Step step;
  step.kernel = "generated";
  step.operation = work.op->getName().getStringRef().str();
  step.label = labelOf(work.op);
  step.threads = threadsOf(work.op);
  for (auto [operand, desc] : llvm::zip(work.operands, way.map.operands)) {
    GR_ASSIGN_OR_RETURN(Argument argument, values_.read(operand, desc));
    step.inputs.push_back(argument);
  }
  for (auto [result, desc] : llvm::zip(work.results, way.map.results)) {
    GR_ASSIGN_OR_RETURN(Argument argument, values_.write(result, desc));
    step.outputs.push_back(argument);
  }
  GeneratedKernel kernel = code_.add(work.op, way.map.operandKernels, way.map.resultKernel);
  step.symbol = kernel.symbol;
  step.extent = kernel.extent;
  step.grain = kernel.grain;
  step.sizes = kernel.sizes;
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Lowering::lowerView(const Work& work) {
  GR_ASSIGN_OR_RETURN(Argument input, values_.readDense(work.operands[0]));
  values_.define(work.results[0], input.buffer, denseDesc(work.results[0]));
  return absl::OkStatus();
}

absl::Status Lowering::lowerSend(ir::SendOp op, mlir::Value value) {
  Step step;
  step.kernel = "send";
  step.operation = "gr.send";
  step.label = labelOf(op);
  step.edge = static_cast<uint32_t>(op.getEdge());
  GR_ASSIGN_OR_RETURN(Argument input, values_.readDense(value));
  step.inputs = {input};
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Lowering::lowerReceive(ir::RecvOp op) {
  Step step;
  step.kernel = "receive";
  step.operation = "gr.recv";
  step.label = labelOf(op);
  step.edge = static_cast<uint32_t>(op.getEdge());
  TensorDesc desc = denseDesc(op.getResult());
  Buffer buffer;
  buffer.kind = BufferKind::kReceive;
  buffer.index = step.edge;
  GR_ASSIGN_OR_RETURN(buffer.bytes, layoutBytes(desc));
  uint32_t id = values_.newBuffer(std::move(buffer));
  values_.define(op.getResult(), id, desc);
  step.outputs = {{id, desc}};
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::StatusOr<Argument> Lowering::outputBuffer(mlir::Value value, uint32_t index) {
  GR_ASSIGN_OR_RETURN(Argument argument, values_.readDense(value));
  Buffer& buffer = executable_.buffers[argument.buffer];
  bool isPart = buffer.within.has_value();
  bool hasParts = llvm::any_of(
      executable_.buffers, [&](const Buffer& other) { return other.within == argument.buffer; });
  if (buffer.kind == BufferKind::kArena && !isPart && !hasParts) {
    // Written by its producer straight into the caller's memory.
    buffer.kind = BufferKind::kOutput;
    buffer.index = index;
    return argument;
  }
  Buffer copy;
  copy.kind = BufferKind::kOutput;
  copy.index = index;
  copy.bytes = buffer.bytes;
  Step step;
  step.kernel = "copy";
  step.operation = "copy";
  step.label = "output";
  step.inputs = {argument};
  step.outputs = {{values_.newBuffer(std::move(copy)), argument.desc}};
  Argument output = step.outputs[0];
  executable_.steps.push_back(std::move(step));
  return output;
}

absl::Status Lowering::lowerReturn(const Work& work) {
  auto partition = work.op->getParentOfType<mlir::func::FuncOp>();
  for (auto [index, value] : llvm::enumerate(work.operands)) {
    GR_ASSIGN_OR_RETURN(Argument output, outputBuffer(value, static_cast<uint32_t>(index)));
    auto name = partition.getResultAttrOfType<mlir::StringAttr>(index, ir::kNameAttr);
    executable_.outputs.push_back(
        {name ? name.str() : absl::StrCat("output", index), output.buffer, output.desc});
  }
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cpu
