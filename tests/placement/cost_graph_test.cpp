#include "placement/cost_graph/cost_graph.h"

#include "placement/rules/constraints.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

TEST_CASE("a finished graph has its edges on both sides and an order that follows ids") {
  CostGraph graph;
  int a = addNode(graph, "a", {1});
  int b = addNode(graph, "b", {1});
  int c = addNode(graph, "c", {1});
  int t = addTensor(graph, c, {b, a, b}, 8);
  REQUIRE(graph.finish(1).ok());
  CHECK(graph.node(a).inputs == std::vector<int>{t});
  CHECK(graph.node(c).outputs == std::vector<int>{t});
  CHECK(graph.tensor(t).consumers == std::vector<int>{a, b});
  CHECK(graph.topologicalOrder == std::vector<int>{c, a, b});
}

TEST_CASE("every problem of a graph is reported") {
  CostGraph graph;
  addNode(graph, "a", {1, 2});
  addNode(graph, "a", {-5});
  addTensor(graph, 7, {0}, 8);
  addTensor(graph, 0, {1}, -8);
  graph.colocation = {{0, 9}};
  graph.pins = {{0, 3, "test"}};
  std::string error = messageOf(graph.finish(1));
  for (const char* part :
       {"node name 'a' is empty or given twice",
        "node 'a': got 2 times, expected one for each of 1", "a time or a size is negative",
        "tensor 't0': a node or a home device does not exist", "tensor 't1': got -8 bytes",
        "a colocation group names", "a pin of test names"}) {
    CHECK_THAT(error, Catch::Contains(part));
  }
}

TEST_CASE("a cycle is named by its nodes") {
  CostGraph graph;
  for (const char* name : {"in", "a", "b", "c", "out"}) {
    addNode(graph, name, {1});
  }
  addTensor(graph, 0, {1}, 1);
  addTensor(graph, 1, {2}, 1);
  addTensor(graph, 2, {3}, 1);
  addTensor(graph, 3, {1, 4}, 1);
  CHECK_THAT(messageOf(graph.finish(1)), Catch::Contains("the nodes form a cycle: ") &&
                                             Catch::Contains("'a' -> 'b' -> 'c'") &&
                                             !Catch::Contains("out"));
}

TEST_CASE("pin rules match globs and must match something") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  addNode(graph, "encoder/a", {1, 1});
  addNode(graph, "encoder/b/c", {1, 1});
  addNode(graph, "head", {1, 1});
  cluster.pins = {{"encoder/*", "n1/cpu:0", "c.yaml:3"}};
  REQUIRE(graph.applyPinRules(cluster).ok());
  REQUIRE(graph.pins.size() == 2);
  CHECK(graph.pins[1].node == 1);
  CHECK(graph.pins[1].device == 1);

  cluster.pins = {{"heat", "n1/cpu:0", "c.yaml:3"}, {"head", "n1/cpu:7", "--pin"}};
  CHECK(messageOf(graph.applyPinRules(cluster)) ==
        "c.yaml:3: pin 'heat' matches no node; did you mean 'head'?\n"
        "--pin: pin 'head': no device 'n1/cpu:7'; did you mean 'n1/cpu:0'?");

  cluster.pins = {{"tail", "n1/cpu:0", "--pin"}};
  cluster.pins[0].known = true;  // of another stage
  CHECK(graph.applyPinRules(cluster).ok());
}

TEST_CASE("a rule is for a node by its name, or by a part of the label that several nodes became") {
  CostGraph graph;
  for (const char* name : {"x", "x#2", "a+b"}) {
    graph.nodes[static_cast<size_t>(addNode(graph, name, {1}))].label = name[0] == 'x' ? "x" : name;
  }
  auto nodesOf = [&](const char* pattern) { return graph.nodesOf(makePinRule(pattern, "", "")); };
  CHECK(nodesOf("x") == std::vector<int>{0});
  CHECK(nodesOf("x#2") == std::vector<int>{1});
  CHECK(nodesOf("x*") == std::vector<int>{0, 1});
  CHECK(nodesOf("b") == std::vector<int>{2});
  CHECK(nodesOf("a+b") == std::vector<int>{2});
  CHECK(nodesOf("").empty());
}

TEST_CASE("nodes that share work must be alike, and share no other") {
  CostGraph graph;
  addNode(graph, "a", {1, 1});
  addNode(graph, "b", {1, 2});
  addNode(graph, "c", {1, kUnsupported});
  addTensor(graph, 0, {1}, 8);
  graph.shared = {{{0, 1}}, {{0, 2}}, {{}}, {{7}}};
  CHECK(messageOf(graph.finish(2)) ==
        "cost graph: nodes 'a' and 'b' share work, but differ in their times or in what they make\n"
        "cost graph: node 'a' shares work twice\n"
        "cost graph: nodes 'a' and 'c' share work, but differ in their times or in what they make\n"
        "cost graph: shared work has no nodes, or names one that does not exist\n"
        "cost graph: shared work has no nodes, or names one that does not exist");
  graph.tensors.clear();
  graph.shared = {{{0, 2}}};  // where both run they take as long
  CHECK(graph.finish(2).ok());
  CHECK((graph.node(0).shared == 0 && graph.node(1).shared == -1));
}

TEST_CASE("what is forbidden a device does not run there, and why is told") {
  Cluster cluster = simpleCluster(3);
  CostGraph graph;
  addNode(graph, "embed/a", {1, 1, 1});
  addNode(graph, "embed/b", {1, 1, kUnsupported});
  addNode(graph, "head", {1, 1, 1});
  REQUIRE(graph.finish(3).ok());
  cluster.forbids = {{"embed/*", "n[12]/cpu:*", "c.yaml:3"}};
  REQUIRE(graph.applyPinRules(cluster).ok());
  auto problem = PlacementProblem::create(graph, cluster);
  REQUIRE(problem.ok());
  CHECK(problem->constraints.unit(0).allowed == std::vector<int>{0});
  CHECK(problem->constraints.unit(1).allowed == std::vector<int>{0});
  CHECK(problem->constraints.unit(2).allowed == std::vector<int>{0, 1, 2});
  CHECK(graph.node(0).whyUnsupported(2) == "forbidden by c.yaml:3");
  CHECK(graph.node(1).whyUnsupported(2) == "no kernel for complex64");

  cluster.forbids = {{"head", "*", "--forbid"}};
  REQUIRE(graph.applyPinRules(cluster).ok());
  CHECK_THAT(messageOf(PlacementProblem::create(graph, cluster).status()),
             Catch::Contains("no device can run node 'head'") &&
                 Catch::Contains("n1/cpu:0: 'head' (test): forbidden by --forbid"));
  cluster.forbids = {{"heat", "n0/cpu:0", "--forbid"}, {"head", "n9/*", "--forbid"}};
  CHECK(messageOf(graph.applyPinRules(cluster)) ==
        "--forbid: forbid 'heat' matches no node; did you mean 'head'?\n"
        "--forbid: forbid 'head': no device 'n9/*'");
}

TEST_CASE("a user's pin overrules the model's own") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  addNode(graph, "a", {1, 1});
  addNode(graph, "b", {1, 1});
  graph.pins = {{0, 0, "the model", true}, {1, 0, "the model", true}};
  cluster.pins = {makePinRule("a", "n1/cpu:0", "--pin"), makePinRule("@b", "n1/cpu:0", "--pin")};
  REQUIRE(graph.applyPinRules(cluster).ok());
  REQUIRE(graph.pins.size() == 2);
  CHECK(graph.pins[0].source == "the model");
  CHECK(graph.pins[0].node == 1);
  CHECK(graph.pins[1].device == 1);
}

TEST_CASE("colocation joins groups and intersects what devices support") {
  Cluster cluster = simpleCluster(3);
  CostGraph graph;
  addNode(graph, "a", {1, 1, kUnsupported}, 10);
  addNode(graph, "b", {1, kUnsupported, 1}, 20);
  addNode(graph, "c", {1, 1, 1}, 5);
  graph.colocation = {{0, 2}, {2, 1}};
  REQUIRE(graph.finish(3).ok());
  auto constraints = resolveConstraints(graph, cluster);
  REQUIRE(constraints.ok());
  REQUIRE(constraints->units.size() == 1);
  CHECK(constraints->units[0].allowed == std::vector<int>{0});
  CHECK(constraints->units[0].weightBytes == 35);
}

TEST_CASE("conflicts of constraints are all named") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  addNode(graph, "a", {1, 1});
  addNode(graph, "b", {1, 1});
  addNode(graph, "c", {1, kUnsupported});
  addNode(graph, "d", {kUnsupported, kUnsupported});
  graph.colocation = {{0, 1}};
  graph.pins = {{0, 0, "c.yaml:3"}, {1, 1, "--pin"}, {2, 1, "c.yaml:4"}};
  REQUIRE(graph.finish(2).ok());
  auto status = resolveConstraints(graph, cluster).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(
      messageOf(status) ==
      "conflicting pins of node 'a' and 1 colocated with it: 'a' to n0/cpu:0 (c.yaml:3) and 'b' to "
      "n1/cpu:0 (--pin); drop one of them\n"
      "these rules contradict each other, and each of them is needed for that:\n"
      "  - 'b' is pinned to n1/cpu:0 (--pin)\n"
      "  - 'a' is pinned to n0/cpu:0 (c.yaml:3)\n"
      "  - 'a', 'b' must share a device\n"
      "each of these changes is enough:\n"
      "  - no longer: 'b' is pinned to n1/cpu:0 (--pin)\n"
      "  - no longer: 'a' is pinned to n0/cpu:0 (c.yaml:3)\n"
      "  - no longer: 'a', 'b' must share a device\n"
      "pin of 'c' to n1/cpu:0 (c.yaml:4) cannot hold: n1/cpu:0: 'c' (test): no kernel for "
      "complex64\n"
      "no device can run node 'd': n0/cpu:0: 'd' (test): no kernel for complex64; n1/cpu:0: 'd' "
      "(test): no kernel for complex64");
}

}  // namespace
}  // namespace graphrun::placement
