// Files that are damaged, hostile or wrong end in one clear message; good ones survive writing.
#include "placement/formats/cost_file.h"

#include "absl/strings/str_cat.h"
#include "placement/problem/problem.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using testing::messageOf;

constexpr char kHead[] = R"({"format": "graphrun-costs", "version": 1, )";
constexpr char kGood[] = R"({"format": "graphrun-costs", "version": 1,
  "devices": [{"name": "g", "worker": "w", "class": "gpu", "memory_bytes": 100,
               "cores": ["p", "q"]},
              {"name": "c", "worker": "w", "lanes": 2},
              {"name": "x", "port": true, "cores": ["q"]}],
  "links": [{"between": ["w", "x"], "latency_ns": 5, "bytes_per_second": 1e9,
             "queues": false},
            {"between": ["client", "w"], "shared": false}],
  "default_link": {"latency_ns": 2},
  "nodes": [{"name": "a", "time_ns": {"gpu": 3, "c": 9}, "weight_bytes": 60},
            {"name": "b", "time_ns": 4, "workspace_bytes": 7, "backward": true},
            {"name": "d", "time_ns": 4}],
  "tensors": [{"consumers": ["a"], "bytes": 8, "home": "x"},
              {"producer": "a", "consumers": ["b", "d"], "bytes": 16, "port_ns": 1},
              {"name": "end", "producer": "d", "output": true, "home": "c"}],
  "colocate": [["a", "b"]], "pins": [{"node": "d", "device": "x"}]})";

absl::StatusOr<CostFile> read(const std::string& text, CostFileOptions options = {}) {
  options.kinds = testing::kinds();
  return readCostFile(text, "F", options);
}

std::string failureOf(const std::string& text, CostFileOptions options = {}) {
  absl::Status status = read(text, options).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  return messageOf(status);
}

TEST_CASE("a native file is what it says") {
  CostFile file = read(kGood).value();
  CHECK(file.graph.node(0).timeNs == std::vector<int64_t>{3, 9, kUnsupported});
  CHECK(file.graph.node(1).backward);
  CHECK(file.graph.tensor(0).inputHome == 2);
  CHECK(file.graph.tensor(2).outputHome == 1);
  CHECK(file.cluster.devices[1].lanes == 2);
  CHECK(CoreTable(file.cluster).devices(0) == std::vector<int>{0, 2});
  CHECK_FALSE(CoreTable(file.cluster).isShared(1));
  CHECK(file.cluster.link(0, 2).transferNs(10) == 15);
  CHECK(file.cluster.link(0, 1).transferNs(10) == 2);
  CHECK_FALSE(file.cluster.link(0, 2).queues);
  CHECK(file.cluster.link(0, 1).queues);
}

constexpr char kShared[] = R"({"format": "graphrun-costs", "version": 1,
  "devices": [{"name": "c"}, {"name": "d"}],
  "nodes": [{"name": "a", "time_ns": 3}, {"name": "b", "time_ns": 3}],
  "shared_work": [{"nodes": ["b", "a"], "only_apart": true}]})";

TEST_CASE("what is written is what was read") {
  CostFile file = read(GENERATE(kGood, kShared)).value();
  CHECK((file.graph.shared.empty() ||
         (file.graph.shared[0].nodes == std::vector<int>{1, 0} && file.graph.shared[0].onlyApart)));
  std::string once = writeCostFile(file.problem().value()).value();
  CostFile again = read(once).value();
  CHECK(writeCostFile(again.problem().value()).value() == once);
  for (const char* strategy : {"greedy", "heft", "random:3"}) {
    auto problem = file.problem();
    auto reread = again.problem();
    auto a = place(*problem, strategy);
    auto b = place(*reread, strategy);
    REQUIRE(a.ok() == b.ok());
    if (a.ok()) {
      CHECK(a->placement.device == b->placement.device);
      CHECK(a->simulation.stepNs == b->simulation.stepNs);
    }
  }
}

TEST_CASE("a link may differ by direction") {
  std::string text = R"({"format": "graphrun-costs", "version": 1,
    "devices": [{"name": "a"}, {"name": "b"}],
    "links": [{"between": ["a", "b"], "latency_ns": 5},
              {"between": ["b", "a"], "one_way": true, "latency_ns": 9, "bytes_per_second": 1e9,
               "large": {"from_bytes": 500, "latency_ns": 20, "bytes_per_second": 1e10}}],
    "nodes": [{"name": "n", "time_ns": 1}], "tensors": []})";
  CostFile file = read(text).value();
  CostFile again = read(writeCostFile(file.problem().value()).value()).value();
  for (const CostFile* each : {&file, &again}) {
    CHECK(each->cluster.link(0, 1).latencyNs == 5);
    CHECK(each->cluster.link(1, 0).transferNs(1) == 10);
    CHECK(each->cluster.link(1, 0).transferNs(1000) == 120);
  }
}

TEST_CASE("a link may differ by the kinds of its devices") {
  std::string text = R"({"format": "graphrun-costs", "version": 1,
    "devices": [{"name": "a", "worker": "w"}, {"name": "b", "worker": "w"},
                {"name": "g", "worker": "w", "kind": "cuda"}, {"name": "x"}],
    "links": [{"between": ["w", "w"], "latency_ns": 1},
              {"between": ["w", "w"], "kinds": ["cpu", "cuda"], "latency_ns": 7},
              {"between": ["w", "w"], "kinds": ["cuda", "cpu"], "one_way": true, "latency_ns": 8},
              {"between": ["w", "x"], "kinds": ["cuda", "cpu"], "latency_ns": 30},
              {"between": ["client", "w"], "kinds": ["cpu", "cuda"], "latency_ns": 40}],
    "nodes": [{"name": "n", "time_ns": 1}], "tensors": []})";
  CostFile file = read(text).value();
  CostFile again = read(writeCostFile(file.problem().value()).value()).value();
  for (const CostFile* each : {&file, &again}) {
    CHECK(each->cluster.link(0, 1).latencyNs == 1);
    CHECK(each->cluster.link(0, 2).latencyNs == 7);
    CHECK(each->cluster.link(2, 1).latencyNs == 8);
    CHECK(each->cluster.link(2, 3).latencyNs == 30);
    CHECK(each->cluster.link(3, 2).latencyNs == 30);
    CHECK(each->cluster.link(3, 1).latencyNs == 0);
    CHECK(each->cluster.link(2, kClient).latencyNs == 40);
    CHECK(each->cluster.link(kClient, 0).latencyNs == 0);
  }
}

TEST_CASE("all problems are told at once, each with its place") {
  std::string message = failureOf(absl::StrCat(kHead, R"("objectiv": "latency",
    "devices": [{"name": "a"}, {"name": "a"}, {"name": "client", "lanes": -1},
                {"name": "o", "calls": "once", "lanes": 2, "cores": ["s"]},
                {"name": "t", "cores": ["s", "s"]}],
    "nodes": [{"name": "n", "time_ns": {"b": 1}}, {"name": "n", "time_ns": 1e30},
              {"name": "m", "time_ns": 1.5}, 7],
    "tensors": [{"producer": "k", "consumers": ["n", 3], "home": "a"}],
    "pins": [{"node": "n"}], "colocate": [["n", "q"], 3],
    "shared_work": [{"nodes": ["n", "p"]}, {"only_apart": true}],
    "links": [{"between": ["a"]}, {"between": ["a", "z"], "bytes_per_second": 0},
              {"between": ["a", "t"], "kinds": ["cpu", "gpu"]}]})"));
  for (const char* part : {"F: unknown key 'objectiv'; did you mean 'objective'?",
                           "devices[1].name: 'a' is given twice",
                           "devices[2].name: 'client'",
                           "devices[2].lanes: got -1",
                           "devices[3].lanes",
                           "devices[3].cores: a device with cores runs one node at a time",
                           "devices[4].cores: a core is given twice",
                           "nodes[0].time_ns: there is no device or class 'b'",
                           "nodes[1].name: 'n' is given twice",
                           "nodes[1].time_ns: got",
                           "nodes[2].time_ns: got 1.5, expected a whole number",
                           "nodes[3]: got 7, expected an object",
                           "tensors[0].producer: there is no node 'k'",
                           "tensors[0].consumers[1]: got 3",
                           "pins[0].device: is missing",
                           "colocate[0]: there is no node 'q'",
                           "colocate[1]: expected an array",
                           "shared_work[0].nodes: there is no node 'p'",
                           "shared_work[1].nodes: expected an array of names of nodes",
                           "links[0].between: expected two",
                           "links[1].between: there is no worker 'z'",
                           "links[1].bytes_per_second",
                           "links[2].kinds: expected two of 'cpu' and 'cuda'"}) {
    CHECK_THAT(message, Catch::Contains(part));
  }
}

TEST_CASE("no text is too strange") {
  CHECK_THAT(failureOf(""), Catch::Contains("neither"));
  CHECK_THAT(failureOf("[1]"), Catch::Contains("neither"));
  CHECK_THAT(failureOf("{}"), Catch::Contains("no cost graph"));
  CHECK_THAT(failureOf("{\"a\":\n1e999}"), Catch::Contains("line 2: a number is too large"));
  CHECK_THAT(failureOf("{\"a\": NaN}"), Catch::Contains("line 1: no JSON"));
  CHECK_THAT(failureOf("{\"a\": 1, \"a\": 2}"), Catch::Contains("'a' is given twice"));
  CHECK_THAT(failureOf("{\"a\": " + std::string(100'000, '[')), Catch::Contains("deep"));
  CHECK_THAT(failureOf(std::string("{\"a\xff\0", 5)), Catch::Contains("F: line 1"));
  std::string good = kGood;
  for (size_t size = 1; size < good.size(); size += 3) {
    CHECK_FALSE(read(good.substr(0, size)).ok());
  }
  CHECK_THAT(failureOf(std::string(kHead) + R"("devices": [{"name": "a"}], "nodes": [
      {"name": "n", "time_ns": 1}, {"name": "m", "time_ns": 1}], "tensors": [
      {"producer": "n", "consumers": ["m"]}, {"producer": "m", "consumers": ["n"]}]})"),
             Catch::Contains("F: cost graph: the nodes form a cycle: 'n' -> 'm' -> 'n'"));
}

TEST_CASE("any byte may be any other") {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    std::string text = kGood;
    text[random() % text.size()] = static_cast<char>(random());
    text[random() % text.size()] = "0123456789\"{}[],:-"[random() % 18];
    absl::StatusOr<CostFile> file = read(text);
    if (file.ok() && file->problem().ok()) {
      (void)place(*file->problem(), "heft");
    }
  }
}

TEST_CASE("numbers whose sums do not fit are refused") {
  std::string nodes;
  for (int i = 0; i < 2000; ++i) {
    absl::StrAppend(&nodes, i > 0 ? "," : "", "{\"name\": \"", i, "\", \"time_ns\": 1e15}");
  }
  CHECK_THAT(
      failureOf(absl::StrCat(kHead, R"("devices": [{"name": "a"}], "nodes": [)", nodes, "]}")),
      Catch::Contains("all times in ns together"));
}

TEST_CASE("standard task graphs") {
  CHECK_THAT(failureOf("1\n0 0 0\n"), Catch::Contains("needs --devices"));
  CostFile file = read("1\n 0 0 0\n 1 7 1 0\n 2 0 1 1\n# end\n9 9 9\n", {2, {}, false}).value();
  CHECK(file.unit == "units");
  CHECK(file.graph.node(1).timeNs == std::vector<int64_t>{7, 7});
  std::string message =
      failureOf("3\n0 0 0\n1 5 1 0\n2 1e9 1 1\n2 1 1 9\n4 1 2 1\n5\n", {2, {}, false});
  for (const char* part :
       {"line 4: got '1e9' as time", "line 5: got task 2, expected 3", "line 5: got '9' as pred",
        "line 6: task 4 has 1 predecessors, expected 2", "line 7: expected a task's number"}) {
    CHECK_THAT(message, Catch::Contains(part));
  }
  CHECK_THAT(failureOf("3\n0 0 0\n", {2, {}, false}), Catch::Contains("ends after 1 tasks"));
  CHECK_THAT(failureOf("2\n0 0 0\n1 1 1 2\n", {2, {}, false}), Catch::Contains("cannot follow"));
  CHECK_THAT(failureOf("99999999999\n", {2, {}, false}), Catch::Contains("number of tasks"));
}

constexpr char kDnn[] = R"({"maxSizePerFPGA": 10.0, "maxFPGAs": 2, "maxCPUs": 3, "more": 1,
  "nodes": [{"id": 7, "supportedOnFpga": 1, "cpuLatency": 2, "fpgaLatency": 0.5, "size": 4,
             "isBackwardNode": 0, "colorClass": 1},
            {"id": -3, "supportedOnFpga": false, "cpuLatency": 1, "fpgaLatency": 0, "size": 4,
             "isBackwardNode": true, "colorClass": 2}],
  "edges": [{"sourceId": 7, "destId": -3, "cost": 0.25, "size": 3}]})";

TEST_CASE("the two readings of a dnn-partitioning file") {
  CostFile file = read(kDnn).value();
  CHECK(file.objective == Objective::kThroughput);
  CHECK(file.cluster.deviceNames() ==
        std::vector<std::string>{"acc:0", "acc:1", "cpu:0", "cpu:1", "cpu:2"});
  CHECK(file.graph.node(0).timeNs[0] == 500'000);
  CHECK_FALSE(file.graph.node(1).supports(0));
  CHECK(file.graph.tensor(0).portNs == 250'000);
  CHECK(file.cluster.devices[0].hasPort);
  CHECK_FALSE(file.cluster.devices[0].isOffload);
  CostFile latency = read(kDnn, {0, Objective::kLatency, false}).value();
  CHECK(latency.cluster.deviceNames() == std::vector<std::string>{"acc:0", "acc:1", "cpu:0"});
  CHECK(latency.cluster.devices[1].isOffload);
  CHECK(latency.cluster.devices[2].lanes == 0);
  CHECK(place(*latency.problem(), "heft")->simulation.stepNs == 500'000 + 250'000 + 1'000'000);
}

TEST_CASE("a dnn-partitioning file with problems") {
  std::string message = failureOf(R"({"maxFPGAs": 1000000000, "maxCPUs": 1.5, "nodes": [
    {"id": 1}, {"id": 1, "cpuLatency": -1, "fpgaLatency": "x", "supportedOnFpga": 2}],
    "edges": [{"sourceId": 1, "destId": 2, "cost": 1}, {"sourceId": 1.5}]})");
  for (const char* part :
       {"maxFPGAs: got 1000000000", "maxCPUs: got 1.5", "maxSizePerFPGA: is missing",
        "nodes[0].cpuLatency: is missing", "nodes[1].id: id 1 is given twice",
        "nodes[1].cpuLatency: got -1", "nodes[1].supportedOnFpga: got 2",
        "edges[0].destId: there is no node with id 2", "edges[1].sourceId: got 1.5"}) {
    CHECK_THAT(message, Catch::Contains(part));
  }
  std::string costs = kDnn;
  costs.replace(costs.rfind(']'), 1, R"(, {"sourceId": 7, "destId": -3, "cost": 0.5}])");
  CHECK_THAT(failureOf(costs), Catch::Contains("edges[1].cost: got 0.5, but another edge"));
}

}  // namespace
}  // namespace graphrun::placement
