#include "devices/compiler/library_instruction.h"

#include "devices/compiler/attributes.h"
#include "devices/compiler/post_ops.h"
#include "devices/compiler/strided_views.h"
#include "passes/weights.h"

namespace graphrun::devices {
namespace {

/// Operations whose result lies, in part or in whole, where an operand does.
bool sharesMemory(mlir::Operation* op) {
  return ir::isView(op) || llvm::isa<ir::ConcatOp, ir::SplitOp>(op);
}

/// A product of bytes: see onednn_primitive.h.
bool sumsBytes(const Instruction& instruction) {
  return (instruction.operation == "gr.conv" || instruction.operation == "gr.matmul") &&
         instruction.inputs[0].desc.type == runtime::ElementType::kU8;
}

}  // namespace

bool diesAt(mlir::Value value, mlir::Operation* user) {
  bool isReadOnce = value.hasOneUse();  // in the group
  value = passes::outsideGroup(value);
  mlir::Operation* producer = value.getDefiningOp();
  mlir::Operation* last = user->getParentOfType<ir::GroupOp>();
  last = last != nullptr ? last : user;
  if (!isReadOnce || producer == nullptr || producer->getBlock() != last->getBlock() ||
      sharesMemory(producer) ||
      llvm::isa<ir::ConstantOp, ir::StateOp, ir::RecvOp, ir::ReduceOp>(producer)) {
    return false;
  }
  return llvm::all_of(value.getUsers(),
                      [&](mlir::Operation* other) {
                        // Whoever receives a sent tensor may read it until the step has ended, and
                        // the next value of a state stays.
                        bool lasts =
                            sharesMemory(other) || llvm::isa<ir::SendOp, ir::UpdateOp>(other);
                        return other == last || (!lasts && other->isBeforeInBlock(last));
                      }) &&
         llvm::count(last->getOperands(), value) == 1;
}

uint32_t threadsOf(mlir::Operation* op) {
  auto threads = op->getAttrOfType<mlir::IntegerAttr>(ir::kThreadsAttr);
  auto group = llvm::dyn_cast_or_null<ir::GroupOp>(op->getParentOp());
  if (threads) {
    return static_cast<uint32_t>(threads.getInt());
  }
  return group ? threadsOf(group.getOperation()) : 0;
}

bool isConstant(mlir::Value value) { return passes::weightOf(value) != nullptr; }

absl::StatusOr<LibraryInstruction> libraryInstruction(mlir::Operation* op,
                                                      llvm::ArrayRef<mlir::Operation*> epilogue,
                                                      mlir::Value result) {
  LibraryInstruction library;
  library.instruction.operation = op->getName().getStringRef().str();
  library.instruction.label = labelOf(result.getDefiningOp());
  library.instruction.threads = threadsOf(op);
  GR_ASSIGN_OR_RETURN(library.instruction.attributes, attributesOf(op));
  library.operands.assign(op->operand_begin(), op->operand_end());
  for (mlir::Value operand : op->getOperands()) {
    library.instruction.inputs.push_back({0, denseDesc(operand)});
  }
  GR_RETURN_IF_ERROR(sumsBytes(library.instruction) && !epilogue.empty()
                         ? addPostOpsOfSums(library, epilogue, op->getResult(0))
                         : addPostOps(library, epilogue, op->getResult(0)));
  if (op->getNumResults() == 1) {
    library.results = {result};
  } else {
    library.results.assign(op->result_begin(), op->result_end());
  }
  for (mlir::Value value : library.results) {
    library.instruction.outputs.push_back({0, denseDesc(value)});
  }
  return library;
}

absl::StatusOr<LibraryInstruction> attentionInstruction(ir::GroupOp group) {
  mlir::Block& block = group.getBody().front();
  auto op = *block.getOps<ir::AttentionOp>().begin();
  LibraryInstruction library;
  library.instruction.operation = op->getName().getStringRef().str();
  library.instruction.label = labelOf(group);
  library.instruction.threads = threadsOf(group);
  GR_ASSIGN_OR_RETURN(library.instruction.attributes, attributesOf(op));
  auto query = llvm::cast<mlir::RankedTensorType>(op.getQuery().getType()).getShape();
  auto value = llvm::cast<mlir::RankedTensorType>(op.getValue().getType()).getShape();
  library.instruction.attributes["sizes"] =
      std::vector<int64_t>{query[0], query[1], value[1], query[2], value[2], query[3], value[3]};
  std::optional<StridedView> seen[] = {
      viewOf(op.getQuery()), viewOf(op.getKey()), viewOf(op.getValue()),
      viewUnder(op.getResult(), block.getTerminator()->getOperand(0))};
  std::vector<int64_t> views;
  for (const std::optional<StridedView>& view : seen) {
    if (!view) {
      return absl::UnimplementedError("a reshape around the attention needs a copy");
    }
    views.push_back(view->offset);
    views.insert(views.end(), view->strides.begin(), view->strides.end());
    library.operands.push_back(view->root);
  }
  library.instruction.attributes["views"] = views;
  library.operands.pop_back();  // the result's own
  if (op.getMask()) {
    library.operands.push_back(op.getMask());
  }
  for (mlir::Value operand : library.operands) {
    library.instruction.inputs.push_back({0, denseDesc(operand)});
  }
  library.results = {group.getResult(0)};
  library.instruction.outputs.push_back({0, denseDesc(group.getResult(0))});
  return library;
}

std::optional<LibraryInstruction> summedInPlace(const LibraryInstruction& library,
                                                mlir::Operation* op) {
  for (auto [i, other] : llvm::enumerate(library.postOperands)) {
    const PostOp& post = library.instruction.postOps[i];
    const TensorDesc& result = library.instruction.outputs[0].desc;
    if (post.kind == PostOpKind::kBinaryAdd && post.operand &&
        post.operand->desc.dims == result.dims && post.operand->desc.type == result.type &&
        !isConstant(other) && diesAt(other, op)) {
      LibraryInstruction inPlace = library;
      inPlace.instruction.postOps[i].kind = PostOpKind::kSum;
      inPlace.instruction.postOps[i].operand.reset();
      return inPlace;
    }
  }
  return std::nullopt;
}

}  // namespace graphrun::devices
