// The kernel of top_k: a block a row. The best elements so far are in shared memory, in order; the
// row's next elements are sorted beside them, and both are merged (Batcher, "Sorting networks and
// their applications", 1968).
#include <bit>

#include "absl/strings/str_cat.h"
#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/cuda/compiler/emit/kernel_families.h"
#include "devices/cuda/compiler/emit/point_arithmetic.h"
#include "ir/dims.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/weights.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
namespace arith = mlir::arith;

constexpr int64_t kMostThreads = 256;
constexpr int64_t kLeastKept = 64, kUsuallyKept = 512, kMostKept = 2048;  // elements of a buffer

constexpr uint64_t kMostIndex = 0xffffffff;

bool isWide(mlir::Type element) { return element.getIntOrFloatBitWidth() == 64; }

/// Keys of elements of 64 bits take twice the shared memory.
int64_t mostKept(mlir::Type element) { return isWide(element) ? kMostKept / 2 : kMostKept; }

/// Emits the kernel. An element is one integer, its key: what orders it, and below that, in as many
/// bits, what of 2^32 - 1 its index leaves, so that of equal ones the first is the greatest.
class TopKBuilder {
 public:
  explicit TopKBuilder(ir::TopKOp op) : op_(op), type_(tensorOf(op.getInput())), code_(op) {
    llvm::ArrayRef<int64_t> dims = type_.getShape();
    auto axis =
        static_cast<size_t>(op.getAxis() < 0 ? op.getAxis() + type_.getRank() : op.getAxis());
    size_ = dims[axis];
    inner_ = mlir::ShapedType::getNumElements(dims.drop_front(axis + 1));
    rows_ = type_.getNumElements() / size_;
    wanted_ = tensorOf(op.getResult(0)).getDimSize(static_cast<unsigned>(axis));
    int64_t kept = std::max(wanted_, std::min(size_, kUsuallyKept));
    kept_ = std::max<int64_t>(kLeastKept, std::bit_ceil(static_cast<uint64_t>(kept)));
    threads_ = std::min(kept_ / 2, kMostThreads);
  }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    for (int64_t size : {size_, inner_, size_ * inner_, wanted_, wanted_ * inner_}) {
      code_.sizes().add(size);
    }
    code_.begin(module, symbol, threads_, rows_ * threads_);
    thread_ = code_.threadOfBlock();
    mlir::Value row = code_.block(), inner = code_.number(inner_);
    checkCount(row);
    mlir::Value outer = make<arith::DivUIOp>(row, inner), column = make<arith::RemUIOp>(row, inner);
    begin_ = add(times(outer, code_.number(size_ * inner_)), column);
    mlir::Value best = code_.sharedArray(key(), kept_);
    fill(best, code_.constant(0));
    sort(best);
    if (size_ > kept_) {
      mlir::Value next = code_.sharedArray(key(), kept_);
      emitLoop(code_.constant(kept_), code_.number(size_), kept_, [&](mlir::Value first) {
        fill(next, first);
        sort(next);
        takeBetter(best, next);
        mergeStages(best, code_.constant(std::bit_width(static_cast<uint64_t>(kept_)) - 2));
      });
    }
    write(best, add(times(outer, code_.number(wanted_ * inner_)), column));
    return code_.end();
  }

 private:
  template <typename Op, typename... Args>
  mlir::Value make(const Args&... args) {
    return code_.make<Op>(args...);
  }
  mlir::Type i64() { return code_.builder().getI64Type(); }
  /// The numbers that elements are ordered by have 32 bits, or 64 for wide elements.
  unsigned orderBits() { return isWide(type_.getElementType()) ? 64 : 32; }
  mlir::Type order() { return code_.builder().getIntegerType(orderBits()); }
  mlir::Type key() { return code_.builder().getIntegerType(2 * orderBits()); }
  mlir::Value constant(mlir::Type type, const llvm::APInt& value) {
    return make<arith::ConstantOp>(code_.builder().getIntegerAttr(type, value));
  }
  mlir::Value keyNumber(uint64_t value) {
    return constant(key(), llvm::APInt(2 * orderBits(), value));
  }
  mlir::Value leastKey() {
    return constant(key(), llvm::APInt::getSignedMinValue(2 * orderBits()));
  }
  mlir::Value mostOrder() { return constant(order(), llvm::APInt::getSignedMaxValue(orderBits())); }
  mlir::Value inverted(mlir::Value value) {
    return make<arith::XOrIOp>(value, constant(order(), llvm::APInt::getAllOnes(orderBits())));
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<arith::AddIOp>(a, b); }
  mlir::Value times(mlir::Value a, mlir::Value b) { return make<arith::MulIOp>(a, b); }
  mlir::Value isLess(mlir::Value a, mlir::Value b) {
    return make<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
  }
  mlir::Value at(mlir::Value array, mlir::Value index) {
    return code_.element(array, key(), index);
  }
  mlir::Value load(mlir::Value address) { return code_.load(address, key(), 1); }

  void emitLoop(mlir::Value from, mlir::Value to, int64_t step,
                llvm::function_ref<void(mlir::Value)> body) {
    auto loop =
        code_.builder().create<mlir::scf::ForOp>(code_.loc(), from, to, code_.constant(step));
    mlir::OpBuilder::InsertionGuard guard(code_.builder());
    code_.builder().setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
  /// `body` of this thread's share of [0, count); all threads meet behind.
  void forMine(int64_t count, llvm::function_ref<void(mlir::Value)> body) {
    for (int64_t first = 0; first < count; first += threads_) {
      body(add(thread_, code_.constant(first)));
    }
    code_.barrier();
  }

  /// The number that orders an element: floats with one zero and NaN above all, or integers.
  mlir::Value orderOf(mlir::Value x) {
    mlir::Type element = type_.getElementType();
    bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
    mlir::Value result;
    if (Arithmetic::isFloat(x)) {
      mlir::Value zero = codegen::emitConstant(code_.builder(), code_.loc(), x.getType(), 0);
      x = make<arith::AddFOp>(x, zero);
      mlir::Value bits = make<arith::BitcastOp>(order(), x);
      mlir::Value last = constant(order(), llvm::APInt(orderBits(), orderBits() - 1));
      mlir::Value below = make<arith::AndIOp>(make<arith::ShRSIOp>(bits, last), mostOrder());
      mlir::Value isNaN = make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x);
      result = make<arith::SelectOp>(isNaN, mostOrder(), make<arith::XOrIOp>(bits, below));
    } else if (x.getType() == order()) {
      mlir::Value sign = constant(order(), llvm::APInt::getSignMask(orderBits()));
      result = isUnsigned ? make<arith::XOrIOp>(x, sign) : x;
    } else {
      result = isUnsigned ? make<arith::ExtUIOp>(order(), x) : make<arith::ExtSIOp>(order(), x);
    }
    return op_.getLargest() ? result : inverted(result);
  }

  mlir::Value inputAddress(mlir::Value index) {
    mlir::Value at = add(begin_, times(index, code_.number(inner_)));
    return code_.address(0, codegen::memoryType(type_.getElementType()), at);
  }

  /// Complains, once, of a k that is another number than the result has room for.
  void checkCount(mlir::Value row) {
    if (ir::constantInts(passes::outsideGroup(op_.getK()))) {
      return;
    }
    auto isZero = [&](mlir::Value value) {
      return make<arith::CmpIOp>(arith::CmpIPredicate::eq, value, code_.constant(0));
    };
    code_.emitIf(make<arith::AndIOp>(isZero(row), isZero(thread_)), [&] {
      mlir::Type memory = codegen::memoryType(tensorOf(op_.getK()).getElementType());
      mlir::Value k = code_.load(code_.address(1, memory, code_.constant(0)), memory, 1);
      mlir::Value planned =
          make<arith::ConstantOp>(code_.builder().getIntegerAttr(k.getType(), wanted_));
      code_.complainIf(make<arith::CmpIOp>(arith::CmpIPredicate::ne, k, planned),
                       KernelError::kCount);
    });
  }

  /// The row's elements from `first` on; behind its end what is below all.
  void fill(mlir::Value array, mlir::Value first) {
    mlir::Type memory = codegen::memoryType(type_.getElementType());
    mlir::Type compute = codegen::computeType(type_.getElementType());
    forMine(kept_, [&](mlir::Value slot) {
      mlir::Value index = add(first, slot);
      mlir::Value isInside = isLess(index, code_.number(size_));
      code_.emitIf(
          isInside,
          [&] {
            mlir::Value x = code_.load(inputAddress(index), memory, 1);
            x = codegen::fromMemory(code_.builder(), code_.loc(), x, compute);
            mlir::Value above = make<arith::ShLIOp>(make<arith::ExtSIOp>(key(), orderOf(x)),
                                                    keyNumber(orderBits()));
            mlir::Value left = make<arith::SubIOp>(keyNumber(kMostIndex),
                                                   make<arith::IndexCastUIOp>(key(), index));
            code_.store(make<arith::OrIOp>(above, left), at(array, slot));
          },
          [&] { code_.store(leastKey(), at(array, slot)); });
    });
  }

  void sort(mlir::Value array) {
    int64_t stages = std::bit_width(static_cast<uint64_t>(kept_)) - 1;
    emitLoop(code_.constant(0), code_.constant(stages), 1,
             [&](mlir::Value stage) { mergeStages(array, stage); });
  }

  /// Sorted runs of 2^stage become runs of twice that, in turns the greatest and the least first.
  void mergeStages(mlir::Value array, mlir::Value stage) {
    mlir::Value count = add(stage, code_.constant(1));
    emitLoop(code_.constant(0), count, 1, [&](mlir::Value done) {
      mlir::Value shift = make<arith::SubIOp>(stage, done);
      mlir::Value distance = make<arith::ShLIOp>(code_.constant(1), shift);
      forMine(kept_ / 2, [&](mlir::Value pair) {
        mlir::Value above = make<arith::ShRUIOp>(pair, shift);
        mlir::Value below = make<arith::SubIOp>(pair, make<arith::ShLIOp>(above, shift));
        mlir::Value twice = make<arith::ShLIOp>(above, add(shift, code_.constant(1)));
        mlir::Value i = add(twice, below);
        mlir::Value run = make<arith::AndIOp>(make<arith::ShRUIOp>(i, count), code_.constant(1));
        exchange(at(array, i), at(array, add(i, distance)),
                 make<arith::CmpIOp>(arith::CmpIPredicate::eq, run, code_.constant(0)));
      });
    });
  }

  void exchange(mlir::Value first, mlir::Value second, mlir::Value greatestFirst) {
    mlir::Value a = load(first), b = load(second);
    mlir::Value wrong = make<arith::CmpIOp>(arith::CmpIPredicate::eq, isLess(a, b), greatestFirst);
    code_.store(make<arith::SelectOp>(wrong, b, a), first);
    code_.store(make<arith::SelectOp>(wrong, a, b), second);
  }

  /// Keeps the better half of two sorted arrays, which then rises and falls once.
  void takeBetter(mlir::Value best, mlir::Value next) {
    forMine(kept_, [&](mlir::Value slot) {
      mlir::Value other = make<arith::SubIOp>(code_.constant(kept_ - 1), slot);
      mlir::Value better = make<arith::MaxSIOp>(load(at(best, slot)), load(at(next, other)));
      code_.store(better, at(best, slot));
    });
  }

  void write(mlir::Value best, mlir::Value begin) {
    mlir::Type memory = codegen::memoryType(type_.getElementType());
    emitLoop(thread_, code_.number(wanted_), threads_, [&](mlir::Value slot) {
      mlir::Value low = make<arith::AndIOp>(load(at(best, slot)), keyNumber(kMostIndex));
      mlir::Value index = make<arith::SubIOp>(keyNumber(kMostIndex), low);
      index = index.getType() == i64() ? index : make<arith::TruncIOp>(i64(), index);
      mlir::Value from = make<arith::IndexCastUIOp>(code_.builder().getIndexType(), index);
      mlir::Value to = add(begin, times(slot, code_.number(inner_)));
      mlir::Value x = code_.load(inputAddress(from), memory, 1);
      code_.store(x, code_.address(2, memory, to));
      code_.store(index, code_.address(3, i64(), to));
    });
  }

  ir::TopKOp op_;
  mlir::RankedTensorType type_;
  ThreadCode code_;
  int64_t size_ = 1, inner_ = 1, rows_ = 1, wanted_ = 1, kept_ = 1, threads_ = 1;
  mlir::Value thread_, begin_;
};

bool has(mlir::Operation* op) { return llvm::isa<ir::TopKOp>(op); }

std::string whyNot(mlir::Operation* op) {
  auto input = tensorOf(op->getOperand(0));
  mlir::Type element = input.getElementType();
  int64_t axis = llvm::cast<ir::TopKOp>(op).getAxis();
  axis = axis < 0 ? axis + input.getRank() : axis;
  int64_t wanted = tensorOf(op->getResult(0)).getDimSize(static_cast<unsigned>(axis));
  if (input.getNumElements() == 0 || wanted == 0) {
    return "gr.top_k has no elements";
  }
  if (!ir::isComputed(element)) {
    return "gr.top_k has elements that are not computed in";
  }
  int64_t most = mostKept(element);
  return wanted > most ? absl::StrCat("gr.top_k wants ", wanted, " elements, more than the ", most,
                                      " that a block keeps")
                       : "";
}

void build(OperationKernels& kernels) {
  kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
    return TopKBuilder(llvm::cast<ir::TopKOp>(kernels.op)).build(module, symbol);
  });
}

}  // namespace

KernelFamily topKKernels() { return {has, whyNot, build}; }

}  // namespace graphrun::devices::cuda
