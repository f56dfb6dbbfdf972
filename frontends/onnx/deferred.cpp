#include "frontends/onnx/deferred.h"

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::frontends {
namespace {

/// One import of one node.
class DeferredImport {
 public:
  explicit DeferredImport(ir::DeferredOp op) : op_(op), builder_(op), before_(op->getPrevNode()) {}

  passes::Resolution run() {
    static const OpTable table;
    bool parsed = proto_.ParseFromString(op_.getNode().str());
    const OpRow* row = parsed ? table.find(OpTable::nameOf(proto_), op_.getOpset()) : nullptr;
    if (row == nullptr) {
      return fail(op_.emitOpError() << "holds no node that this program can import");
    }
    Values inputs(proto_.input_size());
    for (auto [index, value] : llvm::zip(op_.getPlaces(), op_.getInputs())) {
      if (index < 0 || index >= proto_.input_size()) {
        return fail(op_.emitOpError() << "has no input " << index);
      }
      inputs[index] = value;
    }
    if (proto_.output_size() != static_cast<int>(op_.getNumResults())) {
      return fail(op_.emitOpError() << "has " << op_.getNumResults() << " results, expected "
                                    << proto_.output_size());
    }
    Problems problems;
    Node::Context context{builder_, problems, [this](llvm::StringRef name) { return isUsed(name); },
                          nullptr};
    std::string label = absl::StrCat("(", proto_.op_type(), ", opset ", op_.getOpset(), ")");
    Node node(context, proto_, *row, op_.getOpset(), label, op_.getLoc(), inputs);
    Values outputs = node.import();
    if (node.later()) {
      return wait(node);
    }
    if (node.failed()) {
      return fail(op_.emitError() << problems.text());
    }
    return replace(outputs);
  }

 private:
  static passes::Resolution fail(const mlir::InFlightDiagnostic&) {
    return passes::Resolution::kFailed;
  }

  bool isUsed(llvm::StringRef name) {
    for (int i = 0; i < proto_.output_size(); ++i) {
      if (proto_.output(i) == name && !op_.getResult(i).use_empty()) {
        return true;
      }
    }
    return false;
  }

  /// The node has to know elements first: those of the operands from which the values come.
  passes::Resolution wait(const Node& node) {
    llvm::SmallSetVector<int64_t, 4> deciding;
    llvm::SmallVector<mlir::Value> values(node.needed());
    while (!values.empty()) {
      mlir::Value value = values.pop_back_val();
      if (llvm::is_contained(op_.getInputs(), value)) {
        for (auto [i, input] : llvm::enumerate(op_.getInputs())) {
          if (input == value && !input.getDefiningOp<ir::ConstantOp>()) {
            deciding.insert(static_cast<int64_t>(i));
          }
        }
      } else if (mlir::Operation* maker = value.getDefiningOp()) {
        llvm::append_range(values, maker->getOperands());
      }
    }
    while (op_->getPrevNode() != before_) {
      op_->getPrevNode()->erase();
    }
    if (deciding.empty() && listsAreOpen()) {
      return passes::Resolution::kWaiting;
    }
    if (deciding.empty()) {
      return fail(
          op_.emitError() << proto_.op_type()
                          << " cannot be imported although the shapes of its inputs are known");
    }
    op_.setDeciding(deciding.getArrayRef());
    return passes::Resolution::kWaiting;
  }

  /// True when the type of a tensor in a list is not known yet.
  bool listsAreOpen() {
    llvm::SmallVector<mlir::Value> values(op_.getInputs());
    while (!values.empty()) {
      mlir::Value value = values.pop_back_val();
      if (auto list = value.getDefiningOp<ir::SequenceOp>()) {
        llvm::append_range(values, list.getElements());
      } else if (!llvm::cast<mlir::ShapedType>(value.getType()).hasStaticShape()) {
        return true;
      }
    }
    return false;
  }

  passes::Resolution replace(Values& outputs) {
    outputs.resize(op_.getNumResults());
    for (auto [i, value] : llvm::enumerate(outputs)) {
      mlir::Value result = op_.getResult(i);
      if (!value && !result.use_empty()) {
        return fail(op_.emitError() << proto_.op_type() << ": output " << i << " is not computed");
      }
      if (value && !isOpen(result, value) &&
          mlir::getElementTypeOrSelf(result) != mlir::getElementTypeOrSelf(value)) {
        return fail(op_.emitError() << "output " << i << " is declared as " << result.getType()
                                    << ", but is " << value.getType());
      }
      if (value) {
        checkShape(i, result, value);
        result.replaceAllUsesWith(value);
      }
    }
    op_->erase();
    return passes::Resolution::kReplaced;
  }

  /// One of both is not known to be a tensor, or both are lists.
  static bool isOpen(mlir::Value declared, mlir::Value actual) {
    mlir::Type any = ir::placeholderType(declared.getContext());
    return declared.getType() == any || actual.getType() == any ||
           (ir::isSequence(declared.getType()) && ir::isSequence(actual.getType()));
  }

  /// Warns where the declared shape is not that of output `i`. What was inferred from it is then
  /// not known any more.
  void checkShape(size_t i, mlir::Value declared, mlir::Value actual) {
    if (isOpen(declared, actual) ||
        mlir::succeeded(mlir::verifyCompatibleShape(declared.getType(), actual.getType()))) {
      return;
    }
    op_.emitWarning() << "output " << i << " is declared as " << declared.getType() << ", but is "
                      << actual.getType() << ", which is used";
    llvm::SetVector<mlir::Operation*> readers(declared.user_begin(), declared.user_end());
    for (size_t at = 0; at < readers.size(); ++at) {
      if (llvm::isa<ir::DeferredOp>(readers[at])) {
        continue;  // declares its types itself
      }
      for (mlir::OpResult result : readers[at]->getResults()) {
        if (auto type = llvm::dyn_cast<mlir::RankedTensorType>(result.getType())) {
          result.setType(mlir::UnrankedTensorType::get(type.getElementType()));
          readers.insert(result.user_begin(), result.user_end());
        }
      }
    }
  }

  ir::DeferredOp op_;
  mlir::OpBuilder builder_;
  mlir::Operation* before_;
  ::onnx::NodeProto proto_;
};

}  // namespace

passes::Resolution resolveDeferred(ir::DeferredOp op) { return DeferredImport(op).run(); }

}  // namespace graphrun::frontends
