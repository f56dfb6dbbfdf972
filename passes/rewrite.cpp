#include "passes/rewrite.h"

#include "ir/dialect.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/pins.h"

namespace graphrun::passes {
namespace {

/// Gives what patterns make the pins of what they replace.
class PinKeeper final : public mlir::RewriterBase::Listener {
 public:
  void notifyPatternBegin(const mlir::Pattern&, mlir::Operation* op) override {
    inPattern_ = true;
    root_ = pinOf(op);
    made_.clear();
  }

  void notifyOperationInserted(mlir::Operation* op, mlir::OpBuilder::InsertPoint from) override {
    bool isNew = !from.isSet();
    if (inPattern_ && isNew && !llvm::isa<ir::ConstantOp>(op)) {
      made_.insert(op);
    }
  }

  void notifyOperationErased(mlir::Operation* op) override { made_.remove(op); }

  void notifyOperationReplaced(mlir::Operation* op, mlir::ValueRange values) override {
    if (!inPattern_) {
      return;
    }
    Pin pin = pinOfDying(op);
    root_ = root_ ? root_ : pin;
    for (mlir::Value value : values) {
      mlir::Operation* replacement = value.getDefiningOp();
      if (pin && made_.contains(replacement)) {
        setPin(replacement, pin);
      }
    }
  }

  void notifyPatternEnd(const mlir::Pattern&, mlir::LogicalResult) override {
    inPattern_ = false;
    for (mlir::Operation* op : made_) {
      if (root_ && !pinOf(op)) {
        setPin(op, root_);
      }
    }
    made_.clear();
  }

 private:
  /// The pin of `op`, or of what is read by it alone.
  static Pin pinOfDying(mlir::Operation* op) {
    constexpr size_t kMaxDying = 64;
    llvm::SetVector<mlir::Operation*> dying;
    dying.insert(op);
    for (size_t i = 0; i < dying.size() && dying.size() < kMaxDying; ++i) {
      if (Pin pin = pinOf(dying[i])) {
        return pin;
      }
      for (mlir::Value operand : dying[i]->getOperands()) {
        mlir::Operation* source = operand.getDefiningOp();
        if (source != nullptr && llvm::all_of(source->getUsers(), [&](mlir::Operation* user) {
              return dying.contains(user);
            })) {
          dying.insert(source);
        }
      }
    }
    return {};
  }

  bool inPattern_ = false;
  Pin root_;
  llvm::SetVector<mlir::Operation*> made_;
};

bool hasPins(mlir::func::FuncOp func) {
  return func
      .walk([](mlir::Operation* op) {
        return op->hasAttr(kPinAttr) ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace

mlir::LogicalResult rewriteGreedily(mlir::func::FuncOp func,
                                    const mlir::FrozenRewritePatternSet& patterns,
                                    llvm::StringRef what) {
  mlir::GreedyRewriteConfig config;
  config.maxIterations = mlir::GreedyRewriteConfig::kNoLimit;
  PinKeeper keeper;
  if (hasPins(func)) {
    config.listener = &keeper;
  }
  if (mlir::failed(mlir::applyPatternsAndFoldGreedily(func, patterns, config))) {
    return func.emitError() << what << " does not terminate";
  }
  return mlir::success();
}

mlir::Value castTo(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value,
                   mlir::Type element) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return type.getElementType() == element
             ? value
             : builder.create<ir::CastOp>(loc, type.clone(element), value,
                                          mlir::TypeAttr::get(element), mlir::BoolAttr(),
                                          mlir::StringAttr());
}

}  // namespace graphrun::passes
