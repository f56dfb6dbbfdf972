#include "placement/simulator/split_devices.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

bool sharesCores(const Device& a, const Device& b) {
  return a.worker == b.worker && std::any_of(a.cores.begin(), a.cores.end(), [&](int core) {
           return std::find(b.cores.begin(), b.cores.end(), core) != b.cores.end();
         });
}

/// Part number `index` of `parts` of a device; `whole` is its position.
Device partOf(const Device& device, int whole, int index, int parts) {
  Device part = device;
  part.name = absl::StrCat(device.name, "/", index);
  part.whole = whole;
  part.part = index;
  auto first = device.cores.begin() + device.threads * index / parts;
  auto last = device.cores.begin() + device.threads * (index + 1) / parts;
  part.cores.assign(first, last);
  part.threads = static_cast<int>(part.cores.size());
  part.model = defaultDeviceModel(part.kind, part.threads);
  return part;
}

}  // namespace

bool maySplit(const Cluster& cluster, int device) {
  const Device& candidate = cluster.devices[static_cast<size_t>(device)];
  return candidate.kind.onHostCores && candidate.splits && candidate.whole < 0 &&
         candidate.threads > 1 && candidate.lanes == 1 && !candidate.isOffload &&
         std::none_of(cluster.devices.begin(), cluster.devices.end(), [&](const Device& other) {
           return &other != &candidate && sharesCores(candidate, other);
         });
}

Cluster splitDevices(const Cluster& cluster, int parts) {
  Cluster result = cluster;
  for (int d = 0; d < static_cast<int>(cluster.devices.size()); ++d) {
    Device& whole = result.devices[static_cast<size_t>(d)];
    if (!maySplit(cluster, d) || whole.threads < parts) {
      continue;
    }
    if (whole.cores.empty()) {  // any of the process's: these numbers only tell who shares some
      whole.floating = true;
      whole.onAnyCore = false;
      whole.cores.resize(static_cast<size_t>(whole.threads));
      std::iota(whole.cores.begin(), whole.cores.end(), 0);
    }
    whole.coresFound = false;
    const Device copy = whole;  // what follows moves the devices
    for (int p = 0; p < parts; ++p) {
      result.devices.push_back(partOf(copy, d, p, parts));
    }
  }
  return result;
}

std::vector<int> partsToTry(const Cluster& cluster, int width) {
  int threads = 0;
  for (int d = 0; d < static_cast<int>(cluster.devices.size()); ++d) {
    threads = std::max(threads,
                       maySplit(cluster, d) ? cluster.devices[static_cast<size_t>(d)].threads : 0);
  }
  std::vector<int> parts;
  for (int count = 2; count <= std::min(threads, width); count *= 2) {
    parts.push_back(count);
  }
  return parts;
}

int widthOf(const CostGraph& graph) {
  std::vector<int> depth(graph.nodes.size(), 0);
  std::map<int, int> count;
  for (int node : graph.topologicalOrder) {
    for (int t : graph.node(node).inputs) {
      int producer = graph.tensor(t).producer;
      if (producer >= 0) {
        int& own = depth[static_cast<size_t>(node)];
        own = std::max(own, depth[static_cast<size_t>(producer)] + 1);
      }
    }
    ++count[depth[static_cast<size_t>(node)]];
  }
  int width = 0;
  for (const auto& [level, nodes] : count) {
    width = std::max(width, nodes);
  }
  return width;
}

int64_t memoryWithParts(const Cluster& cluster, const Simulation& simulation, int device) {
  int64_t bytes = 0;
  for (size_t d = 0; d < cluster.devices.size(); ++d) {
    bool belongs = static_cast<int>(d) == device || cluster.devices[d].whole == device;
    bytes += belongs ? simulation.devices[d].peakBytes : 0;
  }
  return bytes;
}

std::string overfullDevice(const Cluster& cluster, const Simulation& simulation) {
  for (int d = 0; d < static_cast<int>(cluster.devices.size()); ++d) {
    const Device& device = cluster.devices[static_cast<size_t>(d)];
    int64_t bytes = device.whole < 0 ? memoryWithParts(cluster, simulation, d) : 0;
    if (device.memoryBytes > 0 && bytes > device.memoryBytes) {
      return absl::StrCat(device.name, " and its parts would need ", runtime::formatBytes(bytes),
                          " of ", runtime::formatBytes(device.memoryBytes));
    }
  }
  return "";
}

}  // namespace graphrun::placement
