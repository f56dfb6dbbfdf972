#include "devices/compiler/library_step.h"

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
bool sumsBytes(const Step& step) {
  return (step.operation == "gr.conv" || step.operation == "gr.matmul") &&
         step.inputs[0].desc.type == runtime::ElementType::kU8;
}

}  // namespace

bool diesAt(mlir::Value value, mlir::Operation* user) {
  bool isReadOnce = value.hasOneUse();  // in the group
  value = passes::outsideGroup(value);
  mlir::Operation* producer = value.getDefiningOp();
  mlir::Operation* last = user->getParentOfType<ir::GroupOp>();
  last = last != nullptr ? last : user;
  if (!isReadOnce || producer == nullptr || producer->getBlock() != last->getBlock() ||
      sharesMemory(producer) || llvm::isa<ir::ConstantOp, ir::RecvOp, ir::ReduceOp>(producer)) {
    return false;
  }
  return llvm::all_of(value.getUsers(),
                      [&](mlir::Operation* other) {
                        // Whoever receives a sent tensor may read it until the step has ended.
                        bool lasts = sharesMemory(other) || llvm::isa<ir::SendOp>(other);
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

absl::StatusOr<LibraryStep> libraryStep(mlir::Operation* op,
                                        llvm::ArrayRef<mlir::Operation*> epilogue,
                                        mlir::Value result) {
  LibraryStep work;
  work.step.operation = op->getName().getStringRef().str();
  work.step.label = labelOf(result.getDefiningOp());
  work.step.threads = threadsOf(op);
  GR_ASSIGN_OR_RETURN(work.step.attributes, attributesOf(op));
  work.operands.assign(op->operand_begin(), op->operand_end());
  for (mlir::Value operand : op->getOperands()) {
    work.step.inputs.push_back({0, denseDesc(operand)});
  }
  GR_RETURN_IF_ERROR(sumsBytes(work.step) && !epilogue.empty()
                         ? addPostOpsOfSums(work, epilogue, op->getResult(0))
                         : addPostOps(work, epilogue, op->getResult(0)));
  if (op->getNumResults() == 1) {
    work.results = {result};
  } else {
    work.results.assign(op->result_begin(), op->result_end());
  }
  for (mlir::Value value : work.results) {
    work.step.outputs.push_back({0, denseDesc(value)});
  }
  return work;
}

absl::StatusOr<LibraryStep> attentionStep(ir::GroupOp group) {
  mlir::Block& block = group.getBody().front();
  auto op = *block.getOps<ir::AttentionOp>().begin();
  LibraryStep work;
  work.step.operation = op->getName().getStringRef().str();
  work.step.label = labelOf(group);
  work.step.threads = threadsOf(group);
  GR_ASSIGN_OR_RETURN(work.step.attributes, attributesOf(op));
  auto query = llvm::cast<mlir::RankedTensorType>(op.getQuery().getType()).getShape();
  auto value = llvm::cast<mlir::RankedTensorType>(op.getValue().getType()).getShape();
  work.step.attributes["sizes"] =
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
    work.operands.push_back(view->root);
  }
  work.step.attributes["views"] = views;
  work.operands.pop_back();  // the result's own
  if (op.getMask()) {
    work.operands.push_back(op.getMask());
  }
  for (mlir::Value operand : work.operands) {
    work.step.inputs.push_back({0, denseDesc(operand)});
  }
  work.results = {group.getResult(0)};
  work.step.outputs.push_back({0, denseDesc(group.getResult(0))});
  return work;
}

std::optional<LibraryStep> summedInPlace(const LibraryStep& step, mlir::Operation* op) {
  for (auto [i, other] : llvm::enumerate(step.postOperands)) {
    const PostOp& post = step.step.postOps[i];
    const TensorDesc& result = step.step.outputs[0].desc;
    if (post.kind == PostOpKind::kBinaryAdd && post.operand &&
        post.operand->desc.dims == result.dims && post.operand->desc.type == result.type &&
        !isConstant(other) && diesAt(other, op)) {
      LibraryStep inPlace = step;
      inPlace.step.postOps[i].kind = PostOpKind::kSum;
      inPlace.step.postOps[i].operand.reset();
      return inPlace;
    }
  }
  return std::nullopt;
}

}  // namespace graphrun::devices
