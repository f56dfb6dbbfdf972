// Weights that several nodes read: a device that runs several of these holds them once.
#ifndef GRAPHRUN_PLACEMENT_COST_GRAPH_SHARED_WEIGHTS_H_
#define GRAPHRUN_PLACEMENT_COST_GRAPH_SHARED_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "placement/cost_graph/cost_graph.h"

namespace graphrun::placement {

/// Returns the bytes of weights on a device that runs these nodes, each named once.
int64_t weightBytesOf(const CostGraph& graph, absl::Span<const int> nodes);

/// The same by device, while nodes come and go. Keeps a reference to the graph. One thread.
class SharedWeightCounts {
 public:
  SharedWeightCounts(const CostGraph& graph, size_t devices)
      : graph_(graph), devices_(devices), readers_(graph.sharedWeights.size() * devices, 0) {}

  /// Returns the bytes that the device holds more with the node, which is not there yet.
  int64_t addedBytes(int node, int device) const;
  void add(int node, int device);
  void remove(int node, int device);

 private:
  int& readers(int weights, int device) {
    return readers_[static_cast<size_t>(weights) * devices_ + static_cast<size_t>(device)];
  }

  const CostGraph& graph_;
  size_t devices_;
  std::vector<int> readers_;  // [shared weights][device]
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_GRAPH_SHARED_WEIGHTS_H_
