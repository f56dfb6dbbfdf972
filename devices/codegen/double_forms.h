// These patterns express math functions of f64 by arithmetic, for devices without a math library.
#ifndef GRAPHRUN_DEVICES_CODEGEN_DOUBLE_FORMS_H_
#define GRAPHRUN_DEVICES_CODEGEN_DOUBLE_FORMS_H_

#include "devices/codegen/terms.h"
#include "mlir/IR/PatternMatch.h"

namespace graphrun::devices::codegen {

/// Adds patterns for exp, expm1, log, log1p, pow, erf, the trigonometric and hyperbolic functions
/// and their inverses of f64, on scalars and vectors: arithmetic, roots and bits remain. All of
/// them have C's special values and take any number; errors are below one unit in the last place,
/// of tan, sinh, cosh, tanh and erf below two.
void populateDoubleForms(mlir::RewritePatternSet& patterns);

/// All forms come down to these. Exponentials, logarithms and the error function:
Term exponential(const Term& x);
Term exponentialMinusOne(const Term& x);
Term naturalLogarithm(const Term& x);
Term logarithmOfOnePlus(const Term& x);
Term powerOf(const Term& x, const Term& y);
Term errorFunction(const Term& x);
Term hyperbolicSine(const Term& x);
Term hyperbolicCosine(const Term& x);
Term hyperbolicTangent(const Term& x);
Term areaSine(const Term& x);
Term areaCosine(const Term& x);
Term areaTangent(const Term& x);
/// Angles:
Term sine(const Term& x);
Term cosine(const Term& x);
Term tangentOf(const Term& x);
Term arcSine(const Term& x);
Term arcCosine(const Term& x);
Term arcTangent(const Term& x);

/// C's pow for a base x and an exponent y, of |x|^y: signs and exceptions.
Term withPowersSign(const Term& x, const Term& y, const Term& size);

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_DOUBLE_FORMS_H_
