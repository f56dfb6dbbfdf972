#include "placement/flat_graph.h"

namespace graphrun::placement {

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
