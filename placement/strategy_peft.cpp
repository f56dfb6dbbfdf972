// PEFT. Source: Arabnejad, Barbosa, "List Scheduling Algorithm for Heterogeneous Systems by an
// Optimistic Cost Table", IEEE TPDS 25(3), 2014.
#include <algorithm>
#include <limits>

#include "placement/heuristics.h"
#include "placement/mean_costs.h"
#include "placement/memory_budget.h"
#include "placement/orders.h"
#include "placement/placement_result.h"

namespace graphrun::placement {
namespace {

/// By node and device: how long the step goes on after the node has ended there, if every node to
/// come has a device for itself.
class OptimisticCosts {
 public:
  explicit OptimisticCosts(const PlacementProblem& problem)
      : problem_(problem),
        devices_(static_cast<size_t>(problem.deviceCount())),
        costs_(problem.graph().nodes.size() * devices_, 0) {
    MeanCosts mean(problem);
    const CostGraph& graph = problem.graph();
    const std::vector<int>& order = graph.topologicalOrder;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      for (int t : graph.node(*it).outputs) {
        for (int consumer : graph.tensor(t).consumers) {
          follow(*it, consumer, mean.transferToOtherNs(graph.tensor(t).bytes));
        }
      }
    }
  }

  double at(int node, int device) const {
    return costs_[static_cast<size_t>(node) * devices_ + static_cast<size_t>(device)];
  }
  double mean(int node) const {
    const std::vector<int>& allowed = problem_.constraints.unit(node).allowed;
    double sum = 0;
    for (int device : allowed) {
      sum += at(node, device);
    }
    return sum / static_cast<double>(allowed.size());
  }

 private:
  /// The consumer runs where it is best: on the node's device, or elsewhere after a transfer.
  void follow(int node, int consumer, double transferNs) {
    double elsewhere = std::numeric_limits<double>::infinity();
    auto cost = [&](int device) {
      int64_t ns = problem_.graph().node(consumer).timeNs[static_cast<size_t>(device)];
      return static_cast<double>(ns) + at(consumer, device);
    };
    const Unit& unit = problem_.constraints.unit(consumer);
    for (int device : unit.allowed) {
      elsewhere = std::min(elsewhere, transferNs + cost(device));
    }
    for (int device : problem_.constraints.unit(node).allowed) {
      double best = unit.allows(device) ? std::min(elsewhere, cost(device)) : elsewhere;
      double& known = costs_[static_cast<size_t>(node) * devices_ + static_cast<size_t>(device)];
      known = std::max(known, best);
    }
  }

  const PlacementProblem& problem_;
  size_t devices_;
  std::vector<double> costs_;  // [node][device]
};

}  // namespace

absl::StatusOr<PlacementResult> placePeft(const PlacementProblem& problem) {
  OptimisticCosts costs(problem);
  std::vector<double> priority;
  priority.reserve(problem.graph().nodes.size());
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    priority.push_back(costs.mean(n));
  }
  std::vector<int> order = priorityOrder(problem.graph(), priority);
  auto score = [&](int node, const Trial& trial) {
    return static_cast<double>(trial.finish) + costs.at(node, trial.device);
  };
  return placeWithinLimits(problem,
                           {[&](const auto& budget) {
                              return placeByScore(problem, order, budget, true, score, "peft");
                            },
                            [&](const auto& budget) {
                              return placeByScore(problem, order, budget, false, score, "peft");
                            }});
}

}  // namespace graphrun::placement
