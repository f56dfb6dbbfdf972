// The numbers of a map: which are part of a kernel's code, and which are its parameters.
#ifndef GRAPHRUN_DEVICES_CODEGEN_MAP_SCALARS_H_
#define GRAPHRUN_DEVICES_CODEGEN_MAP_SCALARS_H_

#include <optional>

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace graphrun::devices::codegen {

/// The operations of a group in order, or the single operation.
llvm::SmallVector<mlir::Operation*> mapBody(mlir::Operation* op);

/// The one number of a constant that is a scalar or a splat; nothing for another, or where a double
/// would round it. Looks through the arguments of groups.
std::optional<double> splatValue(mlir::Value value);

/// The scalars of a map (see whyNotMap) that its kernel can take as parameters, so that maps which
/// differ only in them share code: constants inside a group, and operands that are constants; each
/// once, in the order in which operations read them. Numbers that shape the code are none of them:
/// 0 and ±1, powers of two that are divided by, and what powers, shifts and integer quotients are
/// made of.
llvm::SmallVector<mlir::Value> mapScalars(mlir::Operation* op);

/// A scalar in its compute type, as the 64 bits that a kernel is given.
int64_t scalarBits(mlir::Value scalar);

/// The number of compute type `type` that was given as such bits.
mlir::Value emitScalarOf(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value bits,
                         mlir::Type type);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_MAP_SCALARS_H_
