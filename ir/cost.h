// The work of an operation: what roofline models and reports are computed from.
#ifndef GRAPHRUN_IR_COST_H_
#define GRAPHRUN_IR_COST_H_

#include <cstdint>

#include "mlir/IR/Operation.h"

namespace graphrun::ir {

/// Work of one execution of an operation.
struct OpCost {
  int64_t flops = 0;         ///< floating-point (or integer) operations; a multiply-add is two
  int64_t bytesRead = 0;     ///< operands, each once
  int64_t bytesWritten = 0;  ///< results
};

/// Bytes of a value of static shape, 0 otherwise. A bool takes one byte.
int64_t byteSize(mlir::Type type);

/// Cost of an operation that reads its operands, writes its results and spends `flopsPerElement`
/// on each result element. All zero unless every shape is static.
OpCost elementwiseCost(mlir::Operation* op, int64_t flopsPerElement);

/// True when all operands and results have static shapes.
bool hasStaticShapes(mlir::Operation* op);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_COST_H_
