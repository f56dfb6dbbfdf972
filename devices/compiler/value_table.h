// The tensors of a partition while it is compiled: which buffers hold them, in which layouts.
#ifndef GRAPHRUN_DEVICES_COMPILER_VALUE_TABLE_H_
#define GRAPHRUN_DEVICES_COMPILER_VALUE_TABLE_H_

#include "absl/status/statusor.h"
#include "devices/compiler/attributes.h"
#include "devices/device_compiler.h"
#include "devices/executable/executable.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/Value.h"

namespace graphrun::devices {

/// LayoutRules are the table's questions about a device's layouts.
class LayoutRules {
 public:
  virtual ~LayoutRules() = default;
  /// See LayoutBytes (devices/executable/executable.h).
  virtual absl::StatusOr<uint64_t> bytes(const TensorDesc& desc) const = 0;
  /// Returns whether the elements lie as in a dense row-major tensor.
  virtual bool isDense(const TensorDesc& desc) const = 0;
  /// Returns whether the two tensors are of one type and lie alike in memory, element for element.
  virtual bool isSame(const TensorDesc& a, const TensorDesc& b) const = 0;
  /// The same elements in the same order, of another type.
  virtual absl::StatusOr<TensorDesc> ofType(const TensorDesc& desc,
                                            runtime::ElementType type) const = 0;
  /// Makes `instruction` one of the kernel that copies its operand to its result; one of the two is
  /// not dense.
  virtual absl::Status setCopyKernel(Instruction& instruction) const = 0;
};

/// Values, and the executable that grows with them. A value may lie in several buffers, each in
/// another layout: the one it was produced in first, then copies made by reorders.
class ValueTable {
 public:
  /// All that is given outlives the table.
  ValueTable(Executable& executable, const WeightIndex& weightIndex, const LayoutRules& layouts)
      : executable_(executable), weightIndex_(weightIndex), layouts_(layouts) {}

  Executable& executable() { return executable_; }
  const LayoutRules& layouts() const { return layouts_; }

  /// A new buffer in the arena.
  absl::StatusOr<uint32_t> newArenaBuffer(const TensorDesc& desc);
  uint32_t newBuffer(Buffer buffer);

  /// `value` lies in `buffer` from now on, as `desc` says.
  void define(mlir::Value value, uint32_t buffer, const TensorDesc& desc);

  /// The result of an instruction that lies as `desc` says: in the buffer that was reserved for
  /// `value`, if it was in that layout, else in a new arena buffer.
  absl::StatusOr<Argument> write(mlir::Value value, const TensorDesc& desc);

  /// Makes `write` put `value` into the buffer of `location` if it comes in that layout.
  void reserve(mlir::Value value, const Argument& location) { reserved_[value] = location; }
  /// Returns where it is to be, if anywhere.
  std::optional<Argument> reserved(mlir::Value value) const;

  /// `value`, which is in a buffer already, also in `location`; copied there unless it is.
  absl::Status place(mlir::Value value, const Argument& location);

  /// The layout that `value` was produced in; dense for constants.
  TensorDesc produced(mlir::Value value) const;

  /// `value` in the layout `desc`; a reorder instruction is added unless it lies somewhere like
  /// that already. Constants are laid out at load. `source` is how the value's dense bytes are read
  /// when `desc` has other dims or another order of them (see LayoutChoice::sources). Without it
  /// `desc` may have other dims than the value, of as many elements, only when both are dense or
  /// the value is constant.
  absl::StatusOr<Argument> read(mlir::Value value, const TensorDesc& desc,
                                const TensorDesc* source = nullptr);
  absl::StatusOr<Argument> readDense(mlir::Value value) { return read(value, denseDesc(value)); }

  /// Adds the state `op` to the executable, and its value when a step begins to the table.
  absl::Status addState(ir::StateOp op);

 private:
  /// Sets what a stored buffer is filled from: `value`, an attribute of `op`.
  absl::Status setContent(Buffer& buffer, mlir::Operation* op, mlir::ElementsAttr value);
  /// `value` is a weight (passes::weightOf).
  absl::StatusOr<Argument> readConstant(mlir::Value value, const TensorDesc& desc,
                                        const TensorDesc* source);
  /// A copy of `from`, which has as many elements, in the layout `desc`.
  absl::StatusOr<Argument> reorder(const Argument& from, const TensorDesc& desc);
  absl::Status copy(const Argument& from, const Argument& to);
  /// `value`, whose dense bytes are read as `source` says, in the layout `desc`; for this reader
  /// alone, as the dims do not mean what they mean to others.
  absl::StatusOr<Argument> readThrough(mlir::Value value, const TensorDesc& desc,
                                       const TensorDesc& source);

  Executable& executable_;
  const WeightIndex& weightIndex_;
  const LayoutRules& layouts_;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Argument, 2>> locations_;
  llvm::DenseMap<mlir::Value, Argument> reserved_;
};

}  // namespace graphrun::devices

#endif  // GRAPHRUN_DEVICES_COMPILER_VALUE_TABLE_H_
