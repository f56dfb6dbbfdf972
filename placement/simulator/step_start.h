// A step takes time beside what devices and links do: messages to workers start and end it.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_STEP_START_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_STEP_START_H_

#include <cstdint>
#include <vector>

#include "placement/cluster/cluster.h"
#include "placement/cluster/link_table.h"
#include "placement/cost_graph/cost_graph.h"

namespace graphrun::placement {

/// Returns the time that `known`, which is ascending in workers and not empty, gives for a step in
/// which so many workers take part, and for so many bytes: on the line between the two nearest
/// numbers of workers that are known, or as the nearest.
int64_t nanosOf(const std::vector<StepStart>& known, int workers, int64_t bytes);

/// StepStarts evaluates Cluster::stepStarts for placements. Keeps a reference to the cluster.
/// Immutable.
class StepStarts {
 public:
  StepStarts(const Cluster& cluster, const LinkTable& links);

  /// Returns whether nothing is known: then it takes nothing.
  bool empty() const { return cluster_.stepStarts.empty(); }
  /// The worker that must be told when a device has something to do; -1: it is in the client's
  /// process.
  int toldFor(int device) const { return toldFor_[static_cast<size_t>(device)]; }
  /// Returns whether a link leads from the client's process to another, so that the client hands
  /// out what goes over it.
  bool isHandedOut(int link) const { return isHandedOut_[static_cast<size_t>(link)] != 0; }

  /// ns of a step in which so many workers are told and so many bytes handed out.
  int64_t ns(int workers, int64_t bytes) const;
  /// ns that every placement of the graph takes at least.
  int64_t leastNs(const CostGraph& graph) const;

 private:
  const Cluster& cluster_;
  std::vector<int> toldFor_;       // by device
  std::vector<char> isHandedOut_;  // by link
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_STEP_START_H_
