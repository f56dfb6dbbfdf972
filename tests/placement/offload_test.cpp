// Devices with ports, with several lanes, and those whose nodes are one call; the period of steps.
#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/contiguity.h"
#include "placement/problem/validate.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::addNode;
using testing::addTensor;
using testing::messageOf;

/// Devices in one worker whose transfers take no time.
Cluster freeCluster(int count) {
  Cluster cluster = testing::simpleCluster(count);
  cluster.links.clear();
  cluster.otherLinks = LinkModel{LinkKind::kGiven, 0, 1e9};
  return cluster;
}

/// a, b, c, d in a diamond of 10 ns each; a's output costs 3 ns at a port, others 1 ns.
CostGraph diamond() {
  CostGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) {
    addNode(graph, name, {10, 10});
  }
  addTensor(graph, 0, {1, 2}, 0);
  addTensor(graph, 1, {3}, 0);
  addTensor(graph, 2, {3}, 0);
  for (CostTensor& tensor : graph.tensors) {
    tensor.portNs = tensor.producer == 0 ? 3 : 1;
  }
  REQUIRE(graph.finish(2).ok());
  return graph;
}

Placement onDevices(const CostGraph& graph, std::vector<int> device) {
  Placement placement;
  placement.device = std::move(device);
  placement.setOrder(graph.topologicalOrder);
  placement.strategy = "test";
  return placement;
}

TEST_CASE("a tensor is paid for once out of a port and once into each") {
  CostGraph graph = diamond();
  Cluster cluster = freeCluster(2);
  cluster.devices[0].hasPort = true;
  cluster.devices[1].hasPort = true;
  Simulation simulation = Simulator(graph, cluster).run(onDevices(graph, {0, 1, 1, 0})).value();
  CHECK(simulation.devices[0].portNs == 3 + 1 + 1);
  CHECK(simulation.devices[1].portNs == 3 + 1 + 1);
  CHECK(simulation.periodNs == 25);
  CHECK(simulation.stepNs == 40);  // ports count for the period alone where calls are not one
}

TEST_CASE("a call begins with all its inputs and gives at its end") {
  CostGraph graph = diamond();
  Cluster cluster = freeCluster(2);
  cluster.devices[1].hasPort = true;
  cluster.devices[1].isOffload = true;
  Simulation simulation = Simulator(graph, cluster).run(onDevices(graph, {0, 1, 1, 0})).value();
  CHECK(simulation.ops[1].start == 10 + 3);
  CHECK(simulation.ops[2].finish == 33);
  CHECK(simulation.ops[3].start == 33 + 1 + 1);
  CHECK(simulation.stepNs == 45);
  CHECK(simulation.devices[1].portNs == 5);
}

TEST_CASE("a call that needs what others make of its own outputs is refused") {
  CostGraph graph = diamond();
  Cluster cluster = freeCluster(2);
  cluster.devices[0].isOffload = true;
  absl::Status refused = Simulator(graph, cluster).run(onDevices(graph, {0, 1, 0, 0})).status();
  CHECK(refused.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(messageOf(refused),
             Catch::Contains("n0/cpu:0 waits for ever: its nodes are one call"));
  CHECK_THAT(messageOf(refused), Catch::Contains("must be contiguous"));
}

TEST_CASE("lanes run nodes side by side, and their memory adds up") {
  CostGraph graph;
  for (const char* name : {"a", "b", "c"}) {
    addNode(graph, name, {10}, 0, 100);
  }
  REQUIRE(graph.finish(1).ok());
  Cluster cluster = freeCluster(1);
  auto steps = [&](int lanes) {
    cluster.devices[0].lanes = lanes;
    return Simulator(graph, cluster).run(onDevices(graph, {0, 0, 0})).value();
  };
  CHECK(steps(1).stepNs == 30);
  CHECK(steps(1).devices[0].peakBytes == 100);
  CHECK(steps(2).stepNs == 20);
  CHECK(steps(2).periodNs == 15);
  CHECK(steps(2).devices[0].peakBytes == 200);
  CHECK(steps(0).stepNs == 10);
  CHECK(steps(0).periodNs == 0);
  CHECK(steps(0).devices[0].peakBytes == 300);
}

TEST_CASE("a busy link is a load too") {
  CostGraph graph;
  addNode(graph, "a", {10, 10});
  addNode(graph, "b", {10, 10});
  addTensor(graph, 0, {1}, 500);
  REQUIRE(graph.finish(2).ok());
  Cluster cluster = testing::simpleCluster(2);
  CHECK(Simulator(graph, cluster).run(onDevices(graph, {0, 1}))->periodNs == 510);
}

TEST_CASE("contiguity looks at forward nodes alone") {
  CostGraph graph = diamond();
  Cluster cluster = freeCluster(2);
  PlacementProblem problem = testing::makeProblem(graph, cluster);
  Placement placement = onDevices(graph, {0, 1, 0, 0});
  CHECK(placementViolations(problem, placement).empty());
  problem.contiguous = true;
  std::vector<std::string> broken = placementViolations(problem, placement);
  REQUIRE(broken.size() == 1);
  CHECK(broken[0] == "n0/cpu:0 is not contiguous: a path leaves it at 'a' and comes back at 'd'");
  CHECK(placementViolations(problem, onDevices(graph, {0, 0, 1, 1})).empty());
  graph.nodes[1].backward = true;
  CHECK(placementViolations(problem, placement).empty());
}

TEST_CASE("bounds hold for lanes, units and both objectives") {
  CostGraph graph = diamond();
  graph.colocation = {{1, 2}};
  Cluster cluster = freeCluster(2);
  PlacementProblem problem = testing::makeProblem(graph, cluster);
  CHECK(lowerBounds(problem).criticalPathNs == 30);
  CHECK(lowerBounds(problem).workNs == 20);
  CHECK(lowerBounds(problem).unitNs == 20);
  problem.objective = Objective::kThroughput;
  CHECK(lowerBounds(problem).ns() == 20);
  cluster.devices[0].lanes = 3;
  CHECK(lowerBounds(problem).workNs == 10);
  CHECK(lowerBounds(problem).unitNs == 7);
  cluster.devices[0].lanes = 0;
  CHECK(lowerBounds(problem).ns() == 0);
}

TEST_CASE("bounds count what nodes have of each core") {
  CostGraph graph;
  for (int n = 0; n < 10; ++n) {
    addNode(graph, absl::StrCat("n", n), {60, 100, 100});
  }
  REQUIRE(graph.finish(3).ok());
  Cluster cluster = testing::coreCluster({{{0, 1}, {0}, {1}}});
  PlacementProblem problem = testing::makeProblem(graph, cluster);
  CHECK(lowerBounds(problem).workNs == Approx(500).margin(1));  // 2 x 60 of both cores is more
  CHECK(place(problem, "auto")->simulation.stepNs == 500);
  for (CostNode& node : graph.nodes) {
    node.timeNs = {40, 100, 100};
  }
  PlacementProblem steep = testing::makeProblem(graph, cluster);
  CHECK(lowerBounds(steep).workNs == Approx(400).margin(1));
  CHECK(place(steep, "auto")->simulation.stepNs == 400);
  cluster.devices[1].lanes = 2;
  CHECK_THAT(testing::messageOf(PlacementProblem::create(graph, cluster).status()),
             Catch::Contains("n0/cpu:1 shares cores with other devices, so it must run one node at "
                             "a time; got lanes 2"));
}

TEST_CASE("slow devices take their share of the work, and no more") {
  CostGraph graph;
  for (int n = 0; n < 110; ++n) {
    addNode(graph, absl::StrCat("n", n), {100, 1000});
  }
  REQUIRE(graph.finish(2).ok());
  Cluster cluster = freeCluster(2);
  PlacementProblem problem = testing::makeProblem(graph, cluster);
  problem.objective = Objective::kThroughput;
  CHECK(lowerBounds(problem).ns() <= 10'000);
  CHECK(lowerBounds(problem).ns() >= 9'900);  // 100 nodes on the fast one, 10 on the slow one
}

TEST_CASE("candidates are judged by the problem's objective, and must be contiguous") {
  CostGraph graph = diamond();
  Cluster cluster = freeCluster(2);
  PlacementProblem problem = testing::makeProblem(graph, cluster);
  problem.objective = Objective::kThroughput;
  problem.contiguous = true;
  for (const Candidate& candidate : runCandidates(problem)) {
    if (candidate.result.ok()) {
      INFO(candidate.strategy);
      CHECK(brokenContiguity(problem, candidate.result->placement).empty());
    }
  }
  auto best = place(problem, "auto");
  REQUIRE(best.ok());
  CHECK(problem.objectiveNs(best->simulation) <= 40);
}

}  // namespace
}  // namespace graphrun::placement
