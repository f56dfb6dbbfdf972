#include "placement/memory_profile.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace graphrun::placement {
namespace {

struct Release {
  int64_t time;
  int64_t bytes;
  bool operator>(const Release& other) const { return time > other.time; }
};

/// When the last transfer of `tensor` has arrived, 0 without one.
int64_t sentAt(const Simulation& simulation, int tensor) {
  int64_t last = 0;
  int first = simulation.firstTransfer[static_cast<size_t>(tensor)];
  for (size_t i = static_cast<size_t>(first);
       first >= 0 && i < simulation.transfers.size() && simulation.transfers[i].tensor == tensor;
       ++i) {
    last = std::max(last, simulation.transfers[i].finish);
  }
  return last;
}

/// Walks one device's nodes in order and keeps the sum of what is live.
class DeviceMemory {
 public:
  DeviceMemory(const Simulator& simulator, const Placement& placement,
               const std::vector<int>& lastUse, int device, Simulation& simulation)
      : simulator_(simulator),
        graph_(simulator.graph()),
        placement_(placement),
        lastUse_(lastUse),
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
      live_ += graph_.tensor(t).bytes;
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
    bool staysHere = tensor.isOutput && tensor.outputHome == device_;
    if (!madeHere || staysHere || lastUse_[static_cast<size_t>(t)] != n) {
      return;
    }
    if (simulator_.options().holdsSent && simulation_.firstTransfer[static_cast<size_t>(t)] >= 0) {
      return;
    }
    int64_t time = std::max(finish, sentAt(simulation_, t));
    if (time > finish || sideBySide_) {
      releases_.push({time, tensor.bytes});
    } else {
      live_ -= tensor.bytes;
    }
  }

  const Simulator& simulator_;
  const CostGraph& graph_;
  const Placement& placement_;
  const std::vector<int>& lastUse_;
  int device_;
  Simulation& simulation_;
  bool sideBySide_;  // other nodes may run before a node has finished
  DeviceUse& use_;
  int64_t base_ = 0;
  int64_t live_ = 0;
  std::priority_queue<Release, std::vector<Release>, std::greater<>> releases_;
};

/// Weights, receive buffers and the inputs that live on a device from the start.
void addStaticBytes(const Simulator& simulator, const Placement& placement,
                    Simulation& simulation) {
  const CostGraph& graph = simulator.graph();
  for (int n = 0; n < graph.nodeCount(); ++n) {
    simulation.devices[static_cast<size_t>(placement.device[static_cast<size_t>(n)])].weightBytes +=
        graph.node(n).weightBytes;
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

/// By tensor: the last node, on the device of its producer, that needs it; -1 for graph inputs.
std::vector<int> lastUses(const CostGraph& graph, const Placement& placement,
                          const Simulation& simulation) {
  auto when = [&](int node) {
    auto n = static_cast<size_t>(node);
    return std::pair(simulation.ops[n].finish, placement.rank[n]);
  };
  std::vector<int> result;
  result.reserve(graph.tensors.size());
  for (const CostTensor& tensor : graph.tensors) {
    int last = tensor.producer;
    for (int consumer : tensor.consumers) {
      auto c = static_cast<size_t>(consumer);
      if (last >= 0 && when(consumer) > when(last) &&
          placement.device[c] == placement.device[static_cast<size_t>(tensor.producer)]) {
        last = consumer;
      }
    }
    result.push_back(last);
  }
  return result;
}

}  // namespace

void profileMemory(const Simulator& simulator, const Placement& placement,
                   const std::vector<std::vector<int>>& byDevice, Simulation& simulation) {
  addStaticBytes(simulator, placement, simulation);
  std::vector<int> lastUse = lastUses(simulator.graph(), placement, simulation);
  for (size_t d = 0; d < byDevice.size(); ++d) {
    DeviceMemory(simulator, placement, lastUse, static_cast<int>(d), simulation).run(byDevice[d]);
  }
}

}  // namespace graphrun::placement
