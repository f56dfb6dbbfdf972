// The time of a step where devices run all their nodes in one call.
#ifndef GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_OFFLOAD_TIMES_H_
#define GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_OFFLOAD_TIMES_H_

#include <cstdint>
#include <vector>

#include "placement/throughput/load_search.h"

namespace graphrun::placement {

/// The simulator's stepNs for problems of this kind, and nothing else, some twenty times as fast.
class OffloadTimes {
 public:
  OffloadTimes(const PlacementProblem& problem, const CoarseGraph& coarse);

  /// kUnlimited where calls would wait for each other. O(V + E).
  int64_t stepNs(const DeviceLoads& loads);

 private:
  size_t vertexOf(int node) const { return vertex_[static_cast<size_t>(node)]; }
  void placeNodes(const DeviceLoads& loads);
  void finish(int node, int64_t at);

  const PlacementProblem& problem_;
  const CoarseGraph& coarse_;
  IntLists after_;                         // by node: nodes that read from it
  std::vector<bool> isOffload_;            // by device
  std::vector<std::vector<int>> nodesOf_;  // by device that is one call
  // A vertex is such a device, or a node elsewhere, numbered behind the devices.
  std::vector<size_t> vertex_;  // by node
  std::vector<int> missing_;    // by vertex: edges from vertices that have not ended
  std::vector<int64_t> start_;  // by vertex
  std::vector<size_t> ready_;
};

/// The time of a step with calls.
class OffloadGoal : public SearchGoal {
 public:
  /// Energies tell differences beyond a few hundredths of `scaleNs`.
  OffloadGoal(const PlacementProblem& problem, const CoarseGraph& coarse, int64_t scaleNs);

  double energy(const DeviceLoads& loads) override;
  int64_t ns(const DeviceLoads& loads) override;

 private:
  const PlacementProblem& problem_;
  const CoarseGraph& coarse_;
  OffloadTimes times_;
  double scale_;
  int64_t last_ = 0;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_OFFLOAD_TIMES_H_
