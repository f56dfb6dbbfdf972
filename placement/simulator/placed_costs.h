// Placed costs are the costs of nodes and their tensors where a placement has them.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_PLACED_COSTS_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_PLACED_COSTS_H_

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "placement/cluster/link_table.h"
#include "placement/cost_graph/cost_graph.h"
#include "placement/cost_graph/flat_graph.h"
#include "placement/simulator/collective_groups.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// The one answer for the simulator, for schedules that follow changes, and for memory. `Placed`
/// tells device(node) and rank(node). A view: cheap to make, it keeps references to both.
template <typename Placed>
class PlacedCosts {
 public:
  PlacedCosts(const Simulator& simulator, const Placed& placed)
      : graph_(simulator.graph()),
        flat_(simulator.flat()),
        links_(simulator.links()),
        collectives_(simulator.collectives()),
        placed_(placed) {}

  /// ns of a node: of a collective that is held the last step of the first member on each device
  /// takes it all; else its own time with what it reads and sends.
  int64_t nodeNs(int node) const {
    int collective = collectives_.empty() ? -1 : graph_.node(node).collective;
    if (collective >= 0 && collectives_.isHeld(collective, placed_)) {
      return collectives_.isFirst(collective, placed_, node)
                 ? collectives_.ns(collective, collectives_.devicesOf(collective, placed_))
                 : 0;
    }
    const int64_t sends = links_.sendsTakeTime() ? sendsNs(node) : 0;
    if (!isDoneHere(node)) {
      return sends;
    }
    // A node that takes no time of its own, as a concatenation in place or a view, reads for those
    // behind it.
    const int64_t reads = links_.readsTakeTime() ? firstReadsNs(node) : 0;
    return flat_.timeNs(node, placed_.device(node)) + reads + sends;
  }

  /// The device that has a tensor first, or kClient.
  int home(int tensor) const {
    const CostTensor& of = graph_.tensor(tensor);
    return of.producer < 0 ? of.inputHome : placed_.device(of.producer);
  }
  /// Returns whether a node that reads a tensor has it only when it has been sent.
  bool isSent(int tensor, int node) const {
    return home(tensor) != placed_.device(node) && !collectives_.isSpared(tensor, node, placed_);
  }

  /// The node whose work a node has, and in whose memory its outputs are: of those that share work
  /// the first on its device, else itself.
  int workerOf(int node) const {
    int shared = flat_.sharedOf(node);
    return shared < 0 ? node : workerFor(graph_.shared[static_cast<size_t>(shared)], node);
  }

 private:
  int workerFor(const SharedWork& work, int node) const {
    int first = node;
    for (int other : work.nodes) {
      bool isHere = placed_.device(other) == placed_.device(node);
      first = isHere && placed_.rank(other) < placed_.rank(first) ? other : first;
    }
    return first;
  }

  /// Returns whether a node does its work itself: not where another node of its device does it for
  /// it, nor where all that would share it are together and it need not be done (SharedWork).
  bool isDoneHere(int node) const {
    const int shared = flat_.sharedOf(node);
    if (shared < 0) {
      return true;
    }
    const SharedWork& work = graph_.shared[static_cast<size_t>(shared)];
    const int device = placed_.device(node);
    auto isHere = [&](int other) { return placed_.device(other) == device; };
    const bool isNone = work.onlyApart && std::all_of(work.nodes.begin(), work.nodes.end(), isHere);
    return workerFor(work, node) == node && !isNone;
  }

  /// Returns how much longer it takes as the first there to read tensors that were sent to its
  /// device (LinkModel::readNsPerByte).
  int64_t firstReadsNs(int node) const {
    const int device = placed_.device(node);
    int64_t sum = 0;
    for (int t : flat_.inputs(node)) {
      const int from = home(t);
      if (from == device) {
        continue;
      }
      auto uses = flat_.uses(t);
      const bool isFirst = std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
        return placed_.device(use.node) == device && placed_.rank(use.node) < placed_.rank(node);
      });
      sum += isFirst ? links_.readNs(links_.id(from, device), graph_.tensor(t).bytes) : 0;
    }
    return sum;
  }

  /// Returns how much longer it takes as it sends its results (LinkModel::sendNsPerByte), to each
  /// device that reads them and to the client.
  int64_t sendsNs(int node) const {
    const int from = placed_.device(node);
    int64_t sum = 0;
    absl::InlinedVector<int, 8> told;
    for (int t : flat_.outputs(node)) {
      const CostTensor& tensor = graph_.tensor(t);
      told.assign(1, from);
      auto send = [&](int to) {
        if (std::find(told.begin(), told.end(), to) == told.end()) {
          told.push_back(to);
          sum += links_.sendNs(links_.id(from, to), tensor.bytes);
        }
      };
      for (const Use& use : flat_.uses(t)) {
        if (isSent(t, use.node)) {
          send(placed_.device(use.node));
        }
      }
      if (tensor.isOutput) {
        send(tensor.outputHome);
      }
    }
    return sum;
  }

  const CostGraph& graph_;
  const FlatGraph& flat_;
  const LinkTable& links_;
  const CollectiveGroups& collectives_;
  const Placed& placed_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_PLACED_COSTS_H_
