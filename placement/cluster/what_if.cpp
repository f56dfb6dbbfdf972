#include "placement/cluster/what_if.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

/// The text up to a separator and what is behind it; the second is empty without one.
std::pair<absl::string_view, absl::string_view> cut(absl::string_view text, char separator) {
  return absl::StrSplit(text, absl::MaxSplits(separator, 1));
}

std::vector<std::string> workerNames(const Cluster& cluster) {
  std::vector<std::string> names = {std::string(kClientName)};
  for (const Worker& worker : cluster.workers) {
    names.push_back(worker.name);
  }
  return names;
}

absl::StatusOr<DeviceSpec> specOf(const Cluster& cluster, absl::string_view name,
                                  absl::Span<const DeviceKind> kinds) {
  const DeviceKind* kind = runtime::findKind(kinds, name);
  if (kind == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no kind of device '", name, "' (known: ", runtime::kindNames(kinds), ")"));
  }
  DeviceSpec spec;
  spec.kind = *kind;
  if (!kind->onHostCores) {
    return spec;
  }
  for (const Worker& worker : cluster.workers) {
    for (const DeviceSpec& known : worker.specs) {
      if (known.kind.onHostCores) {
        spec.threads = known.cores.empty() ? known.threads : static_cast<int>(known.cores.size());
        return spec;
      }
    }
  }
  return spec;
}

/// Index of the worker of this name, which is added where there is none.
int workerOf(Cluster& cluster, absl::string_view name) {
  if (std::optional<int> known = cluster.findWorker(name)) {
    return *known;
  }
  Worker worker;
  worker.name = std::string(name);
  worker.address = absl::StrCat(name, ":0");
  cluster.workers.push_back(std::move(worker));
  return static_cast<int>(cluster.workers.size()) - 1;
}

absl::StatusOr<int> linkEnd(const Cluster& cluster, absl::string_view name) {
  std::optional<int> worker = cluster.findEndpoint(name);
  if (!worker.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("no worker '", name, "'", runtime::didYouMean(name, workerNames(cluster))));
  }
  return *worker;
}

}  // namespace

absl::Status addHypotheticalDevice(Cluster& cluster, absl::string_view text,
                                   absl::Span<const DeviceKind> kinds) {
  auto [device, memory] = cut(text, '=');
  auto [name, kind] = cut(device, ':');
  if (name.empty() || kind.empty() || name == kClientName) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device '", text, "': expected WORKER:KIND, as in 'node2:cpu' or 'node2:cpu=48GiB'"));
  }
  GR_ASSIGN_OR_RETURN(DeviceSpec spec, specOf(cluster, kind, kinds));
  if (device.size() < text.size()) {
    GR_ASSIGN_OR_RETURN(spec.memoryBytes, runtime::parseBytes(memory));
  }
  int worker = workerOf(cluster, name);
  std::vector<DeviceSpec> specs = cluster.workers[static_cast<size_t>(worker)].specs;
  spec.index =
      static_cast<int>(std::count_if(specs.begin(), specs.end(), [&](const DeviceSpec& known) {
        return known.kind.name == spec.kind.name;
      }));
  specs.push_back(std::move(spec));
  cluster.setDevices(worker, std::move(specs));
  return absl::OkStatus();
}

absl::Status supposeLinks(Cluster& cluster, absl::string_view text) {
  size_t equals = text.find('=');
  auto [bandwidth, latency] =
      cut(text.substr(equals == absl::string_view::npos ? 0 : equals + 1), ',');
  LinkOverride change;
  GR_ASSIGN_OR_RETURN(change.bytesPerSecond, runtime::parseBandwidth(bandwidth));
  if (!latency.empty()) {
    GR_ASSIGN_OR_RETURN(change.latencyNs, runtime::parseDuration(latency));
  }
  if (equals != absl::string_view::npos) {
    auto [a, b] = cut(text.substr(0, equals), ',');
    GR_ASSIGN_OR_RETURN(change.workerA, linkEnd(cluster, a));
    GR_ASSIGN_OR_RETURN(change.workerB, linkEnd(cluster, b));
    cluster.links.push_back(change);
    return absl::OkStatus();
  }
  for (int a = kClient; a < static_cast<int>(cluster.workers.size()); ++a) {
    for (int b = a + 1; b < static_cast<int>(cluster.workers.size()); ++b) {
      if (!cluster.isInClient(a) || !cluster.isInClient(b)) {
        change.workerA = a;
        change.workerB = b;
        cluster.links.push_back(change);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace graphrun::placement
