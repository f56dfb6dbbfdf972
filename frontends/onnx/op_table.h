// The table lists the ONNX operations that are imported, each with its handler.
#ifndef GRAPHRUN_FRONTENDS_ONNX_OP_TABLE_H_
#define GRAPHRUN_FRONTENDS_ONNX_OP_TABLE_H_

#include <vector>

#include "frontends/onnx/node.h"

namespace graphrun::frontends {

// The newest operator sets, in rows.
inline constexpr int kLast = kLastOpset;
inline constexpr int kLastMl = 5;

// The rows of each family, beside their handlers.
llvm::ArrayRef<OpRow> mathOps();
/// Those that are one gr operation each: rows of devices/functions/elementwise.def.
llvm::ArrayRef<OpRow> elementwiseOps();
llvm::ArrayRef<OpRow> bitOps();
llvm::ArrayRef<OpRow> activationOps();
llvm::ArrayRef<OpRow> reduceOps();
llvm::ArrayRef<OpRow> windowOps();
llvm::ArrayRef<OpRow> normOps();
llvm::ArrayRef<OpRow> statisticOps();
llvm::ArrayRef<OpRow> lossOps();
llvm::ArrayRef<OpRow> attentionOps();
llvm::ArrayRef<OpRow> recurrenceOps();
llvm::ArrayRef<OpRow> tensorOps();
llvm::ArrayRef<OpRow> shapeOps();
llvm::ArrayRef<OpRow> resizeOps();
llvm::ArrayRef<OpRow> visionOps();
llvm::ArrayRef<OpRow> controlOps();
llvm::ArrayRef<OpRow> sequenceOps();
llvm::ArrayRef<OpRow> indexOps();
llvm::ArrayRef<OpRow> gridOps();
llvm::ArrayRef<OpRow> einsumOps();
llvm::ArrayRef<OpRow> randomOps();
llvm::ArrayRef<OpRow> quantOps();
llvm::ArrayRef<OpRow> stringOps();
llvm::ArrayRef<OpRow> mlOps();
llvm::ArrayRef<OpRow> mlEnsembleOps();
llvm::ArrayRef<OpRow> mlSvmOps();
llvm::ArrayRef<OpRow> trainingOps();
llvm::ArrayRef<OpRow> gradientOps();
llvm::ArrayRef<OpRow> recurrentOps();
llvm::ArrayRef<OpRow> signalOps();
llvm::ArrayRef<OpRow> flexOps();

/// All rows by operation. Rows of the default domain have the operation's name, those of others the
/// domain and a dot before it.
class OpTable {
 public:
  OpTable();
  /// The name under which the operation of `node` is in the table.
  static std::string nameOf(const ::onnx::NodeProto& node);
  /// The row of `name` that covers `opset`; null when there is none.
  const OpRow* find(llvm::StringRef name, int64_t opset) const;
  /// Every row, those of an operation one after the other.
  std::vector<const OpRow*> all() const;
  /// "opsets 6 to 12 and 18 to 28", or "" for an operation that is not in the table.
  std::string opsets(llvm::StringRef name) const;
  /// True when an operation of `domain` is in the table.
  bool hasDomain(llvm::StringRef domain) const;

 private:
  llvm::StringMap<llvm::SmallVector<const OpRow*, 2>> rows_;
};

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_OP_TABLE_H_
