#include "placement/simulator/memory_profile.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "placement/cost_graph/shared_weights.h"
#include "placement/simulator/placed_costs.h"
#include "runtime/memory/communicator_memory.h"

namespace graphrun::placement {
namespace {

struct Release {
  int64_t time;
  int64_t bytes;
  bool operator>(const Release& other) const { return time > other.time; }
};

/// Lifetimes tell which tensors are one in memory, and until when they are needed.
class Lifetimes {
 public:
  Lifetimes(const Simulator& simulator, const Placement& placement, const Simulation& simulation)
      : graph_(simulator.graph()),
        placement_(placement),
        simulation_(simulation),
        holdsSent_(simulator.options().holdsSent),
        arrived_(holdsSent_ ? 0 : graph_.tensors.size(), 0) {
    for (const SharedWork& work : graph_.shared) {
      for (int node : work.nodes) {
        findOwn(simulator, node);
      }
    }
    lastUse_.reserve(graph_.tensors.size());
    for (const CostTensor& tensor : graph_.tensors) {
      lastUse_.push_back(tensor.producer);
    }
    for (size_t i = 0; !holdsSent_ && i < simulation.transfers.size(); ++i) {
      const Transfer& transfer = simulation.transfers[i];
      int64_t& arrived = arrived_[static_cast<size_t>(own(transfer.tensor))];
      arrived = std::max(arrived, transfer.finish);
    }
    for (int t = 0; t < graph_.tensorCount(); ++t) {
      addUses(t);
    }
  }

  /// The tensor that has the memory of this one: itself, unless its node's work was done by another
  /// of the device.
  int own(int tensor) const {
    if (shared_.empty()) {
      return tensor;
    }
    auto found = shared_.find(tensor);
    return found == shared_.end() ? tensor : found->second;
  }
  /// Returns when the last transfer of a tensor that has memory and goes has arrived, 0 without
  /// one.
  int64_t arrived(int tensor) const {
    return holdsSent_ ? 0 : arrived_[static_cast<size_t>(tensor)];
  }
  /// Returns whether `node` is the last one, on the device of its producer, that needs a tensor
  /// that has memory; true once, and never where it stays or is an input of the graph.
  bool ends(int tensor, int node) {
    int& last = lastUse_[static_cast<size_t>(tensor)];
    bool ends = last == node;
    last = ends ? -1 : last;
    return ends;
  }

 private:
  int deviceOf(int node) const { return placement_.device[static_cast<size_t>(node)]; }

  void findOwn(const Simulator& simulator, int node) {
    int worker = PlacedCosts(simulator, PlacedBy{placement_}).workerOf(node);
    for (size_t i = 0; worker != node && i < graph_.node(node).outputs.size(); ++i) {
      shared_[graph_.node(node).outputs[i]] = graph_.node(worker).outputs[i];
    }
  }

  void addUses(int t) {
    const CostTensor& tensor = graph_.tensor(t);
    int& last = lastUse_[static_cast<size_t>(own(t))];
    if (tensor.producer < 0) {
      return;
    }
    bool staysHere = tensor.isOutput && tensor.outputHome == deviceOf(tensor.producer);
    bool isHeld = holdsSent_ && simulation_.firstTransfer[static_cast<size_t>(t)] >= 0;
    last = staysHere || isHeld ? -1 : last;
    addUse(tensor.producer, last);
    for (int consumer : tensor.consumers) {
      if (deviceOf(consumer) == deviceOf(tensor.producer)) {
        addUse(consumer, last);
      }
    }
  }

  void addUse(int node, int& last) const {
    auto when = [&](int n) {
      auto id = static_cast<size_t>(n);
      return std::pair(simulation_.ops[id].finish, placement_.rank[id]);
    };
    last = last >= 0 && when(node) > when(last) ? node : last;
  }

  const CostGraph& graph_;
  const Placement& placement_;
  const Simulation& simulation_;
  bool holdsSent_;
  std::map<int, int> shared_;  // tensors of nodes whose work others have done: those of the others
  std::vector<int> lastUse_;   // by tensor that has memory; -1 if it stays
  std::vector<int64_t> arrived_;  // by tensor that has memory; empty if what is sent stays
};

/// Walks one device's nodes in order and keeps the sum of what is live.
class DeviceMemory {
 public:
  DeviceMemory(const Simulator& simulator, const Placement& placement, Lifetimes& lifetimes,
               int device, Simulation& simulation)
      : graph_(simulator.graph()),
        placement_(placement),
        lifetimes_(lifetimes),
        device_(device),
        simulation_(simulation),
        sideBySide_(simulator.cluster().devices[static_cast<size_t>(device)].lanes != 1),
        use_(simulation.devices[static_cast<size_t>(device)]) {}

  void run(std::vector<int> nodes) {
    if (sideBySide_) {
      std::stable_sort(nodes.begin(), nodes.end(),
                       [&](int a, int b) { return timeOf(a).start < timeOf(b).start; });
    }
    base_ = use_.weightBytes + use_.receiveBytes;
    use_.peakBytes = base_;
    use_.memory.reserve(nodes.size());
    for (int n : nodes) {
      runNode(n);
    }
  }

 private:
  OpTime timeOf(int node) const { return simulation_.ops[static_cast<size_t>(node)]; }

  void runNode(int n) {
    const CostNode& node = graph_.node(n);
    OpTime time = timeOf(n);
    while (!releases_.empty() && releases_.top().time <= time.start) {
      live_ -= releases_.top().bytes;
      releases_.pop();
    }
    for (int t : node.outputs) {
      live_ += lifetimes_.own(t) == t ? graph_.tensor(t).liveBytes() : 0;
    }
    int64_t inUse = base_ + live_ + node.workspaceBytes;
    use_.memory.push_back({time.start, inUse});
    if (inUse > use_.peakBytes || use_.peakNode < 0) {
      use_.peakBytes = std::max(use_.peakBytes, inUse);
      use_.peakNode = n;
    }
    if (sideBySide_) {
      live_ += node.workspaceBytes;
      releases_.push({time.finish, node.workspaceBytes});
    }
    for (int t : node.inputs) {
      releaseAfter(n, t, time.finish);
    }
    for (int t : node.outputs) {
      releaseAfter(n, t, time.finish);
    }
  }

  /// Frees tensor `t` if it was made here and `n` is the last node here that needs it.
  void releaseAfter(int n, int t, int64_t finish) {
    const CostTensor& tensor = graph_.tensor(t);
    bool madeHere =
        tensor.producer >= 0 && placement_.device[static_cast<size_t>(tensor.producer)] == device_;
    int own = lifetimes_.own(t);
    if (!madeHere || !lifetimes_.ends(own, n)) {
      return;
    }
    int64_t time = std::max(finish, lifetimes_.arrived(own));
    if (time > finish || sideBySide_) {
      releases_.push({time, tensor.liveBytes()});
    } else {
      live_ -= tensor.liveBytes();
    }
  }

  const CostGraph& graph_;
  const Placement& placement_;
  Lifetimes& lifetimes_;
  int device_;
  Simulation& simulation_;
  bool sideBySide_;  // other nodes may run before a node has finished
  DeviceUse& use_;
  int64_t base_ = 0;
  int64_t live_ = 0;
  std::priority_queue<Release, std::vector<Release>, std::greater<>> releases_;
};

/// Adds the memory that the library takes on the devices that meet: once for each group of them.
void addCommunicators(const Simulator& simulator, const Placement& placement,
                      Simulation& simulation) {
  const CollectiveGroups& collectives = simulator.collectives();
  const PlacedBy placed{placement};
  std::set<std::vector<int>> groups;
  for (int m = 0; m < static_cast<int>(simulator.graph().collectives.size()); ++m) {
    if (collectives.isHeld(m, placed)) {
      groups.insert(collectives.devicesOf(m, placed));
    }
  }
  for (const std::vector<int>& group : groups) {
    for (int device : group) {
      simulation.devices[static_cast<size_t>(device)].receiveBytes += runtime::kCommunicatorBytes;
    }
  }
}

/// Weights, receive buffers and the inputs that live on a device from the start.
void addStaticBytes(const Simulator& simulator, const Placement& placement,
                    Simulation& simulation) {
  const CostGraph& graph = simulator.graph();
  SharedWeightCounts shared(graph, simulation.devices.size());
  for (int n = 0; n < graph.nodeCount(); ++n) {
    int device = placement.device[static_cast<size_t>(n)];
    simulation.devices[static_cast<size_t>(device)].weightBytes += shared.addedBytes(n, device);
    shared.add(n, device);
  }
  for (const Transfer& transfer : simulation.transfers) {
    if (transfer.to != kClient) {
      simulation.devices[static_cast<size_t>(transfer.to)].receiveBytes +=
          simulator.receiveBytes(graph.tensor(transfer.tensor), transfer.from);
    }
  }
  for (const CostTensor& tensor : graph.tensors) {
    if (tensor.producer < 0 && tensor.inputHome != kClient) {
      simulation.devices[static_cast<size_t>(tensor.inputHome)].receiveBytes += tensor.bytes;
    }
  }
}

}  // namespace

void profileMemory(const Simulator& simulator, const Placement& placement,
                   const std::vector<std::vector<int>>& byDevice, Simulation& simulation) {
  addStaticBytes(simulator, placement, simulation);
  addCommunicators(simulator, placement, simulation);
  Lifetimes lifetimes(simulator, placement, simulation);
  for (size_t d = 0; d < byDevice.size(); ++d) {
    DeviceMemory(simulator, placement, lifetimes, static_cast<int>(d), simulation).run(byDevice[d]);
  }
}

}  // namespace graphrun::placement
