#include "devices/cuda/compiler/emit/point_kernel.h"

#include "absl/strings/str_cat.h"
#include "devices/codegen/index_maps.h"
#include "ir/dialect.h"
#include "ir/dims.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/weights.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;

/// Most tensors that are joined or cut: a kernel has 4 KiB of parameters.
constexpr size_t kMostParts = 64;

bool moves(mlir::Operation* op) {
  return llvm::isa<ir::ConcatOp, ir::SplitOp, ir::PadOp, ir::GatherOp, ir::GatherElementsOp,
                   ir::GatherNdOp>(op);
}

bool walksAlongAxis(mlir::Operation* op) {
  return llvm::isa<ir::ArgReduceOp, ir::CumulativeOp, ir::LrnOp, ir::SquaredDistanceOp>(op);
}

bool isEmpty(mlir::Value value) { return tensorOf(value).getNumElements() == 0; }

bool hasIndexType(mlir::Value value) {
  mlir::Type element = tensorOf(value).getElementType();
  return element.isInteger(32) || element.isInteger(64);
}

std::string whyNotPads(ir::PadOp op) {
  auto pads = ir::constantInts(passes::outsideGroup(op.getPads()));
  llvm::ArrayRef<int64_t> dims = tensorOf(op.getInput()).getShape();
  if (!pads || pads->size() != 2 * dims.size()) {
    return "has pads that are not known before the run";
  }
  // An element further away is shown by one that is itself behind an end.
  int64_t beyond = op.getMode() == ir::PadMode::kReflect ? 1 : 0;
  bool repeats = op.getMode() == ir::PadMode::kReflect || op.getMode() == ir::PadMode::kWrap;
  for (auto [i, pad] : llvm::enumerate(*pads)) {
    if (repeats && pad > dims[i % dims.size()] - beyond) {
      return "has pads that are longer than a dim";
    }
  }
  return "";
}

/// The reason why the kernel cannot do an operation whose elements it could compute; empty if there
/// is none.
std::string whyNot(mlir::Operation* op) {
  using Why = std::string;
  return llvm::TypeSwitch<mlir::Operation*, Why>(op)
      .Case<ir::ConcatOp, ir::SplitOp>([&](auto) -> Why {
        return op->getNumOperands() + op->getNumResults() > kMostParts ? "has too many parts" : "";
      })
      .Case<ir::GatherOp, ir::GatherElementsOp, ir::GatherNdOp>([&](auto gather) -> Why {
        return hasIndexType(gather.getIndices()) ? "" : "has indices that are neither i32 nor i64";
      })
      .Case([&](ir::PadOp pad) { return whyNotPads(pad); })
      .Case([&](ir::CumulativeOp cumulative) -> Why {
        return tensorOf(cumulative.getInput()).getRank() > 0 ? "" : "has no axis";
      })
      .Case([&](ir::MaxPoolWithIndicesOp pool) -> Why {
        return llvm::isa<mlir::FloatType>(tensorOf(pool.getInput()).getElementType())
                   ? ""
                   : "has elements that are no floats";
      })
      .Case([&](ir::Col2ImOp sums) { return whyNotBlock(sums); })
      .Default([](mlir::Operation*) -> Why { return ""; });
}

/// Integers are compared and summed as signed ones, but by gr.max_pool, which takes any.
bool computesItsElements(mlir::Operation* op) {
  mlir::Type element = tensorOf(op->getOperand(0)).getElementType();
  return llvm::isa<ir::MaxPoolOp>(op) || llvm::isa<mlir::FloatType>(element) ||
         element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

}  // namespace

bool isPointOperation(mlir::Operation* op) {
  return moves(op) || walksAlongAxis(op) ||
         llvm::isa<ir::MaxPoolOp, ir::MaxPoolWithIndicesOp, ir::AvgPoolOp, ir::LpPoolOp,
                   ir::Col2ImOp>(op);
}

std::string whyNotPointKernel(mlir::Operation* op) {
  std::string name = op->getName().getStringRef().str();
  if (isEmpty(op->getResult(0)) || isEmpty(op->getOperand(0))) {
    return name + " has no elements";
  }
  if (!ir::isComputed(tensorOf(op->getOperand(0)).getElementType()) ||
      (!moves(op) && !computesItsElements(op))) {
    return name + " has an element type that is not computed in";
  }
  std::string why = whyNot(op);
  return why.empty() ? why : absl::StrCat(name, " ", why);
}

bool isPoolOfAnyLayout(mlir::Operation* op) {
  return llvm::isa<ir::MaxPoolOp, ir::AvgPoolOp, ir::LpPoolOp>(op);
}

KernelLaunch buildPointKernel(mlir::ModuleOp module, mlir::Operation* op, bool channelsLast,
                              const std::string& symbol) {
  return moves(op)            ? buildMovementKernel(module, op, symbol)
         : walksAlongAxis(op) ? buildAxisKernel(module, op, symbol)
                              : buildWindowKernel(module, op, channelsLast, symbol);
}

}  // namespace graphrun::devices::cuda
