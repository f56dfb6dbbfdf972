// Nodes that could not be imported at once (gr.deferred): their import while a plan is made.
#ifndef GRAPHRUN_FRONTENDS_ONNX_DEFERRED_H_
#define GRAPHRUN_FRONTENDS_ONNX_DEFERRED_H_

#include "passes/resolve.h"

namespace graphrun::frontends {

/// Imports the node of `op`, whose operands have static types, as passes::ResolveDeferred asks.
passes::Resolution resolveDeferred(ir::DeferredOp op);

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_DEFERRED_H_
