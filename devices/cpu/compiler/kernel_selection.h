// From a partition to pieces of work, and the selection of a kernel for each.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_PLAN_WORK_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_PLAN_WORK_H_

#include "devices/cpu/compiler/work_candidates.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace graphrun::devices::cpu {

/// The pieces of work of a partition in execution order, the return last, each with its
/// candidates. Unimplemented for an operation that no kernel computes.
absl::StatusOr<std::vector<Work>> planWork(mlir::func::FuncOp partition,
                                           WorkCandidates& candidates);

/// The candidate of each piece such that the time of all pieces and of the reorders between them
/// is short (see AssignmentProblem). `nanosPerByte`: what a byte of weights, results and scratch
/// memory counts for beside that.
std::vector<uint32_t> selectKernels(const std::vector<Work>& work, const InstructionCosts& costs,
                                    double nanosPerByte);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_PLAN_WORK_H_
