// These patterns simplify operations on tensors without elements.
#ifndef GRAPHRUN_PASSES_EMPTY_TENSORS_H_
#define GRAPHRUN_PASSES_EMPTY_TENSORS_H_

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/PatternMatch.h"

namespace graphrun::passes {

/// The value of a constant of `type`, which has no elements; null for an element type that
/// attributes do not hold.
mlir::ElementsAttr noElements(mlir::RankedTensorType type);

/// Patterns of gr-simplify-graph, for tensors whose type says that they have no elements: a result
/// without elements is a constant; a reduction over none is the value that it starts with, a
/// product over none is zero; joining such a tensor to others, and scattering none, does nothing.
/// So no device needs a kernel for any of these.
void addEmptyTensorPatterns(mlir::RewritePatternSet& patterns);

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_EMPTY_TENSORS_H_
