// Kernels in which a thread walks along an axis, or over the window of its element.
#include <limits>

#include "devices/codegen/index_maps.h"
#include "devices/codegen/scalar_emitter.h"
#include "devices/cuda/compiler/point_code.h"
#include "devices/cuda/compiler/point_kernel.h"
#include "ir/dims.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

/// The arithmetic of the type that a value is computed in.
class Arithmetic {
 public:
  explicit Arithmetic(PointCode& code) : code_(code.code()) {}

  static bool isFloat(mlir::Value a) { return llvm::isa<mlir::FloatType>(a.getType()); }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return isFloat(a) ? code_.make<arith::AddFOp>(a, b) : code_.make<arith::AddIOp>(a, b);
  }
  mlir::Value multiply(mlir::Value a, mlir::Value b) {
    return isFloat(a) ? code_.make<arith::MulFOp>(a, b) : code_.make<arith::MulIOp>(a, b);
  }
  /// Whether x takes the place of the best so far: it is greater (less), or equal where the last of
  /// equal ones counts; NaN beats all.
  mlir::Value beats(mlir::Value x, mlir::Value best, bool greater, bool last) {
    if (!isFloat(x)) {
      using P = arith::CmpIPredicate;
      P wins = greater ? (last ? P::sge : P::sgt) : (last ? P::sle : P::slt);
      return code_.make<arith::CmpIOp>(wins, x, best);
    }
    using P = arith::CmpFPredicate;
    P wins = greater ? (last ? P::OGE : P::OGT) : (last ? P::OLE : P::OLT);
    mlir::Value isNaN = code_.make<arith::CmpFOp>(P::UNO, x, x);
    if (!last) {
      isNaN = code_.make<arith::AndIOp>(isNaN, code_.make<arith::CmpFOp>(P::ORD, best, best));
    }
    return code_.make<arith::OrIOp>(code_.make<arith::CmpFOp>(wins, x, best), isNaN);
  }
  mlir::Value number(mlir::Type type, double value) {
    return codegen::emitConstant(code_.builder(), code_.loc(), type, value);
  }
  mlir::Value asFloat(mlir::Type type, mlir::Value index) {
    mlir::Value whole = code_.make<arith::IndexCastOp>(code_.builder().getI64Type(), index);
    return code_.make<arith::SIToFPOp>(type, whole);
  }

 private:
  ThreadCode& code_;
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
          mlir::Value wins = math.beats(x, at[0], op.getKind() == "max", op.getLast());
          return Values{code.select(wins, x, at[0]), code.select(wins, round, at[1])};
        });
    mlir::Value where =
        code.code().make<arith::IndexCastOp>(code.code().builder().getI64Type(), found[1]);
    code.store(where, 1, number);
  });
}

KernelLaunch buildCumulative(mlir::ModuleOp module, ir::CumulativeOp op,
                             const std::string& symbol) {
  auto where = ir::constantInts(passes::outsideGroup(op.getAxis()));
  Axis axis = Axis::of(op.getInput(), where ? where->front() : 0);
  PointCode code(op, {axis.outer, axis.inner});
  code.addSizes({axis.size, axis.size * axis.inner, axis.inner});
  Arithmetic math(code);
  bool sums = op.getKind() == "sum";
  mlir::Type type = codegen::computeType(tensorOf(op.getInput()).getElementType());
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value) {
    mlir::Value begin = code.add(code.times(index[0], axis.size * axis.inner), index[1]);
    mlir::Value last = code.subtract(code.number(axis.size), code.constant(1));
    code.repeat(axis.size, {math.number(type, sums ? 0 : 1)},
                [&](mlir::Value round, mlir::ValueRange before) {
                  mlir::Value at = op.getReverse() ? code.subtract(last, round) : round;
                  mlir::Value place = code.add(begin, code.times(at, axis.inner));
                  mlir::Value x = code.compute(0, place);
                  mlir::Value all = sums ? math.add(before[0], x) : math.multiply(before[0], x);
                  code.storeComputed(op.getExclusive() ? before[0] : all, 2, place);
                  return Values{all};
                });
  });
}

/// The window of a pool over an input N x C x D1 …, its padding resolved.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, padsBegin, padsEnd;

  template <typename Pool>
  static Window of(Pool op) {
    Dims in = tensorOf(op->getOperand(0)).getShape().drop_front(2);
    Dims out = tensorOf(op->getResult(0)).getShape().drop_front(2);
    Window w;
    for (size_t i = 0; i < in.size(); ++i) {
      w.kernel.push_back(op.getKernel()[i]);
      w.strides.push_back(op.getStrides().empty() ? 1 : op.getStrides()[i]);
      w.dilations.push_back(op.getDilations().empty() ? 1 : op.getDilations()[i]);
      bool given = !op.getPads().empty();
      int64_t begin = given ? op.getPads()[i] : 0, end = given ? op.getPads()[in.size() + i] : 0;
      if (op.getPadding() != "explicit") {
        int64_t reach = (out[i] - 1) * w.strides[i] + (w.kernel[i] - 1) * w.dilations[i] + 1;
        int64_t total = std::max<int64_t>(reach - in[i], 0);
        begin = op.getPadding() == "same_upper" ? total / 2 : total - total / 2;
        end = total - begin;
      }
      w.padsBegin.push_back(begin);
      w.padsEnd.push_back(end);
    }
    return w;
  }
};

/// Emits pools: a thread an element of the result.
class PoolBuilder {
 public:
  PoolBuilder(mlir::Operation* op, Window window)
      : op_(op),
        window_(std::move(window)),
        in_(tensorOf(op->getOperand(0)).getShape()),
        code_(op, tensorOf(op->getResult(0)).getShape()),
        math_(code_),
        type_(codegen::computeType(tensorOf(op->getOperand(0)).getElementType())) {
    code_.addSizes(in_);
    code_.addSizes(window_.kernel);
  }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    return code_.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
      llvm::TypeSwitch<mlir::Operation*>(op_)
          .Case([&](ir::MaxPoolOp) { code_.storeComputed(largest(index), 1, number); })
          .Case([&](ir::AvgPoolOp pool) {
            code_.storeComputed(mean(index, pool.getCountIncludePad()), 1, number);
          })
          .Case([&](ir::LpPoolOp pool) {
            code_.storeComputed(norm(index, pool.getP().convertToDouble()), 1, number);
          });
    });
  }

 private:
  /// `update` makes the next values of those before and an element's; `isInside` tells whether it
  /// is one, and not padding.
  using Update =
      llvm::function_ref<Values(mlir::ValueRange before, mlir::Value x, mlir::Value isInside)>;

  Values overWindow(llvm::ArrayRef<mlir::Value> index, const Values& values, Update update) {
    Values from(index.take_front(2));
    return overDim(0, index, from, nullptr, values, update);
  }

  /// Over spatial dim `dim` and those behind it; `from`: the input's index so far.
  Values overDim(size_t dim, llvm::ArrayRef<mlir::Value> index, const Values& from,
                 mlir::Value isInside, mlir::ValueRange values, Update update) {
    if (dim == window_.kernel.size()) {
      return update(values, code_.compute(0, code_.placeOf(from, in_)), isInside);
    }
    mlir::Value begin = code_.subtract(code_.times(index[dim + 2], window_.strides[dim]),
                                       code_.constant(window_.padsBegin[dim]));
    return code_.repeat(
        window_.kernel[dim], Values(values), [&](mlir::Value round, mlir::ValueRange before) {
          mlir::Value at = code_.add(begin, code_.times(round, window_.dilations[dim]));
          mlir::Value inside = code_.isInside(at, in_[dim + 2]);
          Values next = from;
          next.push_back(code_.clamped(at, in_[dim + 2]));
          return overDim(dim + 1, index, next, isInside ? code_.both(isInside, inside) : inside,
                         before, update);
        });
  }

  /// NaN wins; of nothing but padding -infinity.
  mlir::Value largest(llvm::ArrayRef<mlir::Value> index) {
    mlir::Value least = math_.number(type_, -std::numeric_limits<double>::infinity());
    return overWindow(index, {least},
                      [&](mlir::ValueRange before, mlir::Value x, mlir::Value isInside) {
                        mlir::Value most = code_.code().make<arith::MaximumFOp>(before[0], x);
                        return Values{code_.select(isInside, most, before[0])};
                      })[0];
  }

  mlir::Value mean(llvm::ArrayRef<mlir::Value> index, bool countsPadding) {
    mlir::Value zero = math_.number(type_, 0), one = math_.number(type_, 1);
    Values sums = overWindow(
        index, {zero, zero}, [&](mlir::ValueRange before, mlir::Value x, mlir::Value isInside) {
          return Values{math_.add(before[0], code_.select(isInside, x, zero)),
                        math_.add(before[1], code_.select(isInside, one, zero))};
        });
    mlir::Value count = countsPadding ? paddedCount(index) : sums[1];
    // A window of padding alone has the mean 0.
    mlir::Value divisor = code_.code().make<arith::MaximumFOp>(count, one);
    return code_.code().make<arith::DivFOp>(sums[0], divisor);
  }

  /// Elements of the window within the padded input: beyond it windows may reach when their number
  /// was rounded up.
  mlir::Value paddedCount(llvm::ArrayRef<mlir::Value> index) {
    mlir::Value count = math_.number(type_, 1);
    for (size_t dim = 0; dim < window_.kernel.size(); ++dim) {
      // Rounds k with begin + k * dilation < end: as many as fit, at most the kernel's.
      int64_t end = in_[dim + 2] + window_.padsEnd[dim] + window_.padsBegin[dim];
      mlir::Value left = code_.subtract(code_.constant(end + window_.dilations[dim] - 1),
                                        code_.times(index[dim + 2], window_.strides[dim]));
      mlir::Value fit =
          code_.code().make<arith::DivSIOp>(left, code_.constant(window_.dilations[dim]));
      fit = code_.code().make<arith::MinSIOp>(fit, code_.number(window_.kernel[dim]));
      count = math_.multiply(count, math_.asFloat(type_, fit));
    }
    return count;
  }

  /// (sum of |x|^p)^(1/p); for p of 1 and 2 without powers.
  mlir::Value norm(llvm::ArrayRef<mlir::Value> index, double p) {
    mlir::Value zero = math_.number(type_, 0);
    ThreadCode& code = code_.code();
    mlir::Value sum = overWindow(
        index, {zero}, [&](mlir::ValueRange before, mlir::Value x, mlir::Value isInside) {
          mlir::Value size = code.make<mlir::math::AbsFOp>(x);
          mlir::Value term = p == 1   ? size
                             : p == 2 ? math_.multiply(x, x)
                                      : code.make<mlir::math::PowFOp>(size, math_.number(type_, p));
          return Values{math_.add(before[0], code_.select(isInside, term, zero))};
        })[0];
    return p == 1   ? sum
           : p == 2 ? code.make<mlir::math::SqrtOp>(sum)
                    : code.make<mlir::math::PowFOp>(sum, math_.number(type_, 1 / p));
  }

  mlir::Operation* op_;
  Window window_;
  Dims in_;
  PointCode code_;
  Arithmetic math_;
  mlir::Type type_;
};

/// x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta.
KernelLaunch buildLrn(mlir::ModuleOp module, ir::LrnOp op, const std::string& symbol) {
  Axis channels = Axis::of(op.getInput(), 1);
  PointCode code(op, {channels.outer, channels.size, channels.inner});
  code.addSizes({channels.size, channels.inner});
  Arithmetic math(code);
  mlir::Type type = codegen::computeType(tensorOf(op.getInput()).getElementType());
  auto number = [&](double value) { return math.number(type, value); };
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value place) {
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
    code.storeComputed(math.multiply(code.compute(0, place), power), 1, place);
  });
}

}  // namespace

KernelLaunch buildWindowKernel(mlir::ModuleOp module, mlir::Operation* op,
                               const std::string& symbol) {
  KernelLaunch launch;
  llvm::TypeSwitch<mlir::Operation*>(op)
      .Case([&](ir::ArgReduceOp a) { launch = buildArgReduce(module, a, symbol); })
      .Case([&](ir::CumulativeOp a) { launch = buildCumulative(module, a, symbol); })
      .Case<ir::MaxPoolOp, ir::AvgPoolOp, ir::LpPoolOp>(
          [&](auto a) { launch = PoolBuilder(a, Window::of(a)).build(module, symbol); })
      .Case([&](ir::LrnOp a) { launch = buildLrn(module, a, symbol); });
  return launch;
}

}  // namespace graphrun::devices::cuda
