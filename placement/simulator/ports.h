// Ports are the time that devices spend on tensors that come and go.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_PORTS_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_PORTS_H_

#include <cstdint>
#include <vector>

#include "placement/cluster/cluster.h"
#include "placement/cost_graph/cost_graph.h"
#include "placement/cost_graph/placement.h"

namespace graphrun::placement {

struct PortUse {
  /// Tensors that nodes here read and that come from elsewhere, each counted once.
  int arrivals = 0;
  /// The part of the device's own time, if it has a port, for tensors that come and go: for each
  /// tensor that comes from elsewhere, and for each that goes elsewhere, once however many read it
  /// there. The client is elsewhere too.
  int64_t inNs = 0;
  int64_t outNs = 0;
};

/// By device; all zero when no device has a port or is one call. O(V + E).
std::vector<PortUse> portUse(const CostGraph& graph, const Cluster& cluster,
                             const Placement& placement);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_PORTS_H_
