// Steps of the kernel list (devices/cuda/kernels.h) for operations and their epilogues.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_LIBRARY_CHOICE_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_LIBRARY_CHOICE_H_

#include "devices/compiler/library_step.h"
#include "runtime/base/numerics.h"

namespace graphrun::devices::cuda {

/// A step and the library's kernel for it.
struct LibraryChoice {
  LibraryStep library;  ///< `library.step.kernel` is set
  uint64_t scratchBytes = 0;
};

/// How a step is wanted.
struct LibraryWish {
  runtime::Precision precision =
      runtime::Precision::kF32;  ///< kTF32: factors of f32 may be rounded
  bool channelsLast = false;     ///< images and filters; for `hasImages` alone
};

/// True for convolutions and pools: their tensors may lie with the channels last.
bool hasImages(mlir::Operation* op);

/// The best kernel for `op` and then `epilogue`, whose last result is `result` (see libraryStep).
/// A tensor that is added and not needed afterwards may be where the result comes to lie (a post-op
/// kSum). Unimplemented, with a reason, when no library takes all of it.
absl::StatusOr<LibraryChoice> chooseLibrary(mlir::Operation* op,
                                            llvm::ArrayRef<mlir::Operation*> epilogue,
                                            mlir::Value result, const LibraryWish& wish);

/// The same for a group of an attention and the views around it.
absl::StatusOr<LibraryChoice> chooseAttention(ir::GroupOp group);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_LIBRARY_CHOICE_H_
