// A collective in the cost graph: a node for each of its steps, with the costs of what it becomes.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "ir/dialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/collectives.h"
#include "placement/from_ir/build_cost_graph.h"
#include "tests/placement/kinds.h"

namespace graphrun::placement {
namespace {

constexpr char kCluster[] =
    "workers:\n"
    "  - {name: a, address: local, devices: [{cpu: {cores: 0}}, {cuda: {index: 0, memory: "
    "1GiB}}]}\n";
constexpr char kWhy[] = "no products";

/// The cost graph of a function on two devices, the second of which does not multiply; both carry
/// out collectives with one library, if there is one.
struct Costs {
  explicit Costs(const std::string& text, const std::string& library = "",
                 const MeasuredCosts* measured = nullptr) {
    context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    REQUIRE(module);
    auto parsed = parseCluster(kCluster, "cluster.yaml", testing::kinds());
    REQUIRE(parsed.ok());
    for (Device& device : parsed->devices) {
      device.library = library;
    }
    DeviceKnowledge devices;
    devices.measured = {measured, nullptr};
    devices.whyUnsupported = [](absl::string_view kind, mlir::Operation* op) {
      return kind == "cuda" && llvm::isa<ir::MulOp>(op) ? kWhy : "";
    };
    auto built = buildCostGraph(*module->getOps<mlir::func::FuncOp>().begin(), *parsed, devices);
    INFO(built.status().message());
    REQUIRE(built.ok());
    graph = *std::move(built);
    for (int n = 0; n < graph.graph.nodeCount(); ++n) {
      ids[graph.graph.node(n).name] = n;
    }
  }

  const CostNode& node(const std::string& name) const { return graph.graph.node(ids.at(name)); }
  /// Bytes of what a node reads, by who makes it; "" for inputs.
  std::multimap<std::string, int64_t> reads(const std::string& name) const {
    std::multimap<std::string, int64_t> result;
    for (int t : node(name).inputs) {
      const CostTensor& tensor = graph.graph.tensor(t);
      result.emplace(tensor.producer < 0 ? "" : graph.graph.node(tensor.producer).name,
                     tensor.bytes);
    }
    return result;
  }
  std::set<std::string> names() const {
    std::set<std::string> result;
    for (const auto& [name, id] : ids) {
      result.insert(name);
    }
    return result;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  GraphOfOps graph;
  std::map<std::string, int> ids;
};

using Reads = std::multimap<std::string, int64_t>;

TEST_CASE("a small collective is a node for each member, which reads all operands") {
  Costs costs(R"(
    func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) {
      %a = gr.exp %x : (tensor<8xf32>) -> tensor<8xf32> loc("a")
      %0:2 = gr.all_reduce %a, %y {kind = "prod"} : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) loc("r")
      %m = gr.mul %a, %y : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> loc("m")
      %1 = gr.abs %0#1 : (tensor<8xf32>) -> tensor<8xf32> loc("b")
      return
    })");
  CHECK(costs.names() == std::set<std::string>{"a", "r/0", "r/1", "m", "b"});
  const CostNode& node = costs.node("r/1");
  CHECK((node.op == "gr.all_reduce" && node.label == "r"));
  CHECK(node.members == std::vector<std::string>{"r", "r/1"});
  CHECK((node.flops == 8 && node.bytesTouched == 3 * 32));
  // It is what the product is: where that was measured, this is known; what cannot, cannot this.
  CHECK(costs.graph.keys[1].signature == costs.graph.keys[3].signature);
  CHECK_FALSE(node.supports(1));
  CHECK(node.whyUnsupported(1) == kWhy);
  CHECK(costs.reads("r/1") == Reads{{"a", 32}, {"", 32}});
  CHECK(costs.reads("b") == Reads{{"r/1", 32}});
  CHECK(costs.graph.memberGroups == std::vector<std::vector<int>>{{1, 0}, {2}});
  // All that a device has of it is one product.
  REQUIRE(costs.graph.graph.shared.size() == 1);
  CHECK(costs.graph.graph.shared[0].nodes == std::vector<int>{1, 2});
  CHECK_FALSE(costs.graph.graph.shared[0].onlyApart);
}

TEST_CASE("a large one is combined in parts, which come from where operands are made") {
  Costs costs(R"(
    func.func @f(%x: tensor<200x100xf32>, %y: tensor<200x100xf32>) {
      %w = gr.constant dense<1.0> : tensor<200x100xf32> : tensor<200x100xf32>
      %a = gr.exp %x : (tensor<200x100xf32>) -> tensor<200x100xf32> loc("a")
      %0:3 = gr.all_reduce %a, %y, %w {kind = "sum"} : (tensor<200x100xf32>, tensor<200x100xf32>, tensor<200x100xf32>) -> (tensor<200x100xf32>, tensor<200x100xf32>, tensor<200x100xf32>) loc("r")
      %1 = gr.abs %0#2 : (tensor<200x100xf32>) -> tensor<200x100xf32> loc("b")
      return
    })");
  const int64_t first = 4 * 6667;
  CHECK(costs.reads("r/0/reduce") == Reads{{"a", first}, {"", 80'000}});
  CHECK(costs.node("r/0/reduce").weightBytes == 80'000);
  CHECK(costs.reads("r/2/reduce") == Reads{{"a", first - 4}, {"", 80'000}});
  CHECK(costs.reads("r/1/gather") ==
        Reads{{"r/0/reduce", first}, {"r/1/reduce", first}, {"r/2/reduce", first - 4}});
  CHECK(costs.reads("b") == Reads{{"r/2/gather", 80'000}});
  // Reduced in place of the whole, and joined with a copy.
  CHECK(costs.node("r/0/reduce").flops == 2 * 6667);
  CHECK(costs.node("r/0/gather").flops == 0);
  CHECK(costs.node("r/0/gather").bytesTouched >= 2 * 80'000);
  REQUIRE(costs.graph.memberGroups.size() == 3);
  CHECK(costs.graph.memberGroups[0] ==
        std::vector<int>{costs.ids["r/0/reduce"], costs.ids["r/0/gather"], costs.ids["a"]});
  CHECK(costs.graph.relax());
  CHECK(costs.graph.memberGroups.empty());
  CHECK_FALSE(costs.graph.relax());
  // Parts are each member's own; they are joined once on a device, unless it has the whole.
  REQUIRE(costs.graph.graph.shared.size() == 1);
  CHECK(costs.graph.graph.shared[0].nodes == std::vector<int>{costs.ids["r/0/gather"],
                                                              costs.ids["r/1/gather"],
                                                              costs.ids["r/2/gather"]});
  CHECK(costs.graph.graph.shared[0].onlyApart);
}

TEST_CASE("what a library may carry out is a collective, with what was measured of it") {
  const char* text = R"(
    func.func @f(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) {
      %a = gr.exp %x : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("a")
      %w = gr.constant dense<1.0> : tensor<8x4xf32> : tensor<8x4xf32>
      %0:3 = gr.all_reduce %a, %y, %w {kind = "sum"} : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>) loc("r")
      %1:2 = gr.all_gather %a, %y {axis = 0 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<16x4xf32>, tensor<16x4xf32>) loc("g")
      %2:2 = gr.all_gather %a, %y {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) loc("other")
      return
    })";
  CHECK(Costs(text).graph.graph.collectives.empty());
  Costs costs(text, "nccl");
  const CostGraph& graph = costs.graph.graph;
  REQUIRE(graph.collectives.size() == 2);  // of blocks that lie one behind the other
  const CollectiveGroup& sum = graph.collectives[0];
  CHECK((sum.bytes == 128 && sum.rounds == 2 && !sum.ordered));
  REQUIRE(sum.members.size() == 3);
  CHECK(sum.members[1].nodes == std::vector<int>{costs.ids["r/1"]});
  CHECK(graph.tensor(sum.members[0].operand).producer == costs.ids["a"]);
  CHECK(graph.tensor(sum.members[1].operand).producer == -1);
  CHECK(sum.members[2].operand == -1);
  CHECK(sum.measuredNs == std::vector<std::vector<int64_t>>{{-1, -1}, {-1, -1}});
  CHECK((graph.collectives[1].bytes == 256 && graph.collectives[1].rounds == 1 &&
         graph.collectives[1].ordered));
  OpKey key = collectiveKey(costs.graph.collectiveKeys[0], 3);
  MeasuredCosts measured({{key.signature, key.family, 0, 128, 777, 0, 0}});
  CHECK(Costs(text, "nccl", &measured).graph.graph.collectives[0].measuredNs ==
        std::vector<std::vector<int64_t>>{{-1, -1}, {777, -1}});
}

TEST_CASE("one node's results for several members are no reason for these to be together") {
  Costs costs(R"(
    func.func @f(%x: tensor<8xf32>) {
      %a:2 = gr.split %x {axis = 0 : i64, sizes = array<i64>} : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>) loc("a")
      %0:2 = gr.reduce_scatter %a#0, %a#1 {kind = "max", axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>) loc("r")
      %1:1 = gr.all_gather %0#0 {axis = 0 : i64} : (tensor<2xf32>) -> tensor<2xf32> loc("r")
      return
    })");
  CHECK(costs.names() == std::set<std::string>{"a", "r/0", "r/1", "r#2/0"});
  CHECK(costs.graph.memberGroups == std::vector<std::vector<int>>{{1}, {2}, {3, 1}});
  CHECK(costs.node("r#2/0").bytesTouched == 0);  // of one member: nothing to do
}

}  // namespace
}  // namespace graphrun::placement
