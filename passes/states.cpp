// gr-freeze-states, states of a model's parameters, and what states must be like.
#include "passes/states.h"

#include "ir/dialect.h"
#include "ir/gradients/builder.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/passes.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_FREEZESTATES
#include "passes/passes.h.inc"

namespace {

struct FreezeStatesPass : impl::FreezeStatesBase<FreezeStatesPass> {
  void runOnOperation() override { freezeStates(getOperation()); }
};

}  // namespace

mlir::LogicalResult checkStates(mlir::func::FuncOp func) {
  mlir::LogicalResult result = mlir::success();
  llvm::StringMap<ir::StateOp> states;
  llvm::StringMap<ir::UpdateOp> updates;
  func.walk([&](ir::StateOp state) {
    auto [found, isNew] = states.try_emplace(state.getName(), state);
    ir::StateOp first = found->second;
    if (!isNew && (first.getType() != state.getType() || first.getInit() != state.getInit())) {
      result = state.emitOpError()
               << "is the state '" << state.getName() << "' of type " << state.getType()
               << " again, expected the type and first value that it has before: "
               << first.getType();
    }
  });
  func.walk([&](ir::UpdateOp update) {
    llvm::StringRef name = update.getState().getDefiningOp<ir::StateOp>().getName();
    if (update->getParentOp() != func.getOperation()) {
      result = update.emitOpError() << "of the state '" << name
                                    << "' stands inside control flow, expected it in the graph "
                                       "itself; update with a value that the branches choose";
    } else if (!updates.try_emplace(name, update).second) {
      result = update.emitOpError()
               << "is the second one of the state '" << name << "', expected one at most";
    }
  });
  return result;
}

llvm::SmallVector<mlir::Value> parameterConstants(mlir::func::FuncOp func) {
  llvm::DenseSet<mlir::Value> deciding;
  func.walk([&](ir::GrOpInterface op) {
    for (mlir::Value value : op.shapeOperands()) {
      deciding.insert(value);
    }
  });
  llvm::SmallVector<mlir::Value> parameters;
  for (ir::ConstantOp op : func.getBody().front().getOps<ir::ConstantOp>()) {
    bool isScalar = op.getType().hasRank() && op.getType().getRank() == 0;
    bool isUsed = !op->use_empty();
    if (isUsed && ir::isDifferentiable(op.getType()) && !isScalar && !deciding.contains(op)) {
      parameters.push_back(op);
    }
  }
  return parameters;
}

llvm::SmallVector<mlir::Value> makeParameters(mlir::func::FuncOp func) {
  llvm::StringSet<> names;
  func.walk([&](ir::StateOp state) { names.insert(state.getName()); });
  llvm::SmallVector<mlir::Value> parameters;
  for (mlir::Value value : parameterConstants(func)) {
    auto constant = value.getDefiningOp<ir::ConstantOp>();
    std::string label = labelOf(constant.getLoc());
    std::string name = label.empty() ? "parameter" : label;
    for (size_t number = 2; !names.insert(name).second; ++number) {
      name = label + "#" + std::to_string(number);
    }
    mlir::OpBuilder builder(constant);
    auto state = builder.create<ir::StateOp>(constant.getLoc(), constant.getType(),
                                             builder.getStringAttr(name), constant.getValue());
    if (mlir::Attribute weight = constant->getAttr(ir::kWeightAttr)) {
      state->setAttr(ir::kWeightAttr, weight);
    }
    constant.replaceAllUsesWith(state.getValue());
    constant.erase();
    parameters.push_back(state);
  }
  return parameters;
}

namespace {

/// Moves the updates and what only they depend on, the backward pass among it.
class UpdateHoister {
 public:
  explicit UpdateHoister(mlir::Block& body) {
    llvm::DenseSet<mlir::Operation*> found;
    for (mlir::Operation& op : llvm::reverse(body.without_terminator())) {
      const bool isForUpdates =
          !op.use_empty() && mlir::isPure(&op) &&
          llvm::all_of(op.getUsers(), [&](mlir::Operation* user) { return found.contains(user); });
      if (llvm::isa<ir::UpdateOp>(op) || isForUpdates) {
        found.insert(&op);
        forUpdates_.push_back(&op);
      }
    }
  }

  /// Operations behind one value take turns, the last one first: an optimizer is done with a
  /// gradient before the backward pass goes on.
  void run() {
    for (mlir::Operation* op : llvm::reverse(forUpdates_)) {
      if (mlir::Operation* last = lastRead(*op)) {
        op->moveAfter(last);
        bringSources(*op);
      } else {
        early_.insert(op);
      }
    }
    for (mlir::Operation* op : forUpdates_) {
      if (early_.contains(op) && !op->use_empty()) {
        op->moveBefore(firstUser(*op));
        bringSources(*op);
      }
    }
  }

 private:
  static bool isSource(mlir::Operation* op) { return llvm::isa<ir::StateOp, ir::ConstantOp>(op); }

  /// States and constants can stand anywhere before their users.
  static void bringSources(mlir::Operation& op) {
    for (mlir::Value operand : op.getOperands()) {
      mlir::Operation* made = operand.getDefiningOp();
      if (made != nullptr && isSource(made) && !made->isBeforeInBlock(&op)) {
        made->moveBefore(&op);
      }
    }
  }

  /// The last operation that computes an operand in the step; null if all could be made at its
  /// begin.
  mlir::Operation* lastRead(mlir::Operation& op) const {
    mlir::Operation* last = nullptr;
    for (mlir::Value operand : op.getOperands()) {
      mlir::Operation* made = operand.getDefiningOp();
      const bool isEarly = made == nullptr || early_.contains(made) || isSource(made);
      if (!isEarly && (last == nullptr || last->isBeforeInBlock(made))) {
        last = made;
      }
    }
    return last;
  }

  static mlir::Operation* firstUser(mlir::Operation& op) {
    mlir::Operation* first = nullptr;
    for (mlir::Operation* user : op.getUsers()) {
      first = first == nullptr || user->isBeforeInBlock(first) ? user : first;
    }
    return first;
  }

  llvm::SmallVector<mlir::Operation*> forUpdates_;  // the last one first
  llvm::DenseSet<mlir::Operation*> early_;          // of them, what depends on states alone
};

}  // namespace

void hoistUpdates(mlir::func::FuncOp func) { UpdateHoister(func.getBody().front()).run(); }

void freezeStates(mlir::func::FuncOp func) {
  func.walk([](ir::UpdateOp update) { update.erase(); });
  func.walk([](ir::StateOp state) {
    mlir::OpBuilder builder(state);
    auto constant =
        builder.create<ir::ConstantOp>(state.getLoc(), state.getType(), state.getInit());
    if (mlir::Attribute weight = state->getAttr(ir::kWeightAttr)) {
      constant->setAttr(ir::kWeightAttr, weight);
    }
    state.replaceAllUsesWith(constant.getResult());
    state.erase();
  });
}

}  // namespace graphrun::passes
