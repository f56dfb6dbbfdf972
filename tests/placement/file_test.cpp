#include <nlohmann/json.hpp>

#include "placement/explain/explain.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

struct FileFixture {
  Cluster cluster = simpleCluster(2, {1000, 1000});
  CostGraph graph;

  FileFixture() {
    int a = addNode(graph, "encoder/a", {10, 10}, 600);
    int b = addNode(graph, "encoder/b", {10, 10}, 600);
    int c = addNode(graph, "head", {10, kUnsupported});
    addTensor(graph, a, {b}, 8);
    addTensor(graph, b, {c}, 8);
    REQUIRE(graph.finish(2).ok());
  }
};

TEST_CASE("a file places by name, then by the first glob") {
  FileFixture f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  auto result = placeFromJson(
      problem, R"({"encoder/*": "n1/cpu:0", "*": "n0/cpu:0", "encoder/b": "n0/cpu:0"})", "p.json");
  INFO(messageOf(result.status()));
  REQUIRE(result.ok());
  CHECK(result->placement.device == std::vector<int>{1, 0, 0});
  CHECK(result->placement.strategy == "file");
  CHECK(result->simulation.transfers.size() == 1);
}

TEST_CASE("problems of a file are all reported") {
  FileFixture f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  auto errorOf = [&](const char* json) {
    return messageOf(placeFromJson(problem, json, "p.json").status());
  };
  CHECK(errorOf(R"({"encoder/*": "n2/cpu:0", "haed": "n0/cpu:0", "encoder/a": 3})") ==
        "p.json: 'encoder/*': no device 'n2/cpu:0'; did you mean 'n0/cpu:0'?\n"
        "p.json: 'encoder/a': no device '3'\n"
        "p.json: no entry for node 'head'; add \"*\": DEVICE as the last one for the rest\n"
        "p.json: 'haed' matches no node; did you mean 'head'?");
  for (const char* json : {"", "[]", "3", "{\"a\":", "{]"}) {
    CHECK(errorOf(json) ==
          "p.json: expected a JSON object from node names or globs to device names, or one with a "
          "list \"nodes\" of {\"node\", \"device\"}");
  }
  CHECK(errorOf(R"({"nodes": [{"node": "head"}, {"node": "encoder/a", "device": "n0/cpu:0"},
                              {"node": "encoder/a", "device": "n0/cpu:0"}]})") ==
        "p.json: nodes[0]: expected {\"node\": NAME, \"device\": DEVICE}\n"
        "p.json: 'encoder/a' is given twice\n"
        "p.json: no entry for node 'encoder/b'; add {\"node\": \"*\", \"device\": DEVICE} for the "
        "rest\n"
        "p.json: no entry for node 'head'; add {\"node\": \"*\", \"device\": DEVICE} for the rest");
}

TEST_CASE("a list that names every node gives their order, too") {
  Cluster cluster = simpleCluster(1);
  CostGraph graph;
  addNode(graph, "short", {1});
  addNode(graph, "long", {100});
  int last = addNode(graph, "last", {1});
  addTensor(graph, 0, {last}, 1);
  addTensor(graph, 1, {last}, 1);
  REQUIRE(graph.finish(1).ok());
  PlacementProblem problem = makeProblem(graph, cluster);
  auto ranksOf = [&](const char* json) {
    auto result = placeFromJson(problem, json, "p.json");
    INFO(messageOf(result.status()));
    REQUIRE(result.ok());
    return result->placement.rank;
  };
  CHECK(ranksOf(R"({"nodes": [{"node": "short", "device": "n0/cpu:0", "start_ns": 0},
                              {"node": "long", "device": "n0/cpu:0"},
                              {"node": "last", "device": "n0/cpu:0"}], "step_ns": 3})") ==
        std::vector<int>{0, 1, 2});
  // By upward rank the longer one comes first.
  CHECK(ranksOf(R"({"nodes": [{"node": "*", "device": "n0/cpu:0"}]})") ==
        std::vector<int>{1, 0, 2});
  CHECK(
      messageOf(placeFromJson(problem, R"({"nodes": [{"node": "last", "device": "n0/cpu:0"},
                                                        {"node": "short", "device": "n0/cpu:0"},
                                                        {"node": "long", "device": "n0/cpu:0"}]})",
                              "p.json")
                    .status()) ==
      "p.json: 'last' comes before 'short', whose output it reads; the order of \"nodes\" is that "
      "in which devices run them\n"
      "p.json: 'last' comes before 'long', whose output it reads; the order of \"nodes\" is that "
      "in which devices run them");
}

TEST_CASE("an explanation, read back as a file, gives the same placement") {
  std::mt19937 random(11);
  for (int i = 0; i < 50; ++i) {
    Cluster cluster = simpleCluster(3);
    CostGraph graph = randomGraph(random, {});
    PlacementProblem problem = makeProblem(graph, cluster);
    PlacementResult result = placeRandom(problem, static_cast<uint64_t>(i)).value();
    std::string json = explanationJson(explain(problem, result)).dump();
    auto again = placeFromJson(problem, json, "p.json");
    INFO(messageOf(again.status()));
    REQUIRE(again.ok());
    CHECK(again->placement.device == result.placement.device);
    CHECK(again->placement.rank == result.placement.rank);
    CHECK(again->simulation.stepNs == result.simulation.stepNs);
  }
}

TEST_CASE("a file that breaks a rule of placement is refused with that rule") {
  FileFixture f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  auto unsupported = placeFromJson(problem, R"({"*": "n1/cpu:0"})", "p.json").status();
  CHECK(absl::IsFailedPrecondition(unsupported));
  CHECK_THAT(messageOf(unsupported),
             Catch::Contains("node 'head' is on n1/cpu:0, which cannot run it: no kernel"));
  auto memory = placeFromJson(problem, R"({"*": "n0/cpu:0"})", "p.json").status();
  CHECK_THAT(messageOf(memory), Catch::Contains("out of memory: n0/cpu:0 needs 1.19 KiB while"));
}

}  // namespace
}  // namespace graphrun::placement
