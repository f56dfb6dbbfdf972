#include "devices/codegen/kernel_names.h"

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/weights.h"

namespace graphrun::devices::codegen {
namespace {

/// Prints what of `op` matters to its kernel: not where it stands in the graph, on which device and
/// under which name. A copy outside the graph prints its operands as their types, and without
/// numbering the values of the whole graph first.
void printForKey(mlir::Operation* op, int64_t elements, llvm::raw_ostream& stream) {
  mlir::OwningOpRef<mlir::Operation*> copy = op->clone();
  (*copy)->walk([](mlir::Operation* inner) {
    for (llvm::StringRef name : {ir::kNameAttr, ir::kDeviceAttr, ir::kRankAttr}) {
      inner->removeAttr(name);
    }
  });
  (*copy)->print(
      stream,
      mlir::OpPrintingFlags().assumeVerified().useLocalScope().elideLargeElementsAttrs(elements));
}

std::string nameOf(mlir::ModuleOp module, const CodeTarget& target) {
  std::string text = absl::StrCat(target.triple, " ", target.processor, " ", target.features, "\n");
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().assumeVerified().useLocalScope());
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  return absl::StrCat("graphrun_", absl::Hex(hash.high64, absl::kZeroPad16),
                      absl::Hex(hash.low64, absl::kZeroPad16));
}

}  // namespace

std::string kernelKey(mlir::Operation* op) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  printForKey(op, 4, stream);
  // Constants inside a group are part of its code; what is printed of large ones tells nothing.
  op->walk(
      [&](ir::ConstantOp constant) { stream << " " << constant.getValue().getAsOpaquePointer(); });
  for (mlir::Value operand : op->getOperands()) {
    // Which operands are one value counts, and of a splat, which is part of the code, its value.
    stream << " #" << std::distance(op->operand_begin(), llvm::find(op->getOperands(), operand));
    if (auto constant = passes::outsideGroup(operand).getDefiningOp<ir::ConstantOp>()) {
      printForKey(constant, 64, stream);
    }
  }
  return key;
}

std::string nameKernel(mlir::ModuleOp module, const CodeTarget& target) {
  std::string name = nameOf(module, target);
  mlir::SymbolTable symbols(module);
  for (auto function : llvm::to_vector(module.getOps<mlir::func::FuncOp>())) {
    llvm::StringRef suffix = function.getSymName().substr(llvm::StringRef("kernel").size());
    mlir::LogicalResult renamed = symbols.rename(function, name + suffix.str());
    assert(mlir::succeeded(renamed));
    static_cast<void>(renamed);
  }
  return name;
}

}  // namespace graphrun::devices::codegen
