// A partition comes down to work items before instructions are written.
#ifndef GRAPHRUN_DEVICES_COMPILER_WORK_ITEM_H_
#define GRAPHRUN_DEVICES_COMPILER_WORK_ITEM_H_

#include <vector>

#include "devices/compiler/group_values.h"
#include "devices/compiler/library_instruction.h"

namespace graphrun::devices {

/// CandidateLayouts are what a candidate of any device tells: how tensors lie for it, and its cost.
struct CandidateLayouts {
  std::vector<TensorDesc> operands;  ///< as it reads them, one an operand of the item
  std::vector<TensorDesc> results;   ///< as it leaves them
  double nanos = 0;                  ///< only differences between candidates of one item count
};

/// A work item becomes instructions, mostly one, or none (a view). `WorkKind` and `Candidate`,
/// which begins with CandidateLayouts, are the device's.
template <typename WorkKind, typename Candidate>
struct WorkItemOf {
  WorkKind kind = {};
  mlir::Operation* op = nullptr;
  /// Values that it reads: results of other items, constants, inputs of the partition. A library
  /// instruction's operands come first, then those of its post-ops.
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<mlir::Value> results;
  std::vector<Candidate> candidates;  ///< at least one

  /// Takes the operands and results of `operation`.
  void setOperation(mlir::Operation* operation, const GroupValues& values) {
    op = operation;
    for (mlir::Value operand : operation->getOperands()) {
      operands.push_back(values.resolved(operand));
    }
    results.assign(operation->result_begin(), operation->result_end());
  }

  /// Takes the operands and results of a library's instruction for `operation`.
  void setLibrary(mlir::Operation* operation, const LibraryInstruction& library,
                  const GroupValues& values) {
    op = operation;
    for (const auto* list : {&library.operands, &library.postOperands}) {
      for (mlir::Value operand : *list) {
        if (operand) {
          operands.push_back(values.resolved(operand));
        }
      }
    }
    results = library.results;
  }
};

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_WORK_ITEM_H_
