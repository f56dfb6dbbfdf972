// Whether steps of a plan for a cluster may be in flight beside each other.
#ifndef GRAPHRUN_PLACEMENT_STEPS_IN_FLIGHT_H_
#define GRAPHRUN_PLACEMENT_STEPS_IN_FLIGHT_H_

#include <algorithm>

#include "placement/cluster.h"
#include "placement/simulator.h"
#include "runtime/base/objective.h"

namespace graphrun::placement {

/// The workers that are processes of their own.
inline int workersOutside(const Cluster& cluster) {
  return static_cast<int>(std::count_if(cluster.workers.begin(), cluster.workers.end(),
                                        [](const Worker& worker) { return !worker.inClient; }));
}

/// Whether steps overlap wherever nodes are: the client's process would run one at a time.
inline bool stepsOverlap(const Cluster& cluster) {
  return !cluster.workers.empty() &&
         workersOutside(cluster) == static_cast<int>(cluster.workers.size());
}

/// `options` for this cluster: within the client's process one step runs at a time, so that edges
/// have a single buffer.
inline SimulatorOptions forStepsOf(const Cluster& cluster, SimulatorOptions options) {
  const bool overlap = workersOutside(cluster) > 0;
  options.edgeSlots = overlap ? options.edgeSlots : 1;
  options.clientSlots = overlap ? options.clientSlots : 1;
  return options;
}

/// Steps that may be in flight at a time where one passes through so many devices of workers
/// (LoadedPlan): the last of them ends one while the first begins the next but one.
inline int stepsInFlight(int stages) {
  return std::min(stages + 1, static_cast<int>(runtime::kMostStepsInFlight));
}

/// Options for steps that follow each other without a gap: what a step receives waits until the
/// last device is done with it, while others are at later steps; so edges have a buffer for each
/// step that may be in flight, those from the client too. All devices count, as it is not known yet
/// which of them a placement uses: a plan has fewer buffers where it leaves some out.
inline SimulatorOptions forManySteps(const Cluster& cluster) {
  const auto stages = static_cast<int>(
      std::count_if(cluster.devices.begin(), cluster.devices.end(),
                    [&](const Device& device) { return !cluster.isInClient(device.worker); }));
  SimulatorOptions options;
  options.edgeSlots = stepsInFlight(stages);
  options.clientSlots = options.edgeSlots;
  return options;
}

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_STEPS_IN_FLIGHT_H_
