// Kernels that convert from and to the reduced element types, and that take bits as another type.
#include <bit>
#include <cmath>
#include <cstring>

#include "devices/codegen/index_maps.h"
#include "devices/codegen/memory_elements.h"
#include "devices/cuda/compiler/emit/kernel_families.h"
#include "devices/cuda/compiler/emit/point_arithmetic.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/serialization/type_codec.h"
#include "runtime/base/reduced.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
namespace arith = mlir::arith;
using runtime::ElementType;

ElementType typeOf(mlir::Value value) {
  return passes::elementTypeOf(tensorOf(value).getElementType());
}

bool isReduced(mlir::Value value) { return runtime::isReduced(typeOf(value)); }

runtime::ReducedConversion conversionOf(ir::CastOp op) {
  runtime::ReducedConversion conversion;
  conversion.saturate = op.getSaturate().value_or(true);
  switch (op.getRoundMode().value_or(ir::PowerRounding::kUp)) {
    case ir::PowerRounding::kUp:
      conversion.rounding = runtime::PowerRounding::kUp;
      break;
    case ir::PowerRounding::kDown:
      conversion.rounding = runtime::PowerRounding::kDown;
      break;
    case ir::PowerRounding::kNearest:
      conversion.rounding = runtime::PowerRounding::kNearest;
      break;
  }
  return conversion;
}

/// Appends the bytes of `value`, which a code of a reduced type becomes in the result's memory
/// type.
template <typename V>
void append(std::vector<uint8_t>& bytes, V value) {
  bytes.resize(bytes.size() + sizeof(V));
  std::memcpy(bytes.data() + bytes.size() - sizeof(V), &value, sizeof(V));
}

/// Each of the 256 codes as f64, or as a code of the other reduced type.
std::vector<uint8_t> tableOf(ir::CastOp op) {
  std::vector<uint8_t> table;
  for (unsigned code = 0; code < 256; ++code) {
    double value = runtime::decodeReduced(typeOf(op.getInput()), static_cast<uint8_t>(code));
    if (isReduced(op.getResult())) {
      table.push_back(runtime::encodeReduced(typeOf(op.getResult()), value, conversionOf(op)));
    } else {
      append(table, static_cast<float>(value));  // all are exact
    }
  }
  return table;
}

/// The shape of a reduced floating-point type, told by its codes.
struct Format {
  int mantissa = 0;  ///< bits of it
  int bias = 0;
  double most = 0;
  unsigned sign = 0;             ///< its bit
  unsigned nan = 0, beyond = 0;  ///< codes; `beyond`: of what is too large
  bool hasMinusZero = false;

  static Format of(ElementType type, runtime::ReducedConversion conversion) {
    auto code = [&](double value) { return runtime::encodeReduced(type, value, conversion); };
    auto value = [&](unsigned bits) {
      return runtime::decodeReduced(type, static_cast<uint8_t>(bits));
    };
    Format format;
    format.sign = 1U << (runtime::elementTypeInfo(type).bits - 1);
    // The codes from 1 to 2 are those of all mantissas, and that of 1 has the bias as exponent.
    format.mantissa = std::countr_zero(static_cast<unsigned>(code(2) - code(1)));
    format.bias = code(1) >> format.mantissa;
    for (unsigned bits = 0; bits < format.sign; ++bits) {
      double magnitude = value(bits);
      format.most = std::isfinite(magnitude) ? std::max(format.most, magnitude) : format.most;
    }
    format.nan = code(std::numeric_limits<double>::quiet_NaN());
    format.beyond = code(std::numeric_limits<double>::infinity());
    format.hasMinusZero = code(-0.0) != 0;
    return format;
  }
};

/// Emits conversions of one f32 or integer to a code, in i32.
class Encoder {
 public:
  Encoder(PointCode& code, ir::CastOp op) : code_(code.code()), math_(code), op_(op) {}

  mlir::Value encode(mlir::Value x) {
    const runtime::ElementTypeInfo& info = runtime::elementTypeInfo(typeOf(op_.getResult()));
    if (info.kind != runtime::NumberKind::kFloat) {
      return make<arith::AndIOp>(asInteger(x), word((1 << info.bits) - 1));
    }
    x = asFloat(x);
    return typeOf(op_.getResult()) == ElementType::kF8E8M0
               ? encodePower(x)
               : encodeFloat(x, Format::of(typeOf(op_.getResult()), conversionOf(op_)));
  }

 private:
  template <typename Op, typename... Args>
  mlir::Value make(const Args&... args) {
    return code_.make<Op>(args...);
  }
  mlir::Type i32() { return code_.builder().getI32Type(); }
  mlir::Type f32() { return code_.builder().getF32Type(); }
  mlir::Value word(int64_t value) { return make<arith::ConstantIntOp>(value, 32); }
  mlir::Value real(double value) { return math_.number(f32(), value); }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return math_.select(condition, a, b);
  }
  mlir::Value isNaN(mlir::Value x) { return make<arith::CmpFOp>(arith::CmpFPredicate::UNO, x, x); }
  bool isUnsigned() {
    mlir::Type from = tensorOf(op_.getInput()).getElementType();
    return from.isUnsignedInteger() || from.isInteger(1);
  }

  /// Low bits of an integer; of a float towards zero, 0 for what no i64 holds.
  mlir::Value asInteger(mlir::Value x) {
    if (!Arithmetic::isFloat(x)) {
      unsigned bits = x.getType().getIntOrFloatBitWidth();
      return bits > 32   ? make<arith::TruncIOp>(i32(), x)
             : bits < 32 ? make<arith::ExtUIOp>(i32(), x)
                         : x;
    }
    mlir::Value isHeld = math_.isLess(math_.absolute(x), math_.number(x.getType(), 0x1p63));
    mlir::Value held = select(isHeld, x, math_.number(x.getType(), 0));
    mlir::Value whole = make<arith::FPToSIOp>(code_.builder().getI64Type(), held);
    return make<arith::TruncIOp>(i32(), whole);
  }
  mlir::Value asFloat(mlir::Value x) {
    return Arithmetic::isFloat(x) ? x
           : isUnsigned()         ? make<arith::UIToFPOp>(f32(), x)
                                  : make<arith::SIToFPOp>(f32(), x);
  }

  /// Adding 1.5 times 2^23 of the last digit rounds to it; what is far beyond the largest number is
  /// beyond it after rounding, too.
  mlir::Value encodeFloat(mlir::Value x, const Format& format) {
    mlir::Value bits = make<arith::BitcastOp>(i32(), x);
    mlir::Value size = math_.absolute(x);
    mlir::Value bounded = math_.clamped(size, real(0), real(4 * format.most));
    mlir::Value exponent = make<arith::SubIOp>(
        make<arith::ShRUIOp>(make<arith::BitcastOp>(i32(), bounded), word(23)), word(127));
    exponent = make<arith::MaxSIOp>(exponent, word(1 - format.bias));
    mlir::Value scale = make<arith::AddIOp>(exponent, word(127 + 23 - format.mantissa));
    scale = make<arith::OrIOp>(make<arith::ShLIOp>(scale, word(23)), word(1 << 22));
    mlir::Value large = make<arith::BitcastOp>(f32(), scale);
    mlir::Value rounded = math_.subtract(math_.add(bounded, large), large);
    mlir::Value code = exactCode(rounded, format);
    mlir::Value isBeyond =
        make<arith::CmpFOp>(arith::CmpFPredicate::OGT, rounded, real(format.most));
    code = select(isBeyond, word(format.beyond), code);
    mlir::Value sign = make<arith::CmpIOp>(arith::CmpIPredicate::slt, bits, word(0));
    if (!format.hasMinusZero) {
      // What is a NaN's code already has its sign bit.
      sign = math_.both(sign, make<arith::CmpIOp>(arith::CmpIPredicate::ne, code, word(0)));
    }
    code = select(sign, make<arith::OrIOp>(code, word(format.sign)), code);
    return select(isNaN(x), word(format.nan), code);
  }

  /// The code of a magnitude that is exact in the format: multiples of the smallest number, or the
  /// leading bits with another bias.
  mlir::Value exactCode(mlir::Value magnitude, const Format& format) {
    mlir::Value bits = make<arith::BitcastOp>(i32(), magnitude);
    mlir::Value normal = make<arith::ShRUIOp>(bits, word(23 - format.mantissa));
    normal = make<arith::SubIOp>(normal, word((127 - format.bias) << format.mantissa));
    mlir::Value multiple =
        math_.multiply(magnitude, real(std::ldexp(1.0, format.mantissa + format.bias - 1)));
    mlir::Value isSmall = math_.isLess(magnitude, real(std::ldexp(1.0, 1 - format.bias)));
    mlir::Value bounded = select(isSmall, multiple, real(0));
    return select(isSmall, make<arith::FPToSIOp>(i32(), bounded), normal);
  }

  /// A power of two: by f64, in which no f32 lacks its leading one.
  mlir::Value encodePower(mlir::Value x) {
    runtime::ReducedConversion conversion = conversionOf(op_);
    mlir::Type i64 = code_.builder().getI64Type();
    auto wide = [&](int64_t value) { return make<arith::ConstantIntOp>(value, 64); };
    mlir::Value bits = make<arith::BitcastOp>(
        i64, make<arith::ExtFOp>(code_.builder().getF64Type(), math_.absolute(x)));
    mlir::Value exponent = make<arith::TruncIOp>(i32(), make<arith::ShRUIOp>(bits, wide(52)));
    mlir::Value fraction = make<arith::AndIOp>(bits, wide((int64_t{1} << 52) - 1));
    mlir::Value code = make<arith::AddIOp>(exponent, word(127 - 1023));
    if (conversion.rounding != runtime::PowerRounding::kDown) {
      bool nearest = conversion.rounding == runtime::PowerRounding::kNearest;
      mlir::Value isUp = make<arith::CmpIOp>(arith::CmpIPredicate::sge, fraction,
                                             wide(nearest ? int64_t{1} << 51 : 1));
      code = make<arith::AddIOp>(code, make<arith::ExtUIOp>(i32(), isUp));
    }
    mlir::Value bounded = make<arith::MinSIOp>(make<arith::MaxSIOp>(code, word(0)), word(254));
    if (!conversion.saturate) {
      mlir::Value isOut = make<arith::CmpIOp>(arith::CmpIPredicate::ne, bounded, code);
      bounded = select(isOut, word(255), bounded);
    }
    return select(isNaN(x), word(255), bounded);
  }

  ThreadCode& code_;
  Arithmetic math_;
  ir::CastOp op_;
};

/// A reduced element is a byte.
mlir::Type memoryOf(mlir::Value value, mlir::OpBuilder& builder) {
  return isReduced(value) ? mlir::Type(builder.getI8Type())
                          : codegen::memoryType(tensorOf(value).getElementType());
}

/// Elements that a thread converts: of bytes so many that they are a word, where what is beside
/// them is no wider than one.
int64_t lanesOf(mlir::Operation* op, mlir::OpBuilder& builder) {
  constexpr int64_t kBytesOfWord = 4;
  auto isNarrow = [&](mlir::Value value) {
    return memoryOf(value, builder).getIntOrFloatBitWidth() <= 32;
  };
  bool hasBytes = isReduced(op->getOperand(0)) || isReduced(op->getResult(0));
  bool isWhole = tensorOf(op->getResult(0)).getNumElements() % kBytesOfWord == 0;
  return hasBytes && isWhole && isNarrow(op->getOperand(0)) && isNarrow(op->getResult(0))
             ? kBytesOfWord
             : 1;
}

/// The elements of `argument` that the `number`-th thread converts, one by one; bytes come as a
/// word.
PointCode::Values loadEach(ThreadCode& thread, mlir::Type memory, mlir::Value number,
                           int64_t lanes) {
  if (lanes == 1) {
    return {thread.load(thread.address(0, memory, number), memory, 1)};
  }
  PointCode::Values elements;
  if (memory.isInteger(8)) {
    mlir::Type word = thread.builder().getI32Type();
    mlir::Value loaded = thread.load(thread.address(0, word, number), word, 1);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      mlir::Value shift = thread.make<arith::ConstantIntOp>(8 * lane, 32);
      elements.push_back(
          thread.make<arith::TruncIOp>(memory, thread.make<arith::ShRUIOp>(loaded, shift)));
    }
    return elements;
  }
  mlir::Value offset = thread.make<arith::MulIOp>(number, thread.constant(lanes));
  mlir::Value loaded = thread.load(thread.address(0, memory, offset), memory, lanes);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    elements.push_back(thread.make<mlir::vector::ExtractOp>(loaded, lane));
  }
  return elements;
}

/// The way back, into the result.
void storeEach(ThreadCode& thread, llvm::ArrayRef<mlir::Value> elements, mlir::Type memory,
               mlir::Value number) {
  auto lanes = static_cast<int64_t>(elements.size());
  if (lanes == 1) {
    return thread.store(elements[0], thread.address(1, memory, number));
  }
  if (memory.isInteger(8)) {
    mlir::Type word = thread.builder().getI32Type();
    mlir::Value joined = thread.make<arith::ConstantIntOp>(0, 32);
    for (auto [lane, element] : llvm::enumerate(elements)) {
      mlir::Value shift = thread.make<arith::ConstantIntOp>(8 * static_cast<int64_t>(lane), 32);
      mlir::Value wide = thread.make<arith::ExtUIOp>(word, element);
      joined = thread.make<arith::OrIOp>(joined, thread.make<arith::ShLIOp>(wide, shift));
    }
    return thread.store(joined, thread.address(1, word, number));
  }
  mlir::Value offset = thread.make<arith::MulIOp>(number, thread.constant(lanes));
  mlir::Value joined = thread.make<mlir::vector::FromElementsOp>(
      mlir::VectorType::get({lanes}, memory), mlir::ValueRange(elements));
  thread.store(joined, thread.address(1, memory, offset));
}

/// A thread an element, or some side by side: `convert` makes what is stored of what is loaded, as
/// in memory.
KernelLaunch buildEach(mlir::ModuleOp module, mlir::Operation* op, const std::string& symbol,
                       size_t tables,
                       llvm::function_ref<mlir::Value(PointCode&, mlir::Value)> convert) {
  mlir::OpBuilder types(op->getContext());
  const int64_t lanes = lanesOf(op, types);
  PointCode code(op, {tensorOf(op->getResult(0)).getNumElements() / lanes});
  code.code().useTables(tables);
  return code.build(module, symbol, [&](llvm::ArrayRef<mlir::Value>, mlir::Value number) {
    ThreadCode& thread = code.code();
    PointCode::Values elements =
        loadEach(thread, memoryOf(op->getOperand(0), types), number, lanes);
    for (mlir::Value& element : elements) {
      element = convert(code, element);
    }
    storeEach(thread, elements, memoryOf(op->getResult(0), types), number);
  });
}

KernelLaunch buildFromReduced(mlir::ModuleOp module, ir::CastOp op, const std::string& symbol) {
  bool toReduced = isReduced(op.getResult());
  return buildEach(module, op, symbol, 1, [&](PointCode& code, mlir::Value x) {
    ThreadCode& thread = code.code();
    mlir::OpBuilder& builder = thread.builder();
    mlir::Value index = thread.make<arith::IndexCastUIOp>(builder.getIndexType(), x);
    mlir::Type entry = toReduced ? mlir::Type(builder.getI8Type()) : builder.getF32Type();
    mlir::Value value = thread.load(thread.tableAddress(0, entry, index), entry, 1);
    if (toReduced) {
      return value;
    }
    mlir::Type to = tensorOf(op.getResult()).getElementType();
    value = codegen::emitCast(builder, thread.loc(), value, builder.getF32Type(), to);
    return codegen::toMemory(builder, thread.loc(), value, codegen::memoryType(to));
  });
}

KernelLaunch buildToReduced(mlir::ModuleOp module, ir::CastOp op, const std::string& symbol) {
  return buildEach(module, op, symbol, 0, [&](PointCode& code, mlir::Value x) {
    ThreadCode& thread = code.code();
    mlir::Type from = codegen::computeType(tensorOf(op.getInput()).getElementType());
    mlir::Value value = codegen::fromMemory(thread.builder(), thread.loc(), x, from);
    return thread.make<arith::TruncIOp>(thread.builder().getI8Type(),
                                        Encoder(code, op).encode(value));
  });
}

KernelLaunch buildBitcast(mlir::ModuleOp module, ir::BitcastOp op, const std::string& symbol) {
  return buildEach(module, op, symbol, 0, [&](PointCode& code, mlir::Value x) {
    ThreadCode& thread = code.code();
    mlir::Type to = memoryOf(op.getResult(), thread.builder());
    if (tensorOf(op.getResult()).getElementType().isInteger(1)) {
      mlir::Value zero = thread.make<arith::ConstantIntOp>(0, 8);
      mlir::Value isSet = thread.make<arith::CmpIOp>(arith::CmpIPredicate::ne, x, zero);
      return thread.make<arith::ExtUIOp>(to, isSet);
    }
    return x.getType() == to ? x : thread.make<arith::BitcastOp>(to, x);
  });
}

bool has(mlir::Operation* op) {
  return llvm::isa<ir::BitcastOp>(op) ||
         (llvm::isa<ir::CastOp>(op) &&
          (isReduced(op->getOperand(0)) || isReduced(op->getResult(0))));
}

std::string whyNot(mlir::Operation* op) {
  std::string name = op->getName().getStringRef().str();
  auto isKnown = [](mlir::Value value) {
    return isReduced(value) || ir::isComputed(tensorOf(value).getElementType());
  };
  if (!isKnown(op->getOperand(0)) || !isKnown(op->getResult(0))) {
    return name + " has an element type that is not computed in";
  }
  if (tensorOf(op->getResult(0)).getNumElements() == 0) {
    return name + " has no elements";
  }
  // Rounded to f32 first it would be rounded twice.
  bool isWide = tensorOf(op->getOperand(0)).getElementType().isF64();
  return llvm::isa<ir::CastOp>(op) && isWide ? name + " from f64 to less than 16 bits" : "";
}

void build(OperationKernels& kernels) {
  auto cast = llvm::dyn_cast<ir::CastOp>(kernels.op);
  if (cast && isReduced(cast.getInput())) {
    kernels.plan.tables.push_back(tableOf(cast));
  }
  kernels.add([&](mlir::ModuleOp module, const std::string& symbol) {
    return !cast ? buildBitcast(module, llvm::cast<ir::BitcastOp>(kernels.op), symbol)
           : isReduced(cast.getInput()) ? buildFromReduced(module, cast, symbol)
                                        : buildToReduced(module, cast, symbol);
  });
}

}  // namespace

KernelFamily convertKernels() { return {has, whyNot, build}; }

}  // namespace graphrun::devices::cuda
