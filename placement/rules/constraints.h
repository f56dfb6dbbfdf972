// Pins, colocation and support of devices are resolved once for all strategies.
#ifndef GRAPHRUN_PLACEMENT_RULES_CONSTRAINTS_H_
#define GRAPHRUN_PLACEMENT_RULES_CONSTRAINTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "placement/cluster/cluster.h"
#include "placement/cost_graph/cost_graph.h"

namespace graphrun::placement {

/// Nodes that must share a device; most units are one node.
struct Unit {
  std::vector<int> nodes;  // ascending
  /// Devices that support every node and agree with the pins, ascending; never empty.
  std::vector<int> allowed;
  bool pinned = false;
  int64_t weightBytes = 0;

  bool allows(int device) const;
};

struct Constraints {
  std::vector<int> unitOf;  // by node
  std::vector<Unit> units;  // by the smallest node

  const Unit& unit(int node) const {
    return units[static_cast<size_t>(unitOf[static_cast<size_t>(node)])];
  }
};

/// FailedPrecondition names every conflict: pins that disagree, a pin to a device that cannot run
/// the node (with the device's reason), nodes that no device can run.
absl::StatusOr<Constraints> resolveConstraints(const CostGraph& graph, const Cluster& cluster);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_RULES_CONSTRAINTS_H_
