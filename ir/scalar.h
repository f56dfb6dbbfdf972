// These functions define element-wise operations on one element: folding uses them, and tests take
// them as the oracle.
#ifndef GRAPHRUN_IR_SCALAR_H_
#define GRAPHRUN_IR_SCALAR_H_

#include <cstdint>
#include <optional>

#include "mlir/IR/Operation.h"

namespace graphrun::ir {

/// A parameter of a function of floats, as devices/functions/elementwise.def has it: an attribute
/// of the operation, and what it is by default.
struct Parameter {
  const char* name;
  double usual;
};
double parameterOf(mlir::Operation* op, Parameter wanted);

/// Value of a floating-point element-wise operation for these operand elements; nothing when `op`
/// is not one. Comparisons give 0 or 1.
std::optional<double> evaluateFloat(mlir::Operation* op, llvm::ArrayRef<double> x);

/// The same for integers (and bool as 0 or 1); nothing also for a division by zero.
std::optional<int64_t> evaluateInt(mlir::Operation* op, llvm::ArrayRef<int64_t> x);

}  // namespace graphrun::ir

#endif  // GRAPHRUN_IR_SCALAR_H_
