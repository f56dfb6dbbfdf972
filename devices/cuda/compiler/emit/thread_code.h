// Emits the code of one thread of a kernel: parameters, its position in the grid, memory.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_THREAD_CODE_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_THREAD_CODE_H_

#include <string>

#include "devices/codegen/kernel_sizes.h"
#include "devices/cuda/compiler/emit/kernel_launch.h"
#include "devices/cuda/kernels/kernel_errors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::devices::cuda {

/// Most elements of a tensor, and most threads, whose numbers are computed in 32 bits.
inline constexpr int64_t kMostIn32Bits = (int64_t{1} << 31) - 2048;

/// Emits one kernel: a function whose parameters are pointers to the operands of an operation, to
/// tables, results and scratch memory, then sizes. First sizes are added, then `begin` makes the
/// function, then its code is emitted.
class ThreadCode {
 public:
  explicit ThreadCode(mlir::Operation* op)
      : builder_(op->getContext()), loc_(op->getLoc()), op_(op) {}

  /// Numbers that are no part of the code; `number` gives one inside the function.
  codegen::KernelSizes& sizes() { return sizes_; }
  /// The kernel reads so many tables, or scratch memory, too.
  void useTables(size_t count) { tables_ = count; }
  void useScratch() { usesScratch_ = true; }
  /// The kernel is launched several times, and has the number of the launch as its last parameter.
  void useStep() { usesStep_ = true; }
  mlir::Value step() { return step_; }

  /// Starts @symbol at the end of `module`, for blocks of `blockThreads` threads; `threads`: of the
  /// whole grid.
  void begin(mlir::ModuleOp module, const std::string& symbol, int64_t blockThreads,
             int64_t threads);
  /// Ends it and says how to launch it: as many blocks as the threads fill. What is not read is no
  /// argument.
  KernelLaunch end();

  mlir::OpBuilder& builder() { return builder_; }
  mlir::Location loc() const { return loc_; }
  template <typename Op, typename... Args>
  mlir::Value make(const Args&... args) {
    return builder_.create<Op>(loc_, args...);
  }

  mlir::Value constant(int64_t value);  ///< of index type
  mlir::Value number(int64_t size) { return sizes_.value(builder_, loc_, size); }
  mlir::Value threadOfBlock();
  mlir::Value block();

  /// A new array in the block's shared memory, the address of its first element.
  mlir::Value sharedArray(mlir::Type memory, int64_t count);
  /// All threads of the block come here before one goes on.
  void barrier();

  /// Notes an error of the program where the condition holds; the first one stays, with what
  /// `details` emits of it (i64: ErrorRecord). A kernel that has such a condition gets the
  /// ErrorRecord, behind all other parameters.
  using Details = llvm::function_ref<llvm::SmallVector<mlir::Value>()>;
  void complainIf(mlir::Value condition, KernelError error, Details details = nullptr);

  /// Emits a branch: `then` emits the code where the condition holds, `otherwise` the code where it
  /// does not.
  void emitIf(mlir::Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise = nullptr);

  /// The address of an element of an operand, or, counted on, of a result.
  mlir::Value address(unsigned argument, mlir::Type memory, mlir::Value index);
  /// The address of an element of a table, or of one behind `offset` bytes of scratch memory.
  mlir::Value tableAddress(size_t table, mlir::Type memory, mlir::Value index);
  mlir::Value scratchAddress(int64_t offset, mlir::Type memory, mlir::Value index);
  /// The address of the element at `index` (of index type) of an array.
  mlir::Value element(mlir::Value array, mlir::Type memory, mlir::Value index);
  /// The address `count` elements on.
  mlir::Value after(mlir::Value address, mlir::Type memory, int64_t count);
  /// Elements that lie next to each other: a vector, or one. The address is a multiple of their
  /// size.
  mlir::Value load(mlir::Value address, mlir::Type memory, int64_t lanes);
  void store(mlir::Value value, mlir::Value address);

 private:
  KernelArgument argumentOf(size_t pointer) const;

  mlir::OpBuilder builder_;
  mlir::Location loc_;
  mlir::Operation* op_;
  codegen::KernelSizes sizes_;
  mlir::func::FuncOp function_;
  llvm::SmallVector<mlir::Value> pointers_;  // to operands, tables, results, scratch memory
  size_t tables_ = 0;
  bool usesScratch_ = false, usesStep_ = false;
  mlir::Value step_;
  mlir::Value errors_, errorBase_;
  int shared_ = 0;  // arrays in shared memory so far
  KernelLaunch launch_;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_THREAD_CODE_H_
