// A memory profile is the memory of each device over the simulated step.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_MEMORY_PROFILE_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_MEMORY_PROFILE_H_

#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// Fills weightBytes, receiveBytes, peakBytes, peakNode and memory of `simulation.devices` from its
/// times. `byDevice` holds each device's nodes in the order in which it runs them.
void profileMemory(const Simulator& simulator, const Placement& placement,
                   const std::vector<std::vector<int>>& byDevice, Simulation& simulation);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_MEMORY_PROFILE_H_
