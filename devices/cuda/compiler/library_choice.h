// Instructions of the kernel list (devices/cuda/program/kernel_list.h) for operations and their
// epilogues.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_LIBRARY_CHOICE_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_LIBRARY_CHOICE_H_

#include "devices/compiler/library_instruction.h"
#include "devices/executable/kernel_refusals.h"
#include "runtime/base/numerics.h"

namespace graphrun::devices::cuda {

/// An instruction and the library's kernel for it.
struct LibraryChoice {
  LibraryInstruction library;  ///< `library.instruction.kernel` is set
  uint64_t scratchBytes = 0;
};

/// The GPU and the options that a partition is compiled for.
struct GpuTarget {
  runtime::Precision precision = runtime::Precision::kF32;
  int capability = 0;  ///< of the GPU: 80, 90; 0: of any
  runtime::Numerics numerics = runtime::Numerics::kFast;
  const RefusedKernels* refused = nullptr;  ///< that are not to be chosen; null: none
};

/// How an instruction is wanted.
struct LibraryOptions {
  runtime::Precision precision =
      runtime::Precision::kF32;             ///< kTF32: factors of f32 may be rounded
  bool channelsLast = false;                ///< images and filters; for `hasImages` alone
  const RefusedKernels* refused = nullptr;  ///< that are not to be chosen; null: none
};

/// True for convolutions and pools: their tensors may lie with the channels last.
bool hasImages(mlir::Operation* op);

/// The best kernel for `op` and then `epilogue`, whose last result is `result` (see
/// libraryInstruction). A tensor that is added and not needed afterwards may be where the result
/// comes to lie (a post-op kSum). Unimplemented, with a reason, when no library takes all of it, or
/// those that do refused it on this GPU.
absl::StatusOr<LibraryChoice> chooseLibrary(mlir::Operation* op,
                                            llvm::ArrayRef<mlir::Operation*> epilogue,
                                            mlir::Value result, const LibraryOptions& options);

/// The same for a product of operands that are dequantised (passes::dequantizedFloatsOf) from 8-bit
/// floats: of these, with the scales behind it, where the GPU's tensor cores multiply them. Their
/// sums are less exact than those of f32, so numerics must be fast, and a result of f32 one that
/// may be rounded (TF32).
absl::StatusOr<LibraryChoice> chooseFloat8Product(mlir::Operation* op,
                                                  llvm::ArrayRef<mlir::Operation*> epilogue,
                                                  mlir::Value result, const GpuTarget& target);

/// The same for a group of an attention and the views around it. `refused` may be null.
absl::StatusOr<LibraryChoice> chooseAttention(ir::GroupOp group, const RefusedKernels* refused);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_LIBRARY_CHOICE_H_
