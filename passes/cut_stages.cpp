// gr-cut-stages: cuts a graph where shapes depend on data.
#include "passes/cut_stages.h"
#include "ir/dialect.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/passes.h"
#include "passes/shapes.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_CUTSTAGES
#include "passes/passes.h.inc"

namespace {

bool isConstant(mlir::Value value) {
  return llvm::isa_and_nonnull<ir::ConstantOp>(value.getDefiningOp());
}

/// All values from outside that `op` reads, those inside its regions included.
llvm::SetVector<mlir::Value> valuesReadBy(mlir::Operation* op) {
  llvm::SetVector<mlir::Value> values;
  values.insert(op->operand_begin(), op->operand_end());
  mlir::getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

class StageCutter {
 public:
  explicit StageCutter(mlir::func::FuncOp func)
      : func_(func), block_(func.getBody().front()), return_(block_.getTerminator()) {}

  mlir::FailureOr<Stages> run() {
    findLate();
    Stages stages;
    if (llvm::none_of(late_, [&](mlir::Operation* op) { return isPending(op); })) {
      flattenResults();
      settleEvaluated();
      return stages;
    }
    if (mlir::failed(findDeciders())) {
      return mlir::failure();
    }
    for (mlir::Value value : deciders_) {
      if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
        stages.neededInputs.push_back(inputName(func_, argument.getArgNumber()));
      }
    }
    if (stages.neededInputs.empty()) {
      findCrossing();
      makeRest(stages);
      trim(stages);
      settleEvaluated();
    }
    return stages;
  }

 private:
  bool isLate(mlir::Value value) const { return late_.contains(value.getDefiningOp()); }

  /// True when `op` waits for data; false for lists of values that this stage makes.
  bool isPending(mlir::Operation* op) const {
    return op != nullptr && late_.contains(op) &&
           (!llvm::isa<ir::SequenceOp>(op) ||
            llvm::any_of(op->getOperands(),
                         [&](mlir::Value value) { return isPending(value.getDefiningOp()); }));
  }

  /// Operations that cannot run yet: their types are not known, or an operand is made by such a
  /// one. Lists are among them: no stage makes a list, the last one returns the tensors in it. What
  /// uses evaluated elements could run, but waits for a plan that serves for any.
  void findLate() {
    for (mlir::Operation& op : block_.without_terminator()) {
      bool waits = llvm::any_of(valuesReadBy(&op), [&](mlir::Value value) {
        return isLate(value) || value.getDefiningOp<ir::EvaluatedOp>();
      });
      if (waits || !isStatic(&op)) {
        late_.insert(&op);
      }
    }
  }

  /// The values whose elements the first late operations wait for.
  mlir::LogicalResult findDeciders() {
    for (mlir::Operation* op : late_) {
      bool isFirst = llvm::none_of(
          valuesReadBy(op), [&](mlir::Value value) { return isPending(value.getDefiningOp()); });
      if (!isFirst || isStatic(op) || llvm::isa<ir::SequenceOp>(op)) {
        continue;
      }
      size_t before = deciders_.size();
      bool waits = false;
      if (auto typed = llvm::dyn_cast<ir::GrOpInterface>(op)) {
        for (mlir::Value value : typed.shapeOperands()) {
          if (value && (!isConstant(value) || isLoopState(op, value))) {
            deciders_.insert(value);
            waits = true;
          }
        }
      }
      if (!waits && deciders_.size() == before) {
        return op->emitOpError() << "result type " << op->getResult(0).getType()
                                 << " stays unknown although the shapes of all operands and the "
                                    "elements that decide it are known";
      }
    }
    return mlir::success();
  }

  /// A value that changes from iteration to iteration crosses even where it is constant: the rest
  /// of a loop is then the same for each of them.
  static bool isLoopState(mlir::Operation* op, mlir::Value value) {
    auto loop = llvm::dyn_cast<ir::LoopOp>(op);
    return loop && (value == loop.getCondition() || value == loop.getBelow() ||
                    value == loop.getIteration());
  }

  /// Values of this stage that the rest reads. Constants are made again instead.
  void findCrossing() {
    crossing_.insert(deciders_.begin(), deciders_.end());
    for (mlir::Operation* op : late_) {
      for (mlir::Value value : op->getOperands()) {
        if (isLoopState(op, value) && !isLate(value)) {
          crossing_.insert(value);
        }
      }
    }
    auto add = [&](mlir::Value value) {
      if (value.getParentBlock() == &block_ && !isLate(value) && !isConstant(value)) {
        crossing_.insert(value);
      }
    };
    for (mlir::Operation* op : late_) {
      llvm::for_each(valuesReadBy(op), add);
    }
  }

  void makeRest(Stages& stages) {
    mlir::MLIRContext* context = func_.getContext();
    mlir::OpBuilder builder(context);
    stages.rest = mlir::ModuleOp::create(func_.getLoc());
    builder.setInsertionPointToEnd(stages.rest->getBody());
    llvm::SmallVector<mlir::Type> types;
    for (mlir::Value value : crossing_) {
      types.push_back(value.getType());
    }
    auto rest = builder.create<mlir::func::FuncOp>(func_.getLoc(), func_.getSymName(),
                                                   builder.getFunctionType(types, {}));
    mlir::Block* body = rest.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    // A constant that crosses is an argument for the loop whose state it is, and for nothing else
    // that reads it: in a loop's body it decides types.
    mlir::IRMapping mapping, states;
    for (auto [i, value] : llvm::enumerate(crossing_)) {
      (isConstant(value) ? states : mapping).map(value, body->getArgument(i));
      rest.setArgAttr(i, ir::kNameAttr, builder.getStringAttr("value " + llvm::Twine(i)));
    }
    for (mlir::Operation* op : late_) {
      for (mlir::Value value : valuesReadBy(op)) {
        if (value.getParentBlock() == &block_ && !mapping.contains(value) && isConstant(value)) {
          builder.clone(*value.getDefiningOp(), mapping);
        }
      }
      mlir::Operation* made = builder.clone(*op, mapping);
      for (auto [i, value] : llvm::enumerate(op->getOperands())) {
        if (isLoopState(op, value) && states.contains(value)) {
          made->setOperand(i, states.lookup(value));
        }
      }
    }
    finish(rest, builder, mapping);
  }

  /// The rest returns the outputs that are made there.
  void finish(mlir::func::FuncOp rest, mlir::OpBuilder& builder, mlir::IRMapping& mapping) {
    llvm::SmallVector<mlir::Value> results;
    llvm::SmallVector<std::string> names;
    for (auto [i, value] : llvm::enumerate(return_->getOperands())) {
      if (isLate(value)) {
        results.push_back(mapping.lookup(value));
        names.push_back(outputName(func_, i));
      }
    }
    setReturn(rest, builder.create<mlir::func::ReturnOp>(rest.getLoc(), results), names);
  }

  /// Returns the tensors in the lists that are returned: "y[0]", "y[1]" … for the list "y", and a
  /// tensor without elements, "y[]", for an empty one.
  void flattenResults() {
    llvm::SmallVector<mlir::Value> results;
    llvm::SmallVector<std::string> names;
    for (auto [i, value] : llvm::enumerate(return_->getOperands())) {
      flatten(value, outputName(func_, i), results, names);
    }
    return_->setOperands(results);
    setReturn(func_, return_, names);
    while (!late_.empty()) {
      late_.pop_back_val()->erase();
    }
  }

  void flatten(mlir::Value value, const std::string& name,
               llvm::SmallVectorImpl<mlir::Value>& results,
               llvm::SmallVectorImpl<std::string>& names) {
    auto list = value.getDefiningOp<ir::SequenceOp>();
    if (!list) {
      results.push_back(value);
      names.push_back(name);
      return;
    }
    for (auto [i, element] : llvm::enumerate(list.getElements())) {
      flatten(element, name + "[" + std::to_string(i) + "]", results, names);
    }
    if (list.getElements().empty()) {
      mlir::OpBuilder builder(return_);
      auto type = mlir::RankedTensorType::get({0}, builder.getF32Type());
      results.push_back(builder.create<ir::ConstantOp>(
          list.getLoc(), type,
          mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>())));
      names.push_back(name + "[]");
    }
  }

  /// This stage keeps what is not late and returns what crosses, under names of its own.
  void trim(Stages& stages) {
    llvm::SmallVector<mlir::Value> results;
    llvm::SmallVector<std::string> names;
    llvm::DenseMap<mlir::Value, std::string> nameOf;
    for (auto [i, value] : llvm::enumerate(return_->getOperands())) {
      if (!isLate(value)) {
        results.push_back(value);
        names.push_back(outputName(func_, i));
        nameOf.try_emplace(value, names.back());
      }
    }
    for (auto [i, value] : llvm::enumerate(crossing_)) {
      if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
        stages.restInputs.push_back(inputName(func_, argument.getArgNumber()));
        continue;
      }
      auto [name, isNew] = nameOf.try_emplace(value, freshName(i));
      stages.restInputs.push_back(name->second);
      if (isNew) {
        results.push_back(value);
        names.push_back(name->second);
      }
    }
    return_->setOperands(results);
    while (!late_.empty()) {
      late_.pop_back_val()->erase();
    }
    setReturn(func_, return_, names);
  }

  /// Evaluated elements are constants of the plan.
  void settleEvaluated() {
    for (auto op : llvm::make_early_inc_range(block_.getOps<ir::EvaluatedOp>())) {
      mlir::OpBuilder builder(op);
      auto constant = builder.create<ir::ConstantOp>(op.getLoc(), op.getType(), op.getValue());
      op.replaceAllUsesWith(constant.getResult());
      op->erase();
    }
  }

  /// A name for crossing value `i` that no input or output has.
  std::string freshName(size_t i) {
    std::string name = "crossing value " + std::to_string(i);
    auto taken = [&] {
      for (unsigned k = 0; k < func_.getNumArguments(); ++k) {
        if (inputName(func_, k) == name) {
          return true;
        }
      }
      for (unsigned k = 0; k < func_.getNumResults(); ++k) {
        if (outputName(func_, k) == name) {
          return true;
        }
      }
      return false;
    };
    while (taken()) {
      name += '\'';
    }
    return name;
  }

  static void setReturn(mlir::func::FuncOp func, mlir::Operation* terminator,
                        llvm::ArrayRef<std::string> names) {
    mlir::Builder builder(func.getContext());
    func.setType(builder.getFunctionType(func.getBody().front().getArgumentTypes(),
                                         terminator->getOperandTypes()));
    llvm::SmallVector<mlir::DictionaryAttr> attributes;
    for (const std::string& name : names) {
      attributes.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(ir::kNameAttr, builder.getStringAttr(name))));
    }
    mlir::function_interface_impl::setAllResultAttrDicts(
        llvm::cast<mlir::FunctionOpInterface>(func.getOperation()), attributes);
  }

  mlir::func::FuncOp func_;
  mlir::Block& block_;
  mlir::Operation* return_;
  llvm::SetVector<mlir::Operation*> late_;  // in the graph's order
  llvm::SetVector<mlir::Value> deciders_;   // whose elements the rest waits for
  llvm::SetVector<mlir::Value> crossing_;   // the inputs of the rest
};

struct CutStagesPass : impl::CutStagesBase<CutStagesPass> {
  void runOnOperation() override {
    mlir::FailureOr<mlir::func::FuncOp> func = graphOf(getOperation());
    mlir::FailureOr<Stages> stages = mlir::failure();
    if (mlir::succeeded(func)) {
      stages = cutAtData(*func);
    }
    if (mlir::failed(stages)) {
      return signalPassFailure();
    }
    mlir::Builder builder(&getContext());
    auto strings = [&](const std::vector<std::string>& names) {
      return builder.getStrArrayAttr(
          llvm::SmallVector<llvm::StringRef>(names.begin(), names.end()));
    };
    if (!stages->neededInputs.empty()) {
      (*func)->setAttr("gr.needed", strings(stages->neededInputs));
    }
    if (stages->rest) {
      auto rest = *stages->rest->getOps<mlir::func::FuncOp>().begin();
      rest->remove();
      rest.setSymName("rest");
      rest->setAttr("gr.from", strings(stages->restInputs));
      getOperation().push_back(rest);
    }
  }
};

}  // namespace

mlir::FailureOr<Stages> cutAtData(mlir::func::FuncOp func) { return StageCutter(func).run(); }

}  // namespace graphrun::passes
