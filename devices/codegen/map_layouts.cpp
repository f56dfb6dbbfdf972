#include "devices/codegen/map_layouts.h"

#include <algorithm>

#include "passes/weights.h"

namespace graphrun::devices::codegen {
namespace {

using Order = KernelLayout::Order;

/// True when elements lie alike in `layout` and dense, with the channels as dim `channel`.
bool liesAlike(const std::vector<int64_t>& dims, size_t channel, KernelLayout layout) {
  bool hasChannels = channel < dims.size() && dims[channel] != 1;
  bool hasSpatial = std::any_of(dims.begin() + std::min(channel + 1, dims.size()), dims.end(),
                                [](int64_t dim) { return dim != 1; });
  return !hasChannels || (layout.order == Order::kChannelsLast && !hasSpatial);
}

/// Beside a result of `rank` dims; nothing when it cannot lie that way.
std::optional<OperandLayout> operandLayout(mlir::Value operand, size_t rank, KernelLayout layout) {
  OperandLayout its{tensorOf(operand).getShape().vec(), {}};
  size_t missing = rank - its.dims.size();
  if (layout.isDense() || missing > 1 || liesAlike(its.dims, 1 - missing, layout)) {
    return its;
  }
  if (missing == 1) {
    if (!passes::weightOf(operand)) {
      return std::nullopt;  // only a constant can be laid out under another rank
    }
    its.dims.insert(its.dims.begin(), 1);
  }
  its.layout = layout;
  return its;
}

}  // namespace

std::optional<llvm::SmallVector<OperandLayout>> operandLayouts(mlir::Operation* op,
                                                               KernelLayout result) {
  auto rank = static_cast<size_t>(tensorOf(op->getResult(0)).getRank());
  if (!result.isDense() && (rank < 3 || rank > 5)) {
    return std::nullopt;
  }
  llvm::SmallVector<OperandLayout> layouts;
  for (mlir::Value operand : op->getOperands()) {
    std::optional<OperandLayout> its = operandLayout(operand, rank, result);
    if (!its) {
      return std::nullopt;
    }
    layouts.push_back(*std::move(its));
  }
  return layouts;
}

bool isElementwiseThroughout(mlir::Operation* op) {
  auto isElementwise = [](mlir::Operation& inner) {
    return inner.hasTrait<ir::IsElementwise>() || llvm::isa<ir::ConstantOp>(inner);
  };
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  return group ? llvm::all_of(group.getBody().front().without_terminator(), isElementwise)
               : isElementwise(*op);
}

}  // namespace graphrun::devices::codegen
