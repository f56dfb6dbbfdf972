#include "placement/simulator/client_load.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "placement/simulator/step_start.h"

namespace graphrun::placement {
namespace {

/// The devices on the cores of the client's machine.
std::vector<int> devicesHere(const Cluster& cluster) {
  std::vector<int> devices;
  for (int d = 0; d < static_cast<int>(cluster.devices.size()); ++d) {
    const Device& device = cluster.devices[static_cast<size_t>(d)];
    const std::vector<int>& here = cluster.client.workers;
    const bool isHere = std::find(here.begin(), here.end(), device.worker) != here.end();
    if (isHere && device.kind.onHostCores) {
      devices.push_back(d);
    }
  }
  return devices;
}

}  // namespace

ClientLoad::ClientLoad(const Cluster& cluster, const CoreTable& cores)
    : cluster_(cluster), width_(static_cast<size_t>(cores.count()), 0) {
  std::map<int, std::vector<int>> named;  // devices by core
  for (int d : devicesHere(cluster)) {
    const Device& device = cluster.devices[static_cast<size_t>(d)];
    for (int core : device.cores) {
      named[core].push_back(d);
    }
    if (device.cores.empty()) {
      int& width = width_[static_cast<size_t>(cores.of(d).front())];
      width = std::max({width, device.threads, 1});
    }
  }
  for (const auto& [core, devices] : named) {
    // All that have it meet at one core of the table, or it would not be left out of that.
    for (int of : cores.of(devices.front())) {
      absl::Span<const int> sharing = cores.devices(of);
      if (std::includes(sharing.begin(), sharing.end(), devices.begin(), devices.end())) {
        ++width_[static_cast<size_t>(of)];
        break;
      }
    }
  }
}

int64_t ClientLoad::workNs(int workers, int64_t bytes) const {
  return workers == 0 || empty() ? 0 : nanosOf(cluster_.client.work, workers, bytes);
}

int64_t ClientLoad::periodNs(int64_t work, int used, int64_t busiest) const {
  const int cores = std::max(cluster_.client.cores, used);
  if (used == 0) {
    return 0;
  }
  const double free = static_cast<double>(cores - used) * static_cast<double>(busiest);
  return std::llround(std::max(static_cast<double>(work) - free, 0.0) / cores);
}

}  // namespace graphrun::placement
