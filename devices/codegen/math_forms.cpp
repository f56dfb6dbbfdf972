#include "devices/codegen/math_forms.h"

#include "devices/codegen/double_forms.h"
#include "devices/codegen/math_patterns.h"
#include "devices/functions/error_functions.h"
#include "devices/functions/exponentials.h"
#include "devices/functions/wide_functions.h"

namespace graphrun::devices::codegen {

namespace math = mlir::math;
namespace arith = mlir::arith;

namespace {

struct RoundToBFloat16 : mlir::OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  mlir::LogicalResult matchAndRewrite(arith::TruncFOp op,
                                      mlir::PatternRewriter& rewriter) const override {
    if (!mlir::getElementTypeOrSelf(op.getType()).isBF16() ||
        !mlir::getElementTypeOrSelf(op.getIn().getType()).isF32()) {
      return rewriter.notifyMatchFailure(op, "the operation is of other types");
    }
    Term x{&rewriter, op.getLoc(), op.getIn()};
    Word bits = bitsOf(x);
    Word isOdd = bits.unsignedShift(16) & bits.number(1);
    Word rounded = bits + isOdd + bits.number(0x7fff);
    Word quiet = bits | bits.number(0x400000);
    Word chosen{(x == x).choose(rounded.term, quiet.term)};
    mlir::Type half = withShapeOf(op.getType(), rewriter.getI16Type());
    Term upper = x.make<arith::TruncIOp>(half, chosen.unsignedShift(16).term.value);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), upper.value);
    return mlir::success();
  }
};

}  // namespace

void populateFloatForms(mlir::RewritePatternSet& patterns) {
  MathPatterns<mlir::Float32Type> forms(patterns);
  forms.add<math::ExpOp, functions::exponential<Term>>();
  forms.add<math::ExpM1Op, functions::exponentialMinusOne<Term>>();
  forms.add<math::LogOp, functions::logarithm<Term>>();
  forms.add<math::Log1pOp, functions::logarithmOfOnePlus<Term>>();
  forms.add<math::TanhOp, functions::hyperbolicTangent<Term>>();
  forms.add<math::ErfOp, functions::errorFunction<Term>>();
  forms.add<math::SinOp, functions::sine<Term>>();
  forms.add<math::CosOp, functions::cosine<Term>>();
  forms.add<math::TanOp, functions::tangent<Term>>();
  forms.add<math::AsinOp, functions::arcSine<Term>>();
  forms.add<math::AcosOp, functions::arcCosine<Term>>();
  forms.add<math::AtanOp, functions::arcTangent<Term>>();
  forms.add<math::SinhOp, functions::hyperbolicSine<Term>>();
  forms.add<math::CoshOp, functions::hyperbolicCosine<Term>>();
  forms.add<math::AsinhOp, functions::areaSine<Term>>();
  forms.add<math::AcoshOp, functions::areaCosine<Term>>();
  forms.add<math::AtanhOp, functions::areaTangent<Term>>();
  forms.addBinary<math::PowFOp, functions::power<Term>>();
}

void populateBFloat16Forms(mlir::RewritePatternSet& patterns) {
  patterns.add<RoundToBFloat16>(patterns.getContext());
}

}  // namespace graphrun::devices::codegen
