#include "placement/strategies/replan.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "placement/list_scheduling/heuristics.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/validate.h"
#include "placement/strategies/device_weights.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

/// As `--write-placement` has it.
std::string fileOf(const PlacementProblem& problem, const PlacementResult& result) {
  nlohmann::json nodes = nlohmann::json::array();
  for (int node : result.placement.order()) {
    auto device = static_cast<size_t>(result.placement.device[static_cast<size_t>(node)]);
    nodes.push_back({{"node", problem.graph().node(node).name},
                     {"device", problem.cluster().devices[device].name}});
  }
  return nlohmann::json{{"nodes", nodes}}.dump();
}

/// Layers of a network with branches, on devices that are fast at different things.
CostGraph network(int nodes, int devices, uint32_t seed) {
  std::mt19937 random(seed);
  CostGraph graph;
  for (int n = 0; n < nodes; ++n) {
    std::vector<int64_t> times;
    int64_t base = 2'000 + static_cast<int64_t>(random() % 20'000);
    for (int d = 0; d < devices; ++d) {
      times.push_back(base * static_cast<int64_t>(2 + random() % 3) / 2);
    }
    addNode(graph, absl::StrCat("op", n), times);
  }
  for (int n = 0; n < nodes; ++n) {
    std::vector<int> readers;
    for (int k = 0; k < 2; ++k) {
      int reader = n + 1 + static_cast<int>(random() % 12);
      if (reader < nodes) {
        readers.push_back(reader);
      }
    }
    addTensor(graph, n, readers, 500 + static_cast<int64_t>(random() % 4000), readers.empty());
  }
  REQUIRE(graph.finish(devices).ok());
  return graph;
}

/// The graph with every hundredth node renamed and slower, and as many tensors larger.
CostGraph edited(const CostGraph& graph) {
  CostGraph changed = graph;
  for (size_t n = 50; n < changed.nodes.size(); n += 100) {
    changed.nodes[n].name += "/new";
    for (int64_t& time : changed.nodes[n].timeNs) {
      time = time * 3 / 2;
    }
    changed.tensors[n].bytes *= 2;
  }
  REQUIRE(changed.finish(static_cast<int>(changed.node(0).timeNs.size())).ok());
  return changed;
}

double secondsOf(const std::function<void()>& work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Step of replanning to that of planning, after an edit; and times of both.
struct Comparison {
  double quality = 0;
  double fullSeconds = 0;
  double againSeconds = 0;
};

Comparison compare(int nodes, int devices, uint32_t seed) {
  Cluster cluster = simpleCluster(devices);
  CostGraph before = network(nodes, devices, seed);
  CostGraph after = edited(before);
  PlacementProblem old = makeProblem(before, cluster);
  PlacementProblem problem = makeProblem(after, cluster);
  std::string file = fileOf(old, place(old, "auto").value());
  Comparison result;
  PlacementResult full;
  PlacementResult again;
  result.fullSeconds = secondsOf([&] { full = place(problem, "auto").value(); });
  result.againSeconds = secondsOf([&] { again = replan(problem, file, "p.json").value(); });
  CHECK(validatePlacement(problem, again.placement).ok());
  result.quality =
      static_cast<double>(again.simulation.stepNs) / static_cast<double>(full.simulation.stepNs);
  return result;
}

TEST_CASE("after an edit of one in a hundred nodes replanning is about as good and much faster") {
  Comparison result = compare(1000, 4, 1);
  CHECK(result.quality < 1.03);
  CHECK(result.againSeconds < 0.3 * result.fullSeconds);  // alone it is 0.1; tests share cores
}

TEST_CASE("replanning takes about a tenth of the time", "[.slow]") {
  for (auto [nodes, devices] : {std::pair(1000, 8), std::pair(10'000, 16)}) {
    for (uint32_t seed : {1, 2, 3}) {
      Comparison result = compare(nodes, devices, seed);
      WARN(nodes << " nodes, " << devices << " devices: " << result.fullSeconds * 1e3
                 << " ms, again " << result.againSeconds * 1e3 << " ms; step times "
                 << result.quality);
      CHECK(result.againSeconds < 0.13 * result.fullSeconds);
      CHECK(result.quality < 1.02);
    }
  }
}

TEST_CASE("what still fits stays, the rest finds a place, never worse than one device") {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    Cluster cluster = simpleCluster(3);
    CostGraph graph = randomGraph(random, {});
    PlacementProblem problem = makeProblem(graph, cluster);
    problem.objective = i % 3 == 0 ? Objective::kThroughput : Objective::kLatency;
    PlacementResult old = placeRandom(problem, static_cast<uint64_t>(i)).value();
    auto json = nlohmann::json::parse(fileOf(problem, old));
    for (auto& node : json["nodes"]) {
      if (random() % 4 == 0) {
        node["node"] = "no such node";
      } else if (random() % 4 == 0) {
        node["device"] = "n9/cpu:0";
      }
    }
    auto result = replan(problem, json.dump(), "p.json");
    INFO(messageOf(result.status()));
    REQUIRE(result.ok());
    CHECK(validatePlacement(problem, result->placement).ok());
    CHECK(result->placement.strategy == "replan");
    int64_t single = problem.objectiveNs(placeSingle(problem).value().simulation);
    CHECK(problem.objectiveNs(result->simulation) <= single);
    auto same = replan(problem, fileOf(problem, old), "p.json").value();
    CHECK(problem.objectiveNs(same.simulation) <= problem.objectiveNs(old.simulation));
  }
}

TEST_CASE("a file that is none is refused; one of which nothing fits is no use") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph = network(20, 2, 4);
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(absl::IsInvalidArgument(replan(problem, "[]", "p.json").status()));
  CHECK(absl::IsInvalidArgument(replan(problem, R"({"nodes": [3]})", "p.json").status()));
  CHECK(replan(problem, R"({"other": "n9/cpu:0"})", "p.json").ok());
  CHECK(replan(problem, R"({"op?": "n1/cpu:0"})", "p.json").ok());
}

TEST_CASE("a device counts its time by its weight, and what is predicted is true") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  for (int n = 0; n < 12; ++n) {
    addNode(graph, absl::StrCat("op", n), {1000, 1000});
  }
  REQUIRE(graph.finish(2).ok());
  auto opsOn = [&](double weight, const char* strategy) {
    cluster.devices[1].weight = weight;
    PlacementProblem problem = makeProblem(graph, cluster);
    PlacementResult result = place(problem, strategy).value();
    int64_t count = std::count(result.placement.device.begin(), result.placement.device.end(), 1);
    CHECK(result.simulation.stepNs == 1000 * std::max<int64_t>(count, 12 - count));
    CHECK(problem.simulator.run(result.placement)->stepNs == result.simulation.stepNs);
    return count;
  };
  for (const char* strategy : {"auto", "heft", "greedy", "etf", "search"}) {
    CAPTURE(strategy);
    CHECK(opsOn(1, strategy) == 6);
    CHECK(opsOn(0.5, strategy) == 4);   // 8 ms on the other, 4 that count twice
    CHECK(opsOn(0.01, strategy) <= 1);  // etf does not ask how long a node takes
    CHECK(opsOn(2, strategy) == 8);
  }
  cluster.devices[1].weight = 0.01;
  graph.pins = {{3, 1, "--pin"}};
  PlacementProblem problem = makeProblem(graph, cluster);
  CHECK(place(problem, "auto")->placement.device[3] == 1);  // pins hold whatever the weight
  CHECK(replan(problem, R"({"*": "n1/cpu:0"})", "p.json")->simulation.stepNs <= 12'000);
}

TEST_CASE("strategies are compared with weights") {
  Cluster cluster = simpleCluster(2);
  cluster.devices[0].weight = 0.1;
  CostGraph graph = network(60, 2, 9);
  PlacementProblem problem = makeProblem(graph, cluster);
  auto one = WeightedProblem::create(problem).value();
  CHECK(one.problem().graph().node(3).timeNs[0] == graph.node(3).timeNs[0] * 10);
  CHECK(one.problem().graph().node(3).timeNs[1] == graph.node(3).timeNs[1]);
  for (const Candidate& candidate : runCandidates(problem)) {
    auto again = place(problem, candidate.strategy);
    REQUIRE(again.ok());
    CHECK(again->placement.device == candidate.result->placement.device);
    CHECK(again->simulation.stepNs == candidate.result->simulation.stepNs);
  }
}

}  // namespace
}  // namespace graphrun::placement
