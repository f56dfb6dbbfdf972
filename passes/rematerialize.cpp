// gr-rematerialize: operations that are computed again.
#include "passes/rematerialize.h"

#include "ir/dialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/collectives.h"
#include "passes/passes.h"
#include "passes/weights.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_REMATERIALIZE
#include "passes/passes.h.inc"

namespace {

using Operations = llvm::SmallVector<mlir::Operation*>;

/// Clones what stands in an order again, and gives its users the clones.
class Repeater {
 public:
  explicit Repeater(llvm::function_ref<bool(mlir::Operation*, mlir::Operation*)> isTogether)
      : isTogether_(isTogether) {}

  Operations run(llvm::ArrayRef<mlir::Operation*> order) {
    Operations done;
    done.reserve(order.size());
    llvm::DenseMap<mlir::Operation*, size_t> rounds;
    for (mlir::Operation* op : order) {
      done.push_back(rounds[op]++ == 0 ? op : clone(op));
      readLatest(done.back(), op);
      latest_[op] = done.back();
    }
    // A clone stands before the first of its users, and the later ones are in place by then.
    for (mlir::Operation*& op : llvm::reverse(done)) {
      if (op->getBlock() == nullptr && !place(op)) {
        op = nullptr;
      }
    }
    return done;
  }

 private:
  static mlir::Operation* clone(mlir::Operation* op) {
    mlir::Operation* again = op->clone();
    again->setAttr(kAgainAttr, mlir::UnitAttr::get(op->getContext()));
    if (std::string label = labelOf(op->getLoc()); !label.empty()) {
      again->setLoc(mlir::NameLoc::get(mlir::StringAttr::get(op->getContext(), label + "/again")));
    }
    return again;
  }

  /// Makes `reader`, which is `user` or its clone, read what was made last.
  void readLatest(mlir::Operation* reader, mlir::Operation* user) {
    for (mlir::OpOperand& operand : reader->getOpOperands()) {
      auto result = llvm::dyn_cast<mlir::OpResult>(operand.get());
      mlir::Operation* made = result ? latest_.lookup(result.getOwner()) : nullptr;
      if (made != nullptr && made != result.getOwner() && isTogether_(result.getOwner(), user)) {
        operand.set(made->getResult(result.getResultNumber()));
      }
    }
  }

  /// Puts a clone before the first of its users; without one it is destroyed, false.
  static bool place(mlir::Operation* op) {
    mlir::Operation* first = nullptr;
    for (mlir::Operation* user : op->getUsers()) {
      first = first == nullptr || user->isBeforeInBlock(first) ? user : first;
    }
    if (first == nullptr) {
      op->destroy();
      return false;
    }
    first->getBlock()->getOperations().insert(first->getIterator(), op);
    return true;
  }

  llvm::function_ref<bool(mlir::Operation*, mlir::Operation*)> isTogether_;
  llvm::DenseMap<mlir::Operation*, mlir::Operation*> latest_;  // by the operation as it was
};

struct RematerializePass : impl::RematerializeBase<RematerializePass> {
  using RematerializeBase::RematerializeBase;

  void runOnOperation() override {
    mlir::func::FuncOp func = getOperation();
    llvm::StringMap<mlir::Operation*> byLabel;
    for (mlir::Operation& op : func.front().without_terminator()) {
      byLabel[labelOf(op.getLoc())] = &op;
    }
    Operations ops;
    llvm::DenseSet<mlir::Operation*> seen;
    for (const std::string& label : order) {
      mlir::Operation* op = byLabel.lookup(label);
      if (op == nullptr) {
        func.emitError() << "order: '" << label << "' is no operation of the graph";
        return signalPassFailure();
      }
      if (!seen.insert(op).second && !isRecomputable(op)) {
        op->emitOpError() << "cannot be computed again: it does more than to make its results";
        return signalPassFailure();
      }
      ops.push_back(op);
    }
    rematerialize(ops, [](mlir::Operation* producer, mlir::Operation* user) {
      return producer->getAttr(ir::kDeviceAttr) == user->getAttr(ir::kDeviceAttr);
    });
  }
};

}  // namespace

bool isRecomputable(mlir::Operation* op) { return mlir::isPure(op) && !isCollective(op); }

llvm::SmallVector<mlir::Operation*> rematerialize(
    llvm::ArrayRef<mlir::Operation*> order,
    llvm::function_ref<bool(mlir::Operation* producer, mlir::Operation* user)> isTogether) {
  return Repeater(isTogether).run(order);
}

}  // namespace graphrun::passes
