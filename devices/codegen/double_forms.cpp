#include "devices/codegen/double_forms.h"

#include "devices/codegen/math_patterns.h"

namespace graphrun::devices::codegen {

void populateDoubleForms(mlir::RewritePatternSet& patterns) {
  using mlir::math::PowFOp;
  MathPatterns<mlir::Float64Type> forms(patterns);
  forms.add<mlir::math::ExpOp, exponential>();
  forms.add<mlir::math::ExpM1Op, exponentialMinusOne>();
  forms.add<mlir::math::LogOp, naturalLogarithm>();
  forms.add<mlir::math::Log1pOp, logarithmOfOnePlus>();
  forms.add<mlir::math::ErfOp, errorFunction>();
  forms.add<mlir::math::SinhOp, hyperbolicSine>();
  forms.add<mlir::math::CoshOp, hyperbolicCosine>();
  forms.add<mlir::math::TanhOp, hyperbolicTangent>();
  forms.add<mlir::math::AsinhOp, areaSine>();
  forms.add<mlir::math::AcoshOp, areaCosine>();
  forms.add<mlir::math::AtanhOp, areaTangent>();
  forms.add<mlir::math::SinOp, sine>();
  forms.add<mlir::math::CosOp, cosine>();
  forms.add<mlir::math::TanOp, tangentOf>();
  forms.add<mlir::math::AsinOp, arcSine>();
  forms.add<mlir::math::AcosOp, arcCosine>();
  forms.add<mlir::math::AtanOp, arcTangent>();
  forms.addBinary<PowFOp, powerOf>();
}

}  // namespace graphrun::devices::codegen
