// Arithmetic in the types that elements are computed in, for kernels of a thread a point.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_POINT_ARITHMETIC_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_POINT_ARITHMETIC_H_

#include "devices/codegen/scalar_emitter.h"
#include "devices/cuda/compiler/emit/point_code.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace graphrun::devices::cuda {

/// Emits operations on values of one floating-point or integer type. Integers count as signed.
class Arithmetic {
 public:
  explicit Arithmetic(PointCode& code) : code_(code.code()) {}

  static bool isFloat(mlir::Value a) { return llvm::isa<mlir::FloatType>(a.getType()); }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return choose<mlir::arith::AddFOp, mlir::arith::AddIOp>(a, b);
  }
  mlir::Value subtract(mlir::Value a, mlir::Value b) {
    return choose<mlir::arith::SubFOp, mlir::arith::SubIOp>(a, b);
  }
  mlir::Value multiply(mlir::Value a, mlir::Value b) {
    return choose<mlir::arith::MulFOp, mlir::arith::MulIOp>(a, b);
  }
  mlir::Value divide(mlir::Value a, mlir::Value b) {
    return choose<mlir::arith::DivFOp, mlir::arith::DivSIOp>(a, b);
  }
  /// NaN wins.
  mlir::Value least(mlir::Value a, mlir::Value b) {
    return choose<mlir::arith::MinimumFOp, mlir::arith::MinSIOp>(a, b);
  }
  mlir::Value most(mlir::Value a, mlir::Value b) {
    return choose<mlir::arith::MaximumFOp, mlir::arith::MaxSIOp>(a, b);
  }
  mlir::Value isLess(mlir::Value a, mlir::Value b) {
    return isFloat(a) ? code_.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OLT, a, b)
                      : code_.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::slt, a, b);
  }
  mlir::Value isEqual(mlir::Value a, mlir::Value b) {
    return isFloat(a) ? code_.make<mlir::arith::CmpFOp>(mlir::arith::CmpFPredicate::OEQ, a, b)
                      : code_.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return code_.make<mlir::arith::SelectOp>(condition, a, b);
  }
  mlir::Value both(mlir::Value a, mlir::Value b) { return code_.make<mlir::arith::AndIOp>(a, b); }
  mlir::Value either(mlir::Value a, mlir::Value b) { return code_.make<mlir::arith::OrIOp>(a, b); }
  mlir::Value floor(mlir::Value a) { return code_.make<mlir::math::FloorOp>(a); }
  mlir::Value absolute(mlir::Value a) { return code_.make<mlir::math::AbsFOp>(a); }
  mlir::Value clamped(mlir::Value a, mlir::Value low, mlir::Value high) {
    mlir::Value raised = select(isLess(a, low), low, a);
    return select(isLess(high, raised), high, raised);
  }

  /// True if x replaces the best so far: it is greater (less), or equal where the last of equal
  /// ones counts. NaN beats all.
  mlir::Value beats(mlir::Value x, mlir::Value best, bool greater, bool last) {
    if (!isFloat(x)) {
      using P = mlir::arith::CmpIPredicate;
      P wins = greater ? (last ? P::sge : P::sgt) : (last ? P::sle : P::slt);
      return code_.make<mlir::arith::CmpIOp>(wins, x, best);
    }
    using P = mlir::arith::CmpFPredicate;
    P wins = greater ? (last ? P::OGE : P::OGT) : (last ? P::OLE : P::OLT);
    mlir::Value isNaN = code_.make<mlir::arith::CmpFOp>(P::UNO, x, x);
    if (!last) {
      isNaN = both(isNaN, code_.make<mlir::arith::CmpFOp>(P::ORD, best, best));
    }
    return either(code_.make<mlir::arith::CmpFOp>(wins, x, best), isNaN);
  }

  mlir::Value number(mlir::Type type, double value) {
    return codegen::emitConstant(code_.builder(), code_.loc(), type, value);
  }
  mlir::Value asFloat(mlir::Type type, mlir::Value index) {
    return code_.make<mlir::arith::SIToFPOp>(type, asWhole(index));
  }
  /// A whole number that 32 bits hold, as an index.
  mlir::Value asIndex(mlir::Value whole) {
    mlir::Value number = code_.make<mlir::arith::FPToSIOp>(code_.builder().getI32Type(), whole);
    return code_.make<mlir::arith::IndexCastOp>(code_.builder().getIndexType(), number);
  }
  /// An index as i64.
  mlir::Value asWhole(mlir::Value index) {
    return code_.make<mlir::arith::IndexCastOp>(code_.builder().getI64Type(), index);
  }

 private:
  template <typename Float, typename Integer>
  mlir::Value choose(mlir::Value a, mlir::Value b) {
    return isFloat(a) ? code_.make<Float>(a, b) : code_.make<Integer>(a, b);
  }

  ThreadCode& code_;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_POINT_ARITHMETIC_H_
