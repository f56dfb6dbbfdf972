// Runs a graph by the CPU's reference kernels, an operation at a time: the oracle of gradients.
#ifndef GRAPHRUN_TESTS_IR_GRADIENTS_REFERENCE_PROGRAM_H_
#define GRAPHRUN_TESTS_IR_GRADIENTS_REFERENCE_PROGRAM_H_

#include <memory>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tests/devices/cpu/instruction_runner.h"

namespace graphrun::ir {

class ReferenceProgram {
 public:
  /// All shapes of `func` are static, and it has no groups.
  static absl::StatusOr<ReferenceProgram> make(mlir::func::FuncOp func);

  /// Gives what the function returns.
  absl::StatusOr<devices::cpu::Tensors> run(const devices::cpu::Tensors& inputs);

 private:
  std::unique_ptr<devices::Program> program_;
};

}  // namespace graphrun::ir

#endif  // GRAPHRUN_TESTS_IR_GRADIENTS_REFERENCE_PROGRAM_H_
