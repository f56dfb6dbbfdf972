// Walks all registered operations and fails on the one that lacks a part.
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

namespace graphrun::ir {
namespace {

/// The ODS records of all operations, by name.
std::map<std::string, nlohmann::json> records() {
  std::map<std::string, nlohmann::json> ops;
  for (const char* family :
       {"math", "nn", "attention", "tensor", "index", "random", "state", "vision", "ml",
        "recurrent", "signal", "control", "comm", "backward"}) {
    std::ifstream file((llvm::Twine(GRAPHRUN_OPS_JSON) + "/ops_" + family + ".json").str());
    auto all = nlohmann::json::parse(file);
    for (const auto& name : all["!instanceof"]["GR_Op"]) {
      const auto& record = all[name.get<std::string>()];
      ops["gr." + record["opName"].get<std::string>()] = record;
    }
  }
  return ops;
}

struct Fixture {
  Fixture() { context.loadDialect<GRDialect, mlir::func::FuncDialect>(); }

  std::set<std::string> registered() {
    std::set<std::string> names;
    for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
      if (name.getDialectNamespace() == "gr") {
        names.insert(name.getStringRef().str());
      }
    }
    return names;
  }

  mlir::MLIRContext context;
};

std::string trimmed(const std::string& text) { return llvm::StringRef(text).trim().str(); }

TEST_CASE_METHOD(Fixture, "every operation has a summary and a description") {
  auto ods = records();
  REQUIRE(!registered().empty());
  for (const std::string& name : registered()) {
    INFO(name);
    REQUIRE(ods.count(name) == 1);
    CHECK(!trimmed(ods[name]["summary"]).empty());
    CHECK(!trimmed(ods[name]["description"]).empty());
  }
}

TEST_CASE_METHOD(Fixture, "every operation answers GrOpInterface") {
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() == "gr") {
      INFO(name.getStringRef().str());
      CHECK(name.hasInterface<GrOpInterface>());
    }
  }
}

// The linker asks for the rule of each one that declares no reason; that rules are right is proved
// in tests/ir/gradients.
TEST_CASE_METHOD(Fixture, "every operation has a gradient rule or a reason for none") {
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(GRAPHRUN_ALL_OPS, &context);
  REQUIRE(module);
  std::map<std::string, std::string> reasons;
  module->walk([&](GrOpInterface op) {
    reasons[op->getName().getStringRef().str()] = op.noGradientReason().str();
  });
  auto ods = records();
  for (const std::string& name : registered()) {
    INFO(name);
    REQUIRE(reasons.count(name) == 1);
    CHECK(reasons[name] == ods[name]["noGradient"].get<std::string>());
  }
  CHECK(reasons["gr.floor"] == "piecewise constant");
  CHECK(reasons["gr.conv"].empty());
}

TEST_CASE_METHOD(Fixture, "every operation has a cost") {
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(GRAPHRUN_ALL_OPS, &context);
  REQUIRE(module);
  // These compute nothing and move nothing: other names for data that is there.
  const std::set<std::string> free = {"gr.constant", "gr.evaluated", "gr.deferred", "gr.if",
                                      "gr.sequence", "gr.loop",      "gr.gradient", "gr.watch",
                                      "gr.shape",    "gr.reshape",   "gr.squeeze",  "gr.unsqueeze",
                                      "gr.yield",    "gr.state",     "gr.update"};
  std::set<std::string> missing = registered();
  module->walk([&](GrOpInterface op) {
    std::string name = op->getName().getStringRef().str();
    INFO(name);
    missing.erase(name);
    OpCost cost = op.cost();
    CHECK(cost.flops >= 0);
    CHECK((cost.bytesRead + cost.bytesWritten > 0) == (free.count(name) == 0));
  });
  for (const std::string& name : missing) {
    FAIL_CHECK(name << " does not occur in tests/ir/all_ops.mlir");
  }
}

TEST_CASE_METHOD(Fixture, "flops of the large operations are what their formulas say") {
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(GRAPHRUN_ALL_OPS, &context);
  REQUIRE(module);
  std::map<std::string, int64_t> flops;
  module->walk(
      [&](GrOpInterface op) { flops[op->getName().getStringRef().str()] = op.cost().flops; });
  CHECK(flops["gr.conv"] == 2 * 2 * (4 * 4 * 3 * 3) * 6 * 6);
  CHECK(flops["gr.conv_transpose"] == 2 * 2 * (4 * 4 * 3 * 3) * 6 * 6);
  CHECK(flops["gr.conv_backward_filter"] == 2 * 2 * (4 * 4 * 3 * 3) * 6 * 6);
  CHECK(flops["gr.matmul"] == 2 * 4 * 2 * 2);
  CHECK(flops["gr.max_pool"] == 4 * 2 * 4 * 3 * 3);
  CHECK(flops["gr.reduce"] == 2 * 4 * 6 * 6);
  CHECK(flops["gr.group"] == 2 * (2 * 4 * 6 * 6));
  CHECK(flops["gr.transpose"] == 0);
}

TEST_CASE("the words of a table are those of its enumerators") {
#define GR_REDUCE_KIND(Kind, name, rule, flops, nothing, onnx, axesInput) \
  CHECK(stringifyReduceKind(ReduceKind::k##Kind) == #name);
#include "devices/functions/reductions.def"
#define GR_CELL(Kind, name, gates, ...) \
  CHECK(stringifyRecurrentCell(RecurrentCell::k##Kind) == #name);
#define GR_ACTIVATION(Kind, name, parameters, usualAlpha, usualBeta) \
  CHECK(stringifyRecurrentActivation(RecurrentActivation::k##Kind) == #name);
#include "devices/functions/recurrent.def"
}

TEST_CASE_METHOD(Fixture, "costs are zero until shapes are known") {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
      "  %0 = gr.exp %x : (tensor<?xf32>) -> tensor<?xf32>\n"
      "  return %0 : tensor<?xf32>\n}",
      &context);
  REQUIRE(module);
  module->walk([&](ExpOp op) {
    CHECK(op.cost().flops == 0);
    CHECK(op.cost().bytesRead == 0);
  });
}

}  // namespace
}  // namespace graphrun::ir
