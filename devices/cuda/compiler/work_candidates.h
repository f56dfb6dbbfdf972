// The kernels that could compute a work item, and the layouts of its tensors with each.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_CANDIDATES_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_CANDIDATES_H_

#include "devices/cuda/compiler/work_item.h"

namespace graphrun::devices::cuda {

/// The candidates of a library for `op` and then `epilogue` (see chooseLibrary). Convolutions on
/// tensor cores have the channels last, others are dense; pools are either. Unimplemented, with the
/// reasons, when no library takes it.
absl::StatusOr<std::vector<WorkCandidate>> libraryCandidates(
    mlir::Operation* op, llvm::ArrayRef<mlir::Operation*> epilogue, mlir::Value result,
    const GpuTarget& target);

/// The candidates for a product of 8-bit floats (see chooseFloat8Product).
absl::StatusOr<std::vector<WorkCandidate>> float8Candidates(
    mlir::Operation* op, llvm::ArrayRef<mlir::Operation*> epilogue, mlir::Value result,
    const GpuTarget& target);

/// The candidates for a group of an attention (see chooseAttention).
absl::StatusOr<std::vector<WorkCandidate>> attentionCandidates(ir::GroupOp group,
                                                               const GpuTarget& target);

/// The candidates of a generated kernel for `op`: dense, and where that is no slower, with the
/// channels last. Requires an empty whyNotGenerated(op).
std::vector<WorkCandidate> generatedCandidates(mlir::Operation* op);

/// The candidate that reads and leaves its tensors dense.
WorkCandidate denseCandidate(mlir::Operation* op);

/// About the time that a copy of a tensor into the layout `wanted` takes. Only ratios matter.
double copyNanos(const TensorDesc& wanted);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_WORK_CANDIDATES_H_
