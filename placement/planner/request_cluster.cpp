#include "placement/planner/request_cluster.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "placement/cluster/interfaces.h"
#include "placement/cluster/what_if.h"
#include "placement/planner/device_compilers.h"
#include "placement/planner/known_costs.h"
#include "placement/planner/place_model.h"
#include "runtime/base/status.h"
#include "runtime/format/weight_table.h"

namespace graphrun::compiler {
namespace {

using Kinds = absl::Span<const runtime::DeviceKind>;

absl::StatusOr<placement::DeviceSpec> specOf(const format::FoundDevice& found, Kinds kinds) {
  const runtime::DeviceKind* kind = runtime::findKind(kinds, found.kind()->str());
  if (kind == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        "worker ", found.worker()->str(), " has a device of kind '", found.kind()->str(),
        "', expected one of ", runtime::kindNames(kinds),
        "; say in cluster.yaml which of its devices to use, or run one version of graphrun"));
  }
  placement::DeviceSpec spec;
  spec.kind = *kind;
  spec.index = static_cast<int>(found.index());
  if (found.cores() != nullptr) {
    spec.cores.assign(found.cores()->begin(), found.cores()->end());
    spec.coresFound = true;
  }
  spec.memoryBytes = static_cast<int64_t>(found.memory_bytes());
  return spec;
}

/// This machine alone, with the GPUs that the client's process has.
absl::StatusOr<placement::Cluster> ownCluster(const format::PlanRequest& request, Kinds kinds) {
  const runtime::DeviceKind* host = runtime::findKind(kinds, runtime::kHostKind);
  if (host == nullptr) {
    return absl::InternalError("no compiler for this machine's own cores is built in");
  }
  placement::Cluster cluster = placement::localCluster(static_cast<int>(request.threads()), *host);
  std::vector<placement::DeviceSpec> specs = cluster.workers.front().specs;
  for (size_t i = 0; i < format::sizeOf(request.found()); ++i) {
    const format::FoundDevice& found = *request.found()->Get(static_cast<uint32_t>(i));
    if (found.worker()->str() == placement::kClientName) {
      GR_ASSIGN_OR_RETURN(placement::DeviceSpec spec, specOf(found, kinds));
      specs.push_back(std::move(spec));
    }
  }
  cluster.setDevices(0, std::move(specs));
  return cluster;
}

/// Gives the workers whose devices the cluster file leaves open what they said they have.
absl::Status addFoundDevices(const format::PlanRequest& request, Kinds kinds,
                             placement::Cluster& cluster) {
  std::map<int, std::vector<placement::DeviceSpec>> specs;
  for (size_t i = 0; request.found() != nullptr && i < request.found()->size(); ++i) {
    const format::FoundDevice* found = request.found()->Get(i);
    std::optional<int> worker = cluster.findWorker(found->worker()->str());
    if (!worker || cluster.workers[static_cast<size_t>(*worker)].devicesGiven) {
      continue;
    }
    GR_ASSIGN_OR_RETURN(placement::DeviceSpec spec, specOf(*found, kinds));
    specs[*worker].push_back(std::move(spec));
  }
  for (auto& [worker, devices] : specs) {
    cluster.setDevices(worker, std::move(devices));
  }
  return absl::OkStatus();
}

/// Adds what there is not yet, to see what it would bring.
/// A failure of what an option says: its user is told, whatever was wrong with it.
absl::Status ofOption(const absl::Status& status, absl::string_view option) {
  return status.ok() ? status : absl::NotFoundError(absl::StrCat(option, ": ", status.message()));
}

absl::Status addThoughtOf(const format::PlanRequest& request, Kinds kinds,
                          placement::Cluster& cluster) {
  for (size_t i = 0; i < format::sizeOf(request.added_devices()); ++i) {
    GR_RETURN_IF_ERROR(ofOption(
        placement::addHypotheticalDevice(cluster, request.added_devices()->Get(i)->str(), kinds),
        "--add"));
  }
  for (size_t i = 0; i < format::sizeOf(request.changed_links()); ++i) {
    GR_RETURN_IF_ERROR(ofOption(
        placement::supposeLinks(cluster, request.changed_links()->Get(i)->str()), "--link"));
  }
  return absl::OkStatus();
}

/// Sets the libraries for collectives of the cluster's devices, as their workers said. Nothing
/// where the order of sums has to be one that is known.
void setLibraries(const format::PlanRequest& request, placement::Cluster& cluster) {
  for (size_t i = 0; !isDeterministic(request) && i < format::sizeOf(request.found()); ++i) {
    const format::FoundDevice& found = *request.found()->Get(static_cast<uint32_t>(i));
    absl::string_view text = format::textOf(found.collectives());
    if (text.empty()) {
      continue;
    }
    bool isClients = found.worker()->str() == placement::kClientName;
    for (placement::Device& device : cluster.devices) {
      bool isOf = isClients ? cluster.isInClient(device.worker)
                            : cluster.findWorker(found.worker()->str()) == device.worker;
      if (isOf && device.kind.name == found.kind()->str() &&
          device.index == static_cast<int>(found.index())) {
        device.library = std::string(text);
      }
    }
  }
}

}  // namespace

absl::StatusOr<placement::Cluster> clusterOf(const format::PlanRequest& request) {
  const std::vector<runtime::DeviceKind> kinds = devices::compilerKinds();
  placement::Cluster cluster;
  std::string yaml(format::textOf(request.cluster_yaml()));
  if (yaml.empty()) {
    GR_ASSIGN_OR_RETURN(cluster, ownCluster(request, kinds));
  } else {
    GR_ASSIGN_OR_RETURN(
        cluster,
        placement::parseCluster(yaml, std::string(format::textOf(request.cluster_path())), kinds));
  }
  GR_RETURN_IF_ERROR(addFoundDevices(request, kinds, cluster));
  std::vector<placement::LinkOverride> measured = measuredLinks(request, cluster);
  cluster.links.insert(cluster.links.begin(), measured.begin(), measured.end());
  cluster.stepStarts = stepStarts(request);
  cluster.crowds = crowds(request, cluster);
  cluster.client = clientWork(request, cluster);
  GR_RETURN_IF_ERROR(addThoughtOf(request, kinds, cluster));
  cluster.interfaces = placement::interfacesOf(cluster);
  setLibraries(request, cluster);
  for (size_t i = 0; request.pins() != nullptr && i < request.pins()->size(); ++i) {
    const format::Pin* pin = request.pins()->Get(i);
    std::string nodes = pin->nodes()->str();
    std::string device = pin->device()->str();
    bool isAnnotation = nodes.starts_with('@');  // told with its own name
    cluster.pins.push_back(placement::makePinRule(
        nodes, device, isAnnotation ? "--pin" : absl::StrCat("--pin '", nodes, "=", device, "'")));
  }
  for (size_t i = 0; i < format::sizeOf(request.forbids()); ++i) {
    const format::Pin* forbid = request.forbids()->Get(i);
    std::string nodes = forbid->nodes()->str();
    std::string device = forbid->device()->str();
    cluster.forbids.push_back({nodes, device, absl::StrCat("--forbid '", nodes, "=", device, "'")});
  }
  for (size_t i = 0; request.limits() != nullptr && i < request.limits()->size(); ++i) {
    const format::MemoryLimit* limit = request.limits()->Get(i);
    GR_RETURN_IF_ERROR(ofOption(
        cluster.setMemoryLimit(limit->device()->str(), static_cast<int64_t>(limit->bytes())),
        "--memory-limit"));
  }
  return cluster;
}

}  // namespace graphrun::compiler
