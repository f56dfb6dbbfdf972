// What the list heuristics do on examples whose answers are published or plain.
#include "placement/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::addNode;
using testing::addTensor;
using testing::makeProblem;

/// Between any two devices a byte takes a nanosecond.
Cluster plainCluster(int count) {
  Cluster cluster = testing::simpleCluster(count);
  for (LinkOverride& link : cluster.links) {
    link.latencyNs = 0;
  }
  return cluster;
}

int64_t stepOf(const PlacementProblem& problem, absl::string_view strategy) {
  auto result = place(problem, strategy);
  INFO(testing::messageOf(result.status()));
  REQUIRE(result.ok());
  return result->simulation.stepNs;
}

TEST_CASE("peft sees that what follows runs elsewhere") {
  CostGraph graph;
  addNode(graph, "a", {10, 11});
  addNode(graph, "b", {kUnsupported, 5});
  addTensor(graph, 0, {1}, 100);
  REQUIRE(graph.finish(2).ok());
  Cluster cluster = plainCluster(2);
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(stepOf(problem, "heft") == 115);
  CHECK(stepOf(problem, "peft") == 16);
}

TEST_CASE("etf begins what can start, sct leaves the device to what its result is best for") {
  CostGraph graph;
  addNode(graph, "a", {10, kUnsupported});  // its favourite is c, which also waits for b
  addNode(graph, "b", {kUnsupported, 11});
  addNode(graph, "c", {10, 10});
  addNode(graph, "d", {50, kUnsupported});  // could start at once when a has ended
  addTensor(graph, 0, {2}, 40);
  addTensor(graph, 1, {2}, 1);
  addTensor(graph, 0, {3}, 0);
  REQUIRE(graph.finish(2).ok());
  Cluster cluster = plainCluster(2);
  PlacementProblem problem = makeProblem(graph, cluster);
  auto etf = place(problem, "etf");
  auto sct = place(problem, "sct");
  REQUIRE(etf.ok());
  REQUIRE(sct.ok());
  CHECK(etf->simulation.ops[3].start == 10);
  CHECK(sct->simulation.ops[2].start == 12);
  CHECK(sct->placement.device[2] == 0);
}

}  // namespace
}  // namespace graphrun::placement
