// A partition comes down to work items, and a kernel is selected for each.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_KERNEL_SELECTION_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_KERNEL_SELECTION_H_

#include "devices/cpu/compiler/work_candidates.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::devices::cpu {

/// The work items of a partition in execution order, the return last, each with its
/// candidates. Unimplemented for an operation that no kernel computes.
absl::StatusOr<std::vector<WorkItem>> collectWorkItems(mlir::func::FuncOp partition,
                                                       WorkCandidates& candidates);

/// The candidate of each item such that the time of all items and of the reorders between them
/// is short (see AssignmentProblem). `nanosPerByte`: what a byte of weights, results and scratch
/// memory counts for beside that.
std::vector<uint32_t> selectKernels(const std::vector<WorkItem>& items,
                                    const InstructionCosts& costs, double nanosPerByte);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_KERNEL_SELECTION_H_
