#include "placement/problem/problem.h"
#include "placement/strategies/memory_advice.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

/// Four layers of 1 KiB of weights in a chain.
CostGraph layers(int devices) {
  CostGraph graph;
  int previous = -1;
  for (int i = 0; i < 4; ++i) {
    int n = addNode(graph, absl::StrCat("layer", i),
                    std::vector<int64_t>(static_cast<size_t>(devices), 10), 1024);
    if (previous >= 0) {
      addTensor(graph, previous, {n}, 16);
    }
    previous = n;
  }
  REQUIRE(graph.finish(devices).ok());
  return graph;
}

TEST_CASE("what does not fit is refused with the limits and the least memory that is enough") {
  Cluster cluster = simpleCluster(2, {1100, 1100});
  CostGraph graph = layers(2);
  PlacementProblem problem = makeProblem(graph, cluster);
  for (const Strategy& strategy : strategies()) {
    if (!strategy.isFor(problem)) {
      continue;
    }
    auto status = place(problem, strategy.name).status();
    CAPTURE(strategy.name, messageOf(status));
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(
        messageOf(status),
        Catch::Contains("cannot place the graph within the memory limits:\n") &&
            Catch::Contains("limit 1.07 KiB") &&
            Catch::Contains("least memory that is enough:\n  all on n0/cpu:0: 4.04 KiB\n  all on "
                            "n1/cpu:0: 4.04 KiB\n  spread over all devices: n0/cpu:0 2.04 KiB, "
                            "n1/cpu:0 2.05 KiB; 4.08 KiB in total") &&
            Catch::Contains("never less than 4.02 KiB in total"));
  }
}

TEST_CASE("the advice is true: with it the graph is placed") {
  Cluster cluster = simpleCluster(2, {1100, 1100});
  CostGraph graph = layers(2);
  PlacementProblem problem = makeProblem(graph, cluster);
  MemoryAdvice advice = adviseMemory(problem);
  PlacementProblem one = problem;
  one.limits = {*advice.alone[0], 0};
  CHECK(place(one, "single").ok());
  one.limits = {*advice.alone[0] - 1, 0};
  CHECK(!place(one, "single").ok());
  PlacementProblem spread = problem;
  spread.limits = advice.spread;
  CHECK(place(spread, "auto").ok());
}

TEST_CASE("what is said to be needed on one device is the least of what was tried") {
  // In program order 1,100 bytes: a large tensor becomes a small one first. The order that takes
  // the smallest tensors first has another one beside them.
  Cluster cluster = simpleCluster(1, {1000});
  CostGraph graph;
  int large = addNode(graph, "large", {10});
  int small = addNode(graph, "small", {10});
  int other = addNode(graph, "other", {10});
  int sum = addNode(graph, "sum", {10});
  addTensor(graph, large, {small}, 1000);
  addTensor(graph, small, {sum}, 100);
  addTensor(graph, other, {sum}, 200);
  REQUIRE(graph.finish(1).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(*adviseMemory(problem).alone[0] == 1100);
  CHECK_THAT(messageOf(place(problem, "single").status()),
             Catch::Contains("n0/cpu:0 needs 1.07 KiB while 'small' runs, limit 1000 B"));
}

TEST_CASE("a pinned node that alone breaks its device is named with it") {
  Cluster cluster = simpleCluster(2, {0, 500});
  CostGraph graph = layers(2);
  graph.pins = {{2, 1, "c.yaml:9"}};
  PlacementProblem problem = makeProblem(graph, cluster);
  std::string error = messageOf(place(problem, "greedy").status());
  CHECK_THAT(error, Catch::Contains("node 'layer2' fits on no device: n1/cpu:0 would need 1.0") &&
                        Catch::Contains("limit 500 B"));
}

TEST_CASE("devices that cannot run the graph get no advice") {
  Cluster cluster = simpleCluster(2, {100, 100});
  CostGraph graph;
  addNode(graph, "a", {10, kUnsupported}, 1000);
  REQUIRE(graph.finish(2).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  MemoryAdvice advice = adviseMemory(problem);
  CHECK(advice.alone[0] == 1000);
  CHECK(!advice.alone[1].has_value());
  CHECK_THAT(describeAdvice(problem, advice), !Catch::Contains("all on n1"));
}

}  // namespace
}  // namespace graphrun::placement
