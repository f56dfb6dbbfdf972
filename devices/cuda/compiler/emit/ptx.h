// PTX, the text that NVIDIA's driver turns into code for its GPU, by LLVM's NVPTX backend.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_PTX_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_PTX_H_

#include <string>

#include "absl/status/statusor.h"
#include "devices/codegen/llvm_code.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cuda {

/// The attribute of a function that says how many threads each block has (i32).
inline constexpr llvm::StringLiteral kBlockThreadsAttr = "kernel.block_threads";

/// The attribute of a module that says in how many bits offsets in memory are computed: 32 or 64
/// (i32). 64 where it is missing.
inline constexpr llvm::StringLiteral kIndexBitsAttr = "kernel.index_bits";

/// The target of PTX for a GPU of a compute capability (10 * major + minor: 80, 90, 100). It is the
/// newest architecture of that capability or below that this LLVM knows, which is 90. PTX runs on
/// all later ones: the driver and ptxas compile a kernel that says sm_90 for an sm_100 as well. The
/// PTX version is the oldest that has the architecture, so that old drivers read it. Unimplemented
/// below 75, which CUDA 13 has dropped.
absl::StatusOr<codegen::CodeTarget> ptxTarget(int computeCapability);

/// Turns the functions of `module` (arith, math, scf, vector, func, llvm and nvvm dialects) into
/// PTX: public ones become kernels, whose arguments are pointers to global memory and i64. Changes
/// the module. Internal on failure.
absl::StatusOr<std::string> emitPtx(mlir::ModuleOp module, const codegen::CodeTarget& target);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_PTX_H_
