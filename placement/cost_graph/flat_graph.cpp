#include "placement/cost_graph/flat_graph.h"

#include <numeric>

namespace graphrun::placement {

IntLists IntLists::of(const std::vector<std::vector<int>>& lists) {
  IntLists result;
  for (const std::vector<int>& list : lists) {
    for (int value : list) {
      result.add(value);
    }
    result.endList();
  }
  return result;
}

IntLists IntLists::reversed() const {
  IntLists result;
  result.begins_.assign(begins_.size(), 0);
  for (int value : values_) {
    ++result.begins_[static_cast<size_t>(value) + 1];
  }
  std::partial_sum(result.begins_.begin(), result.begins_.end(), result.begins_.begin());
  result.values_.resize(values_.size());
  std::vector<int> next(result.begins_.begin(), result.begins_.end() - 1);
  for (int id = 0; id < count(); ++id) {
    for (int value : (*this)[id]) {
      result.values_[static_cast<size_t>(next[static_cast<size_t>(value)]++)] = id;
    }
  }
  return result;
}

FlatGraph::FlatGraph(const CostGraph& graph)
    : useBegins_(graph.tensors.size() + 1, 0),
      devices_(graph.nodes.empty() ? 0 : graph.nodes.front().timeNs.size()) {
  times_.reserve(graph.nodes.size() * devices_);
  for (const CostNode& node : graph.nodes) {
    for (int t : node.inputs) {
      inputs_.add(t);
      ++useBegins_[static_cast<size_t>(t) + 1];
    }
    inputs_.endList();
    for (int t : node.outputs) {
      outputs_.add(t);
    }
    outputs_.endList();
    times_.insert(times_.end(), node.timeNs.begin(), node.timeNs.end());
    if (!graph.shared.empty()) {
      shared_.push_back(node.shared);
    }
  }
  for (size_t t = 1; t < useBegins_.size(); ++t) {
    useBegins_[t] += useBegins_[t - 1];
  }
  uses_.resize(inputs_.size());
  std::vector<size_t> next(useBegins_.begin(), useBegins_.end() - 1);
  for (int n = 0; n < graph.nodeCount(); ++n) {
    auto edge = static_cast<int>(inputs_.begin(n));
    for (int t : inputs_[n]) {
      uses_[next[static_cast<size_t>(t)]++] = {n, edge++};
    }
  }
}

}  // namespace graphrun::placement
