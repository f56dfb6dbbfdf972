#include "devices/cpu/compiler/channel_blocks.h"

#include "devices/codegen/map_layouts.h"
#include "devices/cpu/base/onednn_layouts.h"
#include "mlir/IR/BuiltinTypes.h"

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

/// Channel by channel, whatever it does inside one.
bool keepsChannels(mlir::Operation* op) {
  auto resize = llvm::dyn_cast<ir::ResizeOp>(op);
  auto channels = [](mlir::Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape().take_front(2);
  };
  return op->hasTrait<ir::IsElementwise>() || llvm::isa<ir::ConstantOp>(op) ||
         (resize && channels(resize.getInput()) == channels(op->getResult(0)));
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
  auto operands = codegen::operandLayouts(op, layout);
  bool blocks = layout.order == Order::kChannelBlocks;
  if (!operands || (blocks && !isEachOf(op, keepsChannels))) {
    return std::nullopt;
  }
  for (auto [operand, its] : llvm::zip(op->getOperands(), *operands)) {
    absl::StatusOr<TensorDesc> desc = descIn(denseDesc(operand).type, its.dims, its.layout);
    if (!desc.ok()) {
      return std::nullopt;
    }
    layouts.operandKernels.push_back(its.layout);
    layouts.operands.push_back(*std::move(desc));
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
  if (!layout.isDense() && !codegen::isElementwiseThroughout(op) &&
      !isVectorMap(op, layouts.operandKernels, layout)) {
    return std::nullopt;
  }
  return layouts;
}

}  // namespace graphrun::devices::cpu
