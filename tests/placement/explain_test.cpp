#include "placement/explain.h"

#include <nlohmann/json.hpp>

#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

struct Fixture {
  Cluster cluster = simpleCluster(2, {1 << 20, 0});
  CostGraph graph;

  Fixture() {
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
  Fixture f;
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
  greedy     6.69 us        2  7.67 KiB          4  650 B
  heft       6.69 us        2  7.67 KiB          4  650 B
  cpop       6.69 us        2  7.67 KiB          4  650 B
  peft       6.69 us        2  7.67 KiB          4  650 B
  etf        6.69 us        2  7.67 KiB          4  650 B
  sct        6.69 us        2  7.67 KiB          4  650 B
)");
}

TEST_CASE("why a node is where it is, with every device's time or reason") {
  Fixture f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  PlacementResult result = place(problem, "auto").value();
  CHECK(explanationText(explainNode(problem, result, "right").value()) ==
        R"(node 'right' (test) is on n1/cpu:0, rank 2, 1.32 us to 5.32 us
  device       time  step if moved  note
  n0/cpu:0  4.00 us       10.17 us
  n1/cpu:0  4.00 us        6.69 us  here
)");
  CHECK(explanationText(explainNode(problem, result, "stem").value()) ==
        R"(node 'stem' (test) is on n0/cpu:0, rank 0, 110 ns to 1.11 us
  must be with 'join'
  device       time  step if moved  note
  n0/cpu:0  1.00 us        6.69 us  here
  n1/cpu:0  1.00 us              -  'join': no kernel for complex64
)");
  CHECK(messageOf(explainNode(problem, result, "rigth").status()) ==
        "the graph has no node 'rigth'; did you mean 'right'?");
}

TEST_CASE("pins and memory are given as reasons") {
  Fixture f;
  f.graph.pins = {{1, 0, "c.yaml:7"}};
  f.cluster.devices[0].memoryBytes = 8000;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  PlacementResult result = place(problem, "auto").value();
  NodeExplanation left = explainNode(problem, result, "left").value();
  CHECK(left.constraint == "'left' is pinned by c.yaml:7");
  CHECK(left.choices[1].why == "pinned elsewhere");
  CHECK(left.choices[1].stepNs.has_value());
  NodeExplanation right = explainNode(problem, result, "right").value();
  CHECK_THAT(right.choices[0].why, Catch::StartsWith("memory: n0/cpu:0 needs 9.09 KiB"));
}

TEST_CASE("the JSON holds what the text holds, and every node") {
  Fixture f;
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
                                                   {"members", nlohmann::ordered_json::array()}});
  auto node =
      explanationJson(explainNode(problem, *bestCandidate(problem, candidates), "join").value());
  CHECK(node["choices"][1]["time_ns"].is_null());
  CHECK(node["choices"][1]["why"] == "no kernel for complex64");
}

TEST_CASE("a strategy that failed is in the table, long lists are cut") {
  Fixture f;
  f.cluster.devices[0].memoryBytes = 8000;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  std::vector<Candidate> candidates = runCandidates(problem);
  std::string text =
      explanationText(explain(problem, *bestCandidate(problem, candidates), candidates), 2);
  CHECK_THAT(text,
             Catch::Contains("single          -        -         -          -      -  single: no "
                             "device can run the whole graph: n0/cpu:0 needs 9.09 KiB"));
  CHECK_THAT(text, Catch::Contains("… and 2 more (all in the JSON)") &&
                       Catch::Contains("… and 5 more (all in the JSON)"));
}

}  // namespace
}  // namespace graphrun::placement
