// Element-wise arithmetic that takes loops: rests of divisions of floats, powers of integers.
#ifndef GRAPHRUN_DEVICES_CODEGEN_SCALAR_LOOPS_H_
#define GRAPHRUN_DEVICES_CODEGEN_SCALAR_LOOPS_H_

#include "devices/codegen/terms.h"

namespace graphrun::devices::codegen {

/// C's fmod of f64, exact: x - y trunc(x / y), with the sign of x. Scalars or vectors.
Term restOfDivision(const Term& x, const Term& y);

/// x^y of integers, which wraps. Of negative exponents what is left of 1 / x^-y towards zero; 0 for
/// x = 0. Scalars or vectors of one type.
mlir::Value wholePower(mlir::OpBuilder& builder, mlir::Location loc, mlir::Value x, mlir::Value y,
                       bool isUnsigned);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_SCALAR_LOOPS_H_
