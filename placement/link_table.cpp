#include "placement/link_table.h"

#include <map>

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
  return absl::StrCat(" (", deviceKindName(cluster.kindOf(from)), " to ",
                      deviceKindName(cluster.kindOf(to)), ")");
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
      }
      ids_[static_cast<size_t>(from + 1) * stride_ + static_cast<size_t>(to + 1)] = it->second;
    }
  }
}

}  // namespace graphrun::placement
