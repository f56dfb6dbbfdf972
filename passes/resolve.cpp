#include "passes/resolve.h"

#include "ir/builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/empty_tensors.h"
#include "passes/shapes.h"

namespace graphrun::passes {
namespace {

/// Loops are unrolled until they have made this many operations; then they go on stage by stage,
/// one iteration each, with one plan for all of them.
constexpr size_t kMaxUnrolledOps = 4096;
constexpr int64_t kMaxFoldedElements = 64;

bool isStaticType(mlir::Value value) {
  return llvm::cast<mlir::ShapedType>(value.getType()).hasStaticShape();
}

/// The one element of a constant of bools or integers; nothing when it is no constant.
std::optional<int64_t> constantElement(mlir::Value value) {
  auto constant = value.getDefiningOp<ir::ConstantOp>();
  auto dense = constant ? llvm::dyn_cast<mlir::DenseIntOrFPElementsAttr>(constant.getValue())
                        : mlir::DenseIntOrFPElementsAttr();
  if (!dense || dense.getNumElements() != 1 || !dense.getElementType().isInteger()) {
    return std::nullopt;
  }
  llvm::APInt element = *dense.getValues<llvm::APInt>().begin();
  return element.getBitWidth() == 1 ? element.getZExtValue() : element.getSExtValue();
}

/// Runs says whether the operations that are resolved will run. Operations that never run are
/// resolved only for their types: those that fail are passed over, and where nothing decides
/// between branches, the types are those that hold for both.
enum class Runs { kOnce, kNever };

class Resolver {
 public:
  /// `unrolled` counts the operations that unrolling has made.
  Resolver(mlir::Block& block, Runs runs, const ResolveDeferred& resolveDeferred, bool& changed,
           size_t& unrolled)
      : block_(block),
        runs_(runs),
        builder_(block.getParentOp()->getContext()),
        resolveDeferred_(resolveDeferred),
        changed_(changed),
        unrolled_(unrolled) {}

  mlir::LogicalResult run() {
    for (auto it = block_.begin(); it != block_.end();) {
      mlir::Operation* op = &*it;
      mlir::Operation* before = op->getPrevNode();
      bool gone = false;
      bool failed = mlir::failed(visit(op, gone));
      if (failed && runs_ == Runs::kOnce) {
        return mlir::failure();
      }
      if (failed || !gone) {
        ++it;
        continue;
      }
      // What took its place is visited next.
      changed_ = true;
      it = before == nullptr ? block_.begin() : std::next(before->getIterator());
    }
    return mlir::success();
  }

 private:
  mlir::LogicalResult visit(mlir::Operation* op, bool& gone) {
    builder_.setInsertionPoint(op);
    if (auto deferred = llvm::dyn_cast<ir::DeferredOp>(op)) {
      return visitDeferred(deferred, gone);
    }
    if (auto branch = llvm::dyn_cast<ir::IfOp>(op)) {
      gone = inlineBranch(branch);
      if (!gone && runs_ == Runs::kNever) {
        inferBranches(branch);
      }
    } else if (auto loop = llvm::dyn_cast<ir::LoopOp>(op)) {
      return visitLoop(loop, gone);
    } else if (auto typed = llvm::dyn_cast<ir::GrOpInterface>(op)) {
      if (mlir::failed(inferTypes(typed))) {
        return mlir::failure();
      }
      gone = fold(op);
    }
    return mlir::success();
  }

  mlir::LogicalResult visitDeferred(ir::DeferredOp op, bool& gone) {
    bool ready = llvm::all_of(op.getInputs(), [&](mlir::Value value) {
      return isStaticType(value) || value.getDefiningOp<ir::SequenceOp>() ||
             (runs_ == Runs::kNever && value.getType() != ir::placeholderType(op.getContext()));
    });
    bool waits = llvm::any_of(op.decidingOperands(),
                              [](mlir::Value value) { return !ir::knownElements(value); });
    if (!resolveDeferred_ || !ready || waits) {
      return mlir::success();
    }
    Resolution resolution = resolveDeferred_(op);
    gone = resolution == Resolution::kReplaced;
    return mlir::success(resolution != Resolution::kFailed);
  }

  /// Small results of constants become constants at once: what follows may depend on them.
  bool fold(mlir::Operation* op) {
    bool isSmall =
        op->getNumResults() > 0 && isStatic(op) &&
        llvm::all_of(op->getResultTypes(), [](mlir::Type type) {
          return llvm::cast<mlir::ShapedType>(type).getNumElements() <= kMaxFoldedElements;
        });
    llvm::SmallVector<mlir::Value> folded;
    if (!isSmall || llvm::isa<ir::ConstantOp>(op) || mlir::failed(builder_.tryFold(op, folded)) ||
        folded.size() != op->getNumResults()) {
      return false;
    }
    op->replaceAllUsesWith(folded);
    op->erase();
    return true;
  }

  bool inlineBranch(ir::IfOp op) {
    std::optional<int64_t> condition = constantElement(op.getCondition());
    if (!condition) {
      return false;
    }
    mlir::Block& branch = (*condition != 0 ? op.getThen() : op.getOtherwise()).front();
    mlir::Operation* yield = branch.getTerminator();
    while (&branch.front() != yield) {
      branch.front().moveBefore(op);
    }
    op->replaceAllUsesWith(yield->getOperands());
    op->erase();
    return true;
  }

  void inferBranches(ir::IfOp op) {
    inferUnrun(op.getThen().front());
    inferUnrun(op.getOtherwise().front());
    auto yes = op.getThen().front().getTerminator()->getOperandTypes();
    auto no = op.getOtherwise().front().getTerminator()->getOperandTypes();
    for (auto [result, a, b] : llvm::zip(op.getResults(), yes, no)) {
      mlir::Type either = ir::joinTypes(a, b);
      mlir::Type refined = either ? refineType(result.getType(), either) : nullptr;
      if (refined) {
        result.setType(refined);
      }
    }
  }

  /// Gives the values of a block that never runs the types that they would have, as far as they can
  /// be told. The block is of no further use.
  void inferUnrun(mlir::Block& block) {
    static_cast<void>(Resolver(block, Runs::kNever, resolveDeferred_, changed_, unrolled_).run());
  }

  mlir::LogicalResult visitLoop(ir::LoopOp op, bool& gone) {
    if (mlir::failed(joinFresh(op))) {
      return op.emitOpError() << "collects values that do not fit each other";
    }
    std::optional<int64_t> proceed = proceeds(op);
    if (!proceed || !op.getFresh().empty() || (op.getLimit() && !constantElement(op.getLimit()))) {
      return leave(op);
    }
    if (*proceed == 0) {
      return finish(op, gone);
    }
    size_t size = std::distance(op.getBody().op_begin(), op.getBody().op_end());
    if (unrolled_ > 0 && unrolled_ + size > kMaxUnrolledOps) {
      return leave(op);
    }
    unrolled_ += size;
    gone = true;
    return peel(op);
  }

  /// A loop that goes on later. One that never runs has the types that one iteration gives.
  mlir::LogicalResult leave(ir::LoopOp op) {
    if (runs_ == Runs::kOnce) {
      return mlir::success();
    }
    inferFirstIteration(op);
    return inferTypes(op);
  }

  static std::optional<int64_t> proceeds(ir::LoopOp op) {
    std::optional<int64_t> condition = constantElement(op.getCondition());
    if (!condition || *condition == 0 || !op.getBelow()) {
      return condition;
    }
    return constantElement(op.getBelow());
  }

  /// The loop is over: what it carries and has collected is its result. It stays (`gone`) where
  /// nothing was collected, and the types of what would be are not known yet.
  mlir::LogicalResult finish(ir::LoopOp op, bool& gone) {
    llvm::SmallVector<mlir::Value> results(op.getCarried());
    if (!op.getCollected().empty() || op.getNumResults() == results.size()) {
      llvm::append_range(results, op.getCollected());
    } else {
      if (runs_ == Runs::kOnce && !readsStatic(op)) {
        return mlir::success();
      }
      inferFirstIteration(op);
      auto yielded = op.getBody().front().getTerminator()->getOperandTypes();
      for (mlir::Type type : llvm::drop_begin(yielded, 1 + op.getCarried().size())) {
        results.push_back(nothingCollected(op, type));
        if (!results.back()) {
          return mlir::failure();
        }
      }
    }
    op->replaceAllUsesWith(results);
    op->erase();
    gone = true;
    return mlir::success();
  }

  /// True when the types of all values that an iteration would begin with are known.
  static bool readsStatic(ir::LoopOp op) {
    llvm::SetVector<mlir::Value> around;
    mlir::getUsedValuesDefinedAbove(op->getRegions(), around);
    auto isKnown = [](mlir::Value value) {
      return isStaticType(value) || value.getDefiningOp<ir::SequenceOp>();
    };
    return llvm::all_of(op.getCarried(), isKnown) && llvm::all_of(around, isKnown);
  }

  /// Gives what the body of a loop that does not run yields the types that it would have in an
  /// iteration from the values before it, as far as they can be told. The body is of no further
  /// use.
  void inferFirstIteration(ir::LoopOp op) {
    mlir::Block& body = op.getBody().front();
    llvm::SmallVector<mlir::Value> first = {op.getIteration(), op.getCondition()};
    llvm::append_range(first, op.getCarried());
    for (auto [argument, value] : llvm::zip(body.getArguments(), first)) {
      argument.replaceAllUsesWith(value);
    }
    // An iteration that never runs may have anything in it.
    mlir::ScopedDiagnosticHandler silent(op.getContext(), [](mlir::Diagnostic&) {});
    inferUnrun(body);
  }

  /// Builds the collected values of a loop without iterations: a tensor without elements, whose
  /// type is as large as is known. Dims that only an iteration would tell are 0, or absent where it
  /// would tell even their number, as in ONNX Runtime.
  mlir::Value nothingCollected(ir::LoopOp op, mlir::Type type) {
    if (type == ir::placeholderType(op.getContext()) || ir::isSequence(type)) {
      op.emitOpError() << "runs no iteration, and the type " << type
                       << " of a collected value is not known without one";
      return nullptr;
    }
    llvm::SmallVector<int64_t> dims = {0};
    auto tensor = llvm::cast<mlir::TensorType>(type);
    if (!tensor.hasRank()) {
      op.emitWarning()
          << "the loop runs no iteration, and the rank of a collected value is not known "
             "without one: its shape is 0";
    }
    for (int64_t dim : tensor.hasRank() ? tensor.getShape() : llvm::ArrayRef<int64_t>()) {
      dims.push_back(mlir::ShapedType::isDynamic(dim) ? 0 : dim);
    }
    builder_.setInsertionPoint(op);
    return createEmpty(op.getLoc(), mlir::RankedTensorType::get(dims, tensor.getElementType()));
  }

  /// A tensor without elements.
  mlir::Value createEmpty(mlir::Location loc, mlir::RankedTensorType type) {
    if (mlir::ElementsAttr none = noElements(type)) {
      return builder_.create<ir::ConstantOp>(loc, type, none);
    }
    auto wide = type.clone(builder_.getF32Type());
    mlir::Value value = builder_.create<ir::ConstantOp>(loc, wide, noElements(wide));
    return make(loc, "gr.cast", {value},
                {builder_.getNamedAttr("to", mlir::TypeAttr::get(type.getElementType()))});
  }

  /// An operation with inferred result types.
  mlir::Value make(mlir::Location loc, llvm::StringRef name, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    llvm::SmallVector<mlir::Value> values(operands);
    mlir::FailureOr<mlir::Operation*> op =
        ir::createOp(builder_, loc, name, values, attributes, /*results=*/1);
    return mlir::succeeded(op) ? (*op)->getResult(0) : mlir::Value();
  }

  /// One iteration before the loop, which then starts one later.
  mlir::LogicalResult peel(ir::LoopOp op) {
    mlir::Block& body = op.getBody().front();
    mlir::IRMapping mapping;
    mapping.map(body.getArgument(0), op.getIteration());
    mapping.map(body.getArgument(1), op.getCondition());
    for (auto [argument, value] : llvm::zip(body.getArguments().drop_front(2), op.getCarried())) {
      mapping.map(argument, value);
    }
    for (mlir::Operation& inner : body.without_terminator()) {
      builder_.clone(inner, mapping);
    }
    llvm::SmallVector<mlir::Value> yielded;
    for (mlir::Value value : body.getTerminator()->getOperands()) {
      yielded.push_back(mapping.lookupOrDefault(value));
    }
    mlir::Location loc = op.getLoc();
    mlir::Value one = ir::createScalar(builder_, loc, builder_.getI64Type(), 1);
    mlir::Value next = make(loc, "gr.add", {op.getIteration(), one});
    mlir::Value below = op.getLimit() && next ? make(loc, "gr.less", {next, op.getLimit()}) : next;
    if (!next || !below) {
      return mlir::failure();
    }
    size_t carried = op.getCarried().size();
    auto rest = builder_.create<ir::LoopOp>(
        loc, op.getResultTypes(), yielded[0], next, op.getLimit() ? below : nullptr, op.getLimit(),
        llvm::ArrayRef(yielded).slice(1, carried), op.getCollected(),
        llvm::ArrayRef(yielded).drop_front(1 + carried));
    rest.getBody().takeBody(op.getBody());
    op->replaceAllUsesWith(rest);
    op->erase();
    return mlir::success();
  }

  /// Joins what the last iteration has collected to what was before, once its types are known.
  mlir::LogicalResult joinFresh(ir::LoopOp op) {
    bool known = llvm::all_of(op.getFresh().getTypes(), [](mlir::Type type) {
      return llvm::cast<mlir::ShapedType>(type).hasRank();
    });
    if (op.getFresh().empty() || !known) {
      return mlir::success();
    }
    mlir::NamedAttribute axes = builder_.getNamedAttr("axes", builder_.getDenseI64ArrayAttr({0}));
    mlir::NamedAttribute axis = builder_.getNamedAttr("axis", builder_.getI64IntegerAttr(0));
    llvm::SmallVector<mlir::Value> joined;
    for (auto [i, value] : llvm::enumerate(op.getFresh())) {
      mlir::Value slice = make(op.getLoc(), "gr.unsqueeze", {value}, {axes});
      if (slice && !op.getCollected().empty()) {
        slice = make(op.getLoc(), "gr.concat", {op.getCollected()[i], slice}, {axis});
      }
      if (!slice) {
        return mlir::failure();
      }
      joined.push_back(slice);
    }
    op.getCollectedMutable().assign(joined);
    op.getFreshMutable().clear();
    return mlir::success();
  }

  mlir::Block& block_;
  Runs runs_;
  mlir::OpBuilder builder_;
  const ResolveDeferred& resolveDeferred_;
  bool& changed_;
  size_t& unrolled_;
};

}  // namespace

mlir::LogicalResult resolve(mlir::func::FuncOp func, const ResolveDeferred& resolveDeferred,
                            bool& changed) {
  mlir::Block& body = func.getBody().front();
  size_t unrolled = 0;
  if (mlir::failed(Resolver(body, Runs::kOnce, resolveDeferred, changed, unrolled).run())) {
    return mlir::failure();
  }
  func.setType(mlir::FunctionType::get(func.getContext(), body.getArgumentTypes(),
                                       body.getTerminator()->getOperandTypes()));
  return mlir::success();
}

}  // namespace graphrun::passes
