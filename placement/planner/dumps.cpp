#include "placement/planner/dumps.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/dialect.h"
#include "mlir/IR/Matchers.h"
#include "passes/passes.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/compiler_loader/compiler_api.h"

namespace graphrun::compiler {
namespace {

/// Exposed collects the values of a graph that are to be seen.
class Exposed {
 public:
  Exposed(mlir::func::FuncOp function, const std::vector<std::string>& patterns)
      : function_(function), return_(function.getBody().front().getTerminator()) {
    for (const std::string& pattern : patterns) {
      found_[pattern] = false;
    }
    results_.insert(return_->operand_begin(), return_->operand_end());
  }

  absl::Status run() {
    for (mlir::Operation& op : function_.getBody().front().without_terminator()) {
      std::string label = passes::labelOf(op.getLoc());
      labels_.push_back(label);
      if (!mlir::matchPattern(&op, mlir::m_Constant()) && matches(label)) {
        add(op, label);
      }
    }
    for (const auto& [pattern, found] : found_) {
      if (!found && passes::isFolded(function_, pattern)) {
        return absl::NotFoundError(absl::StrCat("--dump: ", passes::foldedText(pattern)));
      }
      if (!found) {
        return absl::NotFoundError(absl::StrCat("--dump '", pattern, "' matches no node",
                                                runtime::didYouMean(pattern, labels_)));
      }
    }
    extend();
    return absl::OkStatus();
  }

 private:
  bool matches(const std::string& label) {
    bool any = false;
    for (auto& [pattern, found] : found_) {
      bool is = runtime::matchesGlob(pattern, label);
      found = found || is;
      any = any || is;
    }
    return any;
  }

  void add(mlir::Operation& op, const std::string& label) {
    const size_t before = times_[label]++;
    const std::string name = before == 0 ? label : absl::StrCat(label, "#", before + 1);
    for (mlir::OpResult result : op.getResults()) {
      if (mlir::isa<mlir::TensorType>(result.getType()) && !results_.contains(result)) {
        added_.emplace_back(result, result.getResultNumber() == 0
                                        ? name
                                        : absl::StrCat(name, ":", result.getResultNumber()));
      }
    }
  }

  void extend() {
    llvm::SmallVector<mlir::Value> operands(return_->operand_begin(), return_->operand_end());
    auto first = static_cast<unsigned>(operands.size());
    llvm::SmallVector<mlir::Attribute> attributes;
    for (unsigned i = 0; i < first; ++i) {
      attributes.push_back(function_.getResultAttrOfType<mlir::StringAttr>(i, ir::kNameAttr));
    }
    mlir::Builder builder(function_.getContext());
    for (size_t i = 0; i < added_.size(); ++i) {
      const auto& [value, name] = added_[i];
      operands.push_back(value);
      attributes.push_back(builder.getStringAttr(
          absl::StrFormat("%s%0*d%s", GR_DUMP_PREFIX, GR_DUMP_DIGITS, i, name)));
    }
    return_->setOperands(operands);
    function_.setType(builder.getFunctionType(function_.getArgumentTypes(),
                                              mlir::ValueRange(operands).getTypes()));
    for (unsigned i = 0; i < attributes.size(); ++i) {
      if (attributes[i]) {
        function_.setResultAttr(i, ir::kNameAttr, attributes[i]);
      }
    }
  }

  mlir::func::FuncOp function_;
  mlir::Operation* return_;
  std::set<mlir::Value, bool (*)(mlir::Value, mlir::Value)> results_{
      [](mlir::Value a, mlir::Value b) { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); }};
  std::map<std::string, bool> found_;  // by pattern
  std::map<std::string, size_t> times_;
  std::vector<std::string> labels_;
  std::vector<std::pair<mlir::Value, std::string>> added_;
};

}  // namespace

absl::Status exposeValues(mlir::func::FuncOp function, const std::vector<std::string>& patterns) {
  return patterns.empty() ? absl::OkStatus() : Exposed(function, patterns).run();
}

}  // namespace graphrun::compiler
