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

/// Elements up to which a constant operand may say something of the code: where slices begin.
constexpr int64_t kFewElements = 64;

/// In the place of a constant's address: what an operand is that says nothing of the code.
enum Operand : uint64_t { kNoConstant, kScalar, kOther };

/// Attributes and types are told by their addresses, which are unique in a context; values by their
/// order.
class KeyWriter {
 public:
  explicit KeyWriter(llvm::ArrayRef<mlir::Value> scalars) : scalars_(scalars) {}

  std::string write(mlir::Operation* op) {
    for (mlir::Value operand : op->getOperands()) {
      if (values_.try_emplace(operand, values_.size()).second) {
        add(operand.getType().getAsOpaquePointer());
      }
      if (op->getNumRegions() == 0) {
        addConstant(operand);
      }
    }
    addOperation(op);
    return std::move(key_);
  }

 private:
  void add(const void* address) { addNumber(reinterpret_cast<uintptr_t>(address)); }
  void addNumber(uint64_t number) {
    key_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  bool isScalar(mlir::Value value) const { return llvm::is_contained(scalars_, value); }

  /// Adds the elements of an operand of which the code may be made.
  void addConstant(mlir::Value operand) {
    auto constant = passes::outsideGroup(operand).getDefiningOp<ir::ConstantOp>();
    if (!constant) {
      return addNumber(kNoConstant);
    }
    bool matters =
        constant.getValue().isSplat() || constant.getValue().getNumElements() <= kFewElements;
    if (isScalar(operand) || !matters) {
      return addNumber(isScalar(operand) ? kScalar : kOther);
    }
    add(constant.getValue().getAsOpaquePointer());
  }

  void addOperation(mlir::Operation* op) {
    add(op->getName().getAsOpaquePointer());
    for (mlir::Value operand : op->getOperands()) {
      addNumber(values_.lookup(operand));
    }
    auto constant = llvm::dyn_cast<ir::ConstantOp>(op);
    if (!constant || !isScalar(constant.getResult())) {
      addAttributes(op);
    }
    for (mlir::Value result : op->getResults()) {
      define(result);
    }
    for (mlir::Region& region : op->getRegions()) {
      for (mlir::Block& block : region) {
        for (mlir::Value argument : block.getArguments()) {
          define(argument);
          addConstant(argument);
        }
        llvm::for_each(block, [&](mlir::Operation& inner) { addOperation(&inner); });
      }
    }
  }

  void addAttributes(mlir::Operation* op) {
    for (mlir::NamedAttribute attribute : op->getAttrs()) {
      llvm::StringRef name = attribute.getName();
      if (name != ir::kNameAttr && name != ir::kDeviceAttr && name != ir::kRankAttr) {
        add(attribute.getName().getAsOpaquePointer());
        add(attribute.getValue().getAsOpaquePointer());
      }
    }
  }

  void define(mlir::Value value) {
    values_.try_emplace(value, values_.size());
    add(value.getType().getAsOpaquePointer());
  }

  llvm::ArrayRef<mlir::Value> scalars_;
  llvm::DenseMap<mlir::Value, uint64_t> values_;
  std::string key_;
};

std::string nameOf(mlir::ModuleOp module, const CodeTarget& target) {
  std::string text = absl::StrCat(target.triple, " ", target.processor, " ", target.features, "\n");
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().assumeVerified().useLocalScope());
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  return absl::StrCat("graphrun_", absl::Hex(hash.high64, absl::kZeroPad16),
                      absl::Hex(hash.low64, absl::kZeroPad16));
}

}  // namespace

std::string kernelKey(mlir::Operation* op, llvm::ArrayRef<mlir::Value> scalars) {
  return KeyWriter(scalars).write(op);
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
