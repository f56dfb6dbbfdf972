#include "placement/rules/conflict.h"

#include <set>

#include "placement/problem/problem.h"
#include "placement/strategies/memory_conflict.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

/// Whether some of these sets is among `rules`.
bool holds(const std::vector<std::set<int>>& conflicts, const std::vector<int>& rules) {
  std::set<int> given(rules.begin(), rules.end());
  return std::none_of(conflicts.begin(), conflicts.end(), [&](const std::set<int>& conflict) {
    return std::includes(given.begin(), given.end(), conflict.begin(), conflict.end());
  });
}

TEST_CASE("a minimal conflict is one, and nothing in it can be left out") {
  std::mt19937 random(3);
  for (int i = 0; i < 500; ++i) {
    int count = 1 + static_cast<int>(random() % 40);
    std::vector<std::set<int>> conflicts(1 + random() % 3);
    for (std::set<int>& conflict : conflicts) {
      size_t size = 1 + random() % 5;
      for (size_t k = 0; k < size; ++k) {
        conflict.insert(static_cast<int>(random() % static_cast<size_t>(count)));
      }
    }
    int questions = 0;
    CanHold canHold = [&](const std::vector<int>& rules) {
      ++questions;
      return holds(conflicts, rules);
    };
    std::vector<int> found = minimalConflict(count, canHold);
    CHECK(questions < 60);
    CHECK(!holds(conflicts, found));
    for (size_t left = 0; left < found.size(); ++left) {
      std::vector<int> others = found;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(left));
      CHECK(holds(conflicts, others));
    }
    std::vector<int> dropped = minimalRelaxation(count, canHold);
    std::vector<int> kept;
    for (int rule = 0; rule < count; ++rule) {
      if (std::find(dropped.begin(), dropped.end(), rule) == dropped.end()) {
        kept.push_back(rule);
      }
    }
    CHECK(holds(conflicts, kept));
    for (int rule : dropped) {
      std::vector<int> more = kept;
      more.push_back(rule);
      CHECK(!holds(conflicts, more));
    }
  }
  CHECK(minimalConflict(3, [](const std::vector<int>&) { return false; }).empty());
}

/// The rules that the message names as those that cannot hold together.
std::string conflictOf(const absl::Status& status) {
  std::string message = messageOf(status);
  size_t from = message.find("\n  - ");
  return message.substr(from + 1, message.find("\neach ", from) - from - 1);
}

TEST_CASE("pins, forbids, colocation and support: only what is to blame, and where it is from") {
  Cluster cluster = simpleCluster(3);
  CostGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) {
    addNode(graph, name, {1, 1, 1});
  }
  addNode(graph, "e", {1, 1, kUnsupported});
  graph.colocation = {{0, 1}, {1, 2}, {2, 4}};
  REQUIRE(graph.finish(3).ok());
  cluster.pins = {{"d", "n0/cpu:0", "c.yaml:2"}};
  auto problemOf = [&] {
    CostGraph with = graph;
    REQUIRE(with.applyPinRules(cluster).ok());
    return PlacementProblem::create(with, cluster).status();
  };
  CHECK(problemOf().ok());

  SECTION("two pins over a chain of colocation") {
    cluster.pins.push_back({"a", "n0/cpu:0", "c.yaml:3"});
    cluster.pins.push_back({"c", "n1/cpu:0", "--pin"});
    CHECK(absl::IsFailedPrecondition(problemOf()));
    CHECK(conflictOf(problemOf()) ==
          "  - 'c' is pinned to n1/cpu:0 (--pin)\n"
          "  - 'a' is pinned to n0/cpu:0 (c.yaml:3)\n"
          "  - 'a', 'b' must share a device\n"
          "  - 'b', 'c' must share a device");
    CHECK_THAT(messageOf(problemOf()),
               Catch::Contains("each of these changes is enough:\n"
                               "  - no longer: 'c' is pinned to n1/cpu:0 (--pin)"));
  }
  SECTION("a pin, and two forbids that leave only where the pin is not") {
    cluster.pins.push_back({"b", "n0/cpu:0", "--pin"});
    cluster.forbids = {{"[ab]", "n0/*", "c.yaml:8"}, {"d", "n1/*", "c.yaml:9"}};
    CHECK(conflictOf(problemOf()) ==
          "  - 'b' is pinned to n0/cpu:0 (--pin)\n"
          "  - 'a', 'b' are forbidden on n0/cpu:0 (c.yaml:8)");
  }
  SECTION("support, which cannot be changed") {
    cluster.forbids = {{"e", "n0/*", "c.yaml:8"}};
    cluster.pins.push_back({"c", "n2/cpu:0", "c.yaml:9"});
    std::string message = messageOf(problemOf());
    CHECK_THAT(message, Catch::Contains("  - 'c' is pinned to n2/cpu:0 (c.yaml:9)\n"
                                        "  - 'c', 'e' must share a device\n"
                                        "  - 'e' (test) runs on n0/cpu:0, n1/cpu:0; n2/cpu:0: no "
                                        "kernel for complex64\n"
                                        "each of these changes is enough:\n"
                                        "  - no longer: 'c' is pinned to n2/cpu:0 (c.yaml:9)\n"
                                        "  - no longer: 'c', 'e' must share a device"));
  }
  SECTION("several changes where no single one is enough") {
    cluster.pins = {{"a", "n0/cpu:0", "c.yaml:3"},
                    {"b", "n1/cpu:0", "c.yaml:4"},
                    {"c", "n2/cpu:0", "c.yaml:5"}};
    CHECK_THAT(messageOf(problemOf()), Catch::Contains("these changes together are enough:\n"));
  }
}

TEST_CASE("what forbids took away comes back with them") {
  Cluster cluster = simpleCluster(2);
  CostGraph graph;
  addNode(graph, "a", {7, 8});
  REQUIRE(graph.finish(2).ok());
  cluster.forbids = {{"a", "n0/*", "c.yaml:3"}, {"*", "n0/*", "--forbid"}};
  REQUIRE(graph.applyPinRules(cluster).ok());
  CHECK(graph.supportsWithoutForbids(0, 0));
  graph.dropForbids("c.yaml:3");
  CHECK(!graph.node(0).supports(0));
  graph.dropForbids("--forbid");
  CHECK(graph.node(0).timeNs == std::vector<int64_t>{7, 8});
  CHECK(graph.node(0).unsupported.empty());
}

/// Layers of 1 KiB of weights in a chain, the second one pinned.
struct Chain {
  Cluster cluster = simpleCluster(3, {3000, 1500, 5000});
  CostGraph graph;

  Chain() {
    for (int i = 0; i < 4; ++i) {
      int n = addNode(graph, absl::StrCat("layer", i), {10, 10, 10}, 1024);
      if (n > 0) {
        addTensor(graph, n - 1, {n}, 16);
      }
    }
    REQUIRE(graph.finish(3).ok());
    cluster.devices[1].memorySource = "c.yaml:6";
    cluster.pins = {{"layer[12]", "n1/cpu:0", "--pin"}, {"layer0", "n0/cpu:0", "c.yaml:9"}};
    REQUIRE(graph.applyPinRules(cluster).ok());
  }
};

TEST_CASE("a memory limit and a pin that do not fit, and what is enough") {
  Chain f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  auto status = place(problem, "auto").status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(messageOf(status),
             Catch::Contains("each of them is needed for that:\n"
                             "  - n1/cpu:0 has at most 1.46 KiB (c.yaml:6)\n"
                             "  - 'layer1', 'layer2' are pinned to n1/cpu:0 (--pin)\n"
                             "each of these changes is enough:\n  - give n1/cpu:0 2.") &&
                 Catch::Contains("\n  - no longer: 'layer1', 'layer2' are pinned to n1/cpu:0"));
}

TEST_CASE("what is told to be enough of memory is, and a little less is not") {
  Chain f;
  PlacementProblem problem = makeProblem(f.graph, f.cluster);
  std::string told = describeMemoryConflict(problem);
  size_t at = told.find("give n1/cpu:0 ");
  REQUIRE(at != std::string::npos);
  double enough = std::stod(told.substr(at + 14)) * 1024;
  problem.limits[1] = static_cast<int64_t>(enough * 1.01);
  CHECK(place(problem, "greedy").ok());
  problem.limits[1] = static_cast<int64_t>(enough * 0.98);
  CHECK(!place(problem, "greedy").ok());
}

}  // namespace
}  // namespace graphrun::placement
