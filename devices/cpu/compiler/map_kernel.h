// One loop nest for a group of element-wise, broadcast and small movement operations.
#ifndef GRAPHRUN_DEVICES_CPU_COMPILER_MAP_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_COMPILER_MAP_KERNEL_H_

#include <string>
#include <vector>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cpu {

/// How a tensor lies in memory, as generated code sees it. With C the result's dim 1 (and the dim
/// of an operand that is aligned with it), as convolutions leave their results:
/// - dense: row-major;
/// - channels last: N x D1 x … x C;
/// - channel blocks: N x C/block x D1 x … x block, where elements of the last block beyond C are
///   kept 0.
/// An operand that broadcasts along C or along all spatial dims may be dense when the result is
/// not.
struct KernelLayout {
  enum class Order : uint8_t { kDense, kChannelsLast, kChannelBlocks };

  Order order = Order::kDense;
  int64_t block = 0;  ///< kChannelBlocks

  bool isDense() const { return order == Order::kDense; }
  bool operator==(const KernelLayout&) const = default;
};

/// A generated kernel: `void symbol(void* const* arguments, int64_t begin, int64_t end)` computes
/// iterations [begin, end) of [0, extent). Arguments are the operands, the results, then `sizes`:
/// large extents and strides are no part of the code, so that kernels for other shapes share it.
struct GeneratedKernel {
  std::string symbol;
  int64_t extent = 0;
  int64_t grain = 1;  ///< least iterations that are worth a thread
  std::vector<int64_t> sizes;
};

/// Reason why no kernel can be generated for `op` (a gr.group of kind map, or one operation); empty
/// when one can.
std::string whyNotMapKernel(mlir::Operation* op);

/// True when the kernel for `op` would work on vectors throughout: all that it reads lies next to
/// each other, or a few elements apart, in the order of what it writes. Arguments as below.
bool isVectorMap(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands, KernelLayout result);

/// Appends the kernel for `op` to `module` as functions of the func, scf, vector and llvm dialects.
/// `operands` has one layout for each operand of `op`; all results have the layout `result`.
/// Requires an empty whyNotMapKernel(op).
GeneratedKernel buildMapKernel(mlir::ModuleOp module, mlir::Operation* op,
                               llvm::ArrayRef<KernelLayout> operands, KernelLayout result,
                               int64_t vectorBits, const std::string& symbol);

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_COMPILER_MAP_KERNEL_H_
