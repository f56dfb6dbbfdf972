#include "placement/explain/explain.h"

#include <nlohmann/json.hpp>

#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/memory_limits.h"
#include "placement/problem/placement_result.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

struct ExplainFixture {
  Cluster cluster = simpleCluster(2, {1 << 20, 0});
  CostGraph graph;

  ExplainFixture() {
    int a = addNode(graph, "stem", {1000, 1000}, 4096);
    int b = addNode(graph, "left", {4000, 4000}, 2048, 512);
    int c = addNode(graph, "right", {4000, 4000}, 2048);
    int d = addNode(graph, "join", {1000, kUnsupported});
    for (CostNode& node : graph.nodes) {
      node.flops = 1'500'000;
      node.bytesTouched = 3072;
    }
    addTensor(graph, -1, {a}, 100);
    addTensor(graph, a, {b, c}, 200);
    addTensor(graph, b, {d}, 300);
    addTensor(graph, c, {d}, 300);
    addTensor(graph, d, {}, 50, true);
    graph.colocation = {{0, 3}};
    REQUIRE(graph.finish(2).ok());
  }
};

TEST_CASE("the text is aligned and stable") {
  ExplainFixture f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  std::vector<Candidate> candidates = runCandidates(problem);
  const PlacementResult* best = bestCandidate(problem, candidates);
  REQUIRE(best != nullptr);
  std::string text = explanationText(explain(problem, *best, candidates));
  CHECK(text == R"(placement: greedy, predicted step 6.69 us (no placement is below 6.00 us)

devices
  device    ops   flops     bytes     busy  of step   weights  receive      peak     limit  peak at
  n0/cpu:0    3  4.50 M  9.00 KiB  6.00 us    89.7%  6.00 KiB    700 B  7.67 KiB  1.00 MiB  left
  n1/cpu:0    1  1.50 M  3.00 KiB  4.00 us    59.8%  2.00 KiB    400 B  2.68 KiB      none  right

transfers: 4, 650 B
  tensor  bytes  from      to        link     start  wait  transfer
  t0      100 B  client    n0/cpu:0  given     0 ns  0 ns    110 ns
  t1      200 B  n0/cpu:0  n1/cpu:0  given  1.11 us  0 ns    210 ns
  t3      300 B  n1/cpu:0  n0/cpu:0  given  5.32 us  0 ns    310 ns
  t4       50 B  n0/cpu:0  client    given  6.63 us  0 ns     60 ns

critical path: compute 6.00 us (89.7%), link 690 ns (10.3%), wait 0 ns (0.0%)
  kind     where            time  count  from   to
  link     client -> n0   110 ns      1  t0
  compute  n0/cpu:0      1.00 us      1  stem
  link     n0 -> n1       210 ns      1  t1
  compute  n1/cpu:0      4.00 us      1  right
  link     n1 -> n0       310 ns      1  t3
  compute  n0/cpu:0      1.00 us      1  join
  link     n0 -> client    60 ns      1  t4

strategies
  strategy      step  devices      peak  transfers  bytes  failure
  single    10.17 us        1  9.09 KiB          2  150 B
  most      10.17 us        1  9.09 KiB          2  150 B
  greedy     6.69 us        2  7.67 KiB          4  650 B
  heft       6.69 us        2  7.67 KiB          4  650 B
  cpop       6.69 us        2  7.67 KiB          4  650 B
  peft       6.69 us        2  7.67 KiB          4  650 B
  etf        6.69 us        2  7.67 KiB          4  650 B
  sct        6.69 us        2  7.67 KiB          4  650 B
)");
}

TEST_CASE("why a node is where it is, with every device's time or reason") {
  ExplainFixture f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  PlacementResult result = place(problem, "auto").value();
  CHECK(explanationText(explainNodes(problem, result, "right").value().at(0)) ==
        R"(node 'right' (test) is on n1/cpu:0, rank 2, 1.32 us to 5.32 us
  device       time  predicted if there  difference  note
  n1/cpu:0  4.00 us             6.69 us              here
  n0/cpu:0  4.00 us            10.17 us    +3.48 us
)");
  CHECK(explanationText(explainNodes(problem, result, "stem").value().at(0)) ==
        R"(node 'stem' (test) is on n0/cpu:0, rank 0, 110 ns to 1.11 us
  must be with 'join'
  device       time  predicted if there  difference  note
  n0/cpu:0  1.00 us             6.69 us              here
  n1/cpu:0  1.00 us                   -           -  'join': no kernel for complex64
)");
  CHECK(explainNodes(problem, result, "*t").value().size() == 2);
  CHECK(messageOf(explainNodes(problem, result, "rigth").status()) ==
        "the graph has no node 'rigth'; did you mean 'right'?");
}

TEST_CASE("pins and memory are given as reasons") {
  ExplainFixture f;
  f.graph.pins = {{1, 0, "c.yaml:7"}};
  f.cluster.devices[0].memoryBytes = 8000;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  PlacementResult result = place(problem, "auto").value();
  NodeExplanation left = explainNodes(problem, result, "left").value().at(0);
  CHECK(left.constraint == "'left' is pinned by c.yaml:7");
  CHECK(left.choices[1].why == "pinned elsewhere");
  CHECK(left.choices[1].objectiveNs.has_value());
  NodeExplanation right = explainNodes(problem, result, "right").value().at(0);
  CHECK_THAT(right.choices[1].why, Catch::StartsWith("memory: n0/cpu:0 needs 9."));
}

TEST_CASE("the JSON holds what the text holds, and every node") {
  ExplainFixture f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  std::vector<Candidate> candidates = runCandidates(problem);
  auto json = explanationJson(explain(problem, *bestCandidate(problem, candidates), candidates));
  CHECK(json["strategy"] == "greedy");
  CHECK(json["step_ns"] == 6690);
  CHECK(json["lower_bound_ns"] == 6000);
  CHECK(json["devices"][0]["limit_bytes"] == 1 << 20);
  CHECK(json["devices"][1]["limit_bytes"].is_null());
  CHECK(json["devices"][0]["peak_node"] == "left");
  CHECK(json["edges"][1]["link"] == "n0 -> n1");
  CHECK(json["edges"][1]["transfer_ns"] == 210);
  auto path = json["critical_path"];
  CHECK(path["compute_ns"].get<int64_t>() + path["link_ns"].get<int64_t>() +
            path["wait_ns"].get<int64_t>() ==
        6690);
  CHECK(json["strategies"][0]["failure"].is_null());
  REQUIRE(json["nodes"].size() == 4);
  CHECK(json["nodes"][2] == nlohmann::ordered_json{{"node", "right"},
                                                   {"op", "test"},
                                                   {"device", "n1/cpu:0"},
                                                   {"rank", 2},
                                                   {"start_ns", 1320},
                                                   {"finish_ns", 5320},
                                                   {"source", "given"},
                                                   {"members", nlohmann::ordered_json::array()},
                                                   {"kind", "test"}});
  auto node = explanationJson(
      explainNodes(problem, *bestCandidate(problem, candidates), "join").value().at(0));
  CHECK(node["choices"][0]["delta_ns"] == 0);
  CHECK(node["choices"][1]["time_ns"].is_null());
  CHECK(node["choices"][1]["why"] == "no kernel for complex64");
}

TEST_CASE("details: what a picture of the step needs, by positions in the lists") {
  ExplainFixture f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  PlacementResult result = place(problem, "greedy").value();
  auto json = explanationJson(explain(problem, result), /*details=*/true);
  CHECK(json["tensors"][1].dump() ==
        R"({"tensor":"t1","type":"","bytes":200,"producer":0,"consumers":[1,2],"output":false})");
  CHECK(json["tensors"][0]["producer"].is_null());
  CHECK(json["tensors"][4]["output"] == true);
  CHECK(json["edges"][1]["tensor_index"] == 1);
  CHECK(json["devices"][0]["memory"].dump() == "[[110,7044],[1110,7856],[5630,7394]]");
  CHECK(json["critical_path"]["steps"][0].dump() == R"(["link",0,0,110])");
  CHECK(json["critical_path"]["steps"][3].dump() == R"(["compute",2,1320,5320])");
  int64_t busy = 0;
  for (const auto& link : json["links"]) {
    busy += link["busy_ns"].get<int64_t>();
  }
  CHECK(busy == 110 + 210 + 310 + 60);
}

/// The placement with the unit of a node on a device.
Placement moved(const PlacementProblem& problem, Placement placement, const std::string& node,
                const std::string& device) {
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    if (problem.graph().node(n).name == node) {
      for (int member : problem.constraints.unit(n).nodes) {
        placement.device[static_cast<size_t>(member)] = *problem.cluster().findDevice(device);
      }
    }
  }
  return placement;
}

TEST_CASE("what is told of other devices is what simulating them gives") {
  std::mt19937 random(5);
  int64_t choices = 0;
  int64_t memory = 0;
  for (int i = 0; i < 200; ++i) {
    RandomOptions options;
    options.devices = 2 + i % 4;
    std::vector<int64_t> limits(static_cast<size_t>(options.devices), i % 3 == 0 ? 8'000 : 20'000);
    Cluster cluster = simpleCluster(options.devices, i % 3 == 2 ? std::vector<int64_t>() : limits);
    cluster.devices[0].lanes = i % 5 == 0 ? 2 : 1;
    CostGraph graph = randomGraph(random, options);
    PlacementProblem problem = makeProblem(graph, cluster);
    problem.objective = i % 4 == 0 ? Objective::kThroughput : Objective::kLatency;
    auto result = place(problem, "heft");
    if (!result.ok()) {
      continue;  // memory
    }
    auto all = explainMainNodes(problem, *result, int64_t{1} << 40);
    REQUIRE(all.size() == graph.nodes.size());
    for (const NodeExplanation& node : all) {
      CHECK(node.choices.at(0).here);
      CHECK(node.objectiveNs == problem.objectiveNs(result->simulation));
      for (const NodeChoice& choice : node.choices) {
        if (!choice.objectiveNs.has_value()) {
          continue;
        }
        Placement there = moved(problem, result->placement, node.node, choice.device);
        Simulation simulation = problem.simulator.run(there).value();
        CHECK(*choice.objectiveNs == problem.objectiveNs(simulation));
        bool fits = checkLimits(problem, simulation).ok();
        CHECK((choice.why == "pinned elsewhere" || choice.why.empty() == fits));
        memory += fits ? 0 : 1;
        ++choices;
      }
    }
  }
  CHECK(choices > 5000);
  CHECK(memory > 100);
}

TEST_CASE("other devices come with the best first") {
  std::mt19937 random(6);
  for (int i = 0; i < 20; ++i) {
    RandomOptions options;
    options.devices = 6;
    Cluster cluster = simpleCluster(6);
    CostGraph graph = randomGraph(random, options);
    PlacementProblem problem = makeProblem(graph, cluster);
    PlacementResult result = placeRandom(problem, 3).value();
    std::vector<NodeExplanation> all = explainNodes(problem, result, "*").value();
    for (const NodeExplanation& node : all) {
      auto isPossible = [](const NodeChoice& choice) { return choice.why.empty(); };
      auto end = std::partition_point(node.choices.begin(), node.choices.end(), isPossible);
      CHECK(std::none_of(end, node.choices.end(), isPossible));
      CHECK(std::is_sorted(node.choices.begin() + 1, end,
                           [](const NodeChoice& a, const NodeChoice& b) {
                             return *a.objectiveNs < *b.objectiveNs;
                           }));
    }
  }
}

TEST_CASE("of many nodes the main ones are explained, within the work allowed") {
  std::mt19937 random(7);
  RandomOptions options;
  options.minNodes = 300;
  options.maxNodes = 300;
  options.constraints = false;
  Cluster cluster = simpleCluster(3);
  CostGraph graph = randomGraph(random, options);
  PlacementProblem problem = makeProblem(graph, cluster);
  PlacementResult result = place(problem, "heft").value();
  auto some = explainMainNodes(problem, result, 640);  // a move counts for 16
  CHECK(some.size() == 20);
  CHECK(explainMainNodes(problem, result, 0).empty());
  Explanation explanation = explain(problem, result);
  auto first = std::find_if(explanation.steps.begin(), explanation.steps.end(),
                            [](const PathStep& step) { return step.kind == PathKind::kCompute; });
  CHECK(std::any_of(some.begin(), some.end(), [&](const NodeExplanation& node) {
    return node.rank == first->index;  // where the path begins
  }));
}

TEST_CASE("a strategy that failed is in the table, long lists are cut") {
  ExplainFixture f;
  f.cluster.devices[0].memoryBytes = 8000;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  std::vector<Candidate> candidates = runCandidates(problem);
  std::string text =
      explanationText(explain(problem, *bestCandidate(problem, candidates), candidates), 2);
  CHECK_THAT(text,
             Catch::Contains("single           -        -         -          -      -  single: no "
                             "device can run the whole graph: n0/cpu:0 needs 9.09 KiB"));
  CHECK_THAT(text, Catch::Contains("… and 2 more (all in the JSON)") &&
                       Catch::Contains("… and 5 more (all in the JSON)"));
}

}  // namespace
}  // namespace graphrun::placement
