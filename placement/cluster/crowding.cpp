#include "placement/cluster/crowding.h"

#include <cmath>
#include <map>

namespace graphrun::placement {

Crowding::Crowding(const Cluster& cluster) : machineOf_(cluster.devices.size(), -1) {
  std::map<int, int> ofWorker;
  for (const Crowd& crowd : cluster.crowds) {
    for (int worker : crowd.workers) {
      ofWorker[worker] = static_cast<int>(shares_.size());
    }
    shares_.push_back(crowd.share);
  }
  for (size_t d = 0; d < machineOf_.size(); ++d) {
    const Device& device = cluster.devices[d];
    auto machine = ofWorker.find(device.worker);
    const bool takesTurns = device.lanes == 1 && !device.isOffload;
    if (device.kind.onHostCores && takesTurns && machine != ofWorker.end()) {
      machineOf_[d] = machine->second;
    }
  }
}

int64_t Crowding::periodNs(int machine, int64_t busy, int64_t most) const {
  return std::llround(shares_[static_cast<size_t>(machine)] * static_cast<double>(busy - most));
}

}  // namespace graphrun::placement
