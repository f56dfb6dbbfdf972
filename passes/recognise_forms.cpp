// gr-recognise-forms: large operations that a model spells out in small ones.
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/forms.h"
#include "passes/passes.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_RECOGNISEFORMS
#include "passes/passes.h.inc"

namespace {

struct RecogniseFormsPass : impl::RecogniseFormsBase<RecogniseFormsPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    addActivationForms(patterns);
    addNormalizationForms(patterns);
    addAttentionForms(patterns);
    if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) {
      getOperation().emitError() << "recognition of forms does not come to an end";
      signalPassFailure();
    }
  }
};

}  // namespace
}  // namespace graphrun::passes
