// A collective group is a collective that a library carries out between devices, in place of its
// steps.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_COLLECTIVE_GROUPS_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_COLLECTIVE_GROUPS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "placement/cluster/cluster.h"
#include "placement/cluster/link_table.h"
#include "placement/cost_graph/cost_graph.h"

namespace graphrun::placement {

/// Collective groups tell which groups of a graph are held in a placement, and how long they take.
/// `placed` of the methods tells device(node) and rank(node). Keeps references to graph and
/// cluster. Immutable.
class CollectiveGroups {
 public:
  CollectiveGroups(const CostGraph& graph, const Cluster& cluster, const LinkTable& links);

  bool empty() const { return graph_.collectives.empty(); }

  /// Returns whether the devices where a collective's nodes are carry it out together.
  template <typename Placed>
  bool isHeld(int collective, const Placed& placed) const {
    const CollectiveGroup& held = graph_.collectives[static_cast<size_t>(collective)];
    std::vector<int> devices;  // by member
    devices.reserve(held.members.size());
    for (const CollectiveMember& member : held.members) {
      devices.push_back(placed.device(member.nodes.back()));
      for (int node : member.nodes) {
        if (placed.device(node) != devices.back()) {
          return false;
        }
      }
    }
    return canHold(held, devices);
  }

  /// Returns whether what a node reads of a tensor need not be sent to it: in a collective that is
  /// held only the member's own operand is.
  template <typename Placed>
  bool isSpared(int tensor, int node, const Placed& placed) const {
    if (empty() || graph_.node(node).collective < 0) {
      return false;
    }
    const CostNode& of = graph_.node(node);
    const CollectiveGroup& collective = graph_.collectives[static_cast<size_t>(of.collective)];
    return collective.members[static_cast<size_t>(of.member)].operand != tensor &&
           isHeld(of.collective, placed);
  }

  /// Returns whether a node is the last step of the first member on its device.
  template <typename Placed>
  bool isFirst(int collective, const Placed& placed, int node) const {
    bool isEnd = false;
    for (const CollectiveMember& member :
         graph_.collectives[static_cast<size_t>(collective)].members) {
      int end = member.nodes.back();
      isEnd = isEnd || end == node;
      if (placed.device(end) == placed.device(node) && placed.rank(end) < placed.rank(node)) {
        return false;
      }
    }
    return isEnd;
  }

  /// Returns whether a node waits until all devices of its collective have come to it: what takes
  /// the time does (PlacedCosts::nodeNs).
  template <typename Placed>
  bool isEntry(const Placed& placed, int node) const {
    const int collective = empty() ? -1 : graph_.node(node).collective;
    return collective >= 0 && isHeld(collective, placed) && isFirst(collective, placed, node);
  }

  /// The first of a collective's steps in the order of all nodes. A device has come to the
  /// collective when it is done with what is before that.
  template <typename Placed>
  int firstStep(int collective, const Placed& placed) const {
    int first = -1;
    for (const CollectiveMember& member :
         graph_.collectives[static_cast<size_t>(collective)].members) {
      for (int node : member.nodes) {
        first = first < 0 || placed.rank(node) < placed.rank(first) ? node : first;
      }
    }
    return first;
  }

  /// The devices of its members, ascending, each once.
  template <typename Placed>
  std::vector<int> devicesOf(int collective, const Placed& placed) const {
    std::vector<int> devices;
    for (const CollectiveMember& member :
         graph_.collectives[static_cast<size_t>(collective)].members) {
      insert(placed.device(member.nodes.back()), devices);
    }
    return devices;
  }

  /// ns of a collective of these devices: the least that was measured on one of them, which waited
  /// for the others least; else an estimate for a ring of them, in the library's faster protocol.
  /// Source of the model: J. Bachan et al., NCCL 2.12, src/graph/tuning.cc.
  int64_t ns(int collective, const std::vector<int>& devices) const;
  bool isMeasured(int collective, const std::vector<int>& devices) const {
    return measuredNs(collective, devices) >= 0;
  }

 private:
  bool canHold(const CollectiveGroup& collective, const std::vector<int>& deviceOfMember) const;
  int64_t measuredNs(int collective, const std::vector<int>& devices) const;
  static void insert(int device, std::vector<int>& devices);

  const CostGraph& graph_;
  const Cluster& cluster_;
  std::vector<int> machineOf_;  // by device; empty without collectives
  std::vector<double> rate_;    // [from][to]: bytes a ns
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_COLLECTIVE_GROUPS_H_
