#include "placement/recompute/recompute.h"

#include <map>
#include <set>

#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

/// What `graph` becomes when its nodes run in `order`, in which some stand again: a node for each
/// position, which reads what was made last.
CostGraph repeated(const CostGraph& graph, const std::vector<int>& order) {
  CostGraph result;
  std::map<int, int> latest;  // tensors
  std::map<int, int> first;
  std::set<int> ran;
  for (int t = 0; t < graph.tensorCount(); ++t) {
    if (graph.tensor(t).producer < 0) {
      latest[t] = addTensor(result, -1, {}, graph.tensor(t).bytes);
    }
  }
  std::map<int, std::vector<int>> readers;
  for (size_t i = 0; i < order.size(); ++i) {
    const CostNode& old = graph.node(order[i]);
    const int node = addNode(result, absl::StrCat(old.name, "/", i), old.timeNs,
                             ran.insert(order[i]).second ? old.weightBytes : 0, old.workspaceBytes);
    for (int t : old.inputs) {
      result.tensors[static_cast<size_t>(latest.at(t))].consumers.push_back(node);
    }
    for (int t : old.outputs) {
      const bool isFirst = !latest.contains(t);
      latest[t] =
          addTensor(result, node, {}, graph.tensor(t).bytes, isFirst && graph.tensor(t).isOutput);
      result.tensors[static_cast<size_t>(latest[t])].isResident = graph.tensor(t).isResident;
    }
  }
  REQUIRE(result.finish(static_cast<int>(graph.node(0).timeNs.size())).ok());
  return result;
}

int64_t peakOf(const CostGraph& graph, const Cluster& cluster, const std::vector<int>& order) {
  const CostGraph again = repeated(graph, order);
  const std::vector<int> devices(again.nodes.size(), 0);
  return simulate(again, cluster, placed(devices)).devices[0].peakBytes;
}

PlacementResult inOrder(const PlacementProblem& problem) {
  Placement placement = placed(std::vector<int>(problem.graph().nodes.size(), 0));
  return {placement, simulate(problem.graph(), problem.cluster(), placement)};
}

/// A chain of nodes and their gradients, each of which reads what its node read.
CostGraph chain(int length, int64_t bytes) {
  CostGraph graph;
  std::vector<int> values;
  for (int i = 0; i < length; ++i) {
    const int node = addNode(graph, absl::StrCat("f", i), {10});
    if (i > 0) {
      graph.tensors[static_cast<size_t>(values.back())].consumers.push_back(node);
    }
    values.push_back(addTensor(graph, node, {}, bytes));
  }
  int slope = -1;
  for (int i = length - 1; i >= 0; --i) {
    const int node = addNode(graph, absl::StrCat("b", i), {20});
    graph.tensors[static_cast<size_t>(values[static_cast<size_t>(i)])].consumers.push_back(node);
    if (slope >= 0) {
      graph.tensors[static_cast<size_t>(slope)].consumers.push_back(node);
    }
    slope = addTensor(graph, node, {}, bytes, i == 0);
  }
  REQUIRE(graph.finish(1).ok());
  return graph;
}

/// A step of training as random as can be: forward nodes that read what came before, backward
/// nodes that read forward values, and updates that are written where they stay.
CostGraph randomStep(std::mt19937& random) {
  auto draw = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  CostGraph graph;
  const int length = draw(3, 40);
  std::vector<int> values = {addTensor(graph, -1, {}, 100)};
  auto read = [&](int t, int node) {
    graph.tensors[static_cast<size_t>(t)].consumers.push_back(node);
  };
  for (int i = 0; i < length; ++i) {
    const int node = addNode(graph, absl::StrCat("f", i), {draw(0, 50)}, draw(0, 30), draw(0, 60));
    read(values.back(), node);
    read(values[static_cast<size_t>(draw(0, static_cast<int>(values.size()) - 1))], node);
    values.push_back(addTensor(graph, node, {}, draw(1, 200), draw(0, 9) == 0));
    if (draw(0, 4) == 0) {
      read(values.back(), addNode(graph, absl::StrCat("s", i), {1}));
      addTensor(graph, graph.nodeCount() - 1, {}, 1);
    }
  }
  int slope = values.back();
  for (int i = length; i > 0; --i) {
    const int node = addNode(graph, absl::StrCat("b", i), {draw(0, 90)}, 0, draw(0, 60));
    read(values[static_cast<size_t>(i)], node);
    read(values[static_cast<size_t>(draw(0, i))], node);
    read(slope, node);
    slope = addTensor(graph, node, {}, draw(1, 200), i == 1);
    const int next = addTensor(graph, node, {}, draw(1, 200));
    graph.tensors[static_cast<size_t>(next)].isResident = draw(0, 1) == 0;
    read(next, addNode(graph, absl::StrCat("u", i), {1}));
  }
  REQUIRE(graph.finish(1).ok());
  return graph;
}

std::vector<bool> allBut(const CostGraph& graph, const std::string& letter) {
  std::vector<bool> may;
  for (const CostNode& node : graph.nodes) {
    may.push_back(node.name.substr(0, 1) != letter);
  }
  return may;
}

TEST_CASE("what lies between its readings leaves, as much of it as the limit asks for") {
  const CostGraph graph = chain(16, 100);
  Cluster cluster = simpleCluster(1);
  PlacementProblem problem = makeProblem(graph, cluster);
  const PlacementResult start = inOrder(problem);
  REQUIRE(start.simulation.devices[0].peakBytes == 1700);
  const std::vector<bool> all(graph.nodes.size(), true);
  std::vector<int64_t> repeats;
  for (int64_t limit : {1700, 1400, 1000, 800}) {
    problem.limits[0] = limit;
    absl::StatusOr<RecomputedStep> step = recompute(problem, start, all);
    INFO(limit << ": " << messageOf(step.status()));
    REQUIRE(step.ok());
    CHECK(peakOf(graph, cluster, step->order) <= limit);
    CHECK(step->extraNs == 10 * step->repeats);
    repeats.push_back(step->repeats);
  }
  CHECK(repeats[0] == 0);
  CHECK(std::is_sorted(repeats.begin(), repeats.end()));
  CHECK(repeats.back() <= 16);  // each node once more
  const int64_t least = leastBytes(problem, start, all)[0];
  CHECK(least <= 700);  // some 2√n values at a time
  problem.limits[0] = least;
  CHECK(recompute(problem, start, all).ok());
  problem.limits[0] = 150;
  CHECK(absl::IsResourceExhausted(recompute(problem, start, all).status()));
}

TEST_CASE("what may not run again stays") {
  const CostGraph graph = chain(8, 100);
  Cluster cluster = simpleCluster(1);
  PlacementProblem problem = makeProblem(graph, cluster);
  problem.limits[0] = 600;
  const PlacementResult start = inOrder(problem);
  CHECK(recompute(problem, start, allBut(graph, "b")).ok());
  CHECK_FALSE(recompute(problem, start, allBut(graph, "f")).ok());
}

TEST_CASE("200 random steps keep to random limits, or are refused with one that they keep to") {
  std::mt19937 random(7);  // NOLINT: the same steps each time
  Cluster cluster = simpleCluster(1);
  int within = 0;
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    const CostGraph graph = randomStep(random);
    PlacementProblem problem = makeProblem(graph, cluster);
    const PlacementResult start = inOrder(problem);
    const int64_t peak = start.simulation.devices[0].peakBytes;
    CHECK(peakOf(graph, cluster, start.placement.order()) == peak);
    problem.limits[0] = std::uniform_int_distribution<int64_t>(peak / 4, peak)(random);
    const std::vector<bool> may = allBut(graph, i % 2 == 0 ? "u" : "b");
    absl::StatusOr<RecomputedStep> step = recompute(problem, start, may);
    if (!step.ok()) {
      problem.limits[0] = leastBytes(problem, start, may)[0];
      step = recompute(problem, start, may);
    } else {
      ++within;
    }
    REQUIRE(step.ok());
    std::vector<int> runs(graph.nodes.size(), 0);
    for (int node : step->order) {
      CHECK((++runs[static_cast<size_t>(node)] == 1 || may[static_cast<size_t>(node)]));
    }
    CHECK(std::count(runs.begin(), runs.end(), 0) == 0);
    CHECK(peakOf(graph, cluster, step->order) <= problem.limits[0]);
  }
  CHECK(within > 50);
}

}  // namespace
}  // namespace graphrun::placement
