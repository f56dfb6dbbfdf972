// Kernels of one thread for each of many independent pieces of work.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_POINT_CODE_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_POINT_CODE_H_

#include <string>

#include "devices/cuda/compiler/emit/thread_code.h"
#include "llvm/ADT/DenseSet.h"

namespace graphrun::devices::cuda {

/// Emits one kernel: a thread has a position in a grid of any number of dims, and says what it does
/// there by arithmetic on indices (values of index type) and accesses to the operands and results.
class PointCode {
 public:
  using Values = llvm::SmallVector<mlir::Value>;
  using Work = llvm::function_ref<void(llvm::ArrayRef<mlir::Value> index, mlir::Value number)>;

  /// `dims` of the grid, row-major; each at least 1.
  PointCode(mlir::Operation* op, llvm::ArrayRef<int64_t> dims);

  /// The numbers that shapes alone give: parameters of the kernel, so that shapes share code.
  void addSizes(llvm::ArrayRef<int64_t> sizes);

  /// Emits the kernel @symbol; `work` is done by the thread at `index`, the `number`-th.
  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol, Work work);

  ThreadCode& code() { return code_; }

  mlir::Value constant(int64_t value) { return code_.constant(value); }
  /// A size that was added, as a parameter where it is large; others are part of the code.
  mlir::Value number(int64_t size);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value times(mlir::Value a, int64_t factor);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b);
  /// Signed comparisons.
  mlir::Value isLess(mlir::Value a, mlir::Value b);
  mlir::Value isInside(mlir::Value a, int64_t size);  ///< 0 <= a < size
  /// The nearest of 0 … size - 1.
  mlir::Value clamped(mlir::Value a, int64_t size);
  /// Row-major offset of `index` in a tensor of `dims`.
  mlir::Value offsetOf(llvm::ArrayRef<mlir::Value> index, llvm::ArrayRef<int64_t> dims);
  /// The index at such an offset.
  Values indexOf(mlir::Value offset, llvm::ArrayRef<int64_t> dims);

  /// The address of an element of an operand, or, counted on, of a result.
  mlir::Value address(unsigned argument, mlir::Value offset);
  /// An element, or `lanes` that lie next to each other, as they are in memory.
  mlir::Value load(unsigned argument, mlir::Value offset, int64_t lanes = 1);
  void store(mlir::Value value, unsigned argument, mlir::Value offset);
  /// One element in the type that it is computed in.
  mlir::Value compute(unsigned argument, mlir::Value offset);
  void storeComputed(mlir::Value value, unsigned argument, mlir::Value offset);
  /// The index that an operand of i32 or i64 holds, counted from the end where it is negative and
  /// `fromEnd`; the nearest of 0 … size - 1, and a complaint, where it is out of range.
  mlir::Value loadIndex(unsigned operand, mlir::Value offset, int64_t size, bool fromEnd = true,
                        KernelError error = KernelError::kIndex);

  /// Does `body` for count rounds with values that go from one to the next; what they are after the
  /// last.
  using Round = llvm::function_ref<Values(mlir::Value round, mlir::ValueRange values)>;
  Values repeat(int64_t count, llvm::ArrayRef<mlir::Value> start, Round body) {
    return repeat(number(count), start, body);
  }
  Values repeat(mlir::Value count, llvm::ArrayRef<mlir::Value> start, Round body);

 private:
  mlir::Type elementOf(unsigned argument) const;

  mlir::Operation* op_;
  llvm::SmallVector<int64_t> dims_;
  llvm::DenseSet<int64_t> sizes_;
  ThreadCode code_;
};

/// As many elements, a power of two and at most 16 bytes of them, as all `counts` can be cut into.
int64_t commonLanes(mlir::Type element, llvm::ArrayRef<int64_t> counts);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_POINT_CODE_H_
