// gr-raise-ops: large operations that a model spells out in small ones.
#include "passes/passes.h"
#include "passes/raise/raise_patterns.h"
#include "passes/rewrite.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_RAISEOPS
#include "passes/passes.h.inc"

namespace {

struct RaiseOpsPass : impl::RaiseOpsBase<RaiseOpsPass> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    addActivationPatterns(patterns);
    addNormalizationPatterns(patterns);
    addAttentionPatterns(patterns);
    if (mlir::failed(
            rewriteGreedily(getOperation(), std::move(patterns), "raising of operations"))) {
      signalPassFailure();
    }
  }
};

}  // namespace
}  // namespace graphrun::passes
