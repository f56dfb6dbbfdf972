#include "placement/list_scheduling/mean_costs.h"

#include <map>

#include "placement/cost_graph/longest_paths.h"

namespace graphrun::placement {
namespace {

/// Paths of mean lengths of nodes and edges.
class MeanPaths {
 public:
  explicit MeanPaths(const PlacementProblem& problem)
      : unitOf_(problem.constraints.unitOf), mean_(problem) {
    transferNs_.reserve(problem.graph().tensors.size());
    for (const CostTensor& tensor : problem.graph().tensors) {
      transferNs_.push_back(mean_.transferNs(tensor.bytes));
    }
  }

  auto node() const {
    return [this](int n) { return mean_.nodeNs(n); };
  }
  /// Nodes of a unit are on one device.
  auto edge() const {
    return [this](int tensor, int from, int to) {
      bool isTogether = unitOf_[static_cast<size_t>(from)] == unitOf_[static_cast<size_t>(to)];
      return isTogether ? 0 : transferNs_[static_cast<size_t>(tensor)];
    };
  }

 private:
  const std::vector<int>& unitOf_;
  MeanCosts mean_;
  std::vector<double> transferNs_;  // by tensor
};

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
  MeanPaths mean(problem);
  return pathsToEnd<double>(problem.graph(), mean.node(), mean.edge()).whole;
}

std::vector<double> downwardRanks(const PlacementProblem& problem) {
  MeanPaths mean(problem);
  return pathsFromBegin<double>(problem.graph(), mean.node(), mean.edge()).before;
}

}  // namespace graphrun::placement
