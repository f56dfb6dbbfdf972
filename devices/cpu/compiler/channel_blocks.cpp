#include "devices/cpu/compiler/channel_blocks.h"

#include "devices/cpu/onednn_layouts.h"
#include "mlir/IR/BuiltinTypes.h"
#include "passes/weights.h"

namespace graphrun::devices::cpu {
namespace {

using Order = KernelLayout::Order;

Blocking channelBlocks(const std::vector<int64_t>& dims, int64_t block) {
  Blocking blocking;
  blocking.dims = dims;
  blocking.paddedDims = dims;
  blocking.paddedDims[1] = (dims[1] + block - 1) / block * block;
  blocking.innerBlocks = {block};
  blocking.innerDims = {1};
  blocking.strides.resize(dims.size());
  int64_t stride = block;
  for (size_t i = dims.size(); i-- > 0;) {
    blocking.strides[i] = stride;
    stride *= i == 1 ? blocking.paddedDims[1] / block : dims[i];
  }
  return blocking;
}

bool isEachOf(mlir::Operation* op, bool (*holds)(mlir::Operation*)) {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  return group ? llvm::all_of(group.getBody().front().without_terminator(),
                              [&](mlir::Operation& inner) { return holds(&inner); })
               : holds(op);
}

bool isElementwise(mlir::Operation* op) {
  return op->hasTrait<ir::IsElementwise>() || llvm::isa<ir::ConstantOp>(op);
}

/// Channel by channel, whatever it does inside one.
bool keepsChannels(mlir::Operation* op) {
  auto resize = llvm::dyn_cast<ir::ResizeOp>(op);
  auto channels = [](mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape().take_front(2);
  };
  return isElementwise(op) || (resize && channels(resize.getInput()) == channels(op->getResult(0)));
}

/// True when the operand's elements lie alike in `layout` and dense.
bool liesAlike(const std::vector<int64_t>& dims, size_t channel, KernelLayout layout) {
  bool hasChannels = channel < dims.size() && dims[channel] != 1;
  bool hasSpatial = std::any_of(dims.begin() + std::min(channel + 1, dims.size()), dims.end(),
                                [](int64_t dim) { return dim != 1; });
  return !hasChannels || (layout.order == Order::kChannelsLast && !hasSpatial);
}

/// The operand as the kernel reads it; nothing when it cannot lie that way.
std::optional<TensorDesc> operandDesc(mlir::Value operand, size_t rank, KernelLayout layout) {
  TensorDesc desc = denseDesc(operand);
  size_t missing = rank - desc.dims.size();
  if (layout.isDense() || missing > 1 || liesAlike(desc.dims, 1 - missing, layout)) {
    return desc;
  }
  if (missing == 1) {
    if (!passes::weightOf(operand)) {
      return std::nullopt;  // only a constant can be laid out under another rank
    }
    desc.dims.insert(desc.dims.begin(), 1);
  }
  absl::StatusOr<TensorDesc> laidOut = descIn(desc.type, desc.dims, layout);
  return laidOut.ok() ? std::optional<TensorDesc>(*laidOut) : std::nullopt;
}

}  // namespace

absl::StatusOr<TensorDesc> descIn(runtime::ElementType type, const std::vector<int64_t>& dims,
                                  KernelLayout layout) {
  if (layout.isDense()) {
    return TensorDesc{type, dims};
  }
  if (!hasLayoutType(type)) {
    return absl::UnimplementedError("the element type has no layouts");
  }
  return layout.order == Order::kChannelsLast
             ? stridedDesc(type, dims, channelsLastStrides(dims))
             : blockedDesc(type, channelBlocks(dims, layout.block));
}

std::optional<MapLayouts> mapLayouts(mlir::Operation* op, KernelLayout layout) {
  MapLayouts layouts;
  layouts.resultKernel = layout;
  size_t rank = denseDesc(op->getResult(0)).dims.size();
  bool blocks = layout.order == Order::kChannelBlocks;
  if (!layout.isDense() && (rank < 3 || rank > 5 || (blocks && !isEachOf(op, keepsChannels)))) {
    return std::nullopt;
  }
  for (mlir::Value operand : op->getOperands()) {
    std::optional<TensorDesc> desc = operandDesc(operand, rank, layout);
    if (!desc) {
      return std::nullopt;
    }
    layouts.operandKernels.push_back(desc->layout.empty() ? KernelLayout() : layout);
    layouts.operands.push_back(std::move(*desc));
  }
  for (mlir::Value result : op->getResults()) {
    TensorDesc desc = denseDesc(result);
    absl::StatusOr<TensorDesc> laidOut = descIn(desc.type, desc.dims, layout);
    if (!laidOut.ok()) {
      return std::nullopt;
    }
    layouts.results.push_back(*std::move(laidOut));
  }
  // What moves elements may be slow in a layout that was not made for it.
  if (!layout.isDense() && !isEachOf(op, isElementwise) &&
      !isVectorMap(op, layouts.operandKernels, layout)) {
    return std::nullopt;
  }
  return layouts;
}

}  // namespace graphrun::devices::cpu
