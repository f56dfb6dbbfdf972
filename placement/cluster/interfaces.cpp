#include "placement/cluster/interfaces.h"

#include <algorithm>
#include <map>
#include <string>

namespace graphrun::placement {

std::vector<Interface> interfacesOf(const Cluster& cluster) {
  std::map<std::string, Interface> byHost;
  for (int w = kClient; w < static_cast<int>(cluster.workers.size()); ++w) {
    byHost[cluster.hostOf(w)].workers.push_back(w);
  }
  auto hostOf = [&](int end) {
    return cluster.hostOf(end == kClient ? kClient
                                         : cluster.devices[static_cast<size_t>(end)].worker);
  };
  const auto count = static_cast<int>(cluster.devices.size());
  for (int from = kClient; from < count; ++from) {
    for (int to = kClient; to < count; ++to) {
      const std::string host = hostOf(from);
      const std::string other = hostOf(to);
      if (host != other) {
        const double rate = cluster.link(from, to).fastest().bytesPerSecond;
        for (const std::string& end : {host, other}) {
          byHost[end].bytesPerSecond = std::max(byHost[end].bytesPerSecond, rate);
        }
      }
    }
  }
  std::vector<Interface> interfaces;
  for (const auto& [host, found] : byHost) {
    if (found.bytesPerSecond > 0) {
      interfaces.push_back(found);
    }
  }
  return interfaces;
}

}  // namespace graphrun::placement
