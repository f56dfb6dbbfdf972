#include "placement/simulator/split_devices.h"

#include "placement/problem/problem.h"
#include "placement/simulator/core_table.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::coreCluster;
using testing::messageOf;

TEST_CASE("parts have the cores of the device that they are of") {
  Cluster split = splitDevices(coreCluster({{{0, 1, 2, 3}}, {{4}}}), 2);
  CHECK(split.deviceNames() ==
        std::vector<std::string>{"n0/cpu:0", "n1/cpu:0", "n0/cpu:0/0", "n0/cpu:0/1"});
  CHECK(split.devices[2].cores == std::vector<int>{0, 1});
  CHECK(split.devices[3].cores == std::vector<int>{2, 3});
  CHECK(split.devices[3].threads == 2);
  CHECK(split.devices[3].whole == 0);
  CHECK(split.runnerOf(2) == 0);
  CHECK(split.runnerOf(3) == 3);
  CHECK(split.link(0, 2).transferNs(1 << 20) <= 1);
  CHECK(split.link(0, 3).transferNs(1 << 20) > 0);
  CoreTable cores(split);
  CHECK(cores.isShared(0));
  CHECK_FALSE(cores.isShared(1));
}

TEST_CASE("a process whose threads are not pinned is split, too") {
  Cluster split = splitDevices(localCluster(0, devices::cpu::cpuKind()), 2);
  if (split.devices.size() > 1) {
    CHECK(split.devices[0].floating);
    CHECK(split.devices[1].floating);
    CHECK(CoreTable(split).isShared(0));
  }
  CHECK(splitDevices(localCluster(1, devices::cpu::cpuKind()), 2).devices.size() == 1);
}

TEST_CASE("what shares cores already, or is not to be split, stays whole") {
  Cluster shared = coreCluster({{{0, 1}, {1, 2}}});
  CHECK_FALSE(maySplit(shared, 0));
  Cluster refused = coreCluster({{{0, 1}}});
  CHECK(maySplit(refused, 0));
  refused.devices[0].splits = false;
  CHECK_FALSE(maySplit(refused, 0));
  CHECK(splitDevices(refused, 2).devices.size() == 1);
}

/// Two chains of `length` nodes that begin and end in one: 100 ns each on a device with all cores,
/// 120 on one with half of them.
CostGraph twoChains(int devices, int length) {
  CostGraph graph;
  auto node = [&](const std::string& name) {
    CostNode made;
    made.name = name;
    made.timeNs.assign(static_cast<size_t>(devices), 120);
    made.timeNs[0] = 100;
    return graph.addNode(std::move(made));
  };
  auto join = [&](int from, int to) {
    CostTensor tensor;
    tensor.name = absl::StrCat("t", from, "-", to);
    tensor.producer = from;
    tensor.consumers = {to};
    tensor.bytes = 1;
    graph.addTensor(std::move(tensor));
  };
  int first = node("first");
  int last = node("last");
  for (int chain = 0; chain < 2; ++chain) {
    int before = first;
    for (int i = 0; i < length; ++i) {
      int next = node(absl::StrCat("c", chain, "_", i));
      join(before, next);
      before = next;
    }
    join(before, last);
  }
  REQUIRE(messageOf(graph.finish(devices)).empty());
  return graph;
}

TEST_CASE("as many parts are tried as the graph has nodes side by side") {
  CostGraph graph = twoChains(1, 3);
  CHECK(widthOf(graph) == 2);
  Cluster eight = coreCluster({{{0, 1, 2, 3, 4, 5, 6, 7}}});
  CHECK(partsToTry(eight, 2) == std::vector<int>{2});
  CHECK(partsToTry(eight, 100) == std::vector<int>{2, 4, 8});
  CHECK(partsToTry(eight, 1).empty());
  CHECK(partsToTry(coreCluster({{{0}}}), 100).empty());
}

TEST_CASE("chains run side by side on the parts, what joins them on the whole") {
  Cluster split = splitDevices(coreCluster({{{0, 1}}}), 2);
  CostGraph graph = twoChains(3, 5);
  auto problem = PlacementProblem::create(graph, split);
  REQUIRE(problem.ok());
  auto result = place(*problem, "auto");
  REQUIRE(result.ok());
  CHECK(result->simulation.stepNs < 1000);  // on the whole device it is 1200
}

TEST_CASE("parts share the memory of the whole device") {
  Cluster split = splitDevices(coreCluster({{{0, 1}}}), 2);
  for (Device& device : split.devices) {
    device.memoryBytes = 100;
  }
  Simulation simulation;
  simulation.devices.resize(3);
  simulation.devices[0].peakBytes = 40;
  simulation.devices[1].peakBytes = 30;
  simulation.devices[2].peakBytes = 30;
  CHECK(overfullDevice(split, simulation).empty());
  simulation.devices[2].peakBytes = 31;
  CHECK(overfullDevice(split, simulation) == "n0/cpu:0 and its parts would need 101 B of 100 B");
}

TEST_CASE("a rule that keeps nodes off a device keeps them off its parts") {
  Cluster split = splitDevices(coreCluster({{{0, 1}}, {{2}}}), 2);
  CostGraph graph = twoChains(4, 1);
  split.forbids.push_back({"c0_0", "n0/cpu:0", "--forbid"});
  REQUIRE(graph.applyPinRules(split).ok());
  int node = graph.nodesOf({"c0_0", "", ""}).at(0);
  CHECK_FALSE(graph.node(node).supports(0));
  CHECK_FALSE(graph.node(node).supports(2));
  CHECK_FALSE(graph.node(node).supports(3));
  CHECK(graph.node(node).supports(1));
}

}  // namespace
}  // namespace graphrun::placement
