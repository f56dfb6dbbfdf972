// gr-recognise-forms: large operations that a model spells out in small ones.
#include "passes/forms.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

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
    if (mlir::failed(
            rewriteGreedily(getOperation(), std::move(patterns), "recognition of forms"))) {
      signalPassFailure();
    }
  }
};

}  // namespace
}  // namespace graphrun::passes
