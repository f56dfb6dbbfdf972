// Kernels in which a thread walks over the window of its element.
#include <cmath>
#include <limits>

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
      if (op.getPadding() != ir::WindowPadding::kExplicit) {
        int64_t reach = (out[i] - 1) * w.strides[i] + (w.kernel[i] - 1) * w.dilations[i] + 1;
        int64_t total = std::max<int64_t>(reach - in[i], 0);
        begin = op.getPadding() == ir::WindowPadding::kSameUpper ? total / 2 : total - total / 2;
        end = total - begin;
      }
      w.padsBegin.push_back(begin);
      w.padsEnd.push_back(end);
    }
    return w;
  }
};

/// N x C x spatial dims as N x spatial dims x C.
template <typename Element>
llvm::SmallVector<Element> channelsMovedLast(llvm::ArrayRef<Element> dims) {
  llvm::SmallVector<Element> moved = {dims[0]};
  moved.append(dims.begin() + 2, dims.end());
  moved.push_back(dims[1]);
  return moved;
}

/// Emits pools: a thread an element of the result, neighbours in memory for neighbouring elements.
class PoolBuilder {
 public:
  PoolBuilder(mlir::Operation* op, Window window, bool channelsLast)
      : op_(op),
        window_(std::move(window)),
        channelsLast_(channelsLast),
        in_(tensorOf(op->getOperand(0)).getShape()),
        code_(op, inMemoryOrder(tensorOf(op->getResult(0)).getShape())),
        math_(code_),
        type_(codegen::computeType(tensorOf(op->getOperand(0)).getElementType())) {
    code_.addSizes(in_);
    code_.addSizes({mlir::ShapedType::getNumElements(in_.drop_front(2))});
    code_.addSizes(window_.kernel);
  }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    return code_.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> at, mlir::Value number) {
      Values index(at);
      if (channelsLast_) {
        index.insert(index.begin() + 1, index.pop_back_val());
      }
      llvm::TypeSwitch<mlir::Operation*>(op_)
          .Case([&](ir::MaxPoolOp) { code_.storeComputed(largest(index), 1, number); })
          .Case([&](ir::MaxPoolWithIndicesOp pool) {
            storeWithIndex(index, number, pool.getColumnMajor());
          })
          .Case([&](ir::AvgPoolOp pool) {
            code_.storeComputed(mean(index, pool.getCountIncludePad()), 1, number);
          })
          .Case([&](ir::LpPoolOp pool) {
            code_.storeComputed(norm(index, pool.getP().convertToDouble()), 1, number);
          });
    });
  }

 private:
  template <typename Element>
  llvm::SmallVector<Element> inMemoryOrder(llvm::ArrayRef<Element> dims) const {
    return channelsLast_ ? channelsMovedLast(dims) : llvm::to_vector(dims);
  }

  /// `update` makes the next values of those before and an element's; `isInside` tells whether it
  /// is one, and not padding.
  using Update =
      llvm::function_ref<Values(mlir::ValueRange before, mlir::Value x, mlir::Value isInside)>;

  Values overWindow(llvm::ArrayRef<mlir::Value> index, const Values& values, Update update) {
    return overOffsets(index, values,
                       [&](mlir::ValueRange before, mlir::Value offset, mlir::Value isInside) {
                         return update(before, code_.compute(0, offset), isInside);
                       });
  }

  /// The same with an element's offset.
  Values overOffsets(llvm::ArrayRef<mlir::Value> index, const Values& values, Update update) {
    Values from(index.take_front(2));
    return overDim(0, index, from, nullptr, values, update);
  }

  /// Over spatial dim `dim` and those behind it; `from`: the input's index so far.
  Values overDim(size_t dim, llvm::ArrayRef<mlir::Value> index, const Values& from,
                 mlir::Value isInside, mlir::ValueRange values, Update update) {
    if (dim == window_.kernel.size()) {
      return update(values, code_.offsetOf(inMemoryOrder(llvm::ArrayRef(from)), inMemoryOrder(in_)),
                    isInside);
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

  /// The value that no element is less than.
  mlir::Value least() {
    double value = -std::numeric_limits<double>::infinity();
    if (isInteger()) {
      value = element().isUnsignedInteger() ? 0 : -std::exp2(type_.getIntOrFloatBitWidth() - 1);
    }
    return codegen::emitConstant(code_.code().builder(), code_.code().loc(), type_, value);
  }

  mlir::Value greater(mlir::Value x, mlir::Value y) {
    if (!isInteger()) {
      return code_.code().make<arith::MaximumFOp>(x, y);
    }
    return element().isUnsignedInteger() ? code_.code().make<arith::MaxUIOp>(x, y)
                                         : code_.code().make<arith::MaxSIOp>(x, y);
  }

  /// NaN wins; of nothing but padding the least value of the type.
  mlir::Value largest(llvm::ArrayRef<mlir::Value> index) {
    return overWindow(index, {least()},
                      [&](mlir::ValueRange before, mlir::Value x, mlir::Value isInside) {
                        return Values{code_.select(isInside, greater(before[0], x), before[0])};
                      })[0];
  }

  mlir::Type element() { return tensorOf(op_->getOperand(0)).getElementType(); }
  bool isInteger() const { return llvm::isa<mlir::IntegerType>(type_); }

  /// The first largest element and its offset in the whole input, or one before the plane's where
  /// there is nothing but padding.
  void storeWithIndex(llvm::ArrayRef<mlir::Value> index, mlir::Value number, bool reversed) {
    mlir::Value least = math_.number(type_, -std::numeric_limits<double>::infinity());
    Values found = overOffsets(
        index, {least, code_.constant(-1)},
        [&](mlir::ValueRange before, mlir::Value offset, mlir::Value isInside) {
          mlir::Value x = code_.compute(0, offset);
          mlir::Value isFirst = code_.isLess(before[1], code_.constant(0));
          mlir::Value wins = math_.either(isFirst, math_.beats(x, before[0], true, false));
          wins = code_.both(isInside, wins);
          return Values{code_.select(wins, x, before[0]), code_.select(wins, offset, before[1])};
        });
    int64_t plane = mlir::ShapedType::getNumElements(in_.drop_front(2));
    mlir::Value begin = code_.times(code_.add(code_.times(index[0], in_[1]), index[1]), plane);
    mlir::Value isNone = code_.isLess(found[1], code_.constant(0));
    mlir::Value inPlane = code_.subtract(found[1], begin);
    inPlane = reversed ? columnMajor(inPlane) : inPlane;
    inPlane = code_.select(isNone, code_.constant(-1), inPlane);
    code_.storeComputed(found[0], 1, number);
    code_.store(math_.asWhole(code_.add(begin, inPlane)), 2, number);
  }

  /// An offset in a plane where its dims are counted in reverse order.
  mlir::Value columnMajor(mlir::Value offset) {
    Dims plane = in_.drop_front(2);
    Values at = code_.indexOf(offset, plane);
    std::reverse(at.begin(), at.end());
    return code_.offsetOf(at, llvm::to_vector(llvm::reverse(plane)));
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
  bool channelsLast_;
  Dims in_;
  PointCode code_;
  Arithmetic math_;
  mlir::Type type_;
};

/// In how many positions of its image a block lies, along each dim.
llvm::SmallVector<int64_t> positionsOf(ir::Col2ImOp op, llvm::ArrayRef<int64_t> block) {
  Dims image = tensorOf(op.getResult()).getShape().drop_front(2);
  llvm::SmallVector<int64_t> positions;
  for (auto [d, size] : llvm::enumerate(image)) {
    int64_t slack = size + op.getPads()[d] + op.getPads()[image.size() + d] -
                    op.getDilations()[d] * (block[d] - 1);
    positions.push_back(slack < 1 ? 0 : (slack - 1) / op.getStrides()[d] + 1);
  }
  return positions;
}

/// Blocks of images, added up at their positions: a thread sums those that cover its element.
class BlockSums {
 public:
  explicit BlockSums(ir::Col2ImOp op)
      : op_(op),
        block_(ir::constantInts(passes::outsideGroup(op.getBlock()))
                   .value_or(llvm::SmallVector<int64_t>())),
        positions_(positionsOf(op, block_)),
        code_(op, tensorOf(op.getResult()).getShape()),
        math_(code_) {
    code_.addSizes(block_);
    code_.addSizes(positions_);
  }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    mlir::Type type = codegen::computeType(tensorOf(op_.getInput()).getElementType());
    int64_t channels = tensorOf(op_.getResult()).getDimSize(1);
    return code_.build(module, symbol, [&](llvm::ArrayRef<mlir::Value> index, mlir::Value number) {
      Values from = {code_.add(code_.times(index[0], channels), index[1])};
      mlir::Value sum = overDim(0, index, from, {}, nullptr, math_.number(type, 0));
      code_.storeComputed(sum, op_->getNumOperands(), number);
    });
  }

 private:
  /// Over the block's dims from `dim` on; `row`: plane and index in the block so far, `column`: the
  /// block's position.
  mlir::Value overDim(size_t dim, llvm::ArrayRef<mlir::Value> index, const Values& row,
                      const Values& column, mlir::Value isInside, mlir::Value sum) {
    if (dim == block_.size()) {
      Values at(row);
      at.append(column);
      llvm::SmallVector<int64_t> dims = {1};
      dims.append(block_);
      dims.append(positions_);
      mlir::Value x = code_.compute(0, code_.offsetOf(at, dims));
      return code_.select(isInside, math_.add(sum, x), sum);
    }
    mlir::Value first = code_.add(index[dim + 2], code_.constant(op_.getPads()[dim]));
    mlir::Value stride = code_.constant(op_.getStrides()[dim]);
    return code_.repeat(block_[dim], {sum}, [&](mlir::Value k, mlir::ValueRange before) {
      mlir::Value from = code_.subtract(first, code_.times(k, op_.getDilations()[dim]));
      mlir::Value position = code_.code().make<arith::DivSIOp>(from, stride);
      mlir::Value isWhole = code_.code().make<arith::CmpIOp>(
          arith::CmpIPredicate::eq, code_.times(position, op_.getStrides()[dim]), from);
      mlir::Value inside = code_.both(isWhole, code_.isInside(position, positions_[dim]));
      Values nextRow(row), nextColumn(column);
      nextRow.push_back(k);
      nextColumn.push_back(code_.clamped(position, positions_[dim]));
      return Values{overDim(dim + 1, index, nextRow, nextColumn,
                            isInside ? code_.both(isInside, inside) : inside, before[0])};
    })[0];
  }

  ir::Col2ImOp op_;
  llvm::SmallVector<int64_t> block_, positions_;
  PointCode code_;
  Arithmetic math_;
};

}  // namespace

std::string whyNotBlock(ir::Col2ImOp op) {
  auto block = ir::constantInts(passes::outsideGroup(op.getBlock()));
  if (!block) {
    return "has a block that is not known before the run";
  }
  Dims in = tensorOf(op.getInput()).getShape();
  int64_t channels = tensorOf(op.getResult()).getDimSize(1);
  bool fits = mlir::ShapedType::getNumElements(positionsOf(op, *block)) == in[2] &&
              mlir::ShapedType::getNumElements(*block) * channels == in[1];
  return fits ? "" : "has a block, an image and a number of columns that do not fit each other";
}

KernelLaunch buildWindowKernel(mlir::ModuleOp module, mlir::Operation* op, bool channelsLast,
                               const std::string& symbol) {
  KernelLaunch launch;
  llvm::TypeSwitch<mlir::Operation*>(op)
      .Case([&](ir::Col2ImOp a) { launch = BlockSums(a).build(module, symbol); })
      .Case<ir::MaxPoolOp, ir::MaxPoolWithIndicesOp, ir::AvgPoolOp, ir::LpPoolOp>([&](auto a) {
        launch = PoolBuilder(a, Window::of(a), channelsLast).build(module, symbol);
      });
  return launch;
}

}  // namespace graphrun::devices::cuda
