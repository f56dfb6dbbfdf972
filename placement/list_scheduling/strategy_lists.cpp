// List heuristics: what they have of their own is the order of nodes and the score of a device.
// Sources: HEFT and CPOP: Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002; PEFT: Arabnejad, Barbosa,
// "List Scheduling Algorithm for Heterogeneous Systems by an Optimistic Cost Table", IEEE TPDS
// 25(3), 2014.
#include <algorithm>
#include <functional>
#include <limits>

#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/list_scheduling/mean_costs.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/list_scheduling/orders.h"

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

/// With insertion, and without: the schedule then knows its memory better.
absl::StatusOr<PlacementResult> placeTwice(const PlacementProblem& problem, const char* strategy,
                                           const std::vector<int>& order, const TrialScore& score) {
  auto same = [&] { return order; };
  return placeByLists(problem, strategy, {{same, true, score}, {same, false, score}});
}

}  // namespace

absl::StatusOr<PlacementResult> placeGreedy(const PlacementProblem& problem) {
  auto inProgram = [&] { return problem.graph().topologicalOrder; };
  auto lean = [&] { return leanOrder(problem.graph()); };
  return placeByLists(
      problem, "greedy",
      {{inProgram, false, finishOf}, {inProgram, false, firstOfAll}, {lean, false, firstOfAll}});
}

absl::StatusOr<PlacementResult> placeHeft(const PlacementProblem& problem) {
  std::vector<int> order = upwardRankOrder(problem);
  auto byRank = [&] { return order; };
  // Without insertion the schedule knows its memory better; in program order it needs less of it.
  auto inProgram = [&] { return problem.graph().topologicalOrder; };
  return placeByLists(
      problem, "heft",
      {{byRank, true, finishOf}, {byRank, false, finishOf}, {inProgram, false, finishOf}});
}

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
  return placeTwice(problem, "cpop", order, score);
}

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
  return placeTwice(problem, "peft", order, score);
}

}  // namespace graphrun::placement
