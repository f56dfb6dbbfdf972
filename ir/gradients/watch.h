// Values that gradients are taken with respect to.
#ifndef GRAPHRUN_IR_GRADIENTS_WATCH_H_
#define GRAPHRUN_IR_GRADIENTS_WATCH_H_

#include "mlir/IR/Value.h"

namespace graphrun::ir {

/// Returns `value` as an operand of gr.gradient: itself where it is an input of the graph, which no
/// rewrite replaces, else a gr.watch, which everything that reads the value so far reads from here
/// on. Asked again, it is the same one.
mlir::Value watch(mlir::Value value);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_GRADIENTS_WATCH_H_
