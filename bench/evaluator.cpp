// bench_evaluator: the time of one changed placement beside a simulation of the whole step. One
// line of JSON: for each cluster {"devices", "workers", "start", "nodes", "full_us", "change_us",
// "ratio"}, medians of several rounds that alternate between the two.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/problem/problem.h"
#include "placement/search/schedule.h"
#include "placement/strategies/strategy.h"
#include "runtime/base/clock.h"
#include "runtime/base/median.h"

namespace graphrun::placement {
namespace {

constexpr int kNodes = 10'000;
constexpr int kRounds = 7;
constexpr int kFullRuns = 5;
constexpr int kChanges = 500;

struct Scene {
  int devices;
  int workers;
  const char* start;  // strategy
};

/// Devices spread evenly over workers that share one link a direction.
Cluster clusterOf(const Scene& scene) {
  Cluster cluster;
  for (int w = 0; w < scene.workers; ++w) {
    Worker worker;
    worker.name = absl::StrCat("n", w);
    worker.address = absl::StrCat("10.0.0.", w + 1, ":7070");
    worker.devicesGiven = true;
    worker.specs.resize(static_cast<size_t>(scene.devices / scene.workers));
    for (size_t d = 0; d < worker.specs.size(); ++d) {
      worker.specs[d].cores = {static_cast<int>(d)};
    }
    cluster.workers.push_back(std::move(worker));
  }
  cluster.otherLinks = LinkModel{LinkKind::kGiven, 1'000, 1e9};
  cluster.rebuildDevices();
  return cluster;
}

/// Each node reads up to three of the eight before it.
CostGraph graphOf(int devices, uint64_t seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  CostGraph graph;
  for (int n = 0; n < kNodes; ++n) {
    CostNode node;
    node.name = absl::StrCat("n", n);
    for (int d = 0; d < devices; ++d) {
      node.timeNs.push_back(pick(1'000, 40'000));
    }
    graph.addNode(std::move(node));
    CostTensor tensor;
    tensor.name = absl::StrCat("t", n);
    tensor.producer = n;
    tensor.bytes = pick(0, 20'000);
    graph.addTensor(std::move(tensor));
    for (int i = n == 0 ? 0 : pick(0, 3); i > 0; --i) {
      graph.tensors[static_cast<size_t>(pick(std::max(0, n - 8), n - 1))].consumers.push_back(n);
    }
  }
  return graph;
}

void change(Schedule& schedule, int devices, std::mt19937_64& random) {
  int node = static_cast<int>(random() % kNodes);
  if (random() % 3 == 0) {
    auto [low, high] = schedule.rankRange(node);
    schedule.setRank(node,
                     low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1)));
  } else {
    schedule.setDevice(node, static_cast<int>(random() % static_cast<uint64_t>(devices)));
  }
}

nlohmann::ordered_json measure(const Scene& scene) {
  CostGraph graph = graphOf(scene.devices, 1);
  Cluster cluster = clusterOf(scene);
  if (absl::Status finished = graph.finish(scene.devices); !finished.ok()) {
    std::fprintf(stderr, "%s\n", finished.ToString().c_str());
    std::exit(1);
  }
  PlacementProblem problem = PlacementProblem::create(graph, cluster).value();
  Placement placement = place(problem, scene.start).value().placement;
  Schedule schedule = Schedule::create(problem.simulator, placement).value();
  std::mt19937_64 random(2);
  std::vector<double> full;
  std::vector<double> changed;
  int64_t check = 0;
  for (int round = 0; round < kRounds; ++round) {
    int64_t begin = runtime::nowNanos();
    for (int i = 0; i < kFullRuns; ++i) {
      check += problem.simulator.run(placement)->stepNs;
    }
    int64_t middle = runtime::nowNanos();
    for (int i = 0; i < kChanges; ++i) {
      change(schedule, scene.devices, random);
      check += schedule.stepNs();
      schedule.undo();
    }
    full.push_back(static_cast<double>(middle - begin) / 1e3 / kFullRuns);
    changed.push_back(static_cast<double>(runtime::nowNanos() - middle) / 1e3 / kChanges);
  }
  if (check == 0) {
    std::exit(1);
  }
  return {{"devices", scene.devices},
          {"workers", scene.workers},
          {"start", scene.start},
          {"nodes", kNodes},
          {"full_us", runtime::median(full)},
          {"change_us", runtime::median(changed)},
          {"ratio", runtime::median(full) / runtime::median(changed)}};
}

}  // namespace
}  // namespace graphrun::placement

int main() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (int devices : {2, 4, 8, 16}) {
    for (int workers : {devices, devices / 2}) {
      for (const char* start : {"heft", "random:1"}) {
        rows.push_back(graphrun::placement::measure({devices, workers, start}));
      }
    }
  }
  std::printf("%s\n", rows.dump().c_str());
  return 0;
}
