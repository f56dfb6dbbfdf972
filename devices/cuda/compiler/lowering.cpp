#include "devices/cuda/compiler/lowering.h"

#include "absl/strings/str_cat.h"
#include "devices/compiler/attributes.h"
#include "devices/cuda/compiler/expansions.h"
#include "devices/cuda/compiler/support.h"
#include "devices/cuda/layouts.h"
#include "passes/group_builder.h"
#include "passes/weights.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

class StridedLayouts final : public LayoutRules {
 public:
  absl::StatusOr<uint64_t> bytes(const TensorDesc& desc) const override {
    return layoutBytes(desc);
  }
  bool isDense(const TensorDesc& desc) const override { return desc.layout.empty(); }
  bool isSame(const TensorDesc& a, const TensorDesc& b) const override { return a == b; }
  absl::StatusOr<TensorDesc> ofType(const TensorDesc& desc,
                                    runtime::ElementType type) const override {
    return TensorDesc{type, desc.dims, desc.layout};
  }
  absl::StatusOr<std::string> copyKernel(const Step& step) const override {
    return absl::UnimplementedError(
        absl::StrCat(step.label, ": no kernel copies between layouts on GPUs"));
  }
};

const LayoutRules& stridedLayouts() {
  static const StridedLayouts kRules;
  return kRules;
}

Extent extentOf(const std::array<uint32_t, 3>& size) { return {size[0], size[1], size[2]}; }

absl::Status annotateWith(mlir::Operation* op, const absl::Status& status) {
  return runtime::annotate(
      status, absl::StrCat(labelOf(op), " (", op->getName().getStringRef().str(), ")"));
}

}  // namespace

Lowering::Lowering(Executable& executable, KernelCode& code, const WeightIndex& weightIndex)
    : executable_(executable),
      code_(code),
      values_(executable, weightIndex, stridedLayouts()),
      writer_(values_) {}

absl::Status Lowering::lower(mlir::func::FuncOp partition) {
  GR_RETURN_IF_ERROR(writer_.addInputs(partition));
  for (mlir::Operation& op : llvm::make_early_inc_range(partition.front())) {
    if (absl::Status status = addOperation(&op); !status.ok()) {
      return annotateWith(&op, status);
    }
  }
  return absl::OkStatus();
}

absl::Status Lowering::addOperation(mlir::Operation* op) {
  if (passes::isWeight(op)) {
    return absl::OkStatus();  // read where it is used
  }
  if (auto group = llvm::dyn_cast<ir::GroupOp>(op)) {
    return addGroup(group);
  }
  if (needsNoKernel(op)) {
    llvm::SmallVector<mlir::Value> operands;
    for (mlir::Value operand : op->getOperands()) {
      operands.push_back(groups_.resolved(operand));
    }
    return writer_.addPlain(op, operands);
  }
  absl::StatusOr<LibraryChoice> library = chooseLibrary(op, {}, op->getResult(0));
  if (library.ok() || !absl::IsUnimplemented(library.status())) {
    return library.ok() ? addLibrary(*library) : library.status();
  }
  std::string why = whyNotGenerated(op);
  if (why.empty()) {
    return addGenerated(op);
  }
  return isExpanded(op) ? addEach(expand(op)) : absl::UnimplementedError(why);
}

absl::Status Lowering::addGroup(ir::GroupOp group) {
  if (group.getKind() == "map" && whyNotGenerated(group).empty()) {
    return addGenerated(group);
  }
  if (group.getKind() == "attention" && group.getNumResults() == 1) {
    absl::StatusOr<LibraryChoice> whole = chooseAttention(group);
    if (whole.ok()) {
      return addLibrary(*whole);
    }
  }
  auto body =
      llvm::to_vector(llvm::make_pointer_range(group.getBody().front().without_terminator()));
  llvm::erase_if(body, [](mlir::Operation* op) { return llvm::isa<ir::ConstantOp>(op); });
  bool isAnchored = group.getKind() == "conv" || group.getKind() == "matmul";
  GR_RETURN_IF_ERROR(isAnchored ? addAnchor(body[0], llvm::ArrayRef(body).drop_front())
                                : addEach(body));
  groups_.takeApart(group);
  return absl::OkStatus();
}

absl::Status Lowering::addAnchor(mlir::Operation* anchor,
                                 llvm::ArrayRef<mlir::Operation*> epilogue) {
  for (size_t taken = epilogue.size(); taken > 0; --taken) {
    absl::StatusOr<LibraryChoice> choice =
        chooseLibrary(anchor, epilogue.take_front(taken), epilogue[taken - 1]->getResult(0));
    if (choice.ok()) {
      GR_RETURN_IF_ERROR(addLibrary(*choice));
      return addRest(epilogue.drop_front(taken));
    }
  }
  GR_RETURN_IF_ERROR(addOperation(anchor));
  return addRest(epilogue);
}

absl::Status Lowering::addRest(llvm::ArrayRef<mlir::Operation*> ops) {
  if (ops.size() < 2) {
    return addEach(ops);
  }
  ir::GroupOp rest = passes::buildGroup({"map", llvm::to_vector(ops)});
  return addGroup(rest);
}

absl::Status Lowering::addEach(llvm::ArrayRef<mlir::Operation*> ops) {
  for (mlir::Operation* op : ops) {
    GR_RETURN_IF_ERROR(addOperation(op));
  }
  return absl::OkStatus();
}

absl::StatusOr<Argument> Lowering::read(mlir::Value value, const TensorDesc& desc) {
  return values_.read(groups_.resolved(value), desc);
}

absl::Status Lowering::addGenerated(mlir::Operation* op) {
  Step step;
  step.kernel = "generated";
  step.operation = op->getName().getStringRef().str();
  step.label = labelOf(op);
  llvm::SmallVector<Argument> results;
  for (mlir::Value result : op->getResults()) {
    GR_ASSIGN_OR_RETURN(results.emplace_back(), values_.write(result, denseDesc(result)));
  }
  KernelLaunch launch = code_.add(op);
  for (const KernelArgument& argument : launch.arguments) {
    auto index = static_cast<unsigned>(argument.value);
    switch (argument.kind) {
      case KernelArgument::Kind::kOperand: {
        mlir::Value operand = op->getOperand(index);
        GR_ASSIGN_OR_RETURN(step.inputs.emplace_back(), read(operand, denseDesc(operand)));
        break;
      }
      case KernelArgument::Kind::kResult:
        step.outputs.push_back(results[index]);
        break;
      case KernelArgument::Kind::kInteger:
        step.sizes.push_back(argument.value);
        break;
    }
  }
  step.symbol = launch.symbol;
  step.grid = extentOf(launch.grid);
  step.block = extentOf(launch.block);
  step.sharedBytes = launch.sharedBytes;
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status Lowering::addLibrary(const LibraryChoice& choice) {
  const LibraryStep& library = choice.library;
  Step step = library.step;
  for (auto [input, value] : llvm::zip(step.inputs, library.operands)) {
    GR_ASSIGN_OR_RETURN(input, read(value, input.desc));
  }
  std::optional<Argument> inPlace;
  for (auto [post, value] : llvm::zip(step.postOps, library.postOperands)) {
    if (post.kind == PostOpKind::kSum) {
      GR_ASSIGN_OR_RETURN(inPlace, read(value, step.outputs[0].desc));
    } else if (post.operand) {
      GR_ASSIGN_OR_RETURN(post.operand, read(value, post.operand->desc));
    }
  }
  for (auto [output, value] : llvm::zip(step.outputs, library.results)) {
    if (inPlace) {
      values_.define(value, inPlace->buffer, output.desc);
      output = *inPlace;
    } else {
      GR_ASSIGN_OR_RETURN(output, values_.write(value, output.desc));
    }
  }
  GR_RETURN_IF_ERROR(writer_.addScratch(step, choice.scratchBytes));
  executable_.steps.push_back(std::move(step));
  return absl::OkStatus();
}

}  // namespace graphrun::devices::cuda
