// Kernels of results that no elements are read for: shapes, one value, ranges, random numbers.
#include <cstring>
#include <numbers>

#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/cuda/compiler/emit/kernel_families.h"
#include "devices/cuda/compiler/emit/point_arithmetic.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
namespace arith = mlir::arith;
namespace math = mlir::math;

mlir::Type resultElement(mlir::Operation* op) {
  return tensorOf(op->getResult(0)).getElementType();
}

/// The dims are a table: no code is made for each shape.
void buildShape(OperationKernels& kernels, ir::ShapeOp op) {
  llvm::ArrayRef<int64_t> dims = tensorOf(op.getInput()).getShape();
  auto rank = static_cast<int64_t>(dims.size());
  int64_t start = op.getStart() < 0 ? op.getStart() + rank : op.getStart();
  llvm::ArrayRef<int64_t> shown =
      dims.drop_front(static_cast<size_t>(std::clamp<int64_t>(start, 0, rank)))
          .take_front(static_cast<size_t>(tensorOf(op.getResult()).getNumElements()));
  std::vector<uint8_t> bytes(shown.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), shown.data(), bytes.size());
  kernels.plan.tables.push_back(std::move(bytes));
  kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
    PointCode code(op, {static_cast<int64_t>(shown.size())});
    code.code().useTables(1);
    return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value>, mlir::Value number) {
      mlir::Type i64 = code.code().builder().getI64Type();
      code.store(code.code().load(code.code().tableAddress(0, i64, number), i64, 1), 1, number);
    });
  });
}

/// The one element of an attribute, as it is in memory.
mlir::TypedAttr memoryElement(mlir::DenseElementsAttr value) {
  mlir::Type memory = codegen::memoryType(value.getElementType());
  if (llvm::isa<mlir::FloatType>(memory)) {
    return mlir::FloatAttr::get(memory, *value.value_begin<llvm::APFloat>());
  }
  llvm::APInt bits = *value.value_begin<llvm::APInt>();
  return mlir::IntegerAttr::get(memory, bits.zextOrTrunc(memory.getIntOrFloatBitWidth()));
}

KernelLaunch buildFill(mlir::ModuleOp module, ir::FillOp op, const std::string& symbol) {
  int64_t count = tensorOf(op.getResult()).getNumElements();
  int64_t lanes = commonLanes(resultElement(op), {count});
  PointCode code(op, {count / lanes});
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value>, mlir::Value number) {
    ThreadCode& thread = code.code();
    mlir::Value value = thread.make<arith::ConstantOp>(
        memoryElement(llvm::cast<mlir::DenseElementsAttr>(op.getValue())));
    if (lanes > 1) {
      value =
          thread.make<mlir::vector::BroadcastOp>(codegen::laneType(value.getType(), lanes), value);
    }
    code.store(value, 1, code.times(number, lanes));
  });
}

/// The numbers of elements that are to be, as reference kernels count them: of floats the quotient
/// in f64, rounded up, of integers that of unsigned ones.
mlir::Value isLength(PointCode& code, mlir::Value distance, mlir::Value by, int64_t count) {
  ThreadCode& thread = code.code();
  Arithmetic math(code);
  mlir::Value wanted = math.number(distance.getType(), static_cast<double>(count));
  if (Arithmetic::isFloat(distance)) {
    return math.isEqual(thread.make<mlir::math::CeilOp>(math.divide(distance, by)), wanted);
  }
  mlir::Value one = math.number(distance.getType(), 1);
  mlir::Value divisor = math.select(math.isLess(by, one), one, by);
  mlir::Value steps = thread.make<arith::DivUIOp>(math.subtract(distance, one), divisor);
  return math.isEqual(math.add(steps, one), wanted);
}

/// Complains about a delta of 0, and about another length than the result has.
void checkRange(PointCode& code, ir::RangeOp op) {
  ThreadCode& thread = code.code();
  mlir::OpBuilder& builder = thread.builder();
  Arithmetic math(code);
  mlir::Type element = resultElement(op);
  bool isFloat = llvm::isa<mlir::FloatType>(element);
  mlir::Type wide = isFloat ? mlir::Type(builder.getF64Type()) : builder.getI64Type();
  auto widened = [&](unsigned operand) {
    mlir::Value value = code.compute(operand, code.constant(0));
    return codegen::emitCast(builder, thread.loc(), value, isFloat ? value.getType() : element,
                             wide);
  };
  mlir::Value from = widened(0), end = widened(1), by = widened(2), zero = math.number(wide, 0);
  mlir::Value isUp = math.isLess(zero, by);
  mlir::Value isAhead = math.select(isUp, math.isLess(from, end), math.isLess(end, from));
  mlir::Value distance = math.subtract(end, from);
  distance = math.select(isUp, distance, math.subtract(zero, distance));
  mlir::Value size = math.select(isUp, by, math.subtract(zero, by));
  int64_t count = tensorOf(op.getResult()).getNumElements();
  mlir::Value fits = math.both(isAhead, isLength(code, distance, size, count));
  thread.complainIf(math.isEqual(by, zero), KernelError::kDelta);
  mlir::Value one = thread.make<arith::ConstantIntOp>(1, 1);
  thread.complainIf(thread.make<arith::XOrIOp>(fits, one), KernelError::kLength);
}

KernelLaunch buildRange(mlir::ModuleOp module, ir::RangeOp op, const std::string& symbol) {
  PointCode code(op, {tensorOf(op.getResult()).getNumElements()});
  Arithmetic math(code);
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value>, mlir::Value number) {
    mlir::Value start = code.compute(0, code.constant(0)), by = code.compute(2, code.constant(0));
    mlir::Type type = start.getType();
    mlir::Value isFirst =
        code.code().make<arith::CmpIOp>(arith::CmpIPredicate::eq, number, code.constant(0));
    code.code().emitIf(isFirst, [&] { checkRange(code, op); });
    mlir::Value times =
        Arithmetic::isFloat(start)
            ? math.asFloat(type, number)
            : codegen::emitCast(code.code().builder(), code.code().loc(), math.asWhole(number),
                                code.code().builder().getI64Type(), type);
    code.storeComputed(math.add(start, math.multiply(times, by)), 3, number);
  });
}

/// Random numbers as gr.random defines them, two elements a thread.
class RandomPair {
 public:
  explicit RandomPair(ir::RandomOp op)
      : op_(op),
        count_(tensorOf(op.getResult()).getNumElements()),
        code_(op, {(count_ + 1) / 2}),
        math_(code_) {
    code_.addSizes({count_});
  }

  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol) {
    return code_.build(module, symbol, [&](llvm::ArrayRef<mlir::Value>, mlir::Value number) {
      std::array<mlir::Value, 2> bits = bitsOf(number), pair;
      if (op_.getKind() == ir::Distribution::kNormal) {
        pair = normal(fraction(bits[0], 53), fraction(bits[1], 53));
      } else {
        pair = {uniform(fraction(bits[0], digits())), uniform(fraction(bits[1], digits()))};
      }
      mlir::Value first = code_.times(number, 2), second = code_.add(first, code_.constant(1));
      const unsigned result = op_->getNumOperands();
      code_.storeComputed(asResult(pair[0]), result, first);
      code_.code().emitIf(code_.isLess(second, code_.number(count_)),
                          [&] { code_.storeComputed(asResult(pair[1]), result, second); });
    });
  }

 private:
  template <typename Op, typename... Args>
  mlir::Value make(const Args&... args) {
    return code_.code().make<Op>(args...);
  }
  mlir::Type i32() { return code_.code().builder().getI32Type(); }
  mlir::Type i64() { return code_.code().builder().getI64Type(); }
  mlir::Type f64() { return code_.code().builder().getF64Type(); }
  mlir::Value word(uint32_t bits) {
    return make<arith::ConstantIntOp>(static_cast<int64_t>(static_cast<int32_t>(bits)), 32);
  }
  mlir::Value upper(mlir::Value wide) {
    return make<arith::TruncIOp>(i32(),
                                 make<arith::ShRUIOp>(wide, make<arith::ConstantIntOp>(32, 64)));
  }
  mlir::Value lower(mlir::Value wide) { return make<arith::TruncIOp>(i32(), wide); }
  mlir::Value product(uint32_t a, mlir::Value b) {
    mlir::Value wide = make<arith::ConstantIntOp>(static_cast<int64_t>(a), 64);
    return make<arith::MulIOp>(wide, make<arith::ExtUIOp>(i64(), b));
  }
  mlir::Value exclusive(mlir::Value a, mlir::Value b, mlir::Value c) {
    return make<arith::XOrIOp>(make<arith::XOrIOp>(a, b), c);
  }

  /// Philox4x32-10 (Salmon et al., 2011): the two 64-bit numbers of a counter, whose upper half is
  /// the step.
  std::array<mlir::Value, 2> bitsOf(mlir::Value number) {
    constexpr int kRounds = 10;
    mlir::Value counter = math_.asWhole(number);
    std::array<mlir::Value, 4> words = {lower(counter), upper(counter), word(0), word(0)};
    if (op_.getStep()) {
      mlir::Value step = code_.compute(1, code_.constant(0));
      words[2] = lower(step);
      words[3] = upper(step);
    }
    auto seed = static_cast<uint64_t>(op_.getSeed());
    auto low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < kRounds; ++round) {
      mlir::Value a = product(0xD2511F53, words[0]), b = product(0xCD9E8D57, words[2]);
      words = {exclusive(upper(b), words[1], word(low)), lower(b),
               exclusive(upper(a), words[3], word(high)), lower(a)};
      low += 0x9E3779B9U;
      high += 0xBB67AE85U;
    }
    return {joined(words[0], words[1]), joined(words[2], words[3])};
  }
  mlir::Value joined(mlir::Value low, mlir::Value high) {
    mlir::Value above =
        make<arith::ShLIOp>(make<arith::ExtUIOp>(i64(), high), make<arith::ConstantIntOp>(32, 64));
    return make<arith::OrIOp>(above, make<arith::ExtUIOp>(i64(), low));
  }

  /// Bits in the significand of the result.
  int digits() {
    mlir::Type to = op_.getTo();
    return to.isF64() ? 53 : to.isF32() ? 24 : to.isF16() ? 11 : 8;
  }
  /// The leading bits as a number in [0, 1), exact.
  mlir::Value fraction(mlir::Value bits, int digits) {
    mlir::Value leading = make<arith::ShRUIOp>(bits, make<arith::ConstantIntOp>(64 - digits, 64));
    mlir::Value whole = make<arith::UIToFPOp>(f64(), leading);
    return math_.multiply(whole, math_.number(f64(), std::ldexp(1.0, -digits)));
  }
  mlir::Value uniform(mlir::Value u) {
    double a = op_.getA().convertToDouble(), b = op_.getB().convertToDouble();
    return math_.add(math_.number(f64(), a), math_.multiply(math_.number(f64(), b - a), u));
  }
  /// Box and Muller's transform, in the type that the result is computed in: 1 - u is exact until
  /// then.
  std::array<mlir::Value, 2> normal(mlir::Value u, mlir::Value v) {
    mlir::Type type = codegen::computeType(op_.getTo());
    mlir::Value log = make<math::LogOp>(asResult(math_.subtract(math_.number(f64(), 1), u)));
    mlir::Value radius = make<math::SqrtOp>(math_.multiply(math_.number(type, -2), log));
    radius = math_.multiply(math_.number(type, op_.getB().convertToDouble()), radius);
    mlir::Value angle = asResult(math_.multiply(math_.number(f64(), 2 * std::numbers::pi), v));
    mlir::Value mean = math_.number(type, op_.getA().convertToDouble());
    return {math_.add(mean, math_.multiply(radius, make<math::CosOp>(angle))),
            math_.add(mean, math_.multiply(radius, make<math::SinOp>(angle)))};
  }
  /// In the type that the result is computed in.
  mlir::Value asResult(mlir::Value value) {
    mlir::Type type = codegen::computeType(op_.getTo());
    return value.getType() == type ? value : make<arith::TruncFOp>(type, value);
  }

  ir::RandomOp op_;
  int64_t count_;
  PointCode code_;
  Arithmetic math_;
};

bool has(mlir::Operation* op) {
  return llvm::isa<ir::ShapeOp, ir::FillOp, ir::RangeOp, ir::RandomOp>(op);
}

std::string whyNot(mlir::Operation* op) {
  std::string name = op->getName().getStringRef().str();
  if (!ir::isComputed(resultElement(op))) {
    return name + " has an element type that is not computed in";
  }
  if (tensorOf(op->getResult(0)).getNumElements() == 0) {
    return name + " has no elements";
  }
  auto fill = llvm::dyn_cast<ir::FillOp>(op);
  if (fill && !llvm::isa<mlir::DenseElementsAttr>(fill.getValue())) {
    return name + " has a value that is not part of the graph";
  }
  auto random = llvm::dyn_cast<ir::RandomOp>(op);
  if (random && random.getGenerator() != ir::RandomGenerator::kPhilox) {
    return name + " has a generator whose numbers follow one from the other";
  }
  return "";
}

void build(OperationKernels& kernels) {
  if (auto shape = llvm::dyn_cast<ir::ShapeOp>(kernels.op)) {
    return buildShape(kernels, shape);
  }
  kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
    if (auto fill = llvm::dyn_cast<ir::FillOp>(kernels.op)) {
      return buildFill(module, fill, symbol);
    }
    if (auto range = llvm::dyn_cast<ir::RangeOp>(kernels.op)) {
      return buildRange(module, range, symbol);
    }
    return RandomPair(llvm::cast<ir::RandomOp>(kernels.op)).build(module, symbol);
  });
}

}  // namespace

KernelFamily fillKernels() { return {has, whyNot, build}; }

}  // namespace graphrun::devices::cuda
