// Kernels in which a thread walks along an axis.
#include <algorithm>

#include "devices/codegen/index_maps.h"
#include "devices/cuda/compiler/emit/point_arithmetic.h"
#include "devices/cuda/compiler/emit/point_kernel.h"
#include "ir/dims.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/weights.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
using Dims = llvm::ArrayRef<int64_t>;
using Values = PointCode::Values;
namespace arith = mlir::arith;

/// A tensor as outer x size x inner.
struct Axis {
  int64_t outer, size, inner;

  static Axis of(mlir::Value value, int64_t axis) {
    Dims dims = tensorOf(value).getShape();
    axis = axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis;
    return {mlir::ShapedType::getNumElements(dims.take_front(axis)), dims[axis],
            mlir::ShapedType::getNumElements(dims.drop_front(axis + 1))};
  }
};

/// A thread a row, as where the best element is needs no meeting of several.
KernelLaunch buildArgReduce(mlir::ModuleOp module, ir::ArgReduceOp op, const std::string& symbol) {
  Axis axis = Axis::of(op.getInput(), op.getAxis());
  PointCode code(op, {axis.outer, axis.inner});
  code.addSizes({axis.size, axis.size * axis.inner, axis.inner});
  Arithmetic math(code);
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
    mlir::Value begin = code.add(code.times(index[0], axis.size * axis.inner), index[1]);
    mlir::Value first = code.compute(0, begin);
    Values found = code.repeat(
        axis.size, {first, code.constant(0)}, [&](mlir::Value round, mlir::ValueRange at) {
          mlir::Value x = code.compute(0, code.add(begin, code.times(round, axis.inner)));
          mlir::Value wins =
              math.beats(x, at[0], op.getKind() == ir::ReduceKind::kMax, op.getLast());
          return Values{code.select(wins, x, at[0]), code.select(wins, round, at[1])};
        });
    code.store(math.asWhole(found[1]), 1, number);
  });
}

/// A running sum or product of the `size` elements from `begin` on that are `apart` elements apart.
void accumulate(PointCode& code, ir::CumulativeOp op, mlir::Value begin, mlir::Value size,
                mlir::Value apart) {
  Arithmetic math(code);
  bool sums = op.getKind() == ir::ReduceKind::kSum;
  mlir::Type type = codegen::computeType(tensorOf(op.getInput()).getElementType());
  mlir::Value last = code.subtract(size, code.constant(1));
  code.repeat(size, {math.number(type, sums ? 0 : 1)},
              [&](mlir::Value round, mlir::ValueRange before) {
                mlir::Value at = op.getReverse() ? code.subtract(last, round) : round;
                mlir::Value offset = code.add(begin, code.code().make<arith::MulIOp>(at, apart));
                mlir::Value x = code.compute(0, offset);
                mlir::Value all = sums ? math.add(before[0], x) : math.multiply(before[0], x);
                code.storeComputed(op.getExclusive() ? before[0] : all, 2, offset);
                return Values{all};
              });
}

/// Along an axis that an operand tells at run time: a thread for each of as many rows as any axis
/// has, of which those that there are none for do nothing.
KernelLaunch buildCumulativeAlongAny(mlir::ModuleOp module, ir::CumulativeOp op,
                                     const std::string& symbol) {
  Dims dims = tensorOf(op.getInput()).getShape();
  int64_t elements = mlir::ShapedType::getNumElements(dims);
  PointCode code(op, {elements / *std::min_element(dims.begin(), dims.end())});
  for (size_t d = 0; d < dims.size(); ++d) {
    Axis axis = Axis::of(op.getInput(), static_cast<int64_t>(d));
    code.addSizes({axis.size, axis.inner, axis.outer * axis.inner});
  }
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value>, mlir::Value number) {
    auto given = code.loadIndex(1, code.constant(0), static_cast<int64_t>(dims.size()),
                                /*fromEnd=*/true, KernelError::kAxis);
    mlir::Value size, inner, rows;
    for (size_t d = 0; d < dims.size(); ++d) {
      Axis axis = Axis::of(op.getInput(), static_cast<int64_t>(d));
      mlir::Value isIt = code.code().make<arith::CmpIOp>(arith::CmpIPredicate::eq, given,
                                                         code.constant(static_cast<int64_t>(d)));
      auto chosen = [&](mlir::Value& value, int64_t its) {
        value = d == 0 ? code.number(its) : code.select(isIt, code.number(its), value);
      };
      chosen(size, axis.size);
      chosen(inner, axis.inner);
      chosen(rows, axis.outer * axis.inner);
    }
    code.code().emitIf(code.isLess(number, rows), [&] {
      mlir::Value outer = code.code().make<arith::DivUIOp>(number, inner);
      mlir::Value column = code.code().make<arith::RemUIOp>(number, inner);
      mlir::Value row = code.code().make<arith::MulIOp>(outer, size);
      mlir::Value begin = code.add(code.code().make<arith::MulIOp>(row, inner), column);
      accumulate(code, op, begin, size, inner);
    });
  });
}

KernelLaunch buildCumulative(mlir::ModuleOp module, ir::CumulativeOp op,
                             const std::string& symbol) {
  auto where = ir::constantInts(passes::outsideGroup(op.getAxis()));
  if (!where) {
    return buildCumulativeAlongAny(module, op, symbol);
  }
  Axis axis = Axis::of(op.getInput(), where->front());
  PointCode code(op, {axis.outer, axis.inner});
  code.addSizes({axis.size, axis.size * axis.inner, axis.inner});
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value) {
    mlir::Value begin = code.add(code.times(index[0], axis.size * axis.inner), index[1]);
    accumulate(code, op, begin, code.number(axis.size), code.number(axis.inner));
  });
}

/// A thread for each two rows.
KernelLaunch buildSquaredDistance(mlir::ModuleOp module, ir::SquaredDistanceOp op,
                                  const std::string& symbol) {
  int64_t size = tensorOf(op.getLhs()).getDimSize(1);
  PointCode code(op, tensorOf(op.getResult()).getShape());
  code.addSizes({size});
  Arithmetic math(code);
  mlir::Type type = codegen::computeType(tensorOf(op.getLhs()).getElementType());
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
    mlir::Value left = code.times(index[0], size), right = code.times(index[1], size);
    mlir::Value sum =
        code.repeat(size, {math.number(type, 0)}, [&](mlir::Value at, mlir::ValueRange before) {
          mlir::Value apart = math.subtract(code.compute(0, code.add(left, at)),
                                            code.compute(1, code.add(right, at)));
          return Values{math.add(before[0], math.multiply(apart, apart))};
        })[0];
    code.storeComputed(sum, 2, number);
  });
}

/// x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta.
KernelLaunch buildLrn(mlir::ModuleOp module, ir::LrnOp op, const std::string& symbol) {
  Axis channels = Axis::of(op.getInput(), 1);
  PointCode code(op, {channels.outer, channels.size, channels.inner});
  code.addSizes({channels.size, channels.inner});
  Arithmetic math(code);
  mlir::Type type = codegen::computeType(tensorOf(op.getInput()).getElementType());
  auto number = [&](double value) { return math.number(type, value); };
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value offset) {
    mlir::Value first = code.subtract(index[1], code.constant((op.getSize() - 1) / 2));
    mlir::Value sum =
        code.repeat(op.getSize(), {number(0)}, [&](mlir::Value round, mlir::ValueRange before) {
          mlir::Value channel = code.add(first, round);
          mlir::Value row =
              code.add(code.times(index[0], channels.size), code.clamped(channel, channels.size));
          mlir::Value x = code.compute(0, code.add(code.times(row, channels.inner), index[2]));
          mlir::Value isInside = code.isInside(channel, channels.size);
          return Values{math.add(before[0], code.select(isInside, math.multiply(x, x), number(0)))};
        })[0];
    double alpha = op.getAlpha().convertToDouble() / static_cast<double>(op.getSize());
    mlir::Value base =
        math.add(number(op.getBias().convertToDouble()), math.multiply(number(alpha), sum));
    mlir::Value power =
        code.code().make<mlir::math::PowFOp>(base, number(-op.getBeta().convertToDouble()));
    code.storeComputed(math.multiply(code.compute(0, offset), power), 1, offset);
  });
}

}  // namespace

KernelLaunch buildAxisKernel(mlir::ModuleOp module, mlir::Operation* op,
                             const std::string& symbol) {
  KernelLaunch launch;
  llvm::TypeSwitch<mlir::Operation*>(op)
      .Case([&](ir::ArgReduceOp a) { launch = buildArgReduce(module, a, symbol); })
      .Case([&](ir::CumulativeOp a) { launch = buildCumulative(module, a, symbol); })
      .Case([&](ir::SquaredDistanceOp a) { launch = buildSquaredDistance(module, a, symbol); })
      .Case([&](ir::LrnOp a) { launch = buildLrn(module, a, symbol); });
  return launch;
}

}  // namespace graphrun::devices::cuda
