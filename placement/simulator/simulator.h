// The event simulator: the one evaluator of placements that every strategy, check and report uses.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_SIMULATOR_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_SIMULATOR_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "placement/cluster/cluster.h"
#include "placement/cluster/crowding.h"
#include "placement/cluster/link_table.h"
#include "placement/cost_graph/cost_graph.h"
#include "placement/cost_graph/flat_graph.h"
#include "placement/cost_graph/placement.h"
#include "placement/simulator/client_load.h"
#include "placement/simulator/collective_groups.h"
#include "placement/simulator/core_table.h"
#include "placement/simulator/step_start.h"

namespace graphrun::placement {

struct SimulatorOptions {
  /// Buffers that an edge between two devices has on its receiver (design: steps in flight).
  int edgeSlots = 2;
  /// Buffers of a tensor that comes from the client.
  int clientSlots = 1;
  /// True when what a device sends stays until the step ends, as in the executor, which lets the
  /// receiver read it until then.
  bool holdsSent = true;
};

struct OpTime {
  int64_t start = 0;  // ns from the beginning of the step
  int64_t finish = 0;
};

/// One tensor on its way to one endpoint.
struct Transfer {
  int tensor = 0;
  int from = kClient;
  int to = kClient;
  int link = 0;
  int64_t ready = 0;   // the data exists
  int64_t start = 0;   // the link is free
  int64_t finish = 0;  // the data is there
  int64_t sent = 0;    // the interface by which it leaves is free for others, if it is shared
};

/// Memory in use on a device from `time` on, bytes, static part included.
struct MemorySample {
  int64_t time = 0;
  int64_t bytes = 0;
};

struct DeviceUse {
  int64_t busyNs = 0;
  /// The part of the device's own time for tensors that come and go; see Device::hasPort.
  int64_t portNs = 0;
  int64_t weightBytes = 0;
  /// Buffers of incoming edges, and of libraries between devices that meet; held for the whole
  /// step.
  int64_t receiveBytes = 0;
  /// Weights + receive buffers + the largest sum of live tensors and workspace.
  int64_t peakBytes = 0;
  /// The node that was running at the peak, -1 if nothing runs here.
  int peakNode = -1;
  /// At the start of each node, in order.
  std::vector<MemorySample> memory;
};

struct LinkUse {
  int64_t busyNs = 0;
  int64_t bytes = 0;
  int64_t transfers = 0;
};

/// Predicted timeline of one step.
struct Simulation {
  /// Until the last node has run and the last output has reached its home.
  int64_t stepNs = 0;
  /// Beside that, to start and end the step on its workers (StepStarts).
  int64_t overheadNs = 0;
  /// Beside that, what devices that compute at the same time take longer for each other (Crowding);
  /// no time of a node tells it.
  int64_t crowdingNs = 0;
  /// The load of the busiest core (the nodes and ports of all devices that have it, spread over
  /// their lanes; nothing without a limit) or link that queues: what a step takes when many follow
  /// each other. Where devices compute on all cores of the client's machine, what that does for a
  /// step is part of it (ClientLoad).
  int64_t periodNs = 0;
  /// CPU time that the client's process takes for a step of many, and by how much the period is
  /// longer for it.
  int64_t clientNs = 0;
  int64_t clientPeriodNs = 0;
  std::vector<OpTime> ops;  // by node
  /// In the order in which they were queued; those of one tensor are consecutive.
  std::vector<Transfer> transfers;
  std::vector<int> firstTransfer;  // by tensor: index into `transfers`, -1 without one
  std::vector<DeviceUse> devices;
  std::vector<LinkUse> links;

  /// Returns the time that the one who asked for the step waits.
  int64_t latencyNs() const { return stepNs + overheadNs + crowdingNs; }
  /// The transfer of `tensor` to `to`, nullptr if there is none.
  const Transfer* transfer(int tensor, int to) const;
};

/// Model: each device runs its nodes in rank order, as soon as the next one's inputs are there, as
/// many at a time as it has lanes (without a limit: each as soon as its own inputs are there); one
/// that is one call runs them all one after the other, between the ports' time for what comes and
/// for what goes. Devices with a core in common (CoreTable) run their nodes one at a time, too, and
/// in rank order among all of them. Elsewhere ports count for the period only. A tensor leaves when
/// its producer finishes, once for each target; a link carries one transfer at a time, first come
/// first served (ties: lower tensor id, then lower device), or all at once if it does not queue
/// them. A transfer also has each side of an interface on its way (LinkTable::sides), first come
/// first served, for its bytes at that side's rate, and starts when it has the one that it enters
/// by. Outputs and workspace of a node live from its start; a tensor lives until its last consumer
/// on the device has finished and its last transfer has arrived. Deterministic, O((V + E) log V).
/// Of nodes that share work (SharedWork) the first on a device takes the time, and the tensors of
/// all are one in memory. What a library carries out (CollectiveGroup) begins when all operands are
/// made and all devices have come to it, and holds each of them as long: it is in line with what
/// they compute.
///
/// Keeps references to graph and cluster, which must outlive it. Devices that share cores have one
/// lane and are no calls. Immutable: safe to use from
/// threads.
class Simulator {
 public:
  Simulator(const CostGraph& graph, const Cluster& cluster, SimulatorOptions options = {});

  /// InvalidArgument if the placement has wrong sizes, a device that is missing or cannot run its
  /// node, ranks that are no permutation, or an order in which devices, or calls, would wait for
  /// each other.
  /// Memory limits are not looked at here: see validate.h.
  absl::StatusOr<Simulation> run(const Placement& placement) const;

  const CostGraph& graph() const { return graph_; }
  const Cluster& cluster() const { return cluster_; }
  const LinkTable& links() const { return links_; }
  const FlatGraph& flat() const { return flat_; }
  const CoreTable& cores() const { return cores_; }
  const CollectiveGroups& collectives() const { return collectives_; }
  const StepStarts& starts() const { return starts_; }
  const Crowding& crowding() const { return crowding_; }
  const ClientLoad& client() const { return client_; }
  const SimulatorOptions& options() const { return options_; }

  /// Receive buffers that a tensor from `from` takes on another device.
  int64_t receiveBytes(const CostTensor& tensor, int from) const {
    return tensor.bytes * (from == kClient ? options_.clientSlots : options_.edgeSlots);
  }

 private:
  const CostGraph& graph_;
  const Cluster& cluster_;
  SimulatorOptions options_;
  LinkTable links_;
  FlatGraph flat_;
  CoreTable cores_;
  CollectiveGroups collectives_;
  StepStarts starts_;
  Crowding crowding_;
  ClientLoad client_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_SIMULATOR_H_
