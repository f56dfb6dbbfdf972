// The loops of a group of element-wise and movement operations, and where in memory they read.
#ifndef GRAPHRUN_DEVICES_CODEGEN_MAP_NEST_H_
#define GRAPHRUN_DEVICES_CODEGEN_MAP_NEST_H_

#include <string>

#include "devices/codegen/index_maps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "mlir/IR/Builders.h"

namespace graphrun::devices::codegen {

/// A KernelLayout says how a tensor lies in memory, as generated code sees it. With C the result's
/// dim 1 (and the dim of an operand that is aligned with it), as convolutions leave their results:
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

/// Reason why `op` (a gr.group of kind map, or one operation) is no map over elements that are
/// computed in; empty when it is one.
std::string whyNotMap(mlir::Operation* op);

/// Returns whether a group has movements by shapes of several numbers: often views and
/// transpositions, which are faster one by one.
bool movesByShapes(mlir::Operation* op);

/// An access to memory: an operand or result, at an affine offset (in elements, of the loops).
struct MapAccess {
  unsigned argument;  ///< index among the operands
  mlir::Type element;
  mlir::AffineExpr offset;
};

/// The loops over the results of a map: physical dims, split until offsets are sums over them where
/// that is possible, and merged where every access allows it.
class MapNest {
 public:
  using Key = std::pair<mlir::Value, mlir::Attribute>;  ///< a value at an index
  using Load = llvm::function_ref<mlir::Value(const MapAccess&)>;

  /// Requires an empty whyNotMap(op). `operands` has one layout for each operand of `op`; all
  /// results have the layout `result`.
  MapNest(mlir::Operation* op, llvm::ArrayRef<KernelLayout> operands, KernelLayout result);

  /// Iterations of each loop, the innermost last; at least one loop.
  llvm::ArrayRef<int64_t> loops() const { return loops_; }
  /// Returns where operands are read, each offset once.
  const llvm::MapVector<Key, MapAccess>& accesses() const { return accesses_; }
  /// Returns where all results are written.
  mlir::AffineExpr store() const { return store_; }
  /// The channel that is written, where some lie beyond the last and are kept 0; else null.
  mlir::AffineExpr channel() const { return channel_; }
  /// Nothing is computed.
  bool moves() const { return moves_; }

  /// Returns the values that the operands are inside, and those that the results are.
  llvm::SmallVector<mlir::Value> inputs() const;
  llvm::SmallVector<mlir::Value> results() const;

  /// Emits the results' values for one iteration, or for `lanes` of them as vectors; `load` gives
  /// those of an access, in the type that `valueType` says. `before`, if given, may emit something
  /// before an element-wise operation, whose operands' values it gets. Constants become immediates,
  /// but for those that `scalars` has values of, in their compute type (see mapScalars).
  using Before = llvm::function_ref<void(mlir::Operation*, mlir::ValueRange)>;
  using Scalars = llvm::DenseMap<mlir::Value, mlir::Value>;
  llvm::SmallVector<mlir::Value> emit(mlir::OpBuilder& builder, mlir::Location loc, int64_t lanes,
                                      Load load, Before before = nullptr,
                                      const Scalars* scalars = nullptr);

  /// The type of values of an element type: what is only moved stays as it lies in memory.
  mlir::Type valueType(mlir::Type element) const;

 private:
  void planLoops();
  void planValues();
  bool splitLoop();
  void mergeLoops();
  mlir::AffineExpr dim(unsigned i) const { return mlir::getAffineDimExpr(i, context_); }
  mlir::AffineExpr offsetOf(mlir::RankedTensorType type, llvm::ArrayRef<mlir::AffineExpr> index,
                            KernelLayout layout);
  mlir::Attribute keyOf(llvm::ArrayRef<mlir::AffineExpr> index) const;
  void need(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);

  mlir::Operation* op_;
  mlir::MLIRContext* context_;
  llvm::SmallVector<KernelLayout> operandLayouts_;
  KernelLayout resultLayout_;
  llvm::SmallVector<int64_t> loops_;
  Index logical_;                  // the result's index by loop
  mlir::AffineExpr channel_;       // null unless the last block has elements beyond the channels
  mlir::AffineExpr block_, lane_;  // of channels in blocks
  unsigned indexDims_ = 0;         // of indices: the loops before they were merged
  bool moves_ = false;
  llvm::DenseMap<mlir::Value, llvm::MapVector<mlir::Attribute, Index>> needed_;
  llvm::MapVector<Key, MapAccess> accesses_;
  mlir::AffineExpr store_;
};

}  // namespace graphrun::devices::codegen

#endif  // GRAPHRUN_DEVICES_CODEGEN_MAP_NEST_H_
