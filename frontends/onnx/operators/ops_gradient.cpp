// ai.onnx.preview.training.Gradient: derivatives of a value that the graph computes.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "ir/dialect.h"
#include "ir/gradients/watch.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace graphrun::frontends {
namespace {

/// Makes `value` anew from what `mapping` has in place of other values: clones what lies between.
mlir::Value substituted(mlir::OpBuilder& builder, mlir::Value value, mlir::IRMapping& mapping) {
  llvm::SetVector<mlir::Operation*> slice;  // what `value` is made of
  llvm::SmallVector<mlir::Value> open = {value};
  while (!open.empty()) {
    mlir::Value next = open.pop_back_val();
    mlir::Operation* op = next.getDefiningOp();
    if (op == nullptr || mapping.contains(next) || op->getBlock() != value.getParentBlock() ||
        !slice.insert(op)) {
      continue;
    }
    llvm::SetVector<mlir::Value> read(op->operand_begin(), op->operand_end());
    mlir::getUsedValuesDefinedAbove(op->getRegions(), read);
    llvm::append_range(open, read);
  }
  llvm::SmallVector<mlir::Operation*> ordered(slice.begin(), slice.end());
  llvm::sort(ordered, [](mlir::Operation* a, mlir::Operation* b) { return a->isBeforeInBlock(b); });
  for (mlir::Operation* op : ordered) {
    if (!llvm::isa<ir::ConstantOp>(op)) {
      builder.clone(*op, mapping);
    }
  }
  return mapping.lookupOrDefault(value);
}

/// The inputs are values of the names in `xs` and then `zs`: where they are those of other names, y
/// is computed anew from them.
Values gradient(Node& node) {
  for (llvm::StringRef name : {"xs", "y"}) {
    node.attributes().require(name);
  }
  llvm::SmallVector<llvm::StringRef> names = node.attributes().texts("xs");
  const size_t wanted = names.size();
  llvm::append_range(names, node.attributes().texts("zs"));
  mlir::Value loss = node.valueNamed(node.attributes().text("y", ""), "y");
  if (names.size() != node.inputs().size() || node.outputCount() != wanted) {
    node.fail(absl::StrCat("has ", node.inputs().size(), " inputs and ", node.outputCount(),
                           " outputs, expected ", names.size(), " and ", wanted,
                           ": one for each name in xs and zs, and in xs"));
  }
  mlir::IRMapping mapping;
  for (size_t i = 0; i < names.size() && !node.failed(); ++i) {
    mlir::Value named = node.valueNamed(names[i], i < wanted ? "xs" : "zs");
    if (named && named != node.input(i)) {
      mapping.map(named, node.input(i));
    }
  }
  if (node.failed()) {
    return Values(node.outputCount());
  }
  if (!mapping.getValueMap().empty()) {
    loss = substituted(node.builder(), loss, mapping);
  }
  Values operands = {loss};
  for (size_t i = 0; i < wanted; ++i) {
    operands.push_back(ir::watch(node.input(i)));
  }
  return node.emitMany("gr.gradient", operands, {}, wanted);
}

const OpRow kGradientOps[] = {
    {"ai.onnx.preview.training.Gradient", 1, 1, 1, kMany, kMany, gradient, "", false, false,
     /*readsNames=*/true},
};

}  // namespace

llvm::ArrayRef<OpRow> gradientOps() { return kGradientOps; }

}  // namespace graphrun::frontends
