// What the list heuristics do on examples whose answers are published or plain.
#include "placement/list_scheduling/mean_costs.h"
#include "placement/problem/problem.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::addNode;
using testing::addTensor;
using testing::coreCluster;
using testing::makeProblem;
using testing::messageOf;
using testing::simpleCluster;

/// Between any two devices a byte takes a nanosecond.
Cluster plainCluster(int count) {
  Cluster cluster = testing::simpleCluster(count);
  for (LinkOverride& link : cluster.links) {
    link.latencyNs = 0;
  }
  return cluster;
}

TEST_CASE("mean transfers of large tensors are those of the lines that hold for them") {
  Cluster cluster = plainCluster(3);
  cluster.links[2].large = LargeTransfers{1000, {500, 4e9}};
  cluster.links[4].large = LargeTransfers{2000, {50, 1e8}};
  CostGraph graph;
  addNode(graph, "n", {1, 1, 1});
  REQUIRE(graph.finish(3).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  MeanCosts mean(problem);
  const LinkTable& links = problem.simulator.links();
  for (int64_t bytes : {0, 999, 1000, 1999, 2000, 100'000}) {
    CAPTURE(bytes);
    double sum = 0;
    for (auto [from, to] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
      sum += static_cast<double>(links.link(links.id(from, to)).model.transferNs(bytes) +
                                 links.link(links.id(to, from)).model.transferNs(bytes));
    }
    CHECK(mean.transferNs(bytes) == Approx(sum / 9).margin(1));
  }
}

int64_t stepOf(const PlacementProblem& problem, absl::string_view strategy) {
  auto result = place(problem, strategy);
  INFO(testing::messageOf(result.status()));
  REQUIRE(result.ok());
  return result->simulation.stepNs;
}

/// Figure 2 and table 1 of Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002.
CostGraph publishedGraph() {
  CostGraph graph;
  const std::vector<std::vector<int64_t>> times = {
      {14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17},  {12, 13, 10},
      {13, 16, 9}, {7, 15, 11},  {5, 11, 14},  {18, 12, 20}, {21, 7, 16}};
  for (size_t i = 0; i < times.size(); ++i) {
    addNode(graph, absl::StrCat("n", i + 1), times[i]);
  }
  const std::vector<std::tuple<int, int, int64_t>> edges = {
      {1, 2, 18}, {1, 3, 12}, {1, 4, 9},   {1, 5, 11},  {1, 6, 14},
      {2, 8, 19}, {2, 9, 16}, {3, 7, 23},  {4, 8, 27},  {4, 9, 23},
      {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13}};
  for (auto [from, to, bytes] : edges) {
    addTensor(graph, from - 1, {to - 1}, bytes);
  }
  REQUIRE(graph.finish(3).ok());
  return graph;
}

TEST_CASE("the published example of HEFT and CPOP") {
  CostGraph graph = publishedGraph();
  Cluster cluster = plainCluster(3);
  for (LinkOverride& link : cluster.links) {
    link.queues = false;
  }
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(stepOf(problem, "heft") == 80);
  CHECK(stepOf(problem, "cpop") == 86);
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

TEST_CASE("a chain gets all cores, branches that could run at a time a half each") {
  CostGraph graph;
  int begin = addNode(graph, "begin", {100, 190, 190});
  int left = addNode(graph, "left", {80, 100, 100});
  int right = addNode(graph, "right", {80, 100, 100});
  int join = addNode(graph, "join", {100, 190, 190});
  addTensor(graph, begin, {left, right}, 0);
  addTensor(graph, left, {join}, 0);
  addTensor(graph, right, {join}, 0);
  REQUIRE(graph.finish(3).ok());
  Cluster cluster = coreCluster({{{0, 1}, {0}, {1}}});  // 10 ns between devices
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(stepOf(problem, "heft") == 360);  // the whole for each branch in turn
  auto best = place(problem, "cores");
  REQUIRE(best.ok());
  CHECK(best->simulation.stepNs == 100 + 10 + 100 + 10 + 100);
  CHECK(best->placement.device[0] == 0);
  CHECK(best->placement.device[1] + best->placement.device[2] == 3);
  CHECK(best->placement.device[3] == 0);
  CHECK_THAT(messageOf(place(makeProblem(graph, simpleCluster(3)), "cores").status()),
             Catch::Contains("strategy 'cores' is not for this problem"));
}

}  // namespace
}  // namespace graphrun::placement
