#include "placement/mean_costs.h"

#include <algorithm>
#include <map>

namespace graphrun::placement {
namespace {

/// Nodes of a unit are on one device.
bool together(const PlacementProblem& problem, int a, int b) {
  const std::vector<int>& unitOf = problem.constraints.unitOf;
  return unitOf[static_cast<size_t>(a)] == unitOf[static_cast<size_t>(b)];
}

}  // namespace

MeanCosts::MeanCosts(const PlacementProblem& problem) : problem_(problem) {
  int count = problem.deviceCount();
  const LinkTable& table = problem.simulator.links();
  std::map<int64_t, Line> changes = {{0, {}}};  // what is added to the sums at a size
  auto add = [&](int64_t size, const LinkLine& line, double sign) {
    changes[size].latencyNs += sign * static_cast<double>(line.latencyNs);
    changes[size].nsPerByte += sign * 1e9 / line.bytesPerSecond;
  };
  for (int a = 0; a < count; ++a) {
    for (int b = 0; b < count; ++b) {
      if (a == b) {
        continue;
      }
      const LinkModel& model = table.link(table.id(a, b)).model;
      add(0, model.small(), 1);
      if (model.large.has_value()) {
        add(model.large->fromBytes, model.small(), -1);
        add(model.large->fromBytes, model.large->line, 1);
      }
    }
  }
  const double pairs = static_cast<double>(count) * count;
  Line sum;
  for (const auto& [size, change] : changes) {
    sum.latencyNs += change.latencyNs;
    sum.nsPerByte += change.nsPerByte;
    lines_.push_back({size, sum.latencyNs / pairs, sum.nsPerByte / pairs});
  }
  otherShare_ = count > 1 ? static_cast<double>(count) / (count - 1) : 0;
}

double MeanCosts::nodeNs(int node) const {
  double sum = 0;
  const std::vector<int>& allowed = problem_.constraints.unit(node).allowed;
  for (int device : allowed) {
    sum += static_cast<double>(problem_.graph().node(node).timeNs[static_cast<size_t>(device)]);
  }
  return sum / static_cast<double>(allowed.size());
}

std::vector<double> upwardRanks(const PlacementProblem& problem) {
  const CostGraph& graph = problem.graph();
  MeanCosts mean(problem);
  std::vector<double> rank(graph.nodes.size(), 0);
  const std::vector<int>& order = graph.topologicalOrder;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    double tail = 0;
    for (int t : graph.node(*it).outputs) {
      double transfer = mean.transferNs(graph.tensor(t).bytes);
      for (int consumer : graph.tensor(t).consumers) {
        double way = together(problem, *it, consumer) ? 0 : transfer;
        tail = std::max(tail, way + rank[static_cast<size_t>(consumer)]);
      }
    }
    rank[static_cast<size_t>(*it)] = mean.nodeNs(*it) + tail;
  }
  return rank;
}

std::vector<double> downwardRanks(const PlacementProblem& problem) {
  const CostGraph& graph = problem.graph();
  MeanCosts mean(problem);
  std::vector<double> rank(graph.nodes.size(), 0);
  for (int n : graph.topologicalOrder) {
    for (int t : graph.node(n).inputs) {
      if (int producer = graph.tensor(t).producer; producer >= 0) {
        double way = together(problem, producer, n) ? 0 : mean.transferNs(graph.tensor(t).bytes);
        rank[static_cast<size_t>(n)] =
            std::max(rank[static_cast<size_t>(n)],
                     rank[static_cast<size_t>(producer)] + mean.nodeNs(producer) + way);
      }
    }
  }
  return rank;
}

}  // namespace graphrun::placement
