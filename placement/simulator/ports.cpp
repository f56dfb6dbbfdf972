#include "placement/simulator/ports.h"

#include <algorithm>

namespace graphrun::placement {
namespace {

class Counter {
 public:
  Counter(const CostGraph& graph, const Cluster& cluster, const Placement& placement)
      : graph_(graph),
        cluster_(cluster),
        placement_(placement),
        lastTensor_(cluster.devices.size(), -1),
        uses_(cluster.devices.size()) {}

  std::vector<PortUse> run() {
    for (int t = 0; t < graph_.tensorCount(); ++t) {
      count(t, graph_.tensor(t));
    }
    return std::move(uses_);
  }

 private:
  PortUse& use(int device) { return uses_[static_cast<size_t>(device)]; }
  bool hasPort(int device) const { return cluster_.devices[static_cast<size_t>(device)].hasPort; }

  void count(int t, const CostTensor& tensor) {
    int home = tensor.producer < 0 ? tensor.inputHome
                                   : placement_.device[static_cast<size_t>(tensor.producer)];
    bool leaves = false;
    for (int consumer : tensor.consumers) {
      int device = placement_.device[static_cast<size_t>(consumer)];
      if (device != home && enter(t, device)) {
        use(device).arrivals += 1;
        leaves = true;
      }
    }
    if (tensor.isOutput && tensor.outputHome != home) {
      leaves = true;
      if (tensor.outputHome != kClient) {
        enter(t, tensor.outputHome);
      }
    }
    if (leaves && home != kClient && hasPort(home)) {
      use(home).outNs += tensor.portNs;
    }
  }

  /// The tensor comes to the device; false if it had come already.
  bool enter(int t, int device) {
    int& last = lastTensor_[static_cast<size_t>(device)];
    if (last == t) {
      return false;
    }
    last = t;
    use(device).inNs += hasPort(device) ? graph_.tensor(t).portNs : 0;
    return true;
  }

  const CostGraph& graph_;
  const Cluster& cluster_;
  const Placement& placement_;
  std::vector<int> lastTensor_;  // by device: that came last
  std::vector<PortUse> uses_;
};

}  // namespace

std::vector<PortUse> portUse(const CostGraph& graph, const Cluster& cluster,
                             const Placement& placement) {
  bool any = std::any_of(cluster.devices.begin(), cluster.devices.end(),
                         [](const Device& device) { return device.hasPort || device.isOffload; });
  return any ? Counter(graph, cluster, placement).run()
             : std::vector<PortUse>(cluster.devices.size());
}

}  // namespace graphrun::placement
