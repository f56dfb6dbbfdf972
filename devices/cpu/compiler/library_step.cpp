#include "devices/cpu/compiler/library_step.h"

#include "devices/cpu/compiler/attributes.h"
#include "devices/cpu/compiler/strided_views.h"
#include "devices/cpu/compiler/value_table.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/weights.h"

namespace graphrun::devices::cpu {
namespace {

/// Appends the post-op for an element-wise operation of one operand; false when there is none.
bool appendEltwise(Step& step, mlir::Operation* op) {
  PostOp post;
  post.algorithm = op->getName().getStringRef().str();
  llvm::TypeSwitch<mlir::Operation*>(op)
      .Case<ir::LeakyReluOp, ir::EluOp, ir::SwishOp>(
          [&](auto a) { post.alpha = static_cast<float>(a.getAlpha().convertToDouble()); })
      .Case([&](ir::ClipOp a) {
        post.alpha = static_cast<float>(a.getLow().convertToDouble());
        post.beta = static_cast<float>(a.getHigh().convertToDouble());
      })
      .Case([&](ir::HardSigmoidOp a) {
        post.alpha = static_cast<float>(a.getAlpha().convertToDouble());
        post.beta = static_cast<float>(a.getBeta().convertToDouble());
      })
      .Case([&](ir::GeluOp a) {
        post.algorithm = a.getApproximate() ? "gelu_tanh" : post.algorithm;
      });
  step.postOps.push_back(std::move(post));
  return op->getNumOperands() == 1;
}

std::optional<PostOpKind> binaryKind(mlir::Operation* op) {
  using Result = std::optional<PostOpKind>;
  return llvm::TypeSwitch<mlir::Operation*, Result>(op)
      .Case([](ir::AddOp) { return PostOpKind::kBinaryAdd; })
      .Case([](ir::MulOp) { return PostOpKind::kBinaryMul; })
      .Case([](ir::SubOp) { return PostOpKind::kBinarySub; })
      .Case([](ir::DivOp) { return PostOpKind::kBinaryDiv; })
      .Case([](ir::MaxOp) { return PostOpKind::kBinaryMax; })
      .Case([](ir::MinOp) { return PostOpKind::kBinaryMin; })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

/// The desc of `value` with leading dims of 1 up to `rank`.
TensorDesc extendRank(TensorDesc desc, size_t rank) {
  if (desc.dims.size() < rank) {
    desc.layout.clear();
    desc.dims.insert(desc.dims.begin(), rank - desc.dims.size(), 1);
  }
  return desc;
}

absl::Status noPostOp() {
  return absl::UnimplementedError("an operation of the group is no post-operation");
}

/// The operand that a binary operation takes beside `current`.
absl::StatusOr<mlir::Value> otherOperand(mlir::Operation* op, mlir::Value current) {
  bool onLeft = op->getOperand(0) == current;
  mlir::Value other = op->getOperand(onLeft ? 1 : 0);
  bool swapped = !onLeft && !op->hasTrait<mlir::OpTrait::IsCommutative>();
  if (swapped || other == current) {
    return noPostOp();
  }
  return other;
}

/// Adds the post-ops for the operations behind an anchor.
absl::Status addPostOps(LibraryStep& work, llvm::ArrayRef<mlir::Operation*> epilogue,
                        mlir::Value anchorResult) {
  mlir::Value current = anchorResult;
  TensorDesc result = denseDesc(anchorResult);
  for (mlir::Operation* op : epilogue) {
    mlir::Value other;
    if (op->getNumOperands() == 2) {
      std::optional<PostOpKind> kind = binaryKind(op);
      if (!kind) {
        return noPostOp();
      }
      GR_ASSIGN_OR_RETURN(other, otherOperand(op, current));
      PostOp post;
      post.kind = *kind;
      post.operand = Argument{0, extendRank(denseDesc(other), result.dims.size())};
      work.step.postOps.push_back(std::move(post));
    } else if (op->getNumOperands() != 1 || !appendEltwise(work.step, op)) {
      return noPostOp();
    }
    work.postOperands.push_back(other);
    current = op->getResult(0);
  }
  return absl::OkStatus();
}

/// Operations whose result lies, in part or in whole, where an operand does.
bool sharesMemory(mlir::Operation* op) {
  return llvm::isa<ir::ReshapeOp, ir::SqueezeOp, ir::UnsqueezeOp, ir::ConcatOp, ir::SplitOp>(op);
}

/// True when `user` is the last operation that reads `value` and its buffer may be overwritten.
bool diesAt(mlir::Value value, mlir::Operation* user) {
  value = ValueTable::resolve(value);
  mlir::Operation* producer = value.getDefiningOp();
  mlir::Operation* last = user->getParentOfType<ir::GroupOp>();
  last = last != nullptr ? last : user;
  if (producer == nullptr || producer->getBlock() != last->getBlock() || sharesMemory(producer) ||
      llvm::isa<ir::ConstantOp, ir::RecvOp, ir::ReduceOp>(producer)) {
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

}  // namespace

bool isConstant(mlir::Value value) { return passes::weightOf(value) != nullptr; }

absl::StatusOr<LibraryStep> libraryStep(mlir::Operation* op,
                                        llvm::ArrayRef<mlir::Operation*> epilogue,
                                        mlir::Value result) {
  LibraryStep work;
  work.step.operation = op->getName().getStringRef().str();
  work.step.label = labelOf(result.getDefiningOp());
  GR_ASSIGN_OR_RETURN(work.step.attributes, attributesOf(op));
  GR_RETURN_IF_ERROR(addPostOps(work, epilogue, op->getResult(0)));
  work.operands.assign(op->operand_begin(), op->operand_end());
  for (mlir::Value operand : op->getOperands()) {
    work.step.inputs.push_back({0, denseDesc(operand)});
  }
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
    if (post.kind == PostOpKind::kBinaryAdd && post.operand &&
        post.operand->desc.dims == step.step.outputs[0].desc.dims && !isConstant(other) &&
        diesAt(other, op)) {
      LibraryStep inPlace = step;
      inPlace.step.postOps[i].kind = PostOpKind::kSum;
      inPlace.step.postOps[i].operand.reset();
      return inPlace;
    }
  }
  return std::nullopt;
}

}  // namespace graphrun::devices::cpu
