#include "frontends/onnx/op_table.h"

#include "absl/strings/str_cat.h"

namespace graphrun::frontends {

OpTable::OpTable() {
  for (llvm::ArrayRef<OpRow> family :
       {mathOps(),       elementwiseOps(), bitOps(),       activationOps(), reduceOps(),
        windowOps(),     normOps(),        statisticOps(), lossOps(),       attentionOps(),
        recurrenceOps(), tensorOps(),      shapeOps(),     resizeOps(),     indexOps(),
        gridOps(),       einsumOps(),      randomOps(),    visionOps(),     controlOps(),
        sequenceOps(),   quantOps(),       stringOps(),    mlOps(),         mlEnsembleOps(),
        mlSvmOps(),      trainingOps(),    gradientOps(),  recurrentOps(),  signalOps(),
        flexOps()}) {
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

std::vector<const OpRow*> OpTable::all() const {
  std::vector<const OpRow*> all;
  for (const auto& entry : rows_) {
    all.insert(all.end(), entry.second.begin(), entry.second.end());
  }
  return all;
}

std::string OpTable::opsets(llvm::StringRef name) const {
  auto found = rows_.find(name);
  if (found == rows_.end()) {
    return "";
  }
  llvm::SmallVector<std::pair<int, int>, 2> ranges;  // rows that follow each other make one
  for (const OpRow* row : found->second) {
    if (!ranges.empty() && ranges.back().second + 1 == row->first) {
      ranges.back().second = row->last;
    } else {
      ranges.emplace_back(row->first, row->last);
    }
  }
  std::string text;
  for (auto [first, last] : ranges) {
    absl::StrAppend(&text, text.empty() ? "opsets " : " and ", first, " to ", last);
  }
  return text;
}

}  // namespace graphrun::frontends
