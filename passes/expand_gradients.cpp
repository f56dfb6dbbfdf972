// gr-expand-gradients: reverse-mode differentiation.
#include "passes/expand_gradients.h"

#include "ir/builders.h"
#include "ir/gradients/builder.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/device_hints.h"
#include "passes/passes.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_EXPANDGRADIENTS
#include "passes/passes.h.inc"

namespace {

using ir::GrOpInterface;
using Values = llvm::DenseSet<mlir::Value>;

bool isStaticTensor(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  return tensor && tensor.hasStaticShape();
}

bool isWithoutElements(mlir::Value value) {
  return isStaticTensor(value.getType()) &&
         llvm::cast<mlir::RankedTensorType>(value.getType()).getNumElements() == 0;
}

/// A value whose gradient is computed. One without elements has none to compute.
bool carriesGradient(mlir::Value value) {
  return ir::isDifferentiable(value.getType()) && !isWithoutElements(value);
}

/// All values that `op` reads, those inside its regions included.
llvm::SetVector<mlir::Value> valuesReadBy(mlir::Operation& op) {
  llvm::SetVector<mlir::Value> values;
  values.insert(op.operand_begin(), op.operand_end());
  mlir::getUsedValuesDefinedAbove(op.getRegions(), values);
  return values;
}

/// "'w'", by the name of an input or of the node that makes the value; its type where it has none.
std::string nameOf(mlir::Value value) {
  std::string name;
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  if (argument && llvm::isa<mlir::func::FuncOp>(argument.getOwner()->getParentOp())) {
    name = inputName(llvm::cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp()),
                     argument.getArgNumber());
  } else if (!argument) {
    name = labelOf(value.getLoc());
  }
  std::string type;
  llvm::raw_string_ostream(type) << value.getType();
  return name.empty() ? "a value of type " + type : "'" + name + "'";
}

/// Replaces one gr.gradient.
class GradientExpander {
 public:
  explicit GradientExpander(ir::GradientOp op)
      : op_(op), block_(*op->getBlock()), builder_(op), loss_(op.getLoss()) {}

  mlir::LogicalResult run() {
    if (mlir::failed(checkTypes())) {
      return mlir::failure();
    }
    traceForwards();
    traceBackwards();
    if (mlir::failed(checkPaths()) || mlir::failed(checkShapes())) {
      return mlir::failure();
    }
    walkBackwards();
    if (!refusals_.empty()) {
      return reportRefusals();
    }
    replace();
    return mlir::success();
  }

 private:
  /// Operations before this one, in their order.
  auto operationsBefore() { return llvm::make_range(block_.begin(), op_->getIterator()); }
  auto operationsBeforeReversed() {
    return llvm::make_range(std::next(op_->getReverseIterator()), block_.rend());
  }

  mlir::LogicalResult checkTypes() {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(loss_.getType());
    if (!type || !type.hasStaticShape()) {
      return op_.emitOpError() << "loss " << nameOf(loss_) << " is of type " << loss_.getType()
                               << " when all inputs have their shapes, expected one element: its "
                                  "shape depends on data";
    }
    for (mlir::Value value : op_.getWrt()) {
      if (!isStaticTensor(value.getType())) {
        return op_.emitOpError() << "differentiates by " << nameOf(value) << " of type "
                                 << value.getType()
                                 << ", expected a static shape: it depends on data";
      }
    }
    return mlir::success();
  }

  /// True when the derivatives of the results of `op` are zero: of whole numbers, and of steps.
  static bool endsGradients(mlir::Operation& op) {
    auto typed = llvm::dyn_cast<GrOpInterface>(op);
    return (typed && typed.noGradientReason() == ir::kPiecewiseConstant) ||
           llvm::none_of(op.getResults(), carriesGradient);
  }

  /// Finds what is reached from the wanted values by steps that have derivatives.
  void traceForwards() {
    for (mlir::Value value : op_.getWrt()) {
      if (carriesGradient(value)) {
        reached_.insert(value);
      }
    }
    for (mlir::Operation& op : operationsBefore()) {
      llvm::SetVector<mlir::Value> read = valuesReadBy(op);
      if (llvm::none_of(read, [&](mlir::Value value) { return reached_.contains(value); })) {
        continue;
      }
      if (endsGradients(op)) {
        bool isEmpty = llvm::all_of(op.getResults(), isWithoutElements);
        if (!isEmpty) {
          ends_.push_back(&op);
        }
        continue;
      }
      for (mlir::Value result : llvm::make_filter_range(op.getResults(), carriesGradient)) {
        reached_.insert(result);
      }
    }
  }

  /// Finds what the loss is made of: of that, what carries its gradient.
  void traceBackwards() {
    used_.insert(loss_);
    if (reached_.contains(loss_)) {
      active_.insert(loss_);
    }
    auto hasActive = [&](mlir::ValueRange values) {
      return llvm::any_of(values, [&](mlir::Value value) { return active_.contains(value); });
    };
    for (mlir::Operation& op : operationsBeforeReversed()) {
      llvm::SetVector<mlir::Value> read = valuesReadBy(op);
      if (llvm::any_of(op.getResults(), [&](mlir::Value v) { return used_.contains(v); })) {
        used_.insert(read.begin(), read.end());
      }
      if (!endsGradients(op) && hasActive(op.getResults())) {
        for (mlir::Value value : read) {
          if (reached_.contains(value)) {
            active_.insert(value);
          }
        }
      }
    }
  }

  /// A value from which no gradient can come back is a mistake; one that is not used may be none.
  mlir::LogicalResult checkPaths() {
    mlir::LogicalResult result = mlir::success();
    for (mlir::Value value : op_.getWrt()) {
      if (active_.contains(value) || !carriesGradient(value)) {
        continue;
      }
      if (!used_.contains(value)) {
        op_.emitWarning() << "loss " << nameOf(loss_) << " does not depend on " << nameOf(value)
                          << ": its gradient is zero";
        continue;
      }
      std::string ends = endsOf();
      if (ends.empty()) {  // on the way are tensors without elements
        continue;
      }
      auto error = op_.emitOpError()
                   << "loss " << nameOf(loss_) << " depends on " << nameOf(value)
                   << " only through operations whose derivative is zero (" << ends
                   << "), expected a way of floating-point operations; take no gradient with "
                      "respect to it, or replace them";
      result = error;
    }
    return result;
  }

  /// The operations at which the gradients that could come back would end.
  std::string endsOf() {
    std::string text;
    for (mlir::Operation* op : ends_) {
      if (llvm::any_of(op->getResults(), [&](mlir::Value v) { return used_.contains(v); })) {
        std::string label = labelOf(op->getLoc());
        text += (text.empty() ? "" : ", ") + op->getName().getStringRef().str() +
                (label.empty() ? "" : " '" + label + "'");
      }
    }
    return text;
  }

  mlir::LogicalResult checkShapes() {
    mlir::LogicalResult result = mlir::success();
    for (mlir::Operation& op : operationsBefore()) {
      for (mlir::Value value : op.getResults()) {
        if (active_.contains(value) && !isStaticTensor(value.getType())) {
          result = op.emitOpError()
                   << "has a result of type " << value.getType()
                   << " that a gradient leads through, expected a static shape: it depends on data";
        }
      }
    }
    return result;
  }

  void walkBackwards() {
    gradients_[loss_] = filled(loss_, 1);
    for (mlir::Operation& op : operationsBeforeReversed()) {
      llvm::SmallVector<mlir::Value> ofResults;
      for (mlir::Value result : op.getResults()) {
        ofResults.push_back(active_.contains(result) ? gradients_.lookup(result) : mlir::Value());
      }
      if (llvm::any_of(ofResults, [](mlir::Value gradient) { return gradient != nullptr; }) &&
          !endsGradients(op)) {
        differentiate(op, ofResults);
      }
    }
  }

  /// Adds what comes back through `op` to the gradients of its operands.
  void differentiate(mlir::Operation& op, mlir::ValueRange ofResults) {
    ir::GradientBuilder rule(builder_, backwardLoc(op), &op, ofResults, refusals_);
    bool isWanted = false;
    for (mlir::OpOperand& operand : op.getOpOperands()) {
      if (active_.contains(operand.get())) {
        rule.setWanted(operand.getOperandNumber());
        isWanted = true;
      }
    }
    if (mlir::failed(applyRule(op, rule, isWanted))) {
      // What lies before is looked at, too, so that all problems are reported at once.
      for (mlir::Value value : valuesReadBy(op)) {
        if (active_.contains(value)) {
          gradients_[value] = filled(value, 0);
        }
      }
      return;
    }
    for (auto [operand, gradient] : llvm::zip(op.getOperands(), rule.given())) {
      if (gradient) {
        mlir::Value& sum = gradients_[operand];
        sum = sum ? builder_.create<ir::AddOp>(gradient.getLoc(), gradient.getType(), sum, gradient)
                  : gradient;
      }
    }
  }

  mlir::LogicalResult applyRule(mlir::Operation& op, ir::GradientBuilder& rule, bool isWanted) {
    auto typed = llvm::dyn_cast<GrOpInterface>(op);
    llvm::StringRef reason = typed ? typed.noGradientReason() : "is no operation of a graph";
    if (op.hasTrait<ir::ResolvedByPlanning>() && !reason.empty()) {
      reason = "is not resolved while planning: what decides it is data";
    }
    if (reason.empty()) {
      return typed.buildGradient(rule);
    }
    // Of control flow no operand may be active, but a value that it captures.
    unsigned first = isWanted ? 0 : op.getNumOperands();
    while (isWanted && !rule.wants(first)) {
      ++first;
    }
    return rule.refuse(first, reason);
  }

  mlir::LogicalResult reportRefusals() {
    for (const ir::GradientRefusal& refusal : llvm::reverse(refusals_)) {
      auto error = refusal.op->emitOpError();
      if (refusal.operand < refusal.op->getNumOperands()) {
        error << "has no gradient with respect to operand " << refusal.operand << " ("
              << nameOf(refusal.op->getOperand(refusal.operand)) << "): ";
      } else {
        error << "has no gradient: ";
      }
      error << refusal.why;
    }
    return op_.emitOpError() << "cannot be computed: " << refusals_.size()
                             << " operations between loss " << nameOf(loss_)
                             << " and what it is differentiated by have no gradient, expected 0; "
                                "replace them, or take no gradient with respect to what leads "
                                "through them";
  }

  void replace() {
    llvm::SmallVector<mlir::Value> results;
    for (mlir::Value value : op_.getWrt()) {
      mlir::Value gradient = gradients_.lookup(value);
      results.push_back(gradient ? gradient : filled(value, 0));
    }
    op_->replaceAllUsesWith(results);
    op_->erase();
  }

  mlir::Value filled(mlir::Value like, double value) {
    return ir::createFull(builder_, op_.getLoc(),
                          llvm::cast<mlir::RankedTensorType>(like.getType()), value);
  }

  /// Where operations that come back through `op` are: "conv1/gradient", with its device hints.
  mlir::Location backwardLoc(mlir::Operation& op) {
    std::string label = labelOf(op.getLoc());
    if (label.empty()) {
      return op_.getLoc();
    }
    mlir::Location name = mlir::NameLoc::get(builder_.getStringAttr(label + "/gradient"));
    return withDeviceHints(name, deviceHintsOf(op.getLoc()));
  }

  ir::GradientOp op_;
  mlir::Block& block_;
  mlir::OpBuilder builder_;
  mlir::Value loss_;
  Values reached_;  ///< from a wanted value, by operations that have derivatives
  Values used_;     ///< by the loss
  Values active_;   ///< of those that are reached: what the gradient of the loss comes to
  llvm::SmallVector<mlir::Operation*> ends_;  ///< at which the way from a wanted value ends
  llvm::DenseMap<mlir::Value, mlir::Value> gradients_;
  llvm::SmallVector<ir::GradientRefusal> refusals_;
};

struct ExpandGradientsPass : impl::ExpandGradientsBase<ExpandGradientsPass> {
  void runOnOperation() override {
    if (mlir::failed(expandGradients(getOperation()))) {
      signalPassFailure();
    }
  }
};

}  // namespace

bool hasGradients(mlir::func::FuncOp func) {
  return func
      .walk([](mlir::Operation* op) {
        return llvm::isa<ir::GradientOp, ir::WatchOp>(op) ? mlir::WalkResult::interrupt()
                                                          : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

mlir::LogicalResult expandGradients(mlir::func::FuncOp func) {
  mlir::Block& body = func.getBody().front();
  for (ir::GradientOp op : llvm::make_early_inc_range(body.getOps<ir::GradientOp>())) {
    if (mlir::failed(GradientExpander(op).run())) {
      return mlir::failure();
    }
  }
  func.walk([](ir::WatchOp op) {
    op->replaceAllUsesWith(mlir::ValueRange{op.getInput()});
    op->erase();
  });
  mlir::WalkResult inside = func.walk([](ir::GradientOp op) {
    op.emitOpError() << "stands inside control flow that is not resolved while planning; compute "
                        "the gradient outside of it";
    return mlir::WalkResult::interrupt();
  });
  return mlir::failure(inside.wasInterrupted());
}

}  // namespace graphrun::passes
