#include "placement/strategies/strategy.h"

#include <algorithm>

#include "placement/list_scheduling/heuristics.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/problem/validate.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

PlacementResult placeOk(const PlacementProblem& problem, absl::string_view strategy) {
  auto result = place(problem, strategy);
  INFO(messageOf(result.status()));
  REQUIRE(result.ok());
  CHECK(placementViolations(problem, result->placement).empty());
  return *std::move(result);
}

/// A source, `branches` nodes of 1000 ns that only share it, and a sink.
CostGraph forkJoin(int branches, int devices) {
  CostGraph graph;
  std::vector<int64_t> tiny(static_cast<size_t>(devices), 1);
  std::vector<int64_t> big(static_cast<size_t>(devices), 1000);
  int source = addNode(graph, "source", tiny);
  std::vector<int> all;
  for (int i = 0; i < branches; ++i) {
    all.push_back(addNode(graph, absl::StrCat("branch", i), big));
  }
  int sink = addNode(graph, "sink", tiny);
  addTensor(graph, source, all, 10);
  for (int branch : all) {
    addTensor(graph, branch, {sink}, 10);
  }
  REQUIRE(graph.finish(devices).ok());
  return graph;
}

TEST_CASE("the table knows its strategies by name") {
  CHECK(findStrategy("heft").value()->name == "heft");
  CHECK(messageOf(findStrategy("hept").status()) ==
        "no placement strategy 'hept'; did you mean 'heft'? (known: single, most, greedy, heft, "
        "cpop, peft, etf, sct, machines, cores, search, segments, balance, calls, auto, "
        "random:SEED, on:DEVICE)");
}

TEST_CASE("all that a device can run is put on it, the rest where it is fastest") {
  Cluster cluster = simpleCluster(3);
  CostGraph graph;
  addNode(graph, "a", {100, 30, 1});
  addNode(graph, "b", {100, 30, kUnsupported});
  addNode(graph, "c", {100, 30, 1});
  addNode(graph, "pinned", {100, 30, 1});
  addTensor(graph, 0, {1}, 1);
  addTensor(graph, 1, {2}, 1);
  addTensor(graph, 2, {3}, 1);
  graph.pins.push_back({3, 0, "test"});
  REQUIRE(graph.finish(3).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  std::string last = absl::StrCat("on:", cluster.devices[2].name);
  CHECK(placeOk(problem, last).placement.device == std::vector<int>{2, 1, 2, 0});
  CHECK(placeOk(problem, "most").placement.device == std::vector<int>{2, 1, 2, 0});
  CHECK(placeOk(problem, "auto").simulation.stepNs <= placeOk(problem, "most").simulation.stepNs);
  CHECK_THAT(messageOf(place(problem, "on:nowhere").status()), Catch::Contains("no such device"));
  graph.nodes[1].timeNs[2] = 5;
  CHECK_FALSE(isForMost(makeProblem(graph, cluster)));
  problem.limits[2] = 0;
  problem.limits[1] = 0;
  CHECK(absl::IsFailedPrecondition(place(problem, last).status()));
}

TEST_CASE("a random placement depends on its seed alone") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  for (int i = 0; i < 40; ++i) {
    addNode(graph, absl::StrCat("n", i), {10, i % 4 == 0 ? kUnsupported : 10});
  }
  REQUIRE(graph.finish(2).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  std::vector<int> first = placeOk(problem, "random:1").placement.device;
  CHECK(placeOk(problem, "random:1").placement.device == first);
  CHECK(placeOk(problem, "random:2").placement.device != first);
  auto onSecond = std::count(first.begin(), first.end(), 1);
  CHECK(onSecond > 5);
  CHECK(onSecond <= 30);
  CHECK(absl::IsNotFound(place(problem, "random:x").status()));
}

TEST_CASE("single takes the device with the shortest step, not the first") {
  Cluster cluster = simpleCluster(3);
  CostGraph graph;
  addNode(graph, "a", {100, 30, 50});
  addNode(graph, "b", {10, 30, 10});
  REQUIRE(graph.finish(3).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  PlacementResult result = placeOk(problem, "single");
  CHECK(result.placement.device == std::vector<int>{1, 1});
  CHECK(result.simulation.stepNs == 60);
}

TEST_CASE("single leaves pinned nodes where they are pinned and respects support") {
  Cluster cluster = simpleCluster(3);
  CostGraph graph;
  addNode(graph, "a", {100, 1, 50});
  addNode(graph, "b", {10, kUnsupported, 10});
  graph.pins = {{0, 1, "test"}};
  REQUIRE(graph.finish(3).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(placeOk(problem, "single").placement.device == std::vector<int>{1, 0});
}

TEST_CASE("single says per device why the whole graph cannot run there") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  addNode(graph, "a", {1, kUnsupported});
  addNode(graph, "b", {kUnsupported, 1});
  REQUIRE(graph.finish(2).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  auto status = place(problem, "single").status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(messageOf(status) ==
        "single: no device can run the whole graph: n0/cpu:0 cannot run 'b': no kernel for "
        "complex64; "
        "n1/cpu:0 cannot run 'a': no kernel for complex64");
  CHECK(placeOk(problem, "auto").placement.device == std::vector<int>{0, 1});
}

TEST_CASE("branches are spread when they are worth the transfers") {
  Cluster cluster = simpleCluster(4);
  CostGraph graph = forkJoin(4, 4);
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(placeOk(problem, "single").simulation.stepNs == 4002);
  for (const char* strategy : {"greedy", "heft", "auto"}) {
    CAPTURE(strategy);
    CHECK(placeOk(problem, strategy).simulation.stepNs == 1 + 20 + 1000 + 20 + 1);
  }
}

TEST_CASE("heuristics know that transfers of several links share an interface") {
  Cluster cluster = simpleCluster(3);
  cluster.interfaces.push_back({{0}, 1e9});
  CostGraph graph;
  int source = addNode(graph, "source", {10, 10, 10});
  graph.pins = {{source, 0, "test"}};
  for (const char* name : {"left", "right"}) {
    int reader = addNode(graph, name, {130, 10, 10});
    addTensor(graph, source, {reader}, 100);
  }
  REQUIRE(graph.finish(3).ok());
  for (const char* strategy : {"greedy", "heft", "cpop", "peft"}) {
    CAPTURE(strategy);
    // The second to leave would be there at 220; where nobody else leaves, it is at 120.
    CHECK(placeOk(makeProblem(graph, cluster), strategy).simulation.stepNs == 140);
    Cluster apart = cluster;
    apart.interfaces.clear();
    CHECK(placeOk(makeProblem(graph, apart), strategy).simulation.stepNs == 130);
  }
}

TEST_CASE("heft fills gaps that greedy leaves") {
  // Greedy runs the cheap nodes first, as the program has them; the long chain then comes late.
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  for (int i = 0; i < 4; ++i) {
    addNode(graph, absl::StrCat("cheap", i), {100, 100});
  }
  int a = addNode(graph, "chain0", {200, 200});
  int b = addNode(graph, "chain1", {200, 200});
  addTensor(graph, a, {b}, 1000);
  REQUIRE(graph.finish(2).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(placeOk(problem, "greedy").simulation.stepNs == 600);
  CHECK(placeOk(problem, "heft").simulation.stepNs == 400);
  CHECK(placeOk(problem, "auto").placement.strategy == "heft");
}

TEST_CASE("auto falls back to single when transfers cost more than they save") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {100, 100});
  int b = addNode(graph, "b", {100, 90});
  int c = addNode(graph, "c", {100, 300});
  addTensor(graph, a, {b}, 1);
  addTensor(graph, b, {c}, 5000);
  REQUIRE(graph.finish(2).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(placeOk(problem, "auto").placement.strategy == "single");
}

TEST_CASE("pins and colocation are honoured by every strategy") {
  Cluster cluster = simpleCluster(4);
  CostGraph graph = forkJoin(6, 4);
  graph.pins = {{1, 3, "test"}, {2, 2, "test"}};
  graph.colocation = {{1, 3}, {4, 5}};
  REQUIRE(graph.finish(4).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  for (const Strategy& strategy : strategies()) {
    if (!strategy.isFor(problem)) {
      continue;
    }
    PlacementResult result = placeOk(problem, strategy.name);
    CHECK(result.placement.device[3] == 3);
    CHECK(result.placement.device[2] == 2);
    CHECK(result.placement.device[4] == result.placement.device[5]);
  }
}

TEST_CASE("a graph that fits on no device alone is spread") {
  // Three nodes of 100 bytes of weights, 160 bytes a device.
  Cluster cluster = simpleCluster(3, {160, 160, 160});
  CostGraph graph;
  int previous = -1;
  for (int i = 0; i < 3; ++i) {
    int n = addNode(graph, absl::StrCat("layer", i), {10, 10, 10}, 100);
    if (previous >= 0) {
      addTensor(graph, previous, {n}, 10);
    }
    previous = n;
  }
  REQUIRE(graph.finish(3).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(!place(problem, "single").ok());
  for (const char* strategy : {"greedy", "heft", "auto"}) {
    PlacementResult result = placeOk(problem, strategy);
    for (const DeviceUse& use : result.simulation.devices) {
      CHECK(use.peakBytes <= 160);
    }
  }
}

TEST_CASE("single falls back to an order that needs less memory") {
  CostGraph graph;
  std::vector<int> starts;
  for (int i = 0; i < 3; ++i) {
    starts.push_back(addNode(graph, absl::StrCat("start", i), {10}));
  }
  for (int i = 0; i < 3; ++i) {
    addTensor(graph, starts[static_cast<size_t>(i)], {addNode(graph, absl::StrCat("end", i), {10})},
              1000);
  }
  REQUIRE(graph.finish(1).ok());
  Cluster cluster = simpleCluster(1, {1500});
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(placeOk(problem, "single").simulation.devices[0].peakBytes == 1000);
}

TEST_CASE("problems need devices and a graph made for them") {
  CostGraph graph;
  addNode(graph, "a", {1});
  Cluster one = simpleCluster(1);
  CHECK_THAT(messageOf(PlacementProblem::create(graph, one).status()),
             Catch::Contains("was not finished for the cluster's 1 devices"));
  REQUIRE(graph.finish(1).ok());
  Cluster two = simpleCluster(2);
  CHECK_THAT(messageOf(PlacementProblem::create(graph, two).status()),
             Catch::Contains("was not finished for the cluster's 2 devices"));
  CHECK_THAT(messageOf(PlacementProblem::create(graph, Cluster{}).status()),
             Catch::Contains("the cluster has no device"));
}

TEST_CASE("an empty graph is placed by all") {
  CostGraph graph;
  REQUIRE(graph.finish(2).ok());
  Cluster cluster = simpleCluster(2);
  PlacementProblem problem = makeProblem(graph, cluster);
  for (const Strategy& strategy : strategies()) {
    if (!strategy.isFor(problem)) {
      continue;
    }
    CHECK(placeOk(problem, strategy.name).simulation.stepNs == 0);
  }
}

}  // namespace
}  // namespace graphrun::placement
