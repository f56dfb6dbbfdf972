// Clusters and cost graphs in a line each, for tests of placement and for benches.
#ifndef GRAPHRUN_TESTS_PLACEMENT_BUILD_H_
#define GRAPHRUN_TESTS_PLACEMENT_BUILD_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/cluster/cluster.h"
#include "placement/cost_graph/cost_graph.h"
#include "tests/placement/kinds.h"

namespace graphrun::placement::testing {

/// `count` workers n0, n1 … with one CPU device each; between any two, and to the client, 10 ns
/// latency and one byte a nanosecond.
inline Cluster simpleCluster(int count, std::vector<int64_t> limits = {}) {
  Cluster cluster;
  for (int i = 0; i < count; ++i) {
    Worker worker;
    worker.name = absl::StrCat("n", i);
    worker.address = absl::StrCat("10.0.0.", i + 1, ":7070");
    worker.devicesGiven = true;
    DeviceSpec spec;
    spec.kind = devices::cpu::cpuKind();
    spec.memoryBytes = limits.empty() ? 0 : limits[static_cast<size_t>(i)];
    worker.specs = {spec};
    cluster.workers.push_back(worker);
    for (int j = kClient; j < i; ++j) {
      cluster.links.push_back({j, i, 10, 1e9});
    }
  }
  cluster.rebuildDevices();
  return cluster;
}

/// Workers n0, n1 … of one host with CPU devices on these cores, [worker][device][core]; all links
/// as those of simpleCluster.
inline Cluster coreCluster(const std::vector<std::vector<std::vector<int>>>& cores) {
  Cluster cluster;
  for (int i = 0; i < static_cast<int>(cores.size()); ++i) {
    Worker worker;
    worker.name = absl::StrCat("n", i);
    worker.address = absl::StrCat("10.0.0.1:", 7070 + i);
    worker.devicesGiven = true;
    for (const std::vector<int>& ofDevice : cores[static_cast<size_t>(i)]) {
      worker.specs.emplace_back();
      worker.specs.back().kind = devices::cpu::cpuKind();
      worker.specs.back().cores = ofDevice;
      worker.specs.back().shared = true;
    }
    cluster.workers.push_back(worker);
    for (int j = kClient; j <= i; ++j) {
      cluster.links.push_back({j, i, 10, 1e9});
    }
  }
  cluster.rebuildDevices();
  return cluster;
}

inline int addNode(CostGraph& graph, const std::string& name, std::vector<int64_t> times,
                   int64_t weights = 0, int64_t workspace = 0) {
  CostNode node;
  node.name = name;
  node.op = "test";
  node.timeNs = std::move(times);
  node.weightBytes = weights;
  node.workspaceBytes = workspace;
  for (size_t d = 0; d < node.timeNs.size(); ++d) {
    if (node.timeNs[d] == kUnsupported) {
      node.unsupported.emplace_back(static_cast<int>(d), "no kernel for complex64");
    }
  }
  return graph.addNode(std::move(node));
}

/// A tensor from `producer` (-1: the client) to `consumers`.
inline int addTensor(CostGraph& graph, int producer, std::vector<int> consumers, int64_t bytes,
                     bool isOutput = false) {
  CostTensor tensor;
  tensor.name = absl::StrCat("t", graph.tensorCount());
  tensor.producer = producer;
  tensor.consumers = std::move(consumers);
  tensor.bytes = bytes;
  tensor.isOutput = isOutput;
  return graph.addTensor(std::move(tensor));
}

}  // namespace graphrun::placement::testing

#endif  // GRAPHRUN_TESTS_PLACEMENT_BUILD_H_
