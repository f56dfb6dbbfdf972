// The emitter builds element-wise gr operations as arith and math operations on scalars or vectors.
#ifndef GRAPHRUN_DEVICES_CODEGEN_SCALAR_EMITTER_H_
#define GRAPHRUN_DEVICES_CODEGEN_SCALAR_EMITTER_H_

#include "mlir/IR/Builders.h"

namespace graphrun::devices::codegen {

/// Type that elements of `element` are computed in: f32 for the 16-bit floats, signless integers.
mlir::Type computeType(mlir::Type element);

/// True when `emitScalar` knows the operation.
bool canEmit(mlir::Operation* op);

/// The value of the element-wise operation `op` for operand values of its operands' compute types
/// (each a scalar, or all vectors of one length). Integers divided by zero give 0. Requires
/// canEmit(op).
mlir::Value emitScalar(mlir::OpBuilder& builder, mlir::Location loc, mlir::Operation* op,
                       mlir::ValueRange operands);

/// Converts between the compute types of two element types.
mlir::Value emitCast(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value value,
                     mlir::Type from, mlir::Type to);

/// Constant of the scalar or vector type `type`.
mlir::Value emitConstant(mlir::OpBuilder& builder, mlir::Location loc, mlir::Type type,
                         double value);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_SCALAR_EMITTER_H_
