// Kernels that interpolate at computed positions: a thread an element of the result.
#include <limits>

#include "devices/codegen/index_maps.h"
#include "devices/cuda/compiler/emit/kernel_families.h"
#include "devices/cuda/compiler/emit/point_arithmetic.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
using Dims = llvm::ArrayRef<int64_t>;
using Values = PointCode::Values;
namespace arith = mlir::arith;

/// Positions further away are as good as this far: all of them are outside, and an i32 holds them.
constexpr double kFar = 0x1p30;
/// Most samples of a part of a region along a side, as for reference kernels.
constexpr int64_t kMostSamples = int64_t{1} << 20;

/// Emits grid_sample.
class GridBuilder {
 public:
  explicit GridBuilder(ir::GridSampleOp op)
      : op_(op),
        in_(tensorOf(op.getInput()).getShape()),
        out_(tensorOf(op.getOutput()).getShape()),
        code_(op, out_),
        math_(code_),
        positionType_(codegen::computeType(tensorOf(op.getGrid()).getElementType())),
        type_(codegen::computeType(tensorOf(op.getInput()).getElementType())) {
    code_.addSizes(in_);
    code_.addSizes(out_);
  }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    return code_.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
      Values at = {index[0]};
      at.append(index.begin() + 2, index.end());
      Dims points = out_.drop_front(1);
      mlir::Value rank = code_.constant(static_cast<int64_t>(spatial()));
      mlir::Value point = code_.code().make<arith::MulIOp>(code_.offsetOf(at, points), rank);
      llvm::SmallVector<llvm::SmallVector<Tap, 4>> taps;
      for (size_t d = 0; d < spatial(); ++d) {
        auto last = static_cast<int64_t>(spatial() - 1 - d);
        taps.push_back(tapsAt(d, code_.compute(1, code_.add(point, code_.constant(last)))));
      }
      Values from(index.take_front(2));
      code_.storeComputed(sum(0, taps, from, nullptr, nullptr), 2, number);
    });
  }

 private:
  /// An element along one dim: where it is, whether it is in the input, its weight (null: 1).
  struct Tap {
    mlir::Value index, isInside, weight;
  };

  size_t spatial() const { return in_.size() - 2; }
  bool isNearest() { return op_.getMode() == ir::Interpolation::kNearest; }
  mlir::Value real(double value) { return math_.number(positionType_, value); }
  double sizeOf(size_t dim) const { return static_cast<double>(in_[dim + 2]); }
  double low() { return op_.getAlignCorners() ? 0 : -0.5; }
  double high(size_t dim) { return sizeOf(dim) - (op_.getAlignCorners() ? 1 : 0.5); }

  /// From [-1, 1] to elements.
  mlir::Value positionOf(size_t dim, mlir::Value x) {
    mlir::Value shifted = math_.add(x, real(1));
    mlir::Value position =
        op_.getAlignCorners()
            ? math_.multiply(math_.divide(shifted, real(2)), real(sizeOf(dim) - 1))
            : math_.divide(math_.subtract(math_.multiply(shifted, real(sizeOf(dim))), real(1)),
                           real(2));
    mlir::Value isNumber =
        code_.code().make<arith::CmpFOp>(arith::CmpFPredicate::ORD, position, position);
    return math_.select(isNumber, math_.clamped(position, real(-kFar), real(kFar)), real(-kFar));
  }

  /// Mirrored at the borders until it is between them.
  mlir::Value reflected(size_t dim, mlir::Value x) {
    double range = high(dim) - low();
    if (range <= 0) {
      return real(low());
    }
    mlir::Value first = real(low()), last = real(high(dim));
    mlir::Value below = math_.isLess(x, first), above = math_.isLess(last, x);
    mlir::Value distance = math_.select(below, math_.subtract(first, x), math_.subtract(x, last));
    mlir::Value turns = math_.floor(math_.divide(distance, real(range)));
    mlir::Value rest = math_.subtract(distance, math_.multiply(turns, real(range)));
    mlir::Value half = math_.multiply(turns, real(0.5));
    mlir::Value isEven = math_.isEqual(math_.floor(half), half);
    mlir::Value fromFirst =
        code_.code().make<arith::CmpIOp>(arith::CmpIPredicate::eq, below, isEven);
    mlir::Value mirrored =
        math_.select(fromFirst, math_.add(first, rest), math_.subtract(last, rest));
    return math_.select(math_.either(below, above), mirrored, x);
  }

  llvm::SmallVector<Tap, 4> tapsAt(size_t dim, mlir::Value coordinate) {
    mlir::Value x = positionOf(dim, coordinate);
    x = isNearest() ? code_.code().make<mlir::math::RoundEvenOp>(x) : x;
    x = op_.getPadding() == ir::BorderPadding::kReflection ? reflected(dim, x) : x;
    llvm::SmallVector<Tap, 4> taps;
    if (isNearest()) {
      taps.push_back(tapOf(dim, code_.code().make<mlir::math::TruncOp>(x), nullptr));
      return taps;
    }
    bool isCubic = op_.getMode() == ir::Interpolation::kCubic;
    mlir::Value first = math_.subtract(math_.floor(x), real(isCubic ? 1 : 0));
    for (int t = 0; t < (isCubic ? 4 : 2); ++t) {
      mlir::Value at = math_.add(first, real(t));
      taps.push_back(tapOf(dim, at, weightAt(math_.subtract(x, at), isCubic)));
    }
    return taps;
  }

  Tap tapOf(size_t dim, mlir::Value whole, mlir::Value weight) {
    mlir::Value index = math_.asIndex(whole);
    mlir::Value isInside = code_.isInside(index, in_[dim + 2]);
    if (op_.getPadding() == ir::BorderPadding::kReflection) {
      mlir::Value mirrored = math_.asIndex(reflected(dim, whole));
      index = code_.select(isInside, index, mirrored);
    }
    index = code_.clamped(index, in_[dim + 2]);
    return {index, op_.getPadding() == ir::BorderPadding::kZeros ? isInside : nullptr, weight};
  }

  /// Linear, or cubic (Keys, "Cubic convolution interpolation", 1981) with a = -0.75.
  mlir::Value weightAt(mlir::Value distance, bool isCubic) {
    mlir::Value d = math_.absolute(distance);
    if (!isCubic) {
      mlir::Value left = math_.subtract(real(1), d);
      return math_.select(math_.isLess(left, real(0)), real(0), left);
    }
    constexpr double kA = -0.75;
    auto polynomial = [&](std::initializer_list<double> factors) {
      mlir::Value value = real(0);
      for (double factor : factors) {
        value = math_.add(math_.multiply(value, d), real(factor));
      }
      return value;
    };
    mlir::Value near = polynomial({kA + 2, -(kA + 3), 0, 1});
    mlir::Value far = polynomial({kA, -5 * kA, 8 * kA, -4 * kA});
    return math_.select(math_.isLess(real(1), d), far, near);
  }

  /// The sum over the taps of the dims from `dim` on; `from`: the channel and the positions so far.
  mlir::Value sum(size_t dim, llvm::ArrayRef<llvm::SmallVector<Tap, 4>> taps, const Values& from,
                  mlir::Value isInside, mlir::Value weight) {
    mlir::Value zero = math_.number(type_, 0);
    if (dim == spatial()) {
      mlir::Value x = code_.compute(0, code_.offsetOf(from, in_));
      if (weight) {
        x = math_.multiply(x, weight);
        // No weight hides what is not finite.
        mlir::Value isNone = math_.isEqual(weight, zero);
        x = math_.select(isNone, zero, x);
      }
      return isInside ? math_.select(isInside, x, zero) : x;
    }
    mlir::Value total;
    for (const Tap& tap : taps[dim]) {
      Values next(from);
      next.push_back(tap.index);
      mlir::Value inside = isInside && tap.isInside ? math_.both(isInside, tap.isInside)
                                                    : (isInside ? isInside : tap.isInside);
      mlir::Value part = tap.weight ? inType(tap.weight) : nullptr;
      part = part && weight ? math_.multiply(weight, part) : part;
      mlir::Value value = sum(dim + 1, taps, next, inside, part);
      total = total ? math_.add(total, value) : value;
    }
    return total;
  }

  /// A weight in the type that elements are computed in.
  mlir::Value inType(mlir::Value weight) {
    return codegen::emitCast(code_.code().builder(), code_.code().loc(), weight, positionType_,
                             type_);
  }

  ir::GridSampleOp op_;
  Dims in_, out_;
  PointCode code_;
  Arithmetic math_;
  mlir::Type positionType_, type_;
};

/// Emits roi_align.
class RegionBuilder {
 public:
  explicit RegionBuilder(ir::RoiAlignOp op)
      : op_(op),
        in_(tensorOf(op.getInput()).getShape()),
        code_(op, tensorOf(op.getOutput()).getShape()),
        math_(code_),
        type_(codegen::computeType(tensorOf(op.getInput()).getElementType())) {
    code_.addSizes(in_);
  }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    return code_.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
      mlir::Value image =
          code_.loadIndex(2, index[0], in_[0], /*fromEnd=*/false, KernelError::kRegion);
      mlir::Value plane = code_.add(code_.times(image, in_[1]), index[1]);
      Side tall = sideOf(index[0], 1, index[2], op_.getHeight());
      Side wide = sideOf(index[0], 0, index[3], op_.getWidth());
      bool isMean = op_.getKind() == ir::ReduceKind::kMean;
      mlir::Value start = real(isMean ? 0 : -std::numeric_limits<double>::infinity());
      mlir::Value total = code_.repeat(tall.count, {start}, [&](mlir::Value y, mlir::ValueRange a) {
        Neighbours v = neighboursOf(tall, y, in_[2]);
        return code_.repeat(wide.count, {a[0]}, [&](mlir::Value x, mlir::ValueRange b) {
          return Values{withSample(b[0], plane, v, neighboursOf(wide, x, in_[3]))};
        });
      })[0];
      // In floats, as positions may be computed in 32 bits.
      mlir::Value samples = math_.multiply(tall.samples, wide.samples);
      mlir::Value isNone = math_.isLess(samples, real(1));
      if (isMean) {
        total = math_.divide(total, math_.select(isNone, real(1), samples));
      }
      code_.storeComputed(math_.select(isNone, real(0), total), 3, number);
    });
  }

 private:
  /// The samples of a region's part along one side: their number, and the first and what they are
  /// apart.
  struct Side {
    mlir::Value count, first, part, samples;
  };
  /// The elements around a sample, and the weight of the second.
  struct Neighbours {
    mlir::Value low, high, weight, isOutside;
  };

  mlir::Value real(double value) { return math_.number(type_, value); }

  Side sideOf(mlir::Value region, int64_t field, mlir::Value part, int64_t parts) {
    mlir::Value at = code_.times(region, 4);
    double shift = op_.getHalfPixel() ? 0.5 : 0;
    auto edge = [&](int64_t which) {
      mlir::Value x = code_.compute(1, code_.add(at, code_.constant(which)));
      x = math_.multiply(x, real(op_.getScale().convertToDouble()));
      return math_.subtract(x, real(shift));
    };
    mlir::Value start = edge(field), size = math_.subtract(edge(field + 2), start);
    if (!op_.getHalfPixel()) {
      size = math_.select(math_.isLess(size, real(1)), real(1), size);
    }
    Side side;
    side.part = math_.divide(size, real(static_cast<double>(parts)));
    if (op_.getSampling() > 0) {
      side.count = code_.constant(op_.getSampling());
    } else {
      mlir::Value whole = code_.code().make<mlir::math::CeilOp>(side.part);
      mlir::Value isSome = math_.isLess(real(0), whole);
      whole = math_.select(isSome, whole, real(0));
      side.count = math_.asIndex(math_.clamped(whole, real(0), real(kMostSamples + 1)));
    }
    mlir::Value isMany = code_.isLess(code_.constant(kMostSamples), side.count);
    code_.code().complainIf(isMany, KernelError::kSamples);
    side.count = code_.select(isMany, code_.constant(0), side.count);
    side.samples = math_.asFloat(type_, side.count);
    side.first = math_.add(start, math_.multiply(math_.asFloat(type_, part), side.part));
    return side;
  }

  Neighbours neighboursOf(const Side& side, mlir::Value sample, int64_t size) {
    mlir::Value middle = math_.add(math_.asFloat(type_, sample), real(0.5));
    mlir::Value x =
        math_.add(side.first, math_.divide(math_.multiply(middle, side.part), side.samples));
    using P = arith::CmpFPredicate;
    auto end = static_cast<double>(size);
    mlir::Value isInside = math_.both(code_.code().make<arith::CmpFOp>(P::OGE, x, real(-1)),
                                      code_.code().make<arith::CmpFOp>(P::OLE, x, real(end)));
    mlir::Value one = code_.code().make<arith::ConstantIntOp>(1, 1);
    Neighbours found;
    found.isOutside = code_.code().make<arith::XOrIOp>(isInside, one);
    x = math_.select(isInside, math_.clamped(x, real(0), real(end)), real(0));
    found.low = code_.clamped(math_.asIndex(x), size);
    found.high = code_.clamped(code_.add(found.low, code_.constant(1)), size);
    mlir::Value isLast =
        code_.code().make<arith::CmpIOp>(arith::CmpIPredicate::eq, found.low, found.high);
    found.weight =
        math_.select(isLast, real(0), math_.subtract(x, math_.asFloat(type_, found.low)));
    return found;
  }

  /// `total` and the four parts of a sample, zeros outside.
  mlir::Value withSample(mlir::Value total, mlir::Value plane, const Neighbours& v,
                         const Neighbours& h) {
    mlir::Value isOutside = math_.either(v.isOutside, h.isOutside);
    auto part = [&](bool down, bool right) {
      mlir::Value row = code_.add(code_.times(plane, in_[2]), down ? v.high : v.low);
      mlir::Value offset = code_.add(code_.times(row, in_[3]), right ? h.high : h.low);
      mlir::Value tall = down ? v.weight : math_.subtract(real(1), v.weight);
      mlir::Value wide = right ? h.weight : math_.subtract(real(1), h.weight);
      mlir::Value value = math_.multiply(math_.multiply(tall, wide), code_.compute(0, offset));
      return math_.select(isOutside, real(0), value);
    };
    mlir::Value a = part(false, false), b = part(false, true), c = part(true, false),
                d = part(true, true);
    if (op_.getKind() == ir::ReduceKind::kMean) {
      return math_.add(total, math_.add(math_.add(a, b), math_.add(c, d)));
    }
    return math_.most(total, math_.most(math_.most(a, b), math_.most(c, d)));
  }

  ir::RoiAlignOp op_;
  Dims in_;
  PointCode code_;
  Arithmetic math_;
  mlir::Type type_;
};

bool has(mlir::Operation* op) { return llvm::isa<ir::GridSampleOp, ir::RoiAlignOp>(op); }

std::string whyNot(mlir::Operation* op) {
  std::string name = op->getName().getStringRef().str();
  mlir::Type element = tensorOf(op->getOperand(0)).getElementType();
  if (tensorOf(op->getOperand(0)).getNumElements() == 0 ||
      tensorOf(op->getResult(0)).getNumElements() == 0) {
    return name + " has no elements";
  }
  if (!llvm::isa<mlir::FloatType>(element) || !ir::isComputed(element)) {
    return name + " has elements that are no floats which are computed in";
  }
  if (auto align = llvm::dyn_cast<ir::RoiAlignOp>(op)) {
    mlir::Type batch = tensorOf(align.getBatch()).getElementType();
    return batch.isInteger(32) || batch.isInteger(64)
               ? ""
               : name + " has numbers of images that are neither i32 nor i64";
  }
  return "";
}

void build(OperationKernels& kernels) {
  kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
    if (auto grid = llvm::dyn_cast<ir::GridSampleOp>(kernels.op)) {
      return GridBuilder(grid).build(module, symbol);
    }
    return RegionBuilder(llvm::cast<ir::RoiAlignOp>(kernels.op)).build(module, symbol);
  });
}

}  // namespace

KernelFamily sampleKernels() { return {has, whyNot, build}; }

}  // namespace graphrun::devices::cuda
