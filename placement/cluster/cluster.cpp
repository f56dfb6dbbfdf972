#include "placement/cluster/cluster.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/names.h"

namespace graphrun::placement {
namespace {

constexpr char kThisHost[] = "127.0.0.1";
constexpr double kNoTime = 1e18;  // bytes per second of what does not move

int workerOf(const Cluster& cluster, int device) {
  return device == kClient ? kClient : cluster.devices[static_cast<size_t>(device)].worker;
}

bool hasOwnMemory(const Cluster& cluster, int device) {
  return device != kClient && cluster.devices[static_cast<size_t>(device)].kind.hasOwnMemory();
}

LinkKind linkKindOf(const Cluster& cluster, int from, int to) {
  int a = workerOf(cluster, from);
  int b = workerOf(cluster, to);
  if (a == b || (cluster.isInClient(a) && cluster.isInClient(b))) {
    return hasOwnMemory(cluster, from) || hasOwnMemory(cluster, to) ? LinkKind::kPcie
                                                                    : LinkKind::kInProcess;
  }
  return cluster.hostOf(a) == cluster.hostOf(b) ? LinkKind::kSharedMemory : LinkKind::kTcp;
}

template <typename T>
std::optional<int> findByName(const std::vector<T>& items, absl::string_view name) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) {
      return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

Device makeDevice(const Worker& worker, int workerIndex, const DeviceSpec& spec, int index) {
  Device device;
  static_cast<DeviceSpec&>(device) = spec;
  device.name = absl::StrCat(worker.name, "/", spec.kind.name, ":", index);
  device.worker = workerIndex;
  device.index = index;
  device.onAnyCore = spec.kind.onHostCores && spec.cores.empty();
  device.threads = spec.threads > 0 ? spec.threads : static_cast<int>(spec.cores.size());
  device.model = defaultDeviceModel(spec.kind, device.threads);
  return device;
}

}  // namespace

absl::string_view linkKindName(LinkKind kind) {
  static constexpr std::array<absl::string_view, 5> kNames = {"in-process", "pcie", "shm", "tcp",
                                                              "given"};
  return kNames[static_cast<size_t>(kind)];
}

LinkModel defaultLink(LinkKind kind) {
  switch (kind) {
    case LinkKind::kInProcess:
      return {kind, 500, 16e9};
    case LinkKind::kPcie:
      return {kind, 10'000, 12e9};
    case LinkKind::kSharedMemory:
      return {kind, 3'000, 6e9};
    case LinkKind::kTcp:
    case LinkKind::kGiven:
      break;
  }
  return {LinkKind::kTcp, 30'000, 1.2e9};
}

std::optional<int> Cluster::findWorker(absl::string_view name) const {
  return findByName(workers, name);
}

std::string Cluster::fullName(absl::string_view device) const {
  bool isWhole = workers.size() != 1 || absl::StrContains(device, '/');
  return isWhole ? std::string(device) : absl::StrCat(workers.front().name, "/", device);
}

std::optional<int> Cluster::findDevice(absl::string_view name) const {
  std::optional<int> found = findByName(devices, name);
  return found ? found : findByName(devices, fullName(name));
}

bool Cluster::isInClient(int worker) const {
  return worker == kClient || workers[static_cast<size_t>(worker)].inClient;
}

std::optional<int> Cluster::findEndpoint(absl::string_view name) const {
  return name == kClientName ? std::optional<int>(kClient) : findWorker(name);
}

std::string Cluster::hostOf(int worker) const {
  if (worker == kClient || workers[static_cast<size_t>(worker)].local ||
      absl::StartsWith(workers[static_cast<size_t>(worker)].address, "unix:")) {
    return kThisHost;
  }
  const std::string& address = workers[static_cast<size_t>(worker)].address;
  std::string host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" ? kThisHost : host;
}

std::vector<std::string> Cluster::deviceNames() const {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const Device& device : devices) {
    names.push_back(device.name);
  }
  return names;
}

void Cluster::rebuildDevices() {
  devices.clear();
  for (size_t w = 0; w < workers.size(); ++w) {
    std::map<std::string, int> counts;  // of devices on the host's cores, by kind
    for (const DeviceSpec& spec : workers[w].specs) {
      int index = spec.kind.onHostCores ? counts[spec.kind.name]++ : spec.index;
      devices.push_back(makeDevice(workers[w], static_cast<int>(w), spec, index));
    }
  }
}

void Cluster::setDevices(int worker, std::vector<DeviceSpec> specs) {
  Worker& target = workers[static_cast<size_t>(worker)];
  target.specs = std::move(specs);
  target.devicesGiven = true;
  rebuildDevices();
}

absl::Status Cluster::setMemoryLimit(absl::string_view device, int64_t bytes,
                                     absl::string_view source) {
  std::optional<int> index = findDevice(device);
  if (!index.has_value()) {
    return absl::NotFoundError(absl::StrCat("no device '", device, "' in the cluster",
                                            runtime::didYouMean(device, deviceNames())));
  }
  devices[static_cast<size_t>(*index)].memoryBytes = bytes;
  devices[static_cast<size_t>(*index)].memorySource = std::string(source);
  return absl::OkStatus();
}

int Cluster::runnerOf(int device) const {
  if (device == kClient) {
    return kClient;
  }
  const Device& own = devices[static_cast<size_t>(device)];
  return own.whole >= 0 && own.part == 0 ? own.whole : device;
}

absl::string_view Cluster::kindOf(int device) const {
  return device == kClient ? absl::string_view(kHostKind)
                           : absl::string_view(devices[static_cast<size_t>(device)].kind.name);
}

bool LinkOverride::isFor(int fromWorker, absl::string_view fromKind, int toWorker,
                         absl::string_view toKind) const {
  bool there = workerA == fromWorker && workerB == toWorker &&
               (!kinds || (kinds->first == fromKind && kinds->second == toKind));
  bool back = !oneWay && workerA == toWorker && workerB == fromWorker &&
              (!kinds || (kinds->first == toKind && kinds->second == fromKind));
  return there || back;
}

LinkModel Cluster::link(int fromDevice, int toDevice) const {
  if (fromDevice != kClient && runnerOf(fromDevice) == runnerOf(toDevice)) {
    return {LinkKind::kInProcess, 0, kNoTime, false};
  }
  LinkModel model = otherLinks.value_or(defaultLink(linkKindOf(*this, fromDevice, toDevice)));
  int a = workerOf(*this, fromDevice);
  int b = workerOf(*this, toDevice);
  for (const LinkOverride& given : links) {
    if (given.isFor(a, kindOf(fromDevice), b, kindOf(toDevice))) {
      LinkKind kind = given.shared ? LinkKind::kGiven : LinkKind::kInProcess;
      model.kind = given.measured ? model.kind : kind;
      model.measured = given.measured;
      model.large = given.large;
      model.readNsPerByte = given.readNsPerByte;
      model.sendNsPerByte = given.sendNsPerByte;
      model.latencyNs = given.latencyNs.value_or(model.latencyNs);
      model.bytesPerSecond = given.bytesPerSecond.value_or(model.bytesPerSecond);
      model.queues = given.queues.value_or(model.queues);
    }
  }
  return model;
}

std::string Cluster::endpointName(int device) const {
  return device == kClient ? kClientName : devices[static_cast<size_t>(device)].name;
}

PinRule makePinRule(absl::string_view nodes, absl::string_view device, absl::string_view source) {
  bool annotation = absl::ConsumePrefix(&nodes, "@");
  return {std::string(nodes), std::string(device), std::string(source), annotation};
}

}  // namespace graphrun::placement
