#include "frontends/onnx/op_table.h"

#include "absl/strings/str_cat.h"

namespace graphrun::frontends {

OpTable::OpTable() {
  for (llvm::ArrayRef<OpRow> family :
       {mathOps(),     bitOps(),       activationOps(), reduceOps(),     windowOps(),
        normOps(),     statisticOps(), lossOps(),       attentionOps(),  recurrenceOps(),
        tensorOps(),   shapeOps(),     resizeOps(),     indexOps(),      gridOps(),
        einsumOps(),   randomOps(),    visionOps(),     controlOps(),    sequenceOps(),
        quantOps(),    stringOps(),    mlOps(),         mlEnsembleOps(), mlSvmOps(),
        trainingOps(), recurrentOps(), signalOps(),     flexOps()}) {
    for (const OpRow& row : family) {
      rows_[row.name].push_back(&row);
    }
  }
}

std::string OpTable::nameOf(const ::onnx::NodeProto& node) {
  bool isDefault = node.domain().empty() || node.domain() == "ai.onnx";
  return isDefault ? node.op_type() : absl::StrCat(node.domain(), ".", node.op_type());
}

bool OpTable::hasDomain(llvm::StringRef domain) const {
  return llvm::any_of(rows_, [&](const auto& entry) {
    return entry.getKey().rsplit('.').first == domain && entry.getKey().contains('.');
  });
}

const OpRow* OpTable::find(llvm::StringRef name, int64_t opset) const {
  auto found = rows_.find(name);
  if (found == rows_.end()) {
    return nullptr;
  }
  for (const OpRow* row : found->second) {
    if (row->first <= opset && opset <= row->last) {
      return row;
    }
  }
  return nullptr;
}

std::string OpTable::opsets(llvm::StringRef name) const {
  auto found = rows_.find(name);
  std::string text;
  if (found != rows_.end()) {
    for (const OpRow* row : found->second) {
      absl::StrAppend(&text, text.empty() ? "opsets " : " and ", row->first, " to ", row->last);
    }
  }
  return text;
}

}  // namespace graphrun::frontends
