// Logical devices with a part of the cores of another: how branches of a graph run side by side.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_SPLIT_DEVICES_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_SPLIT_DEVICES_H_

#include <vector>

#include "placement/cluster/cluster.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// The devices of `cluster`, in their order, and behind them `parts` parts of each CPU device that
/// may be split: of equal numbers of its cores, named "node0/cpu:0/0", "node0/cpu:0/1" …. They have
/// the whole device's limit and weight. Without any such device: as it was. What is placed on the
/// first part runs on the whole device's own thread (Cluster::runnerOf), the others have theirs: a
/// part is handed something by the whole device only where there is work for both.
Cluster splitDevices(const Cluster& cluster, int parts);

/// A CPU device is not split that has less than two threads, that shares cores already, or that
/// cluster.yaml forbids to split.
bool maySplit(const Cluster& cluster, int device);

/// Numbers of parts that are worth a try: 2, 4, 8 … up to the threads of the largest device that
/// may be split, and to `width`, the most nodes that can run at a time.
std::vector<int> partsToTry(const Cluster& cluster, int width);

/// The most nodes of the graph that have the same distance from its inputs, counted in nodes.
int widthOf(const CostGraph& graph);

/// Returns the memory that a device needs, together with its parts: they share it.
int64_t memoryWithParts(const Cluster& cluster, const Simulation& simulation, int device);

/// Describes a device whose parts need more than it has, "" when there is none.
std::string overfullDevice(const Cluster& cluster, const Simulation& simulation);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_SPLIT_DEVICES_H_
