// CPOP. Source: Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002, section 4.2.
#include <algorithm>
#include <numeric>

#include "placement/heuristics.h"
#include "placement/lower_bounds.h"
#include "placement/mean_costs.h"
#include "placement/memory_budget.h"
#include "placement/orders.h"
#include "placement/placement_result.h"

namespace graphrun::placement {
namespace {

/// Nodes of one path from the begin to the end of the step on which no node may be late.
std::vector<int> criticalNodes(const CostGraph& graph, const std::vector<double>& priority) {
  auto of = [&](int n) { return priority[static_cast<size_t>(n)]; };
  auto less = [&](int a, int b) { return of(a) < of(b); };
  std::vector<int> next;
  for (int n : graph.topologicalOrder) {
    bool first = std::all_of(graph.node(n).inputs.begin(), graph.node(n).inputs.end(),
                             [&](int t) { return graph.tensor(t).producer < 0; });
    if (first) {
      next.push_back(n);
    }
  }
  std::vector<int> path;
  while (!next.empty()) {
    path.push_back(*std::max_element(next.begin(), next.end(), less));
    next.clear();
    for (int t : graph.node(path.back()).outputs) {
      next.insert(next.end(), graph.tensor(t).consumers.begin(), graph.tensor(t).consumers.end());
    }
  }
  return path;
}

/// The device on which the nodes that it may have take the least time, others counted by their
/// fastest device.
int deviceOf(const PlacementProblem& problem, const std::vector<int>& path) {
  std::vector<int64_t> total(static_cast<size_t>(problem.deviceCount()), 0);
  for (int n : path) {
    for (int device = 0; device < problem.deviceCount(); ++device) {
      auto d = static_cast<size_t>(device);
      total[d] += problem.constraints.unit(n).allows(device) ? problem.graph().node(n).timeNs[d]
                                                             : fastestNs(problem, n);
    }
  }
  return static_cast<int>(std::min_element(total.begin(), total.end()) - total.begin());
}

}  // namespace

absl::StatusOr<PlacementResult> placeCpop(const PlacementProblem& problem) {
  std::vector<double> priority = upwardRanks(problem);
  std::vector<double> downward = downwardRanks(problem);
  std::transform(priority.begin(), priority.end(), downward.begin(), priority.begin(),
                 std::plus<>());
  std::vector<int> order = priorityOrder(problem.graph(), priority);
  std::vector<int> path = criticalNodes(problem.graph(), priority);
  int device = deviceOf(problem, path);
  std::vector<bool> isCritical(priority.size(), false);
  for (int n : path) {
    isCritical[static_cast<size_t>(n)] = true;
  }
  auto score = [&](int node, const Trial& trial) {
    bool wanted = isCritical[static_cast<size_t>(node)] && trial.device == device;
    return wanted ? -1.0 : static_cast<double>(trial.finish);
  };
  return placeWithinLimits(problem,
                           {[&](const auto& budget) {
                              return placeByScore(problem, order, budget, true, score, "cpop");
                            },
                            [&](const auto& budget) {
                              return placeByScore(problem, order, budget, false, score, "cpop");
                            }});
}

}  // namespace graphrun::placement
