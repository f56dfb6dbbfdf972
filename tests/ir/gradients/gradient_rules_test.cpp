// Every gradient rule against central differences in f64.
#include <catch2/catch.hpp>
#include <set>

#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "tests/ir/gradients/rule_cases.h"

namespace graphrun::ir {
namespace {

void check(const std::vector<RuleCase>& cases) {
  for (const RuleCase& rule : cases) {
    absl::Status status = checkRule(rule);
    INFO(status);
    CHECK(status.ok());
  }
}

TEST_CASE("gradients of element-wise operations") { check(elementwiseCases()); }
TEST_CASE("gradients of reductions and products") { check(mathCases()); }
TEST_CASE("gradients of movements") { check(tensorCases()); }
TEST_CASE("gradients of reads and writes by indices") { check(indexCases()); }
TEST_CASE("gradients of normalisations, softmax and attention") { check(nnCases()); }
TEST_CASE("gradients of recurrent layers") { check(recurrentCases()); }
TEST_CASE("gradients of convolutions and pools") { check(windowCases()); }
TEST_CASE("gradients of signals and pictures") { check(signalCases()); }
TEST_CASE("gradients of collectives") { check(commCases()); }

TEST_CASE("every rule is proved by cases of at least three shapes") {
  std::map<std::string, std::set<std::vector<std::string>>> shapes;
  for (const auto& cases : {elementwiseCases(), mathCases(), tensorCases(), indexCases(), nnCases(),
                            recurrentCases(), windowCases(), signalCases(), commCases()}) {
    for (const RuleCase& rule : cases) {
      shapes[rule.op].insert(rule.operands);
    }
  }
  mlir::MLIRContext context;
  context.loadDialect<GRDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(GRAPHRUN_ALL_OPS, &context);
  REQUIRE(module);
  module->walk([&](GrOpInterface op) {
    std::string name = op->getName().getStringRef().str();
    INFO(name);
    if (op.noGradientReason().empty()) {
      CHECK(shapes[name].size() >= 3);
    }
  });
}

}  // namespace
}  // namespace graphrun::ir
