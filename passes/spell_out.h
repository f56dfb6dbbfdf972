// Spells out operations in smaller ones, which devices have kernels for.
#ifndef GRAPHRUN_PASSES_SPELL_OUT_H_
#define GRAPHRUN_PASSES_SPELL_OUT_H_

#include "mlir/IR/PatternMatch.h"

namespace graphrun::passes {

/// Adds patterns of gr-simplify-graph: small powers become products, which cost less and fuse
/// alike, and kinds of gr.reduce that no device knows become those that all know.
void addSpellOutPatterns(mlir::RewritePatternSet& patterns);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_SPELL_OUT_H_
