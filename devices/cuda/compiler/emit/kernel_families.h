// Kinds of kernels, one a file: what each can do, and how it is built.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_KERNEL_FAMILIES_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_KERNEL_FAMILIES_H_

#include <string>

#include "devices/cuda/compiler/emit/operation_kernels.h"

namespace graphrun::devices::cuda {

/// Operations of static shapes that one file builds kernels for.
struct KernelFamily {
  /// True for the operations that are the family's alone.
  bool (*has)(mlir::Operation* op);
  /// Reason why no kernel can be built for such an operation; empty when one can.
  std::string (*whyNot)(mlir::Operation* op);
  /// Adds the kernels. Requires an empty whyNot.
  void (*build)(OperationKernels& kernels);
};

/// shape, fill, range and random: results that no elements are read for.
KernelFamily fillKernels();
/// cast from and to element types of less than 16 bits that are not computed in; bitcast.
KernelFamily convertKernels();
/// resize, where it is no map.
KernelFamily resizeKernels();
/// grid_sample, roi_align: interpolation at computed positions.
KernelFamily sampleKernels();
/// scatter_elements, scatter_nd.
KernelFamily scatterKernels();
/// top_k.
KernelFamily topKKernels();

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_KERNEL_FAMILIES_H_
