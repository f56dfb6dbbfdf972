#include "devices/cuda/compiler/lowering.h"

#include "absl/strings/str_cat.h"
#include "devices/compiler/attributes.h"
#include "devices/cuda/compiler/recurrent_instructions.h"
#include "devices/cuda/kernels/kernel_errors.h"
#include "devices/cuda/kernels/layouts.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

Extent extentOf(const std::array<uint32_t, 3>& size) { return {size[0], size[1], size[2]}; }

void setLaunch(Instruction& instruction, const KernelLaunch& launch) {
  instruction.kernel = "generated";
  instruction.symbol = launch.symbol;
  instruction.grid = extentOf(launch.grid);
  instruction.block = extentOf(launch.block);
  instruction.sharedBytes = launch.sharedBytes;
  for (const KernelArgument& argument : launch.arguments) {
    if (argument.kind == KernelArgument::Kind::kInteger) {
      instruction.sizes.push_back(argument.value);
    } else if (argument.kind == KernelArgument::Kind::kErrors) {
      instruction.attributes[kReportsErrors] = true;
    }
  }
}

}  // namespace

absl::StatusOr<uint64_t> StridedLayouts::bytes(const TensorDesc& desc) const {
  return layoutBytes(desc);
}

absl::Status StridedLayouts::setCopyKernel(Instruction& instruction) const {
  AloneOperation copy =
      copyOperation(instruction.inputs[0].desc, instruction.outputs[0].desc, code_.context());
  setLaunch(instruction, code_.add(copy.op).launches.front());
  return absl::OkStatus();
}

Lowering::Lowering(Executable& executable, KernelCode& code, const WeightIndex& weightIndex)
    : executable_(executable),
      code_(code),
      layouts_(code),
      values_(executable, weightIndex, layouts_),
      writer_(values_) {}

absl::Status Lowering::lower(mlir::func::FuncOp partition, llvm::ArrayRef<WorkItem> items,
                             llvm::ArrayRef<uint32_t> chosen) {
  GR_RETURN_IF_ERROR(writer_.addInputs(partition));
  for (auto [item, index] : llvm::zip(items, chosen)) {
    GR_RETURN_IF_ERROR(
        runtime::annotate(lowerItem(item, item.candidates[index]), labelOf(item.op)));
  }
  return absl::OkStatus();
}

absl::Status Lowering::lowerItem(const WorkItem& item, const WorkCandidate& candidate) {
  if (candidate.isView) {
    GR_ASSIGN_OR_RETURN(Argument operand, values_.read(item.operands[0], candidate.operands[0]));
    values_.define(item.results[0], operand.buffer, candidate.results[0]);
    return absl::OkStatus();
  }
  switch (item.kind) {
    case WorkKind::kLibrary:
      return lowerLibrary(item, candidate);
    case WorkKind::kGenerated:
      return lowerGenerated(item, candidate);
    case WorkKind::kRecurrent:
      return lowerRecurrent(item, candidate);
    case WorkKind::kPlain:
      break;
  }
  return writer_.addPlain(item.op, item.operands);
}

absl::Status Lowering::lowerGenerated(const WorkItem& item, const WorkCandidate& candidate) {
  llvm::SmallVector<Argument> results, tables;
  for (auto [result, desc] : llvm::zip(item.results, candidate.results)) {
    GR_ASSIGN_OR_RETURN(results.emplace_back(), values_.write(result, desc));
  }
  const KernelPlan& plan =
      code_.add(candidate.seen ? candidate.seen.op : item.op, candidate.layouts);
  for (const std::vector<uint8_t>& table : plan.tables) {
    tables.push_back(constantBytes(table));
  }
  Instruction common;
  common.operation = item.op->getName().getStringRef().str();
  common.label = labelOf(item.op);
  GR_RETURN_IF_ERROR(writer_.addScratch(common, plan.scratchBytes));
  for (const KernelLaunch& launch : plan.launches) {
    Instruction instruction = common;
    instruction.scratch.reset();
    for (const KernelArgument& argument : launch.arguments) {
      auto index = static_cast<size_t>(argument.value);
      switch (argument.kind) {
        case KernelArgument::Kind::kOperand: {
          GR_ASSIGN_OR_RETURN(instruction.inputs.emplace_back(),
                              values_.read(item.operands[index], candidate.operands[index]));
          break;
        }
        case KernelArgument::Kind::kTable:
          instruction.inputs.push_back(tables[index]);
          break;
        case KernelArgument::Kind::kResult:
          instruction.outputs.push_back(results[index]);
          break;
        case KernelArgument::Kind::kScratch:
          instruction.scratch = common.scratch;
          break;
        case KernelArgument::Kind::kInteger:
        case KernelArgument::Kind::kErrors:
        case KernelArgument::Kind::kStep:
          break;  // see setLaunch
      }
    }
    setLaunch(instruction, launch);
    executable_.instructions.push_back(std::move(instruction));
  }
  return absl::OkStatus();
}

Argument Lowering::constantBytes(const std::vector<uint8_t>& bytes) {
  Buffer buffer;
  buffer.kind = BufferKind::kConstant;
  buffer.bytes = bytes.size();
  buffer.desc = {runtime::ElementType::kU8, {static_cast<int64_t>(bytes.size())}, {}};
  buffer.source = buffer.desc;
  buffer.data = bytes;
  TensorDesc desc = buffer.desc;
  return {values_.newBuffer(std::move(buffer)), desc};
}

absl::Status Lowering::lowerRecurrent(const WorkItem& item, const WorkCandidate& candidate) {
  auto read = [&](mlir::Value value, const TensorDesc& desc) {
    auto operands = item.op->getOperands();
    auto at = static_cast<size_t>(std::distance(operands.begin(), llvm::find(operands, value)));
    return values_.read(item.operands[at], desc);
  };
  return RecurrentInstructions(values_, writer_, code_, read)
      .add(llvm::cast<ir::RecurrentOp>(item.op), item.operands.back(), candidate.library);
}

absl::Status Lowering::lowerLibrary(const WorkItem& item, const WorkCandidate& candidate) {
  Instruction instruction = candidate.library.library.instruction;
  auto operand = item.operands.begin();
  for (Argument& input : instruction.inputs) {
    GR_ASSIGN_OR_RETURN(input, values_.read(*operand++, input.desc));
  }
  std::optional<Argument> inPlace;
  if (candidate.library.library.isInPlace) {
    inPlace = instruction.inputs[0];
  }
  for (PostOp& post : instruction.postOps) {
    if (post.kind == PostOpKind::kSum) {
      GR_ASSIGN_OR_RETURN(inPlace, values_.read(*operand++, instruction.outputs[0].desc));
    } else if (post.operand) {
      GR_ASSIGN_OR_RETURN(post.operand, values_.read(*operand++, post.operand->desc));
    }
  }
  for (auto [output, result] : llvm::zip(instruction.outputs, item.results)) {
    if (inPlace) {
      values_.define(result, inPlace->buffer, output.desc);
      output = *inPlace;
    } else {
      GR_ASSIGN_OR_RETURN(output, values_.write(result, output.desc));
    }
  }
  GR_RETURN_IF_ERROR(writer_.addScratch(instruction, candidate.library.scratchBytes));
  executable_.instructions.push_back(std::move(instruction));
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cuda
