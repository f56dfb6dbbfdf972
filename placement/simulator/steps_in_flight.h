// A rule says whether steps of a plan for a cluster may be in flight beside each other.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_STEPS_IN_FLIGHT_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_STEPS_IN_FLIGHT_H_

#include <algorithm>
#include <numeric>
#include <vector>

#include "placement/cluster/cluster.h"
#include "placement/cost_graph/placement.h"
#include "placement/simulator/simulator.h"
#include "runtime/base/objective.h"

namespace graphrun::placement {

/// The workers that are processes of their own.
inline int workersOutside(const Cluster& cluster) {
  return static_cast<int>(std::count_if(cluster.workers.begin(), cluster.workers.end(),
                                        [](const Worker& worker) { return !worker.inClient; }));
}

/// Returns whether steps overlap wherever nodes are: the client's process would run one at a time.
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

/// Options for steps that follow each other without a gap, on these devices: what a step receives
/// waits until the last device is done with it, while others are at later steps; so edges have a
/// buffer for each step that may be in flight, those from the client too.
inline SimulatorOptions forManySteps(const Cluster& cluster, const std::vector<int>& devices) {
  const auto stages =
      static_cast<int>(std::count_if(devices.begin(), devices.end(), [&](int device) {
        return !cluster.isInClient(cluster.devices[static_cast<size_t>(device)].worker);
      }));
  SimulatorOptions options;
  options.edgeSlots = stepsInFlight(stages);
  options.clientSlots = options.edgeSlots;
  return options;
}

/// Before it is known which devices a placement uses: for all of the cluster. A plan that leaves
/// some out has fewer buffers.
inline SimulatorOptions forManySteps(const Cluster& cluster) {
  std::vector<int> all(cluster.devices.size());
  std::iota(all.begin(), all.end(), 0);
  return forManySteps(cluster, all);
}

/// For the devices that the placement uses.
inline SimulatorOptions forManySteps(const Cluster& cluster, const Placement& placement) {
  std::vector<int> used = placement.device;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return forManySteps(cluster, used);
}

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_STEPS_IN_FLIGHT_H_
