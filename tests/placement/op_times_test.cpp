// What operations are guessed to take where nothing was measured, by what they compute in.
#include <catch2/catch.hpp>

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "placement/from_ir/build_cost_graph.h"
#include "tests/placement/kinds.h"

namespace graphrun::placement {
namespace {

/// The cost graph of a function on one GPU.
CostGraph costGraphOf(const std::string& function) {
  mlir::MLIRContext context;
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(function, &context);
  REQUIRE(module);
  auto cluster = parseCluster(
      "workers:\n  - {name: a, address: local, devices: [{cuda: {index: 0, memory: 1GiB}}]}\n",
      "cluster.yaml", testing::kinds());
  REQUIRE(cluster.ok());
  DeviceKnowledge devices;
  devices.whyUnsupported = [](absl::string_view, mlir::Operation*) { return ""; };
  auto built = buildCostGraph(*module->getOps<mlir::func::FuncOp>().begin(), *cluster, devices);
  REQUIRE(built.ok());
  return std::move(built->graph);
}

/// Nanoseconds that the only operation of a function takes on a GPU.
int64_t guessedNs(const std::string& function) {
  CostGraph graph = costGraphOf(function);
  REQUIRE(graph.nodeCount() == 1);
  return graph.node(0).timeNs[0];
}

int64_t productNs(const std::string& lhs, const std::string& rhs, const std::string& result) {
  auto type = [](const std::string& element) {
    return absl::StrCat("tensor<2048x2048x", element, ">");
  };
  return guessedNs(absl::StrCat("func.func @main(%x: ", type(lhs), ", %y: ", type(rhs), ") -> ",
                                type(result), " {\n %0 = gr.matmul %x, %y : (", type(lhs), ", ",
                                type(rhs), ") -> ", type(result), "\n return %0 : ", type(result),
                                "\n}"));
}

int64_t attentionNs(const std::string& element) {
  std::string type = absl::StrCat("tensor<4x16x1024x64x", element, ">");
  return guessedNs(absl::StrCat("func.func @main(%x: ", type, ") -> ", type,
                                " {\n %0 = gr.attention %x, %x, %x {scale = 0.125 : f64} : (", type,
                                ", ", type, ", ", type, ") -> ", type, "\n return %0 : ", type,
                                "\n}"));
}

}  // namespace

TEST_CASE("a product is as fast as its factors are multiplied", "[placement]") {
  // Of 17 G operations each, far above what moving the matrices takes.
  CHECK(productNs("f32", "f32", "f32") > 5 * productNs("bf16", "bf16", "bf16"));
  CHECK(productNs("f32", "f32", "f32") > 5 * productNs("ui8", "i8", "i32"));
}

TEST_CASE("operations have names and types for people", "[placement]") {
  CostGraph graph = costGraphOf(
      R"(func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x4xbf16>) -> (tensor<2x3xf32>) {
        %0 = gr.group (%x) attributes {kind = "map"} {
        ^bb0(%a: tensor<2x3xf32>):
          %c = gr.constant dense<1.0> : tensor<f32> : tensor<f32>
          %1 = gr.add %a, %c : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
          %2 = gr.leaky_relu %1 {alpha = 0.1 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
          gr.yield %2 : tensor<2x3xf32>
        } : (tensor<2x3xf32>) -> tensor<2x3xf32>
        return %0 : tensor<2x3xf32>
      })");
  CHECK(graph.node(0).op == "gr.group");
  CHECK(kindOf(graph.node(0)) == "Add+LeakyRelu");
  CHECK(graph.tensor(0).type == "2x3xf32");
  CHECK(graph.tensor(1).type == "3x4xbf16");
  CHECK(graph.tensor(2).type == "2x3xf32");
}

TEST_CASE("attention is two products", "[placement]") {
  CHECK(attentionNs("f16") < 3 * productNs("f16", "f16", "f16"));  // as many operations
}

}  // namespace graphrun::placement
