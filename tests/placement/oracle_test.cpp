// Tiny graphs against every placement and every order there is.
#include <functional>
#include <optional>
#include <utility>

#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/problem/memory_limits.h"
#include "placement/problem/problem.h"
#include "placement/strategies/strategy.h"
#include "tests/placement/graphs.h"

namespace graphrun::placement {
namespace {

using namespace testing;

void forEachOrder(const CostGraph& graph,
                  const std::function<void(const std::vector<int>&)>& visit) {
  std::vector<int> order;
  std::vector<bool> done(graph.nodes.size(), false);
  std::function<void()> extend = [&] {
    if (order.size() == graph.nodes.size()) {
      visit(order);
      return;
    }
    for (int n = 0; n < graph.nodeCount(); ++n) {
      bool ready = !done[static_cast<size_t>(n)];
      for (int t : graph.node(n).inputs) {
        int producer = graph.tensor(t).producer;
        ready = ready && (producer < 0 || done[static_cast<size_t>(producer)]);
      }
      if (ready) {
        done[static_cast<size_t>(n)] = true;
        order.push_back(n);
        extend();
        order.pop_back();
        done[static_cast<size_t>(n)] = false;
      }
    }
  };
  extend();
}

/// The shortest step of any placement within the limits.
std::optional<int64_t> optimum(const PlacementProblem& problem) {
  int count = problem.graph().nodeCount();
  std::optional<int64_t> best;
  forEachOrder(problem.graph(), [&](const std::vector<int>& order) {
    Placement placement;
    placement.setOrder(order);
    placement.device.resize(static_cast<size_t>(count));
    int choices = 1;
    for (int n = 0; n < count; ++n) {
      choices *= problem.deviceCount();
    }
    for (int choice = 0; choice < choices; ++choice) {
      int rest = choice;
      for (int n = 0; n < count; ++n) {
        placement.device[static_cast<size_t>(n)] = rest % problem.deviceCount();
        rest /= problem.deviceCount();
      }
      auto simulation = problem.simulator.run(placement);
      if (simulation.ok() && checkLimits(problem, *simulation).ok() &&
          (!best.has_value() || simulation->stepNs < *best)) {
        best = simulation->stepNs;
      }
    }
  });
  return best;
}

/// What auto gives for as many problems as `count`, beside their optima; `draw` makes a graph and a
/// cluster of a seed.
template <typename Draw>
void compareAuto(int count, const Draw& draw) {
  int exact = 0;
  double ratios = 0;
  for (unsigned seed = 0; seed < static_cast<unsigned>(count); ++seed) {
    CAPTURE(seed);
    std::pair<CostGraph, Cluster> drawn = draw(seed);
    PlacementProblem problem = makeProblem(drawn.first, drawn.second);
    int64_t best = optimum(problem).value();
    int64_t found = place(problem, "auto")->simulation.stepNs;
    REQUIRE(found >= best);
    REQUIRE(best >= lowerBounds(problem).ns());
    exact += found == best ? 1 : 0;
    ratios += static_cast<double>(found) / static_cast<double>(best);
  }
  WARN("auto is optimal for " << exact << " of " << count << ", mean ratio " << ratios / count);
  CHECK(exact >= count / 2);
  CHECK(ratios / count < 1.10);
}

TEST_CASE("auto against the optimum of tiny graphs") {
  compareAuto(60, [](unsigned seed) {
    std::mt19937 random(seed);
    RandomOptions options{3, 6, 2, false};
    options.maxNodes = seed < 6 ? 7 : 6;
    return std::pair(randomGraph(random, options), simpleCluster(2));
  });
}

TEST_CASE("auto against the optimum of tiny graphs where devices share cores") {
  compareAuto(30, [](unsigned seed) {
    std::mt19937 random(seed);
    return std::pair(randomGraph(random, {3, 5, 3, false}), coreCluster({{{0, 1}, {0}, {1}}}));
  });
}

TEST_CASE("auto under limits against the optimum of tiny graphs") {
  int feasible = 0;
  int found = 0;
  for (unsigned seed = 1000; seed < 1060; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    CostGraph graph = randomGraph(random, {3, 6, 2, false});
    std::uniform_int_distribution<int64_t> limit(500, 3000);
    Cluster cluster = simpleCluster(2, {limit(random), limit(random)});
    PlacementProblem problem = makeProblem(graph, cluster);
    std::optional<int64_t> best = optimum(problem);
    auto result = placeWith(problem, *findStrategy("auto").value());
    REQUIRE((!result.ok() || best.has_value()));
    if (result.ok()) {
      REQUIRE(result->simulation.stepNs >= *best);
    }
    feasible += best.has_value() ? 1 : 0;
    found += result.ok() ? 1 : 0;
  }
  WARN("auto places " << found << " of " << feasible << " that can be placed");
  CHECK(feasible < 60);
  CHECK(found * 10 >= feasible * 9);
}

}  // namespace
}  // namespace graphrun::placement
