#include "placement/cluster/link_table.h"

#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace graphrun::placement {
namespace {

bool inOneProcess(const LinkModel& model, const Cluster& cluster, int from, int to) {
  auto worker = [&](int device) {
    return device == kClient ? kClient : cluster.devices[static_cast<size_t>(device)].worker;
  };
  return worker(from) == worker(to) || model.kind == LinkKind::kInProcess ||
         model.kind == LinkKind::kPcie;
}

std::string endName(const Cluster& cluster, int device, bool byDevice) {
  if (device == kClient || byDevice) {
    return cluster.endpointName(device);
  }
  int worker = cluster.devices[static_cast<size_t>(device)].worker;
  return cluster.workers[static_cast<size_t>(worker)].name;
}

std::string nameOf(const Cluster& cluster, int from, int to, bool byDevice) {
  return absl::StrCat(endName(cluster, from, byDevice), " -> ", endName(cluster, to, byDevice));
}

std::string kindsOf(const Cluster& cluster, int from, int to) {
  return absl::StrCat(" (", cluster.kindOf(from), " to ", cluster.kindOf(to), ")");
}

}  // namespace

LinkTable::LinkTable(const Cluster& cluster)
    : stride_(cluster.devices.size() + 1), ids_(stride_ * stride_, -1) {
  std::map<std::string, int> known;
  int count = static_cast<int>(cluster.devices.size());
  for (int from = kClient; from < count; ++from) {
    for (int to = kClient; to < count; ++to) {
      if (from == to) {
        continue;
      }
      LinkModel model = cluster.link(from, to);
      std::string name = nameOf(cluster, from, to, inOneProcess(model, cluster, from, to));
      if (auto other = known.find(name);
          other != known.end() && link(other->second).model != model) {
        name += kindsOf(cluster, from, to);
      }
      auto [it, fresh] = known.try_emplace(name, static_cast<int>(links_.size()));
      if (fresh) {
        links_.push_back({name, model});
        readsTakeTime_ = readsTakeTime_ || model.readNsPerByte > 0;
        sendsTakeTime_ = sendsTakeTime_ || model.sendNsPerByte > 0;
      }
      ids_[static_cast<size_t>(from + 1) * stride_ + static_cast<size_t>(to + 1)] = it->second;
    }
  }
  findSides(cluster);
}

/// A side that one link alone has, which is no faster, would say nothing more than that link.
void LinkTable::findSides(const Cluster& cluster) {
  std::map<int, int> interfaceOf;  // by worker
  for (size_t i = 0; i < cluster.interfaces.size(); ++i) {
    for (int worker : cluster.interfaces[i].workers) {
      interfaceOf[worker] = static_cast<int>(i);
    }
  }
  auto behind = [&](int end) {
    auto found = interfaceOf.find(
        end == kClient ? kClient : cluster.devices[static_cast<size_t>(end)].worker);
    return found == interfaceOf.end() ? -1 : found->second;
  };
  std::map<std::pair<int, bool>, std::set<int>> linksOf;  // by interface, and whether they enter
  const auto count = static_cast<int>(cluster.devices.size());
  for (int from = kClient; from < count && !interfaceOf.empty(); ++from) {
    for (int to = kClient; to < count; ++to) {
      if (from == to || behind(from) == behind(to)) {
        continue;
      }
      linksOf[{behind(from), false}].insert(id(from, to));
      linksOf[{behind(to), true}].insert(id(from, to));
    }
  }
  for (const auto& [side, links] : linksOf) {
    const auto [interface, isEntry] = side;
    if (interface < 0) {
      continue;
    }
    const double rate = cluster.interfaces[static_cast<size_t>(interface)].bytesPerSecond;
    const LinkModel& first = link(*links.begin()).model;
    if (links.size() == 1 && first.queues && first.fastest().bytesPerSecond <= rate) {
      continue;
    }
    for (int id : links) {
      LinkInfo& entry = links_[static_cast<size_t>(id)];
      (isEntry ? entry.enters : entry.leaves) = static_cast<int>(sides_.size());
    }
    sides_.push_back({rate});
  }
}

}  // namespace graphrun::placement
