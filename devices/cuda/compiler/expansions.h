// Operations that are computed by several others, where no library takes them whole.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EXPANSIONS_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EXPANSIONS_H_

#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"

namespace graphrun::devices::cuda {

/// True for an operation of static shapes that `expand` knows:
/// - attention: products, the scores' scale and mask, softmax;
/// - normalisation by given statistics, or by those of each channel of each sample;
/// - reductions of dims that do not follow each other: transposed first;
/// - products whose batches broadcast against each other, layer normalisation whose scale or bias
///   broadcasts: the operands are spread out first;
/// - transposed convolutions with a bias, which cuDNN adds only where the channels are last.
bool isExpanded(mlir::Operation* op);

/// True for a convolution of 16-bit floats whose windows lie side by side on few channels, as those
/// that begin vision transformers: `expand` makes a product of it. cuDNN's engines for tensor cores
/// want more channels; the one that it took for 3 of them was 7 times as slow on an H200.
bool isProductOfPatches(mlir::Operation* op);

/// The operations that compute `op`, inserted before it, in order; what read its result reads
/// theirs, and `op` stays behind unused. What is element-wise is in groups. Requires
/// isExpanded(op) or isProductOfPatches(op).
llvm::SmallVector<mlir::Operation*> expand(mlir::Operation* op);

/// Before `op`: the mask that its attention adds, with the least number of its type in the place of
/// minus infinity. What a library makes of a row of nothing else is not documented; so the row has
/// a mean of the values (CPUs and generated kernels give NaN, the softmax of such a row). Null
/// where the mask is a constant that leaves each row something.
mlir::Operation* makeFiniteMask(mlir::Operation* op, mlir::Value mask);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EXPANSIONS_H_
