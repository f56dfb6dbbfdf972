// Math functions in terms of those that have a polynomial, for devices without a math library.
#ifndef GRAPHRUN_DEVICES_CODEGEN_MATH_FORMS_H_
#define GRAPHRUN_DEVICES_CODEGEN_MATH_FORMS_H_

#include "mlir/IR/PatternMatch.h"

namespace graphrun::devices::codegen {

/// Adds patterns for tan, sinh, cosh, asinh, acosh, atanh and pow of f32, on scalars and vectors:
/// exp, expm1, log, log1p, sin, cos and sqrt remain. Errors are a few units in the last place, but
/// of pow they grow with |y log x|, up to 5e-6 of the result. Those of f64 see double_forms.h.
void populateMathForms(mlir::RewritePatternSet& patterns);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_MATH_FORMS_H_
