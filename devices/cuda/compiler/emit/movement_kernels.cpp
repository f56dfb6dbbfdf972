// Kernels that only move elements: parts of a whole, picked by index, padded.
#include <numeric>

#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/cuda/compiler/emit/point_code.h"
#include "devices/cuda/compiler/emit/point_kernel.h"
#include "ir/dims.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/weights.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
using Dims = llvm::ArrayRef<int64_t>;

/// Tensors that lie one behind the other along an axis of `whole`: a row of the whole is a row of
/// each. A thread moves up to 16 bytes.
class PartsBuilder {
 public:
  PartsBuilder(mlir::Operation* op, mlir::Value whole, mlir::ValueRange parts, int64_t axis)
      : op_(op) {
    Dims dims = tensorOf(whole).getShape();
    rows_ = mlir::ShapedType::getNumElements(dims.take_front(axis));
    for (mlir::Value part : parts) {
      lengths_.push_back(tensorOf(part).getNumElements() / rows_);
    }
    lanes_ = commonLanes(tensorOf(whole).getElementType(), lengths_);
    length_ = mlir::ShapedType::getNumElements(dims.drop_front(axis));
  }

  /// `firstPart`: among operands and results; `join`: the parts become the whole.
  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol, unsigned whole,
                     unsigned firstPart, bool join) {
    PointCode code(op_, {rows_, length_ / lanes_});
    code.addSizes(lengths_);
    int64_t end = 0;
    for (int64_t length : lengths_) {
      code.addSizes({end += length});
    }
    return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
      mlir::Value inWhole = code.times(number, lanes_);
      mlir::Value part = partAddress(code, index, firstPart);
      mlir::Type memory = codegen::memoryType(tensorOf(op_->getOperand(0)).getElementType());
      if (join) {
        code.store(code.code().load(part, memory, lanes_), whole, inWhole);
      } else {
        code.code().store(code.load(whole, inWhole, lanes_), part);
      }
    });
  }

 private:
  /// Where the column index[1] of row index[0] is in the part that has it.
  mlir::Value partAddress(PointCode& code, llvm::ArrayRef<mlir::Value> index, unsigned firstPart) {
    mlir::Value column = code.times(index[1], lanes_);
    mlir::Value address;
    int64_t begin = std::accumulate(lengths_.begin(), lengths_.end(), int64_t{0});
    for (size_t i = lengths_.size(); i-- > 0;) {
      int64_t end = begin;
      begin -= lengths_[i];
      if (lengths_[i] == 0) {
        continue;
      }
      mlir::Value offset =
          code.subtract(code.add(code.times(index[0], lengths_[i]), column), code.number(begin));
      mlir::Value here = code.address(firstPart + static_cast<unsigned>(i), offset);
      address = address ? code.select(code.isLess(column, code.number(end)), here, address) : here;
    }
    return address;
  }

  mlir::Operation* op_;
  int64_t rows_ = 1;
  int64_t length_ = 0;
  llvm::SmallVector<int64_t> lengths_;  // of a row, of each part
  int64_t lanes_ = 1;
};

KernelLaunch buildConcat(mlir::ModuleOp module, ir::ConcatOp op, const std::string& symbol) {
  return PartsBuilder(op, op.getResult(), op->getOperands(), op.getAxis())
      .build(module, symbol, op->getNumOperands(), 0, /*join=*/true);
}

KernelLaunch buildSplit(mlir::ModuleOp module, ir::SplitOp op, const std::string& symbol) {
  return PartsBuilder(op, op.getInput(), op->getResults(), op.getAxis())
      .build(module, symbol, 0, 1, /*join=*/false);
}

KernelLaunch buildGather(mlir::ModuleOp module, ir::GatherOp op, const std::string& symbol) {
  Dims dims = tensorOf(op.getInput()).getShape();
  int64_t axis = op.getAxis();
  int64_t size = dims[axis], inner = mlir::ShapedType::getNumElements(dims.drop_front(axis + 1));
  int64_t lanes = commonLanes(tensorOf(op.getInput()).getElementType(), {inner});
  PointCode code(op, {mlir::ShapedType::getNumElements(dims.take_front(axis)),
                      tensorOf(op.getIndices()).getNumElements(), inner / lanes});
  code.addSizes({size, inner});
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
    mlir::Value row = code.add(code.times(index[0], size), code.loadIndex(1, index[1], size));
    mlir::Value offset = code.add(code.times(row, inner), code.times(index[2], lanes));
    code.store(code.load(0, offset, lanes), 2, code.times(number, lanes));
  });
}

KernelLaunch buildGatherElements(mlir::ModuleOp module, ir::GatherElementsOp op,
                                 const std::string& symbol) {
  Dims dims = tensorOf(op.getInput()).getShape();
  auto axis = static_cast<size_t>(op.getAxis());
  PointCode code(op, tensorOf(op.getIndices()).getShape());
  code.addSizes(dims);
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
    PointCode::Values from(index);
    from[axis] = code.loadIndex(1, number, dims[axis]);
    code.store(code.load(0, code.offsetOf(from, dims)), 2, number);
  });
}

/// A thread 16 bytes of a slice that an index vector names.
KernelLaunch buildGatherNd(mlir::ModuleOp module, ir::GatherNdOp op, const std::string& symbol) {
  Dims dims = tensorOf(op.getInput()).getShape(), vectors = tensorOf(op.getIndices()).getShape();
  auto batchDims = static_cast<size_t>(op.getBatchDims());
  auto depth = static_cast<size_t>(vectors.back());
  Dims named = dims.slice(batchDims, depth);
  int64_t batches = mlir::ShapedType::getNumElements(dims.take_front(batchDims));
  int64_t perBatch = mlir::ShapedType::getNumElements(vectors.drop_front(batchDims).drop_back());
  int64_t inner = mlir::ShapedType::getNumElements(dims.drop_front(batchDims + depth));
  int64_t lanes = commonLanes(tensorOf(op.getInput()).getElementType(), {inner});
  PointCode code(op, {batches, perBatch, inner / lanes});
  code.addSizes(dims);
  code.addSizes({perBatch, inner, static_cast<int64_t>(depth)});
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
    mlir::Value vector = code.add(code.times(index[0], perBatch), index[1]);
    vector = code.times(vector, static_cast<int64_t>(depth));
    mlir::Value slice = index[0];
    for (auto [d, size] : llvm::enumerate(named)) {
      mlir::Value at = code.add(vector, code.constant(static_cast<int64_t>(d)));
      slice = code.add(code.times(slice, size), code.loadIndex(1, at, size));
    }
    mlir::Value offset = code.add(code.times(slice, inner), code.times(index[2], lanes));
    code.store(code.load(0, offset, lanes), 2, code.times(number, lanes));
  });
}

/// The index along a dim of `size` that an index before or behind it shows.
mlir::Value shownIndex(PointCode& code, ir::PadMode mode, mlir::Value index, int64_t size) {
  mlir::Value last = code.subtract(code.number(size), code.constant(1));
  if (mode == ir::PadMode::kReflect) {
    mlir::Value before = code.subtract(code.constant(0), index);
    mlir::Value behind = code.subtract(code.add(last, last), index);
    index = code.select(code.isLess(index, code.constant(0)), before, index);
    index = code.select(code.isLess(last, index), behind, index);
  } else if (mode == ir::PadMode::kWrap) {
    mlir::Value before = code.add(index, code.number(size));
    mlir::Value behind = code.subtract(index, code.number(size));
    mlir::Value isBefore = code.isLess(index, code.constant(0));
    mlir::Value isBehind = code.isLess(last, index);
    index = code.select(isBefore, before, code.select(isBehind, behind, index));
  }
  return code.clamped(index, size);
}

KernelLaunch buildPad(mlir::ModuleOp module, ir::PadOp op, const std::string& symbol) {
  Dims dims = tensorOf(op.getInput()).getShape();
  auto pads = ir::constantInts(passes::outsideGroup(op.getPads()));
  PointCode code(op, tensorOf(op.getResult()).getShape());
  code.addSizes(dims);
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
    PointCode::Values from;
    mlir::Value isInside;
    for (size_t i = 0; i < dims.size(); ++i) {
      mlir::Value at = code.subtract(index[i], code.constant((*pads)[i]));
      mlir::Value inside = code.isInside(at, dims[i]);
      isInside = isInside ? code.both(isInside, inside) : inside;
      from.push_back(shownIndex(code, op.getMode(), at, dims[i]));
    }
    mlir::Value value = code.load(0, code.offsetOf(from, dims));
    if (op.getMode() == ir::PadMode::kConstant && isInside) {
      value = code.select(isInside, value, code.load(2, code.constant(0)));
    }
    code.store(value, 3, number);
  });
}

}  // namespace

KernelLaunch buildMovementKernel(mlir::ModuleOp module, mlir::Operation* op,
                                 const std::string& symbol) {
  KernelLaunch launch;
  llvm::TypeSwitch<mlir::Operation*>(op)
      .Case([&](ir::ConcatOp a) { launch = buildConcat(module, a, symbol); })
      .Case([&](ir::SplitOp a) { launch = buildSplit(module, a, symbol); })
      .Case([&](ir::GatherOp a) { launch = buildGather(module, a, symbol); })
      .Case([&](ir::GatherElementsOp a) { launch = buildGatherElements(module, a, symbol); })
      .Case([&](ir::GatherNdOp a) { launch = buildGatherNd(module, a, symbol); })
      .Case([&](ir::PadOp a) { launch = buildPad(module, a, symbol); });
  return launch;
}

}  // namespace graphrun::devices::cuda
