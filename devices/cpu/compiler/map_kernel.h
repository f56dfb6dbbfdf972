// A map kernel is one loop nest for a group of element-wise, broadcast and small movement
// operations.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_MAP_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_MAP_KERNEL_H_

#include <string>
#include <vector>

#include "devices/codegen/map_nest.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cpu {

using codegen::KernelLayout;

/// A generated kernel: `void symbol(void* const* arguments, int64_t begin, int64_t end)` computes
/// iterations [begin, end) of [0, extent). Arguments are the operands, the results, then `sizes`:
/// large extents and strides and most scalars are no part of the code, so that kernels for other
/// shapes or of other numbers share it.
struct GeneratedKernel {
  std::string symbol;
  int64_t extent = 0;
  int64_t grain = 1;           ///< least iterations that are worth a thread
  std::vector<int64_t> sizes;  ///< extents and strides, then the bits of mapScalars
};

/// Reason why no kernel can be generated for `op` (a gr.group of kind map, or one operation); empty
/// when one can.
std::string whyNotMapKernel(mlir::Operation* op);

/// True when the kernel for `op` would work on vectors throughout: all that it reads lies next to
/// each other, or a few elements apart, in the order of what it writes. Arguments as below.
bool isVectorMap(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands, KernelLayout result);

/// Returns whether `op` is a transposition, by itself, of elements that follow each other no more,
/// nor lie so near to each other that vectors are made of vectors.
bool movesLines(mlir::Operation* op);

/// Appends the kernel for `op` to `module` as functions of the func, scf, vector and llvm dialects.
/// `operands` has one layout for each operand of `op`; all results have the layout `result`.
/// Requires an empty whyNotMapKernel(op).
GeneratedKernel buildMapKernel(mlir::ModuleOp module, mlir::Operation* op,
                               llvm::ArrayRef<KernelLayout> operands, KernelLayout result,
                               int64_t vectorBits, const std::string& symbol);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_MAP_KERNEL_H_
