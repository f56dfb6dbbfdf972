#include "placement/problem/validate.h"

#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

struct Fixture {
  Cluster cluster = simpleCluster(2, {1000, 1000});
  CostGraph graph;

  Fixture() {
    for (const char* name : {"a", "b", "c"}) {
      addNode(graph, name, {10, 10}, 400);
    }
    addNode(graph, "d", {10, kUnsupported});
    addTensor(graph, 0, {1}, 8);
    addTensor(graph, 2, {3}, 8);
    graph.pins = {{0, 1, "c.yaml:4"}};
    graph.colocation = {{0, 1}};
    REQUIRE(graph.finish(2).ok());
  }

  std::vector<std::string> violations(std::vector<int> device, std::vector<int> rank) const {
    PlacementProblem problem = makeProblem(graph, cluster);
    return placementViolations(problem, {std::move(device), std::move(rank), "test"});
  }
};

using Lines = std::vector<std::string>;

TEST_CASE("a valid placement has no violation") {
  CHECK(Fixture().violations({1, 1, 0, 0}, {0, 1, 2, 3}).empty());
  CHECK(Fixture().violations({1, 1, 0, 0}, {1, 3, 0, 2}).empty());
}

TEST_CASE("each rule has its violation") {
  Fixture f;
  CHECK(f.violations({1, 1}, {0, 1, 2, 3}) ==
        Lines{"got 2 devices and 4 ranks, expected one of each for 4 nodes"});
  CHECK(f.violations({1, 1, -1, 2}, {0, 1, 2, 3}) ==
        Lines{"node 'c' is on device -1, which does not exist",
              "node 'd' is on device 2, which does not exist"});
  CHECK(f.violations({1, 1, 0, 1}, {0, 1, 2, 3}) ==
        Lines{"node 'd' is on n1/cpu:0, which cannot run it: no kernel for complex64"});
  CHECK(f.violations({0, 0, 0, 0}, {0, 1, 2, 3})[0] ==
        "node 'a' is on n0/cpu:0, pinned to n1/cpu:0 (c.yaml:4)");
  CHECK(f.violations({1, 0, 0, 0}, {0, 1, 2, 3}) ==
        Lines{"node 'b' is on n0/cpu:0, must be with 'a' on n1/cpu:0"});
  CHECK(f.violations({1, 1, 0, 0}, {0, 0, 2, 4}) ==
        Lines{"nodes 'a' and 'b' both have rank 0", "node 'd' has rank 4, expected 0 to 3"});
}

TEST_CASE("an order against the edges is named, and what would hang") {
  Fixture f;
  CHECK(f.violations({1, 1, 0, 0}, {1, 0, 2, 3}) ==
        Lines{"node 'b' (rank 0) needs 't0' of 'a' (rank 1)",
              "the devices would wait for each other for ever, among others at 'a', 'b'"});
}

TEST_CASE("devices that wait for each other across transfers are found") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {1, 1});
  int b = addNode(graph, "b", {1, 1});
  int c = addNode(graph, "c", {1, 1});
  int d = addNode(graph, "d", {1, 1});
  addTensor(graph, a, {d}, 1);
  addTensor(graph, c, {b}, 1);
  REQUIRE(graph.finish(2).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  // n0 runs b, a; n1 runs d, c: b waits for c, d for a.
  Placement placement{{0, 0, 1, 1}, {1, 0, 3, 2}, "test"};
  std::string error = messageOf(validatePlacement(problem, placement));
  CHECK_THAT(error, Catch::StartsWith("invalid placement:\n") &&
                        Catch::Contains("among others at 'a', 'b', 'c', 'd'"));
  // Ranks that only disagree between devices hang nobody, and are refused all the same.
  Placement loose{{0, 0, 1, 1}, {3, 0, 2, 1}, "test"};
  loose.device = {0, 1, 1, 1};
  CHECK_THAT(messageOf(validatePlacement(problem, loose)), Catch::Contains("needs"));
}

TEST_CASE("devices that share a core wait for each other where others would not") {
  CostGraph graph;
  int a = addNode(graph, "a", {1, 1});
  int b = addNode(graph, "b", {1, 1});
  addTensor(graph, a, {b}, 1);
  REQUIRE(graph.finish(2).ok());
  Placement placement{{0, 1}, {1, 0}, "test"};  // b's turn comes first, and it needs a
  Cluster apart = coreCluster({{{0}}, {{1}}});
  CHECK(placementViolations(makeProblem(graph, apart), placement).size() == 1);
  CHECK(Simulator(graph, apart).run(placement).ok());
  Cluster cluster = coreCluster({{{0}}, {{0}}});
  CHECK_THAT(messageOf(validatePlacement(makeProblem(graph, cluster), placement)),
             Catch::Contains("for ever, among others at 'a', 'b'"));
  CHECK_THAT(messageOf(Simulator(graph, cluster).run(placement).status()),
             Catch::Contains("n1/cpu:0 waits for ever at node 'b'"));
}

TEST_CASE("memory is checked once the rest holds") {
  Fixture f;
  f.graph.pins.clear();
  CHECK(f.violations({0, 0, 0, 0}, {0, 1, 2, 3}) ==
        Lines{"out of memory: n0/cpu:0 needs 1.18 KiB while 'a' runs, limit 1000 B"});
}

}  // namespace
}  // namespace graphrun::placement
