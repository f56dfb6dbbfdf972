#include "devices/codegen/scalar_emitter.h"

#include "devices/codegen/scalar_loops.h"
#include "devices/functions/double_functions.h"
#include "devices/functions/error_functions.h"
#include "ir/dialect.h"
#include "ir/scalar.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::devices::codegen {
namespace {

using namespace graphrun::ir;  // the operations, which this file is a table of
namespace arith = mlir::arith;
namespace math = mlir::math;

/// Shorthand for building one expression: every method gives the operation's result.
struct Emitter {
  mlir::OpBuilder& b;
  mlir::Location loc;
  mlir::Type type;     // of the operands' values
  mlir::Type element;  // gr element type of the operands
  bool isFloat, isUnsigned;

  Emitter(mlir::OpBuilder& builder, mlir::Location at, mlir::Type valueType, mlir::Type elementType)
      : b(builder),
        loc(at),
        type(valueType),
        element(elementType),
        isFloat(llvm::isa<mlir::FloatType>(elementType)),
        isUnsigned(elementType.isUnsignedInteger() || elementType.isInteger(1)) {}

  template <typename Op, typename... Args>
  mlir::Value make(Args... args) {
    return b.create<Op>(loc, args...);
  }
  template <typename Float, typename Signed, typename Unsigned = Signed>
  mlir::Value choose(mlir::Value x, mlir::Value y) {
    return isFloat ? make<Float>(x, y) : isUnsigned ? make<Unsigned>(x, y) : make<Signed>(x, y);
  }
  mlir::Value constant(double value) { return emitConstant(b, loc, type, value); }
  mlir::Value add(mlir::Value x, mlir::Value y) {
    return choose<arith::AddFOp, arith::AddIOp>(x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) {
    return choose<arith::SubFOp, arith::SubIOp>(x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) {
    return choose<arith::MulFOp, arith::MulIOp>(x, y);
  }
  mlir::Value div(mlir::Value x, mlir::Value y) {
    return isFloat ? make<arith::DivFOp>(x, y) : wholeQuotient(x, y);
  }
  /// Integers, towards zero. Nothing traps: there is 0 by zero, and the least number by -1 wraps.
  mlir::Value wholeQuotient(mlir::Value x, mlir::Value y) {
    mlir::Value isZero = equal(y, constant(0));
    if (isUnsigned) {
      return select(isZero, constant(0), make<arith::DivUIOp>(x, harmless(y)));
    }
    mlir::Value quotient = make<arith::DivSIOp>(x, harmless(y));
    quotient = select(equal(y, constant(-1)), neg(x), quotient);
    return select(isZero, constant(0), quotient);
  }
  /// Builds the remainder of integers divided towards zero: 0 by zero.
  mlir::Value wholeRest(mlir::Value x, mlir::Value y) {
    return isUnsigned ? make<arith::RemUIOp>(x, harmless(y)) : make<arith::RemSIOp>(x, harmless(y));
  }
  mlir::Value min(mlir::Value x, mlir::Value y) {
    return choose<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(x, y);
  }
  mlir::Value max(mlir::Value x, mlir::Value y) {
    return choose<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(x, y);
  }
  mlir::Value clamp(mlir::Value x, double low, double high) {
    return atMost(atLeast(x, low), high);
  }
  /// The greater of x and a number. With floats, what a machine's instruction gives: the second
  /// operand where one is NaN, which a number is not.
  mlir::Value atLeast(mlir::Value x, double low) {
    mlir::Value limit = constant(low);
    return isFloat ? select(less(x, limit), limit, x) : max(x, limit);
  }
  mlir::Value atMost(mlir::Value x, double high) {
    mlir::Value limit = constant(high);
    return isFloat ? select(less(limit, x), limit, x) : min(x, limit);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return make<arith::SelectOp>(condition, x, y);
  }
  /// x < y, x <= y, x == y as i1.
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return compare(x, y, arith::CmpFPredicate::OLT, arith::CmpIPredicate::slt,
                   arith::CmpIPredicate::ult);
  }
  mlir::Value lessEqual(mlir::Value x, mlir::Value y) {
    return compare(x, y, arith::CmpFPredicate::OLE, arith::CmpIPredicate::sle,
                   arith::CmpIPredicate::ule);
  }
  mlir::Value equal(mlir::Value x, mlir::Value y) {
    return compare(x, y, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq,
                   arith::CmpIPredicate::eq);
  }
  /// Computed in f32.
  bool isSingle() const { return isFloat && !element.isF64(); }
  Term term(mlir::Value x) { return {&b, loc, x}; }
  mlir::Value neg(mlir::Value x) { return isFloat ? make<arith::NegFOp>(x) : sub(constant(0), x); }
  mlir::Value abs(mlir::Value x) {
    if (isUnsigned) {
      return x;
    }
    return isFloat ? make<math::AbsFOp>(x) : make<math::AbsIOp>(x);
  }
  mlir::Value sign(mlir::Value x) {
    mlir::Value zero = constant(0);
    mlir::Value one = constant(1);
    mlir::Value below = isUnsigned ? x : select(less(x, zero), constant(-1), x);
    return select(less(zero, x), one, below);  // NaN and zeros stay
  }
  mlir::Value relu(mlir::Value x) { return atLeast(x, 0); }
  mlir::Value reciprocal(mlir::Value x) { return div(constant(1), x); }
  mlir::Value logicalNot(mlir::Value x) { return make<arith::XOrIOp>(x, constant(-1)); }
  mlir::Value logicalAnd(mlir::Value x, mlir::Value y) { return make<arith::AndIOp>(x, y); }
  mlir::Value logicalOr(mlir::Value x, mlir::Value y) { return make<arith::OrIOp>(x, y); }
  mlir::Value logicalXor(mlir::Value x, mlir::Value y) { return make<arith::XOrIOp>(x, y); }
  mlir::Value shiftLeft(mlir::Value x, mlir::Value amount) { return shift(x, amount, true); }
  mlir::Value shiftRight(mlir::Value x, mlir::Value amount) { return shift(x, amount, false); }

 private:
  /// A shift by an amount that is negative or not below the width leaves 0, or the sign.
  mlir::Value shift(mlir::Value x, mlir::Value amount, bool left) {
    unsigned width = element.getIntOrFloatBitWidth();
    mlir::Value inRange = make<arith::CmpIOp>(arith::CmpIPredicate::ult, amount, constant(width));
    mlir::Value last = constant(width - 1);
    mlir::Value bounded = select(inRange, amount, last);
    if (left) {
      return select(inRange, make<arith::ShLIOp>(x, bounded), constant(0));
    }
    return isUnsigned ? select(inRange, make<arith::ShRUIOp>(x, bounded), constant(0))
                      : make<arith::ShRSIOp>(x, bounded);
  }
  /// 1 in the place of divisors that a division may trap on.
  mlir::Value harmless(mlir::Value divisor) {
    mlir::Value traps = equal(divisor, constant(0));
    if (!isUnsigned) {
      traps = make<arith::OrIOp>(traps, equal(divisor, constant(-1)));
    }
    return select(traps, constant(1), divisor);
  }
  mlir::Value compare(mlir::Value x, mlir::Value y, arith::CmpFPredicate ofFloat,
                      arith::CmpIPredicate ofSigned, arith::CmpIPredicate ofUnsigned) {
    if (isFloat) {
      return make<arith::CmpFOp>(ofFloat, x, y);
    }
    return make<arith::CmpIOp>(isUnsigned ? ofUnsigned : ofSigned, x, y);
  }
};

double number(const llvm::APFloat& value) { return value.convertToDouble(); }

/// `element` is what the result is rounded to.
mlir::Value gelu(Emitter& e, mlir::Value x, bool approximate, mlir::Type element) {
  namespace doubles = functions::doubles;
  Term t = e.term(x);
  if (element.getIntOrFloatBitWidth() == 16 && !approximate) {
    return functions::geluOf16Bits(t).value;
  }
  if (e.isSingle()) {
    return (approximate ? functions::geluByTangent(t) : functions::gelu(t)).value;
  }
  return (approximate ? doubles::geluByTangent(t) : doubles::gelu(t)).value;
}

/// The first two parameters of a function of floats; x where there are none.
struct Parameters {
  Term a, b;
  Parameters(const Term& x, mlir::Operation*) : a(x), b(x) {}
  Parameters(const Term& x, mlir::Operation* op, Parameter first)
      : a(x.number(parameterOf(op, first))), b(x) {}
  Parameters(const Term& x, mlir::Operation* op, Parameter first, Parameter second)
      : a(x.number(parameterOf(op, first))), b(x.number(parameterOf(op, second))) {}
};

/// x - y * trunc(x / y), exact; what is narrower than f64 is divided in that.
mlir::Value floatRest(Emitter& e, mlir::Value x, mlir::Value y) {
  mlir::Type wide = withShapeOf(e.type, e.b.getF64Type());
  auto term = [&](mlir::Value value) {
    return Term{&e.b, e.loc, value.getType() == wide ? value : e.make<arith::ExtFOp>(wide, value)};
  };
  mlir::Value rest = restOfDivision(term(x), term(y)).value;
  return e.type == wide ? rest : e.make<arith::TruncFOp>(e.type, rest);
}

/// The rest of a division towards zero, or rounded down.
mlir::Value rest(Emitter& e, mlir::Value x, mlir::Value y, bool truncate) {
  mlir::Value rest = e.isFloat ? floatRest(e, x, y) : e.wholeRest(x, y);
  if (truncate || e.isUnsigned) {
    return rest;
  }
  mlir::Value zero = e.constant(0);
  mlir::Value apart = e.make<arith::XOrIOp>(e.less(rest, zero), e.less(y, zero));
  mlir::Value isZero = e.equal(rest, zero);
  mlir::Value down = e.select(apart, e.add(rest, y), rest);
  return e.select(isZero, e.isFloat ? e.make<math::CopySignOp>(zero, y) : rest, down);
}

mlir::Value power(Emitter& e, mlir::Value x, mlir::Value y) {
  return e.isFloat ? e.make<math::PowFOp>(x, y) : wholePower(e.b, e.loc, x, y, e.isUnsigned);
}

/// Gives null for an operation that is not known; emits nothing when `e` is null.
mlir::Value emitKnown(Emitter* e, mlir::Operation* op, mlir::ValueRange x, bool& known) {
  known = true;
  auto when = [&](auto emit) -> mlir::Value { return e == nullptr ? mlir::Value() : emit(*e); };
#define GR_NUMBER(Class, name, builder, rule, flops, onnx, since) \
  .Case([&](Class##Op) { return when([&](Emitter& m) { return m.builder(x[0]); }); })
#define GR_INSTRUCTION(Class, name, flops, onnx, since, library, Math) \
  .Case([&](Class##Op) { return when([&](Emitter& m) { return m.make<math::Math>(x[0]); }); })
#define GR_LIBRARY(Class, name, flops, onnx, since, computed, row) \
  .Case([&](Class##Op) { return when([&](Emitter& m) { return m.make<math::Class##Op>(x[0]); }); })
#define GR_FORM(Class, name, builder, flops, onnx, since, form, ...)               \
  .Case([&, operand = x](Class##Op) {                                              \
    return when([&](Emitter& m) {                                                  \
      Term x = m.term(operand[0]);                                                 \
      [[maybe_unused]] auto [a, b] = Parameters(x, op __VA_OPT__(, ) __VA_ARGS__); \
      return (m.isSingle() ? functions::form : functions::doubles::form).value;    \
    });                                                                            \
  })
#define GR_BINARY(Class, name, builder, rule, flops, onnx, since, neutral) \
  .Case([&](Class##Op) { return when([&](Emitter& m) { return m.builder(x[0], x[1]); }); })
#define GR_OWN_BINARY(Class, name, builder, flops, neutral)
  return llvm::TypeSwitch<mlir::Operation*, mlir::Value>(op)
#include "devices/functions/elementwise.def"
      .Case([&](LeakyReluOp a) {
        return when([&](Emitter& m) {
          mlir::Value scaled = m.mul(x[0], m.constant(number(a.getAlpha())));
          return m.select(m.less(x[0], m.constant(0)), scaled, x[0]);
        });
      })
      .Case([&](GeluOp a) {
        return when([&](Emitter& m) {
          return gelu(m, x[0], a.getApproximate(), mlir::getElementTypeOrSelf(a.getType()));
        });
      })
      .Case([&](ClipOp a) {
        return when(
            [&](Emitter& m) { return m.clamp(x[0], number(a.getLow()), number(a.getHigh())); });
      })
      .Case([&](ModOp a) {
        return when([&](Emitter& m) { return rest(m, x[0], x[1], a.getTruncate()); });
      })
      .Case([&](PowOp) { return when([&](Emitter& m) { return power(m, x[0], x[1]); }); })
      .Case([&](PReluOp) {
        return when([&](Emitter& m) {
          return m.select(m.less(x[0], m.constant(0)), m.mul(x[0], x[1]), x[0]);
        });
      })
      .Case([&](WhereOp) { return when([&](Emitter& m) { return m.select(x[0], x[1], x[2]); }); })
      .Case([&](CastOp a) {
        return when([&](Emitter& m) {
          return emitCast(m.b, m.loc, x[0], mlir::getElementTypeOrSelf(a.getInput().getType()),
                          a.getTo());
        });
      })
      .Default([&](mlir::Operation*) {
        known = false;
        return mlir::Value();
      });
}

/// Returns whether the type in which a float of 16 bits is computed holds the operation's result
/// without rounding it.
bool isExact(mlir::Operation* op) {
  return llvm::isa<AbsOp, NegOp, SignOp, ReluOp, FloorOp, CeilOp, RoundOp, MinOp, MaxOp, WhereOp,
                   CastOp>(op);
}

/// An operation's result is of its type: one of 16 bits is rounded to that, as it would be between
/// devices, though it is computed in f32.
mlir::Value roundToType(Emitter& e, mlir::Operation* op, mlir::Value value) {
  mlir::Type element = mlir::getElementTypeOrSelf(op->getResult(0).getType());
  if ((!element.isF16() && !element.isBF16()) || isExact(op)) {
    return value;
  }
  mlir::Value narrow = e.make<arith::TruncFOp>(withShapeOf(value.getType(), element), value);
  return e.make<arith::ExtFOp>(value.getType(), narrow);
}

}  // namespace

mlir::Type computeType(mlir::Type element) {
  if (llvm::isa<mlir::FloatType>(element)) {
    return element.isF64() ? element : mlir::FloatType::getF32(element.getContext());
  }
  return mlir::IntegerType::get(element.getContext(), element.getIntOrFloatBitWidth());
}

bool canEmit(mlir::Operation* op) {
  bool known = false;
  emitKnown(nullptr, op, {}, known);
  return known;
}

mlir::Value emitConstant(mlir::OpBuilder& builder, mlir::Location loc, mlir::Type type,
                         double value) {
  mlir::Type element = mlir::getElementTypeOrSelf(type);
  mlir::TypedAttr attr;
  if (llvm::isa<mlir::FloatType>(element)) {
    attr = builder.getFloatAttr(element, value);
  } else {
    attr = builder.getIntegerAttr(element, static_cast<int64_t>(value));
  }
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(type)) {
    attr = mlir::DenseElementsAttr::get(vector, attr);
  }
  return builder.create<arith::ConstantOp>(loc, attr);
}

mlir::Value emitCast(mlir::OpBuilder& b, mlir::Location loc, mlir::Value value, mlir::Type from,
                     mlir::Type to) {
  mlir::Type target = withShapeOf(value.getType(), computeType(to));
  bool toFloat = llvm::isa<mlir::FloatType>(to);
  bool fromFloat = llvm::isa<mlir::FloatType>(from);
  if (to.isInteger(1) && !from.isInteger(1)) {
    mlir::Value zero = emitConstant(b, loc, value.getType(), 0);
    return fromFloat
               ? b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, value, zero).getResult()
               : b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, value, zero).getResult();
  }
  // A 16-bit float is computed in f32, but a cast to it has to round.
  if ((to.isF16() || to.isBF16()) && from != to) {
    mlir::Type f32 = computeType(to);
    mlir::Value wide = emitCast(b, loc, value, from, f32);
    mlir::Value narrow = b.create<arith::TruncFOp>(loc, withShapeOf(value.getType(), to), wide);
    return b.create<arith::ExtFOp>(loc, target, narrow);
  }
  if (value.getType() == target) {
    return value;
  }
  bool fromUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (fromFloat && toFloat) {
    bool wider =
        computeType(to).getIntOrFloatBitWidth() > computeType(from).getIntOrFloatBitWidth();
    return wider ? b.create<arith::ExtFOp>(loc, target, value).getResult()
                 : b.create<arith::TruncFOp>(loc, target, value).getResult();
  }
  if (fromFloat) {
    return to.isUnsignedInteger() ? b.create<arith::FPToUIOp>(loc, target, value).getResult()
                                  : b.create<arith::FPToSIOp>(loc, target, value).getResult();
  }
  if (toFloat) {
    return fromUnsigned ? b.create<arith::UIToFPOp>(loc, target, value).getResult()
                        : b.create<arith::SIToFPOp>(loc, target, value).getResult();
  }
  if (to.getIntOrFloatBitWidth() < from.getIntOrFloatBitWidth()) {
    return b.create<arith::TruncIOp>(loc, target, value);
  }
  return fromUnsigned ? b.create<arith::ExtUIOp>(loc, target, value).getResult()
                      : b.create<arith::ExtSIOp>(loc, target, value).getResult();
}

mlir::Value emitScalar(mlir::OpBuilder& builder, mlir::Location loc, mlir::Operation* op,
                       mlir::ValueRange operands) {
  // `where` computes in the type of its values, not of its condition.
  unsigned typed = op->getNumOperands() - 1;
  Emitter emitter(builder, loc, operands[typed].getType(),
                  mlir::getElementTypeOrSelf(op->getOperand(typed).getType()));
  bool known = false;
  return roundToType(emitter, op, emitKnown(&emitter, op, operands, known));
}

}  // namespace graphrun::devices::codegen
