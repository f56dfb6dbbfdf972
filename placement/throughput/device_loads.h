// Device loads are the loads and memory of devices and links while coarse nodes move.
#ifndef GRAPHRUN_PLACEMENT_THROUGHPUT_DEVICE_LOADS_H_
#define GRAPHRUN_PLACEMENT_THROUGHPUT_DEVICE_LOADS_H_

#include <cstdint>
#include <vector>

#include "placement/throughput/coarse_graph.h"

namespace graphrun::placement {

/// DeviceLoads keeps the simulator's loads, weights and receive buffers of a placement up to date
/// move by move; the first to read a tensor takes longer even if it has nothing else to do. A
/// resource is a core (CoreTable) or a link. O(tensors of the coarse node x devices) for a move.
/// Not synchronised.
class DeviceLoads {
 public:
  /// `device` by coarse node.
  DeviceLoads(const PlacementProblem& problem, const CoarseGraph& coarse, std::vector<int> device);

  void move(int coarseNode, int to);
  int device(int coarseNode) const { return device_[static_cast<size_t>(coarseNode)]; }
  const std::vector<int>& devices() const { return device_; }

  /// Simulation::periodNs.
  int64_t periodNs() const;
  /// The time of a device that shares no cores, for its nodes and its port.
  int64_t busyNs(int device) const {
    return total_[static_cast<size_t>(cores_.of(device).front())];
  }
  /// Weights and receive buffers.
  int64_t fixedBytes(int device) const { return bytes_[static_cast<size_t>(device)]; }
  /// Sum over cores and links of (load / scale)^12: falls where the largest loads do, and tells
  /// placements of the same period apart.
  double energy() const { return energy_; }
  void setScale(int64_t ns);

 private:
  int64_t loadNs(size_t resource) const;
  double powerOf(size_t resource) const;
  void add(size_t resource, int64_t ns);
  void addDevice(int device, int64_t ns);
  void count(size_t tensor, int sign);
  void enter(size_t tensor, int home, int device, int sign);
  void addSend(const CostTensor& tensor, int home, int to, int sign);
  void addLink(int from, int to, int64_t bytes, int sign);
  void addNode(int coarseNode, int device, int sign);
  int64_t clientNs() const;
  int64_t shareNs(int node, int device, int sign);
  int& readers(size_t tensor, int device) {
    return readers_[tensor * devices_ + static_cast<size_t>(device)];
  }

  const PlacementProblem& problem_;
  const CoarseGraph& coarse_;
  const CoreTable& cores_;
  size_t devices_;
  bool linksTakeTime_;
  std::vector<int> device_;      // by coarse node
  std::vector<int> readers_;     // [tensor][device]: consuming coarse nodes
  std::vector<int> sharers_;     // [shared work][device]: its nodes
  std::vector<int64_t> total_;   // by core, then by link: ns of all lanes
  std::vector<int64_t> crowds_;  // by machine of Crowding: ns of its devices
  std::vector<int64_t> bytes_;   // by device
  std::vector<int> onWorker_;    // by worker
  int64_t clientBytes_ = 0;      // that come from the client or go there
  std::vector<double> power_;    // by core and link
  std::vector<size_t> changed_;  // cores and links, in this move
  std::vector<bool> isChanged_;  // by core and link
  double scale_ = 1;
  double energy_ = 0;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_THROUGHPUT_DEVICE_LOADS_H_
