#include "placement/cost_graph/shared_weights.h"

#include <algorithm>

namespace graphrun::placement {

int64_t weightBytesOf(const CostGraph& graph, absl::Span<const int> nodes) {
  int64_t bytes = 0;
  std::vector<int> shared;
  for (int node : nodes) {
    bytes += graph.node(node).weightBytes;
    shared.insert(shared.end(), graph.node(node).sharedWeights.begin(),
                  graph.node(node).sharedWeights.end());
  }
  std::sort(shared.begin(), shared.end());
  for (size_t i = 1; i < shared.size(); ++i) {
    const int64_t once = graph.sharedWeights[static_cast<size_t>(shared[i])].bytes;
    bytes -= shared[i] == shared[i - 1] ? once : 0;
  }
  return bytes;
}

int64_t SharedWeightCounts::addedBytes(int node, int device) const {
  int64_t bytes = graph_.node(node).weightBytes;
  for (int weights : graph_.node(node).sharedWeights) {
    const auto at = static_cast<size_t>(weights) * devices_ + static_cast<size_t>(device);
    bytes -= readers_[at] > 0 ? graph_.sharedWeights[static_cast<size_t>(weights)].bytes : 0;
  }
  return bytes;
}

void SharedWeightCounts::add(int node, int device) {
  for (int weights : graph_.node(node).sharedWeights) {
    ++readers(weights, device);
  }
}

void SharedWeightCounts::remove(int node, int device) {
  for (int weights : graph_.node(node).sharedWeights) {
    --readers(weights, device);
  }
}

}  // namespace graphrun::placement
