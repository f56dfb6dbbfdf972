#include "placement/planner/context.h"

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/passes.h"
#include "passes/serialization/model_io.h"
#include "runtime/base/status.h"

namespace graphrun::compiler {

Context::Context() : context_(mlir::MLIRContext::Threading::DISABLED) {
  context_.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  context_.getDiagEngine().registerHandler([this](mlir::Diagnostic& diagnostic) {
    std::string label = passes::labelOf(diagnostic.getLocation());
    std::string line = absl::StrCat(label, label.empty() ? "" : ": ", diagnostic.str());
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
      absl::StrAppend(&errors_, errors_.empty() ? "" : "\n", line);
    } else if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning) {
      warnings_.push_back(std::move(line));
    }
    return mlir::success();
  });
}

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> Context::load(const format::ModelFile& model,
                                                                absl::string_view graph) {
  const format::Graph* named = model.findGraph(graph);
  if (named == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the model has no graph '", graph, "'"));
  }
  passes::WeightSourceView weights;
  weights.count = model.weightCount();
  weights.get = [&](uint32_t index) -> absl::StatusOr<passes::WeightSourceView::Weight> {
    GR_ASSIGN_OR_RETURN(absl::Span<const uint8_t> data, model.weight(index));
    const format::WeightEntry* entry = model.model().weights()->Get(index);
    return passes::WeightSourceView::Weight{entry->name()->str(), model.weightSpec(index),
                                            entry->splat(), data};
  };
  weights.strings = model.model().strings();
  return passes::importGraph(*named, weights, context_);
}

absl::Status Context::takeError(absl::StatusCode code, const std::string& what) {
  std::string message = errors_.empty() ? what : absl::StrCat(what, ":\n", errors_);
  errors_.clear();
  return absl::Status(code, message);
}

}  // namespace graphrun::compiler
