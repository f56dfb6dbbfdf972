// Rows of a tensor, each of which a team of threads walks along and reduces.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_ROW_CODE_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_ROW_CODE_H_

#include <string>

#include "devices/cuda/compiler/emit/thread_code.h"

namespace graphrun::devices::cuda {

/// A tensor as outer x size x inner, row-major: a row is what lies along `size`.
struct Rows {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner = 1;

  /// Each row is cut into so many parts, of `partSize` elements but the last, which are reduced
  /// apart: their results, in the type that is computed in, lie one after the other in scratch
  /// memory, row by row.
  int64_t parts = 1, partSize = 0;
  /// The elements of rows are such results.
  bool arePartial = false;

  int64_t count() const { return outer * inner; }
};

/// `rows`, in as many parts as it takes to keep a GPU busy; rows of few elements stay whole.
Rows inParts(Rows rows, int64_t elementBytes);

/// The type that elements of rows are computed in: f32 for the 16-bit floats, i32 for narrower
/// integers.
mlir::Type rowComputeType(mlir::Type element);

/// Emits one kernel over the rows of operand 0. A row whose elements lie next to each other has a
/// warp, or a block where it is long, and each thread takes vectors of it in turns; other rows have
/// a thread each, so that neighbours read neighbouring elements. Where a row is a few vectors for
/// each thread, they are read once and stay in registers. Operands and results may have other types
/// than operand 0: all are computed in its type.
class RowCode {
 public:
  using Element = llvm::function_ref<mlir::Value(mlir::Value x)>;
  using Combine = llvm::function_ref<mlir::Value(mlir::Value a, mlir::Value b)>;

  /// `widest`: bytes of the widest element that is read or written along rows.
  RowCode(mlir::Operation* op, Rows rows, int64_t widest);

  /// Emits the kernel @symbol: `work` says what is done for a row.
  KernelLaunch build(mlir::ModuleOp module, const std::string& symbol,
                     llvm::function_ref<void()> work);

  ThreadCode& code() { return code_; }
  /// Elements that a thread handles at a time; values along a row are vectors of them.
  int64_t lanes() const { return lanes_; }
  /// The type that operand 0 is computed in.
  mlir::Type computeType() const { return compute_; }

  /// The number of the row.
  mlir::Value row() const { return row_; }
  /// A size that was added, in the type that is computed in, a floating-point one.
  mlir::Value asFloat(int64_t size);
  /// The first element of the row, and the constant `value`, each for all lanes.
  mlir::Value firstElement();
  mlir::Value spread(mlir::Value scalar);
  mlir::Value constant(double value);

  /// `combine` of `element` of all elements x, beginning with `start`, which has no influence on
  /// the result however often it is combined: one scalar, the same in all threads of the row.
  mlir::Value reduce(mlir::Value start, Element element, Combine combine);

  /// Does `body` for all elements x of the row at the offsets in the row that it is given.
  void forEach(llvm::function_ref<void(mlir::Value x, mlir::Value column)> body);

  /// Stores a value along the row at a column of result 0.
  void storeAt(mlir::Value column, mlir::Value value);
  /// Elements of an operand that is as long as a row, in the type that they are computed in.
  mlir::Value loadColumn(unsigned operand, mlir::Value column);
  /// Stores the scalar of the row as element `row` of result 0, or of its part, by one thread.
  void storeRow(mlir::Value scalar);

 private:
  void takeUnit(mlir::Value unit);
  void holdRow();
  mlir::Type memoryTypeOf(mlir::Value value) const;
  mlir::Value firstColumn();
  mlir::Value computed(mlir::Value elements);
  mlir::Value elementAddress(mlir::Value offset);
  mlir::Value offsetOf(mlir::Value column);
  mlir::Value elementsAt(mlir::Value column);
  mlir::Value reduceByThread(mlir::Value start, Element element, Combine combine);
  mlir::Value acrossLanes(mlir::Value vector, Combine combine);
  mlir::Value acrossWarp(mlir::Value value, Combine combine);
  mlir::Value acrossBlock(mlir::Value value, Combine combine);
  mlir::Value shuffle(mlir::Value value, int64_t distance);
  mlir::Value remainder(mlir::Value number, int64_t divisor);
  mlir::Value quotient(mlir::Value number, int64_t divisor);

  mlir::Operation* op_;
  Rows rows_;
  int64_t lanes_ = 1;
  int64_t team_ = 1;   // threads of a row
  int64_t block_ = 0;  // threads of a block
  ThreadCode code_;
  mlir::Type memory_, compute_;
  bool isUnsigned_ = false;
  mlir::Value thread_, member_, row_, begin_;
  /// The elements that the thread holds of its row, and their columns; empty where they are read in
  /// a loop.
  llvm::SmallVector<mlir::Value> held_, heldColumns_;
  mlir::Value part_, from_, to_;  // the part of the row, null where it is whole, and its columns
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_EMIT_ROW_CODE_H_
