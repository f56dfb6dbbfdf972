#include "placement/simulator/core_table.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace graphrun::placement {
namespace {

/// The devices of each core, or the one of those that have none. A CPU device whose cores are not
/// known has those of all others on its host, and one that such devices share if there are no
/// others.
std::set<std::vector<int>> devicesByCore(const Cluster& cluster) {
  std::set<std::vector<int>> result;
  constexpr int kAnyCore = -1;
  std::map<std::pair<std::string, int>, std::vector<int>> named;  // by host and core
  std::map<std::string, std::vector<int>> onAny;                  // by host
  for (int d = 0; d < static_cast<int>(cluster.devices.size()); ++d) {
    const Device& device = cluster.devices[static_cast<size_t>(d)];
    const std::string host = cluster.hostOf(device.worker);
    if (device.onAnyCore) {
      onAny[host].push_back(d);
    } else if (device.cores.empty()) {
      result.insert({d});
    }
    for (int core : device.cores) {
      named[{host, core}].push_back(d);
    }
  }
  for (const auto& [host, devices] : onAny) {
    named.try_emplace({host, kAnyCore});
  }
  for (auto& [core, devices] : named) {
    if (auto any = onAny.find(core.first); any != onAny.end()) {
      devices.insert(devices.end(), any->second.begin(), any->second.end());
      std::sort(devices.begin(), devices.end());
    }
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    result.insert(std::move(devices));
  }
  return result;
}

bool isWithin(const std::vector<int>& part, const std::vector<int>& whole) {
  return part.size() < whole.size() &&
         std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

}  // namespace

CoreTable::CoreTable(const Cluster& cluster) {
  std::set<std::vector<int>> all = devicesByCore(cluster);
  std::vector<std::vector<const std::vector<int>*>> having(cluster.devices.size());
  for (const std::vector<int>& devices : all) {
    for (int d : devices) {
      having[static_cast<size_t>(d)].push_back(&devices);
    }
  }
  std::vector<std::vector<int>> coresOf(having.size());
  for (const std::vector<int>& devices : all) {  // in the order of their first devices
    const auto& others = having[static_cast<size_t>(devices.front())];
    bool saysMore = std::none_of(others.begin(), others.end(),
                                 [&](const auto* other) { return isWithin(devices, *other); });
    if (!saysMore) {
      continue;
    }
    isShared_ = isShared_ || devices.size() > 1;
    for (int d : devices) {
      coresOf[static_cast<size_t>(d)].push_back(count());
      devices_.add(d);
    }
    devices_.endList();
  }
  cores_ = IntLists::of(coresOf);
}

bool CoreTable::isShared(int device) const {
  absl::Span<const int> cores = of(device);
  return std::any_of(cores.begin(), cores.end(),
                     [&](int core) { return devices(core).size() > 1; });
}

std::vector<int> CoreTable::devicesApartFrom(int first) const {
  auto differs = [&](int device) {
    return std::max(of(device).size(), of(first).size()) -
           std::min(of(device).size(), of(first).size());
  };
  std::vector<int> order(static_cast<size_t>(cores_.count()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(a != first, differs(a)) < std::pair(b != first, differs(b));
  });
  std::vector<int> set;
  std::vector<bool> isTaken(static_cast<size_t>(count()), false);  // by core
  for (int device : order) {
    absl::Span<const int> cores = of(device);
    if (std::none_of(cores.begin(), cores.end(),
                     [&](int core) { return isTaken[static_cast<size_t>(core)]; })) {
      set.push_back(device);
      for (int core : cores) {
        isTaken[static_cast<size_t>(core)] = true;
      }
    }
  }
  std::sort(set.begin(), set.end());
  return set;
}

std::vector<std::vector<int>> CoreTable::devicesApart() const {
  std::vector<std::vector<int>> sets;
  std::vector<bool> isIn(static_cast<size_t>(cores_.count()), false);  // by device
  for (int first = 0; first < cores_.count(); ++first) {
    if (!isIn[static_cast<size_t>(first)]) {
      sets.push_back(devicesApartFrom(first));
      for (int device : sets.back()) {
        isIn[static_cast<size_t>(device)] = true;
      }
    }
  }
  return sets;
}

}  // namespace graphrun::placement
