#include "placement/strategies/portfolio.h"

#include <algorithm>
#include <limits>
#include <random>

#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/core_timeline.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/problem/validate.h"
#include "tests/placement/graphs.h"
#include "tests/placement/large_graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

LargeGraph twoThousandNodes() {
  LargeOptions options;
  options.nodes = 2000;
  return layeredGraph(options);
}

TEST_CASE("a budget that is used up leaves the first answer") {
  LargeGraph made = twoThousandNodes();
  PlacementProblem problem = makeProblem(made.graph, made.cluster);
  problem.search.budgetNs = 1;
  std::vector<Candidate> candidates;
  auto result = place(problem, "auto", &candidates);
  REQUIRE(result.ok());
  CHECK(result->placement.strategy == "single");
  CHECK(placementViolations(problem, result->placement).empty());
  REQUIRE(candidates.size() == 7);
  CHECK(candidates[0].result.ok());
  for (size_t i = 1; i < candidates.size(); ++i) {
    CHECK(messageOf(candidates[i].result.status()) == "the plan budget was used up");
  }
}

TEST_CASE("without an answer no heuristic is left out") {
  LargeGraph made = twoThousandNodes();
  for (CostNode& node : made.graph.nodes) {
    node.weightBytes = 100;
  }
  for (CostTensor& tensor : made.graph.tensors) {
    tensor.bytes = 0;
  }
  PlacementProblem problem = makeProblem(made.graph, made.cluster);
  problem.limits.assign(problem.limits.size(), 100'000);  // of some 200,000 in all
  problem.search.budgetNs = 1;
  auto result = place(problem, "auto");
  REQUIRE(result.ok());
  CHECK(result->placement.strategy == "greedy");
}

TEST_CASE("a longer budget gives no worse a placement") {
  LargeGraph made = twoThousandNodes();
  PlacementProblem problem = makeProblem(made.graph, made.cluster);
  int64_t last = std::numeric_limits<int64_t>::max();
  for (int64_t budgetNs : {1, 1'000'000, 20'000'000, 200'000'000}) {
    problem.search.budgetNs = budgetNs;
    auto result = place(problem, "auto");
    REQUIRE(result.ok());
    CHECK(result->simulation.stepNs <= last);
    last = result->simulation.stepNs;
  }
}

TEST_CASE("what ran on the way is told, and the bound is that of the problem") {
  std::mt19937 random(1);
  CostGraph graph = randomGraph(random, {});
  Cluster cluster = simpleCluster(3);
  PlacementProblem problem = makeProblem(graph, cluster);
  for (const char* strategy : {"auto", "search"}) {
    std::vector<Candidate> candidates;
    auto result = place(problem, strategy, &candidates);
    REQUIRE(result.ok());
    CHECK(candidates.size() == (isForMost(problem) ? 8 : 7));
    CHECK(result->boundNs == lowerBounds(problem).ns());
    CHECK(boundOf(problem, *result) == result->boundNs);
  }
  std::vector<Candidate> candidates;
  auto heft = place(problem, "heft", &candidates);
  REQUIRE(heft.ok());
  CHECK(candidates.empty());
  CHECK(heft->boundNs == 0);
  CHECK(boundOf(problem, *heft) == lowerBounds(problem).ns());
}

TEST_CASE("single leaves out no device that is better") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CostGraph graph = randomGraph(random, {});
    Cluster cluster = simpleCluster(3);
    PlacementProblem problem = makeProblem(graph, cluster);
    auto best = placeSingle(problem);
    REQUIRE(best.ok());
    for (int device = 0; device < 3; ++device) {
      Placement all;
      bool can = true;
      for (int n = 0; n < graph.nodeCount(); ++n) {
        const Unit& unit = problem.constraints.unit(n);
        all.device.push_back(unit.pinned ? unit.allowed[0] : device);
        can = can && unit.allows(all.device.back());
      }
      all.setOrder(graph.topologicalOrder);
      if (can) {
        REQUIRE(best->simulation.stepNs <= problem.simulator.run(all)->stepNs);
      }
    }
  }
}

/// The earliest start among nodes that run one at a time, looked for in all of them.
int64_t slowFirstStart(const std::vector<OpTime>& nodes, int64_t ready, int64_t duration) {
  std::vector<int64_t> starts = {ready};
  for (const OpTime& node : nodes) {
    starts.push_back(std::max(ready, node.finish));
  }
  std::sort(starts.begin(), starts.end());
  return *std::find_if(starts.begin(), starts.end(), [&](int64_t start) {
    return std::all_of(nodes.begin(), nodes.end(), [&](const OpTime& node) {
      return start + duration <= node.start || node.finish <= start;
    });
  });
}

TEST_CASE("a core's timeline finds the first gap") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CoreTimeline timeline;
    std::vector<OpTime> nodes;
    for (int i = 0; i < 60; ++i) {
      auto ready = static_cast<int64_t>(random() % 200);
      auto duration = static_cast<int64_t>(random() % 6);
      int64_t start = timeline.firstStart(ready, duration);
      CAPTURE(i, ready, duration);
      REQUIRE(start == slowFirstStart(nodes, ready, duration));
      timeline.occupy(start, start + duration);
      nodes.push_back({start, start + duration});
      int64_t end = 0;
      for (const OpTime& node : nodes) {
        end = std::max(end, node.finish);
      }
      REQUIRE(timeline.end() == end);
    }
  }
}

}  // namespace
}  // namespace graphrun::placement
