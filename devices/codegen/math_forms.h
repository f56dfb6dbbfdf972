// These patterns express math functions of f32 by arithmetic.
#ifndef GRAPHRUN_DEVICES_CODEGEN_MATH_FORMS_H_
#define GRAPHRUN_DEVICES_CODEGEN_MATH_FORMS_H_

#include "mlir/IR/PatternMatch.h"

namespace graphrun::devices::codegen {

/// Adds patterns for exponentials, logarithms, pow, erf, the trigonometric and hyperbolic functions
/// and their inverses of f32, on scalars and vectors: arithmetic, roots and bits remain. They are
/// those of devices/functions, to the bit.
void populateFloatForms(mlir::RewritePatternSet& patterns);

/// Adds one that rounds f32 to bf16 by integers: to nearest, ties to even; NaN stays one, and
/// subnormal numbers are rounded as others are, which x86's instruction flushes to zero.
void populateBFloat16Forms(mlir::RewritePatternSet& patterns);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_MATH_FORMS_H_
