// The devices of a worker in cluster.yaml.
#include <algorithm>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/units.h"
#include "runtime/cluster/cluster_reader.h"

namespace graphrun::runtime {
namespace {

/// The least weight of a device; the most is as far from 1.
constexpr double kLeastWeight = 0.01;

}  // namespace

void ClusterReader::readDevices(const YAML::Node& node, const std::string& where,
                                GivenWorker& worker) {
  if (!checkList(node, absl::StrCat(where, ": devices"))) {
    return;
  }
  worker.devicesGiven = true;
  for (const auto& device : node) {
    readDevice(device, where, worker);
  }
  checkCores(node, where, worker);
}

void ClusterReader::readDevice(const YAML::Node& node, const std::string& where,
                               GivenWorker& worker) {
  std::string here = absl::StrCat(where, ": devices");
  std::vector<std::string> known;
  known.reserve(kinds_.size());
  for (const DeviceKind& kind : kinds_) {
    known.push_back(kind.name);
  }
  if (!checkMap(node, here, known)) {
    return;
  }
  if (node.size() != 1) {
    problem(node,
            absl::StrCat(here, ": one entry describes one device, got ", node.size(), " keys"));
    return;
  }
  for (const DeviceKind& kind : kinds_) {
    if (YAML::Node device = node[kind.name]; device && kind.onHostCores) {
      readOnCores(kind, device, where, worker);
    } else if (device) {
      readHardware(kind, device, where, worker);
    }
  }
}

DeviceSpec ClusterReader::newDevice(const DeviceKind& kind, const YAML::Node& node) const {
  DeviceSpec device;
  device.kind = kind;
  device.source = sourceOf(node);
  return device;
}

void ClusterReader::readOnCores(const DeviceKind& kind, const YAML::Node& node,
                                const std::string& where, GivenWorker& worker) {
  std::string here = absl::StrCat(where, ": ", kind.name);
  DeviceSpec device = newDevice(kind, node);
  device.index = static_cast<int>(
      std::count_if(worker.devices.begin(), worker.devices.end(),
                    [&](const DeviceSpec& other) { return other.kind.name == kind.name; }));
  if (!node.IsNull() &&
      checkMap(node, here, {"cores", "shared", "memory", "weight", "split", "detached"})) {
    if (node["cores"]) {
      readCores(node["cores"], here, device);
    }
    readShared(node, here, device);
    device.splits = readFlag(node, "split", here).value_or(true);
    device.detached = readFlag(node, "detached", here).value_or(false);
    readMemoryAndWeight(node, here, device);
  }
  worker.devices.push_back(std::move(device));
}

void ClusterReader::readMemoryAndWeight(const YAML::Node& map, const std::string& where,
                                        DeviceSpec& device) {
  quantity(map, "memory", where, parseBytes, device.memoryBytes);
  if (map["memory"]) {
    device.memorySource = sourceOf(map["memory"]);
  }
  YAML::Node weight = map["weight"];
  bool isNumber = weight && weight.IsScalar() && absl::SimpleAtod(weight.Scalar(), &device.weight);
  if (weight && !(isNumber && device.weight >= kLeastWeight && device.weight <= 1 / kLeastWeight)) {
    problem(weight,
            absl::StrCat(where, ": weight: expected a number from ", kLeastWeight, " to ",
                         1 / kLeastWeight,
                         "; 0.5 counts the device's time twice, forbids keep nodes off it"));
  }
}

void ClusterReader::readCores(const YAML::Node& node, const std::string& where,
                              DeviceSpec& device) {
  std::vector<std::string> parts;
  for (const auto& part : node) {
    parts.push_back(part.IsScalar() ? part.Scalar() : "");
  }
  auto cores = parseCores(node.IsSequence() ? absl::StrJoin(parts, ",")
                                            : (node.IsScalar() ? node.Scalar() : ""));
  if (!cores.ok()) {
    problem(node, absl::StrCat(where, ": cores: ", cores.status().message(),
                               "; expected CPU numbers as in 0-15 or \"0-7,9\""));
    return;
  }
  device.cores = *std::move(cores);
}

void ClusterReader::readShared(const YAML::Node& node, const std::string& where,
                               DeviceSpec& device) {
  device.shared = readFlag(node, "shared", where).value_or(false);
  if (device.shared && !node["cores"]) {
    problem(node["shared"], absl::StrCat(where, ": shared needs cores, the CPUs to share"));
  }
}

void ClusterReader::readHardware(const DeviceKind& kind, const YAML::Node& node,
                                 const std::string& where, GivenWorker& worker) {
  std::string here = absl::StrCat(where, ": ", kind.name);
  DeviceSpec device = newDevice(kind, node);
  if (checkMap(node, here, {"index", "memory", "weight"})) {
    std::string index = text(node, "index", here);
    if (!index.empty() && (!absl::SimpleAtoi(index, &device.index) || device.index < 0)) {
      problem(node["index"], absl::StrCat(here, ": index '", index, "' is not a number from 0 on"));
    }
    for (const DeviceSpec& other : worker.devices) {
      if (other.kind.name == device.kind.name && other.index == device.index) {
        problem(node, absl::StrCat(here, ": index ", device.index, " is given twice"));
      }
    }
    readMemoryAndWeight(node, here, device);
  }
  worker.devices.push_back(std::move(device));
}

/// Several CPU devices of one worker have the same core only if each of them says so.
void ClusterReader::checkCores(const YAML::Node& node, const std::string& where,
                               const GivenWorker& worker) {
  std::map<int, bool> sharing;  // core -> whether the devices that have it share it
  int cpus = 0;
  bool unspecified = false;
  for (const DeviceSpec& device : worker.devices) {
    if (!device.kind.onHostCores) {
      continue;
    }
    ++cpus;
    unspecified = unspecified || device.cores.empty();
    for (int core : device.cores) {
      auto [entry, isNew] = sharing.try_emplace(core, device.shared);
      if (!isNew && !(entry->second && device.shared)) {
        problem(node,
                absl::StrCat(where, ": CPU ", core, " belongs to two devices; if they are to ",
                             "take turns, say shared: true for each of them"));
        return;
      }
    }
  }
  if (cpus > 1 && unspecified) {
    problem(node, absl::StrCat(where, ": with several cpu devices each needs its cores"));
  }
}

}  // namespace graphrun::runtime
