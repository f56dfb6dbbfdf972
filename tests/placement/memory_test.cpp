#include "placement/list_scheduling/orders.h"
#include "placement/simulator/simulator.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

TEST_CASE(
    "weights stay, tensors live until their last consumer, workspace only while its node runs") {
  Cluster cluster = simpleCluster(1);
  CostGraph graph;
  int a = addNode(graph, "a", {10}, 1000, 7);
  int b = addNode(graph, "b", {10}, 0, 500);
  int c = addNode(graph, "c", {10}, 0, 0);
  addTensor(graph, -1, {a}, 64);
  addTensor(graph, a, {b}, 100);
  addTensor(graph, b, {c}, 30);
  addTensor(graph, c, {}, 4, true);
  REQUIRE(graph.finish(1).ok());
  DeviceUse use = simulate(graph, cluster, placed({0, 0, 0}, {a, b, c})).devices[0];
  CHECK(use.weightBytes == 1000);
  CHECK(use.receiveBytes == 64);  // one buffer for what comes from the client
  REQUIRE(use.memory.size() == 3);
  CHECK(use.memory[0].bytes == 1064 + 100 + 7);
  CHECK(use.memory[1].bytes == 1064 + 100 + 30 + 500);
  CHECK(use.memory[2].bytes == 1064 + 30 + 4);
  CHECK(use.peakBytes == 1694);
  CHECK(use.peakNode == b);
}

TEST_CASE("an edge between devices holds its slots on the receiver for the whole step") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {10, 10});
  int b = addNode(graph, "b", {10, 10});
  int c = addNode(graph, "c", {10, 10});
  addTensor(graph, a, {b, c}, 100);
  REQUIRE(graph.finish(2).ok());
  Simulation s = simulate(graph, cluster, placed({0, 1, 1}, {a, b, c}));
  CHECK(s.devices[0].peakBytes == 100);
  CHECK(s.devices[1].peakBytes == 200);
  CHECK(s.devices[1].receiveBytes == 200);
}

TEST_CASE("within the client's process, where one step runs at a time, an edge has one slot") {
  Cluster cluster = simpleCluster(2);
  for (Worker& worker : cluster.workers) {
    worker.inClient = true;
  }
  CostGraph graph;
  int a = addNode(graph, "a", {10, 10});
  int b = addNode(graph, "b", {10, 10});
  addTensor(graph, a, {b}, 100);
  REQUIRE(graph.finish(2).ok());
  CHECK(simulate(graph, cluster, placed({0, 1}, {a, b})).devices[1].receiveBytes == 100);
  cluster.workers[0].inClient = false;
  CHECK(simulate(graph, cluster, placed({0, 1}, {a, b})).devices[1].receiveBytes == 200);
}

TEST_CASE("a tensor that is on its way is still in its sender's memory") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {10, 10});
  int b = addNode(graph, "b", {10, 10});
  int c = addNode(graph, "c", {10, 10});
  int later = addNode(graph, "later", {10, 10});
  addTensor(graph, a, {b}, 5);  // leaves 10 to 25
  addTensor(graph, c, {}, 70);
  addTensor(graph, later, {}, 70);
  REQUIRE(graph.finish(2).ok());
  Simulation s = simulate(graph, cluster, placed({0, 1, 0, 0}, {a, b, c, later}));
  REQUIRE(s.devices[0].memory.size() == 3);
  CHECK(s.devices[0].memory[1].bytes == 75);  // c starts at 10
  CHECK(s.devices[0].memory[2].bytes == 75);  // later starts at 20
  CHECK(s.devices[0].peakBytes == 75);
}

TEST_CASE("what a device sent stays until the step ends") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  int a = addNode(graph, "a", {10, 10});
  int b = addNode(graph, "b", {10, 10});
  int late = addNode(graph, "late", {100, 100});
  int last = addNode(graph, "last", {10, 10});
  addTensor(graph, a, {b}, 5);  // arrives long before 'last' starts
  addTensor(graph, late, {last}, 70);
  addTensor(graph, last, {}, 1);
  REQUIRE(graph.finish(2).ok());
  Simulation s = simulate(graph, cluster, placed({0, 1, 0, 0}, {a, b, late, last}));
  REQUIRE(s.devices[0].memory.size() == 3);
  CHECK(s.devices[0].memory[2].bytes == 5 + 70 + 1);
  SimulatorOptions lets;
  lets.holdsSent = false;
  s = simulate(graph, cluster, placed({0, 1, 0, 0}, {a, b, late, last}), lets);
  CHECK(s.devices[0].memory[2].bytes == 70 + 1);
}

TEST_CASE("nodes that take no time still have memory") {
  Cluster cluster = simpleCluster(1);
  CostGraph graph;
  int a = addNode(graph, "a", {0});
  int b = addNode(graph, "b", {0});
  addTensor(graph, a, {b}, 100);
  addTensor(graph, b, {}, 50, true);
  REQUIRE(graph.finish(1).ok());
  CHECK(simulate(graph, cluster, placed({0, 0}, {a, b})).devices[0].peakBytes == 150);
}

TEST_CASE("outputs at home on the device and resident inputs stay to the end") {
  Cluster cluster = simpleCluster(1);
  CostGraph graph;
  int a = addNode(graph, "a", {10});
  int b = addNode(graph, "b", {10});
  int kept = addTensor(graph, a, {b}, 100, true);
  graph.tensors[static_cast<size_t>(kept)].outputHome = 0;
  int resident = addTensor(graph, -1, {a}, 8);
  graph.tensors[static_cast<size_t>(resident)].inputHome = 0;
  addTensor(graph, b, {}, 50);
  REQUIRE(graph.finish(1).ok());
  DeviceUse use = simulate(graph, cluster, placed({0, 0}, {a, b})).devices[0];
  CHECK(use.peakBytes == 158);
}

TEST_CASE("the lean order finishes one branch before it begins the next") {
  CostGraph graph;
  std::vector<int> ends;
  std::vector<int> starts;
  for (int i = 0; i < 4; ++i) {
    starts.push_back(addNode(graph, absl::StrCat("start", i), {10}));
  }
  int join = addNode(graph, "join", {10});
  for (int i = 0; i < 4; ++i) {
    int end = addNode(graph, absl::StrCat("end", i), {10});
    addTensor(graph, starts[static_cast<size_t>(i)], {end}, 1000);
    addTensor(graph, end, {join}, 1);
  }
  REQUIRE(graph.finish(1).ok());
  Cluster cluster = simpleCluster(1);
  std::vector<int> all(9, 0);
  Simulation lean = simulate(graph, cluster, placed(all, leanOrder(graph)));
  Simulation byId = simulate(graph, cluster, placed(all, graph.topologicalOrder));
  CHECK(lean.devices[0].peakBytes == 1004);
  CHECK(byId.devices[0].peakBytes == 4001);
}

}  // namespace
}  // namespace graphrun::placement
