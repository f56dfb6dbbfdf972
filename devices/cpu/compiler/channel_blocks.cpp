#include "devices/cpu/compiler/channel_blocks.h"

#include "devices/cpu/onednn_layouts.h"
#include "mlir/IR/BuiltinTypes.h"

namespace graphrun::devices::cpu {
namespace {

/// N x C x … with the channels in blocks of `block`, spatial dims outside of the block.
absl::StatusOr<TensorDesc> blockedBy(runtime::ElementType type, const std::vector<int64_t>& dims,
                                     int64_t block) {
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
  return blockedDesc(type, blocking);
}

/// The channel block of `desc`; 0 when it lies in another way.
int64_t blockOf(const TensorDesc& desc) {
  if (desc.layout.empty() || desc.dims.size() < 2) {
    return 0;
  }
  absl::StatusOr<Blocking> blocking = blockingOf(desc);
  if (!blocking.ok() || blocking->innerDims != std::vector<int>{1}) {
    return 0;
  }
  int64_t block = blocking->innerBlocks[0];
  absl::StatusOr<TensorDesc> canonical = blockedBy(desc.type, desc.dims, block);
  return canonical.ok() && sameLayout(*canonical, desc) ? block : 0;
}

bool isElementwiseThroughout(mlir::Operation* op) {
  auto group = llvm::dyn_cast<ir::GroupOp>(op);
  if (!group) {
    return op->hasTrait<ir::IsElementwise>();
  }
  return llvm::all_of(group.getBody().front().without_terminator(), [](mlir::Operation& inner) {
    return inner.hasTrait<ir::IsElementwise>() || llvm::isa<ir::ConstantOp>(inner);
  });
}

/// The block that the kernel would best work in: that of the first operand of the result's shape.
int64_t preferredBlock(mlir::Operation* op, const ValueTable& values) {
  if (!isElementwiseThroughout(op)) {
    return 0;
  }
  TensorDesc result = denseDesc(op->getResult(0));
  for (mlir::Value operand : op->getOperands()) {
    TensorDesc desc = values.produced(operand);
    int64_t block = desc.dims == result.dims ? blockOf(desc) : 0;
    if (block > 0) {
      return block;
    }
  }
  return 0;
}

/// The operand as the kernel reads it; nothing when it cannot lie that way.
std::optional<TensorDesc> operandDesc(mlir::Value operand, size_t rank, int64_t block) {
  TensorDesc desc = denseDesc(operand);
  size_t missing = rank - desc.dims.size();
  bool hasChannels = missing <= 1 && desc.dims[1 - missing] != 1;
  if (block == 0 || !hasChannels) {
    return desc;
  }
  if (missing == 1) {
    if (ValueTable::resolve(operand).getDefiningOp<ir::ConstantOp>() == nullptr) {
      return std::nullopt;  // only a constant can be laid out under another rank
    }
    desc.dims.insert(desc.dims.begin(), 1);
  }
  absl::StatusOr<TensorDesc> blocked = hasLayoutType(desc.type)
                                           ? blockedBy(desc.type, desc.dims, block)
                                           : absl::UnimplementedError("no layouts of this type");
  return blocked.ok() ? std::optional<TensorDesc>(*blocked) : std::nullopt;
}

std::optional<MapLayouts> layoutsFor(mlir::Operation* op, int64_t block) {
  MapLayouts layouts;
  layouts.resultKernel.block = block;
  size_t rank = denseDesc(op->getResult(0)).dims.size();
  for (mlir::Value operand : op->getOperands()) {
    std::optional<TensorDesc> desc = operandDesc(operand, rank, block);
    if (!desc) {
      return std::nullopt;
    }
    layouts.operandKernels.push_back({desc->layout.empty() ? 0 : block});
    layouts.operands.push_back(std::move(*desc));
  }
  for (mlir::Value result : op->getResults()) {
    TensorDesc desc = denseDesc(result);
    if (block > 0 && !hasLayoutType(desc.type)) {
      return std::nullopt;
    }
    if (block > 0) {
      absl::StatusOr<TensorDesc> blocked = blockedBy(desc.type, desc.dims, block);
      if (!blocked.ok()) {
        return std::nullopt;
      }
      desc = *blocked;
    }
    layouts.results.push_back(std::move(desc));
  }
  return layouts;
}

}  // namespace

MapLayouts chooseMapLayouts(mlir::Operation* op, const ValueTable& values) {
  std::optional<MapLayouts> layouts = layoutsFor(op, preferredBlock(op, values));
  return layouts ? *layouts : *layoutsFor(op, 0);
}

bool isSpatialMean(ir::ReduceOp op) {
  auto type = llvm::cast<mlir::RankedTensorType>(op.getInput().getType());
  return op.getKind() == "mean" && type.getRank() >= 3 && type.getRank() <= 5 &&
         llvm::equal(op.getAxes(), llvm::seq<int64_t>(2, type.getRank())) &&
         type.getElementType().isF32();
}

}  // namespace graphrun::devices::cpu
