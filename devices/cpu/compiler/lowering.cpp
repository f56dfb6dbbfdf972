#include "devices/cpu/compiler/lowering.h"

#include "devices/compiler/attributes.h"
#include "devices/cpu/base/onednn_layouts.h"

namespace graphrun::devices::cpu {
namespace {

class OneDnnLayouts final : public LayoutRules {
 public:
  absl::StatusOr<uint64_t> bytes(const TensorDesc& desc) const override {
    return layoutBytes(desc);
  }
  bool isDense(const TensorDesc& desc) const override { return cpu::isDense(desc); }
  bool isSame(const TensorDesc& a, const TensorDesc& b) const override { return sameLayout(a, b); }
  absl::StatusOr<TensorDesc> ofType(const TensorDesc& desc,
                                    runtime::ElementType type) const override {
    if (desc.type == type || desc.layout.empty()) {
      return TensorDesc{type, desc.dims, desc.layout};
    }
    GR_ASSIGN_OR_RETURN(Blocking blocking, blockingOf(desc));
    return blockedDesc(type, blocking);
  }
  absl::Status setCopyKernel(Instruction& instruction) const override {
    GR_ASSIGN_OR_RETURN(Candidate candidate, bestCandidate(instruction));
    instruction.kernel = std::string(candidate.kernel->name);
    return absl::OkStatus();
  }
};

const LayoutRules& oneDnnLayouts() {
  static const OneDnnLayouts kRules;
  return kRules;
}

}  // namespace

Lowering::Lowering(Executable& executable, CodeModule& code, const WeightIndex& weightIndex)
    : executable_(executable),
      code_(code),
      values_(executable, weightIndex, oneDnnLayouts()),
      writer_(values_) {}

absl::Status Lowering::lower(mlir::func::FuncOp partition, llvm::ArrayRef<WorkItem> items,
                             llvm::ArrayRef<uint32_t> chosen) {
  GR_RETURN_IF_ERROR(writer_.addInputs(partition));
  // The last first: what it concatenates may be concatenations.
  for (size_t i = items.size(); i-- > 0;) {
    GR_RETURN_IF_ERROR(reserveParts(items[i], items[i].candidates[chosen[i]]));
  }
  for (auto [item, index] : llvm::zip(items, chosen)) {
    GR_RETURN_IF_ERROR(
        runtime::annotate(lowerItem(item, item.candidates[index]), labelOf(item.op)));
  }
  return absl::OkStatus();
}

absl::Status Lowering::reserveParts(const WorkItem& item, const WorkCandidate& candidate) {
  if (candidate.parts.empty() || llvm::isa<ir::SplitOp>(item.op)) {
    return absl::OkStatus();
  }
  mlir::Value result = item.results[0];
  std::optional<Argument> whole = values_.reserved(result);
  if (!whole || !sameLayout(whole->desc, candidate.results[0])) {
    GR_ASSIGN_OR_RETURN(uint32_t buffer, values_.newArenaBuffer(candidate.results[0]));
    whole = Argument{buffer, candidate.results[0]};
    values_.reserve(result, *whole);
  }
  for (auto [operand, desc, offset] :
       llvm::zip(item.operands, candidate.operands, candidate.parts)) {
    Buffer part;
    part.within = whole->buffer;
    part.offset = offset;
    GR_ASSIGN_OR_RETURN(part.bytes, layoutBytes(desc));
    Argument reserved{values_.newBuffer(std::move(part)), desc};
    parts_[item.op].push_back(reserved);
    if (!values_.reserved(operand)) {
      values_.reserve(operand, reserved);
    }
  }
  return absl::OkStatus();
}

absl::Status Lowering::lowerConcat(const WorkItem& item, const WorkCandidate& candidate) {
  for (auto [operand, part] : llvm::zip(item.operands, parts_[item.op])) {
    GR_RETURN_IF_ERROR(values_.place(operand, part));
  }
  return values_.write(item.results[0], candidate.results[0]).status();
}

absl::Status Lowering::lowerSplit(const WorkItem& item, const WorkCandidate& candidate) {
  GR_ASSIGN_OR_RETURN(Argument whole, values_.read(item.operands[0], candidate.operands[0]));
  if (executable_.buffers[whole.buffer].kind != BufferKind::kArena) {
    // A view of an input: only the arena has parts.
    GR_ASSIGN_OR_RETURN(whole.buffer, values_.newArenaBuffer(whole.desc));
    GR_RETURN_IF_ERROR(values_.place(item.operands[0], whole));
  }
  for (auto [result, desc, offset] : llvm::zip(item.results, candidate.results, candidate.parts)) {
    Buffer part;
    part.within = whole.buffer;
    part.offset = offset;
    GR_ASSIGN_OR_RETURN(part.bytes, layoutBytes(desc));
    values_.define(result, values_.newBuffer(std::move(part)), desc);
  }
  return absl::OkStatus();
}

absl::Status Lowering::lowerItem(const WorkItem& item, const WorkCandidate& candidate) {
  if (!candidate.parts.empty()) {
    return llvm::isa<ir::SplitOp>(item.op) ? lowerSplit(item, candidate)
                                           : lowerConcat(item, candidate);
  }
  switch (item.kind) {
    case WorkKind::kLibrary:
      return lowerLibrary(item, candidate);
    case WorkKind::kMap:
      return lowerMap(item, candidate);
    case WorkKind::kOther:
      break;
  }
  return writer_.addPlain(item.op, item.operands);
}

absl::Status Lowering::lowerLibrary(const WorkItem& item, const WorkCandidate& candidate) {
  const LayoutChoice& choice = candidate.choice;
  Instruction instruction = candidate.instruction;
  instruction.kernel = std::string(candidate.kernel->name);
  instruction.label = item.library.instruction.label;
  auto operand = item.operands.begin();
  for (size_t i = 0; i < instruction.inputs.size(); ++i, ++operand) {
    bool hasSource = i < choice.sources.size() && !choice.sources[i].dims.empty();
    GR_ASSIGN_OR_RETURN(
        instruction.inputs[i],
        values_.read(*operand, choice.inputs[i], hasSource ? &choice.sources[i] : nullptr));
  }
  std::optional<Argument> inPlace;
  for (size_t i = 0; i < instruction.postOps.size(); ++i) {
    if (instruction.postOps[i].kind == PostOpKind::kSum) {
      GR_ASSIGN_OR_RETURN(inPlace, values_.read(*operand++, choice.outputs[0]));
    } else if (instruction.postOps[i].operand) {
      GR_ASSIGN_OR_RETURN(instruction.postOps[i].operand,
                          values_.read(*operand++, choice.postOps[i]));
    }
  }
  for (auto [i, result] : llvm::enumerate(item.results)) {
    if (inPlace) {
      values_.define(result, inPlace->buffer, choice.outputs[i]);
      instruction.outputs[i] = *inPlace;
      continue;
    }
    GR_ASSIGN_OR_RETURN(instruction.outputs[i], values_.write(result, choice.outputs[i]));
  }
  GR_RETURN_IF_ERROR(writer_.addScratch(instruction, choice.scratchBytes));
  executable_.instructions.push_back(std::move(instruction));
  return absl::OkStatus();
}

absl::Status Lowering::lowerMap(const WorkItem& item, const WorkCandidate& candidate) {
  Instruction instruction;
  instruction.kernel = "generated";
  instruction.operation = item.op->getName().getStringRef().str();
  instruction.label = labelOf(item.op);
  instruction.threads = devices::threadsOf(item.op);
  for (auto [operand, desc] : llvm::zip(item.operands, candidate.map.operands)) {
    GR_ASSIGN_OR_RETURN(Argument argument, values_.read(operand, desc));
    instruction.inputs.push_back(argument);
  }
  for (auto [result, desc] : llvm::zip(item.results, candidate.map.results)) {
    GR_ASSIGN_OR_RETURN(Argument argument, values_.write(result, desc));
    instruction.outputs.push_back(argument);
  }
  GeneratedKernel kernel =
      code_.add(item.op, candidate.map.operandKernels, candidate.map.resultKernel);
  instruction.symbol = kernel.symbol;
  instruction.extent = kernel.extent;
  instruction.grain = kernel.grain;
  instruction.sizes = kernel.sizes;
  executable_.instructions.push_back(std::move(instruction));
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cpu
