// Small clusters and cost graphs for the tests of placement.
#ifndef GRAPHRUN_TESTS_PLACEMENT_GRAPHS_H_
#define GRAPHRUN_TESTS_PLACEMENT_GRAPHS_H_

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/problem/problem.h"
#include "placement/simulator/simulator.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/build.h"

namespace graphrun::placement::testing {

inline std::string messageOf(const absl::Status& status) { return std::string(status.message()); }

inline PlacementProblem makeProblem(const CostGraph& graph, const Cluster& cluster) {
  auto problem = PlacementProblem::create(graph, cluster);
  INFO(messageOf(problem.status()));
  REQUIRE(problem.ok());
  return *std::move(problem);
}

/// Nodes on these devices, by id, in `order`; without one in that of their ids.
inline Placement placed(std::vector<int> devices, std::vector<int> order = {}) {
  if (order.empty()) {
    order.resize(devices.size());
    std::iota(order.begin(), order.end(), 0);
  }
  Placement placement;
  placement.device = std::move(devices);
  placement.setOrder(order);
  return placement;
}

/// What the simulator says of a placement that it must be able to run.
inline Simulation simulate(const CostGraph& graph, const Cluster& cluster,
                           const Placement& placement, const SimulatorOptions& options = {}) {
  auto result = Simulator(graph, cluster, options).run(placement);
  INFO(messageOf(result.status()));
  REQUIRE(result.ok());
  return *std::move(result);
}

/// Places by "auto" with budgets of more and more units of work: REQUIREs that none gives a worse
/// answer than a smaller one. Whether the largest gave a better one than the smallest.
inline bool improvesWithWork(PlacementProblem problem, int64_t most) {
  int64_t first = 0;
  int64_t last = 0;
  for (int64_t work = 1; work <= most; work += 1 + work / 3) {
    CAPTURE(work);
    int64_t left = work;
    problem.search.workLeft = &left;
    auto result = place(problem, "auto");
    REQUIRE(result.ok());
    int64_t now = problem.objectiveNs(result->simulation);
    REQUIRE((work == 1 || now <= last));
    first = work == 1 ? now : first;
    last = now;
  }
  return last < first;
}

struct RandomOptions {
  int minNodes = 1;
  int maxNodes = 40;
  int devices = 3;
  bool constraints = true;   // unsupported ops, pins and colocation
  bool shares = false;       // up to three works that several nodes share
  bool collectives = false;  // up to three collectives, of any nodes that are in no other
};

/// Devices of up to three workers of one host, each with some of its four cores, or none of its
/// own.
inline Cluster randomCoreCluster(std::mt19937& random, int devices) {
  std::vector<std::vector<std::vector<int>>> cores(1 + random() % 3);
  for (int d = 0; d < devices; ++d) {
    std::vector<int> own;
    for (unsigned core = 0, all = random() % 16; core < 4; ++core) {
      if ((all >> core & 1U) != 0) {
        own.push_back(static_cast<int>(core));
      }
    }
    cores[random() % cores.size()].push_back(own);
  }
  return coreCluster(cores);
}

/// Lets a random few of the nodes that do not share yet do the work of the first of them. Each node
/// makes one tensor, of its number.
inline void shareSomething(std::mt19937& random, CostGraph& graph, std::vector<bool>& shares) {
  SharedWork work;
  work.onlyApart = random() % 3 == 0;
  for (unsigned most = 2 + random() % 3; work.nodes.size() < most; --most) {
    auto n = static_cast<size_t>(random() % graph.nodes.size());
    if (!shares[n]) {
      shares[n] = true;
      work.nodes.push_back(static_cast<int>(n));
    }
  }
  for (size_t i = 1; i < work.nodes.size(); ++i) {
    auto first = static_cast<size_t>(work.nodes[0]);
    auto other = static_cast<size_t>(work.nodes[i]);
    graph.nodes[other].timeNs = graph.nodes[first].timeNs;
    graph.nodes[other].unsupported = graph.nodes[first].unsupported;
    graph.tensors[other].bytes = graph.tensors[first].bytes;
  }
  if (!work.nodes.empty()) {
    graph.shared.push_back(std::move(work));
  }
}

inline void addRandomCollective(std::mt19937& random, CostGraph& graph, std::vector<bool>& meets) {
  CollectiveGroup collective;
  collective.bytes = static_cast<int64_t>(random() % 800);
  collective.rounds = 1 + static_cast<int>(random() % 2);
  collective.ordered = random() % 3 == 0;
  for (unsigned most = 2 + random() % 4; collective.members.size() < most; --most) {
    auto n = static_cast<size_t>(random() % graph.nodes.size());
    if (!meets[n]) {
      meets[n] = true;
      bool hasMore = !collective.members.empty() && random() % 3 == 0;
      if (!hasMore) {
        collective.members.emplace_back();
      }
      collective.members.back().nodes.push_back(static_cast<int>(n));
      bool isConstant = random() % 4 == 0;
      collective.members.back().operand =
          isConstant ? -1 : static_cast<int>(random() % graph.tensors.size());
    }
  }
  for (size_t count = 2; random() % 2 == 0 && count <= collective.members.size(); ++count) {
    collective.measuredNs.emplace_back(graph.nodes.front().timeNs.size(),
                                       static_cast<int64_t>(random() % 300));
  }
  if (collective.measuredNs.size() + 1 != collective.members.size()) {
    collective.measuredNs.clear();
  }
  if (!collective.members.empty()) {
    graph.collectives.push_back(std::move(collective));
  }
}

/// Lets some devices have one of two libraries.
inline void giveLibraries(std::mt19937& random, Cluster& cluster) {
  for (Device& device : cluster.devices) {
    const unsigned which = random() % 6;
    device.library = which == 0 ? "" : which == 1 ? "other" : "one";
  }
}

/// A random graph with a random cluster's times; finished. Unsupported ops leave device 0 to all.
inline CostGraph randomGraph(std::mt19937& random, const RandomOptions& options) {
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  CostGraph graph;
  int count = pick(options.minNodes, options.maxNodes);
  for (int n = 0; n < count; ++n) {
    std::vector<int64_t> times;
    int64_t base = pick(0, 9) == 0 ? 0 : pick(1, 1000);
    for (int d = 0; d < options.devices; ++d) {
      bool missing = options.constraints && d > 0 && pick(0, 9) == 0;
      times.push_back(missing ? kUnsupported : base * pick(1, 4));
    }
    addNode(graph, absl::StrCat("node", n), times, pick(0, 3) == 0 ? pick(1, 500) : 0,
            pick(0, 3) == 0 ? pick(1, 200) : 0);
  }
  std::vector<std::vector<int>> consumers(static_cast<size_t>(count));
  for (int n = 1; n < count; ++n) {
    for (int i = pick(0, 3); i > 0; --i) {
      consumers[static_cast<size_t>(pick(std::max(0, n - 8), n - 1))].push_back(n);
    }
  }
  for (int n = 0; n < count; ++n) {
    bool sink = consumers[static_cast<size_t>(n)].empty();
    addTensor(graph, n, consumers[static_cast<size_t>(n)], pick(0, 800), sink || pick(0, 9) == 0);
  }
  addTensor(graph, -1, {0, pick(0, count - 1)}, pick(0, 300));
  if (options.constraints && pick(0, 2) == 0) {
    int node = pick(0, count - 1);
    graph.colocation.push_back({node, pick(0, count - 1)});
    graph.pins.push_back({pick(0, count - 1), 0, "test"});
  }
  std::vector<bool> shares(graph.nodes.size(), false);
  for (unsigned works = options.shares ? random() % 4 : 0; works > 0; --works) {
    shareSomething(random, graph, shares);
  }
  std::vector<bool> meets(graph.nodes.size(), false);
  for (unsigned collectives = options.collectives ? random() % 4 : 0; collectives > 0;
       --collectives) {
    addRandomCollective(random, graph, meets);
  }
  REQUIRE(graph.finish(options.devices).ok());
  return graph;
}

}  // namespace graphrun::placement::testing

#endif  // GRAPHRUN_TESTS_PLACEMENT_GRAPHS_H_
