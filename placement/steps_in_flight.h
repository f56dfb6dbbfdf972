// Whether steps of a plan for a cluster may be in flight beside each other.
#ifndef GRAPHRUN_PLACEMENT_STEPS_IN_FLIGHT_H_
#define GRAPHRUN_PLACEMENT_STEPS_IN_FLIGHT_H_

#include <algorithm>

#include "placement/cluster.h"
#include "placement/simulator.h"

namespace graphrun::placement {

/// `options` for this cluster: within the client's process one step runs at a time, so that edges
/// have a single buffer.
inline SimulatorOptions forStepsOf(const Cluster& cluster, SimulatorOptions options) {
  const bool overlap = std::any_of(cluster.workers.begin(), cluster.workers.end(),
                                   [](const Worker& worker) { return !worker.inClient; });
  options.edgeSlots = overlap ? options.edgeSlots : 1;
  return options;
}

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_STEPS_IN_FLIGHT_H_
