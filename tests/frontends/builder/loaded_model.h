// A graph after save and load, for tests.
#ifndef GRAPHRUN_TESTS_FRONTENDS_BUILDER_LOADED_MODEL_H_
#define GRAPHRUN_TESTS_FRONTENDS_BUILDER_LOADED_MODEL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "catch2/catch.hpp"
#include "frontends/builder/graph_builder.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/passes.h"
#include "passes/serialization/model_io.h"

namespace graphrun::builder {

/// What the loader makes of a saved graph.
class LoadedModel {
 public:
  /// Saves and loads; fails the test when either does.
  explicit LoadedModel(Graph& graph) : context_(mlir::MLIRContext::Threading::DISABLED) {
    context_.loadDialect<mlir::func::FuncDialect, ir::GRDialect>();
    absl::StatusOr<TemporaryModel> saved = graph.saveTemporary();
    INFO(saved.status().message());
    REQUIRE(saved.ok());
    auto module = passes::loadModel(saved->path(), context_);
    INFO(module.status().message());
    REQUIRE(module.ok());
    module_ = *std::move(module);
    function = passes::graphOf(*module_).value_or(mlir::func::FuncOp());
    REQUIRE(function);
  }

  /// Operations of this kind ("gr.conv"), in order.
  std::vector<mlir::Operation*> ops(absl::string_view name) {
    std::vector<mlir::Operation*> found;
    function.walk([&](mlir::Operation* op) {
      if (op->getName().getStringRef() == llvm::StringRef(name.data(), name.size())) {
        found.push_back(op);
      }
    });
    return found;
  }
  /// The label of the operation that gives output `i`.
  std::string labelOfOutput(unsigned i) {
    mlir::Value value = function.getBody().front().getTerminator()->getOperand(i);
    return passes::labelOf(value.getLoc());
  }

  mlir::func::FuncOp function;

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

}  // namespace graphrun::builder

#endif  // GRAPHRUN_TESTS_FRONTENDS_BUILDER_LOADED_MODEL_H_
