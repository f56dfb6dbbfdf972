// What a node takes in a placement.
#ifndef GRAPHRUN_PLACEMENT_PLACED_TIME_H_
#define GRAPHRUN_PLACEMENT_PLACED_TIME_H_

#include <algorithm>
#include <cstdint>

#include "placement/cost_graph.h"
#include "placement/flat_graph.h"
#include "placement/link_table.h"
#include "placement/placement.h"

namespace graphrun::placement {

/// Where the nodes of a placement are.
struct PlacedBy {
  const Placement& placement;
  int device(int node) const { return placement.device[static_cast<size_t>(node)]; }
  int rank(int node) const { return placement.rank[static_cast<size_t>(node)]; }
};

/// The node of shared work whose work a node has: the first of those on its device, itself if that
/// is it. `placed` tells device(node) and rank(node).
template <typename Placed>
int workerFor(const SharedWork& work, const Placed& placed, int node) {
  int first = node;
  for (int other : work.nodes) {
    bool isHere = placed.device(other) == placed.device(node);
    first = isHere && placed.rank(other) < placed.rank(first) ? other : first;
  }
  return first;
}

/// The ns that a node takes where it is, if no library does its work (Meetings).
template <typename Placed>
int64_t aloneNs(const CostGraph& graph, const FlatGraph& flat, const Placed& placed, int node) {
  int device = placed.device(node);
  int shared = flat.sharedOf(node);
  if (shared < 0) {
    return flat.timeNs(node, device);
  }
  const SharedWork& work = graph.shared[static_cast<size_t>(shared)];
  auto isHere = [&](int other) { return placed.device(other) == device; };
  bool isDone = workerFor(work, placed, node) != node;
  bool isNone = work.onlyApart && std::all_of(work.nodes.begin(), work.nodes.end(), isHere);
  return isDone || isNone ? 0 : flat.timeNs(node, device);
}

/// The ns that a node takes longer where it is as the first there to read tensors that were sent to
/// its device (LinkModel::readNsPerByte).
template <typename Placed>
int64_t firstReadsNs(const CostGraph& graph, const FlatGraph& flat, const LinkTable& links,
                     const Placed& placed, int node) {
  const int device = placed.device(node);
  int64_t sum = 0;
  for (int t : flat.inputs(node)) {
    const CostTensor& tensor = graph.tensor(t);
    const int home = tensor.producer < 0 ? tensor.inputHome : placed.device(tensor.producer);
    if (home == device) {
      continue;
    }
    auto uses = flat.uses(t);
    const bool isFirst = std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
      return placed.device(use.node) == device && placed.rank(use.node) < placed.rank(node);
    });
    sum += isFirst ? links.readNs(links.id(home, device), tensor.bytes) : 0;
  }
  return sum;
}

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_PLACED_TIME_H_
