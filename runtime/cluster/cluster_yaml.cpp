// cluster.yaml: its workers, links, rules and security.
#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"
#include "runtime/base/utf8.h"
#include "runtime/cluster/cluster_description.h"
#include "runtime/cluster/cluster_reader.h"

namespace graphrun::runtime {
namespace {

/// Returns whether a text can be told as it is.
bool isPlain(const std::string& text) {
  return isUtf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_iscntrl(static_cast<unsigned char>(c));
         });
}

}  // namespace

std::string ClusterReader::hintFor(const std::string& key,
                                   const std::vector<std::string>& known) const {
  const bool isList = !key.empty() && absl::ascii_isdigit(static_cast<unsigned char>(key[0]));
  return isList ? "; a list with a comma needs quotes, as in cores: \"0-7,9\""
                : YamlReader::hintFor(key, known);
}

void ClusterReader::readAddress(const YAML::Node& map, const std::string& where,
                                GivenWorker& worker) {
  std::string address = text(map, "address", where);
  if (address.empty()) {
    return;
  }
  worker.address = address;
  if (worker.isLocal()) {
    return;
  }
  if (worker.isInClient()) {
    for (const GivenWorker& other : cluster_.workers) {
      if (other.isInClient()) {
        problem(map["address"],
                absl::StrCat(where, ": address 'client' is worker '", other.name, "'s already"));
      }
    }
    return;
  }
  size_t colon = address.rfind(':');
  int port = 0;
  bool unixSocket = absl::StartsWith(address, "unix:") && address.size() > 5;
  bool hostAndPort = colon != std::string::npos && colon > 0 &&
                     absl::SimpleAtoi(address.substr(colon + 1), &port) && port > 0 && port < 65536;
  if (!unixSocket && !hostAndPort) {
    problem(map["address"], absl::StrCat(where, ": address '", address,
                                         "' is none of HOST:PORT, unix:PATH, local and client"));
  }
  for (const GivenWorker& other : cluster_.workers) {
    if (other.address == address) {
      problem(map["address"], absl::StrCat(where, ": address '", address, "' is worker '",
                                           other.name, "'s already"));
    }
  }
}

void ClusterReader::readWorker(const YAML::Node& node) {
  std::string where = absl::StrCat("workers[", cluster_.workers.size(), "]");
  if (node.IsMap() && node["name"] && isText(node["name"]) && isPlain(node["name"].Scalar())) {
    where = absl::StrCat("worker '", node["name"].Scalar(), "'");
  }
  GivenWorker worker;
  worker.source = sourceOf(node);
  if (checkMap(node, where, {"name", "address", "devices"})) {
    worker.name = text(node, "name", where);
    if (!worker.name.empty()) {
      if (worker.name == kClientAddress || worker.name.find_first_of("/ ,=") != std::string::npos ||
          !isPlain(worker.name)) {
        problem(node["name"],
                absl::StrCat(where,
                             ": a name must not be 'client' nor hold / , = blanks or control "
                             "characters, and must be UTF-8"));
      } else if (cluster_.findWorker(worker.name) != nullptr) {
        problem(node["name"], absl::StrCat(where, ": the name is given twice"));
      }
    }
    readAddress(node, where, worker);
    if (node["devices"]) {
      readDevices(node["devices"], where, worker);
    } else if (worker.isInClient()) {
      problem(node, absl::StrCat(where, ": in the client: 'devices' is missing"));
    }
  }
  cluster_.workers.push_back(std::move(worker));
}

std::optional<std::string> ClusterReader::readEndpoint(const YAML::Node& node,
                                                       const std::string& where) {
  std::string name = node.IsScalar() ? node.Scalar() : "";
  if (name == kClientAddress || cluster_.findWorker(name) != nullptr) {
    return name;
  }
  problem(node, absl::StrCat(where, ": no worker '", name, "'",
                             didYouMean(name, cluster_.workerNames())));
  return std::nullopt;
}

void ClusterReader::readLink(const YAML::Node& node) {
  std::string where = "links";
  if (!checkMap(node, where, {"between", "bandwidth", "latency", "queues"})) {
    return;
  }
  YAML::Node between = node["between"];
  if (!between || !between.IsSequence() || between.size() != 2) {
    problem(between ? between : node,
            "links: 'between' must name two workers, as in between: [node0, node1]");
    return;
  }
  GivenLink link;
  std::optional<std::string> a = readEndpoint(between[0], where);
  std::optional<std::string> b = readEndpoint(between[1], where);
  quantity(node, "bandwidth", where, parseBandwidth, link.bytesPerSecond);
  quantity(node, "latency", where, parseDuration, link.latencyNs);
  link.queues = readFlag(node, "queues", where);
  if (!node["bandwidth"] && !node["latency"] && !node["queues"]) {
    problem(node, "links: an entry needs bandwidth, latency or queues");
  }
  if (!a.has_value() || !b.has_value()) {
    return;
  }
  link.a = *a;
  link.b = *b;
  bool twice = std::any_of(cluster_.links.begin(), cluster_.links.end(), [&](const GivenLink& l) {
    return std::minmax(l.a, l.b) == std::minmax(link.a, link.b);
  });
  if (*a == *b || twice) {
    problem(between, *a == *b ? "links: 'between' names one worker twice"
                              : "links: this pair of workers is given twice");
    return;
  }
  cluster_.links.push_back(std::move(link));
}

void ClusterReader::readSecurity(const YAML::Node& node) {
  if (!checkMap(node, "security", {"ca", "cert", "key"})) {
    return;
  }
  GivenSecurity files;
  files.ca = text(node, "ca", "security");
  files.cert = text(node, "cert", "security");
  files.key = text(node, "key", "security");
  cluster_.security = std::move(files);
}

void ClusterReader::checkPinDevice(const YAML::Node& at, const std::string& device) {
  size_t slash = device.find('/');
  std::string workerName = device.substr(0, slash);
  const GivenWorker* worker = cluster_.findWorker(workerName);
  const std::vector<std::string> devices = cluster_.deviceNames();
  if (slash == std::string::npos) {
    problem(at, absl::StrCat("pins: device '", device,
                             "' is not WORKER/KIND:INDEX, as in node0/cpu:0"));
  } else if (worker == nullptr) {
    problem(at, absl::StrCat("pins: device '", device, "': no worker '", workerName, "'",
                             didYouMean(workerName, cluster_.workerNames())));
  } else if (worker->devicesGiven &&
             std::find(devices.begin(), devices.end(), device) == devices.end()) {
    problem(at, absl::StrCat("pins: worker '", workerName, "' has no device '", device, "'",
                             didYouMean(device, devices)));
  }
}

void ClusterReader::readPin(const YAML::Node& node) {
  if (!checkMap(node, "pins", {"nodes", "annotation", "device"})) {
    return;
  }
  GivenRule pin;
  pin.annotation = node["annotation"].IsDefined();
  if (pin.annotation && node["nodes"]) {
    problem(node, "pins: an entry is for nodes or for an annotation of the model, not for both");
  }
  pin.nodes = text(node, pin.annotation ? "annotation" : "nodes", "pins");
  pin.device = text(node, "device", "pins");
  pin.source = sourceOf(node);
  if (!pin.device.empty()) {
    checkPinDevice(node["device"], pin.device);
  }
  cluster_.pins.push_back(std::move(pin));
}

void ClusterReader::readForbid(const YAML::Node& node) {
  if (!checkMap(node, "forbids", {"nodes", "device"})) {
    return;
  }
  cluster_.forbids.push_back(
      {text(node, "nodes", "forbids"), text(node, "device", "forbids"), sourceOf(node)});
}

void ClusterReader::readRoot(const YAML::Node& root) {
  if (!checkMap(root, "cluster", {"workers", "links", "security", "pins", "forbids"})) {
    return;
  }
  auto each = [&](const char* key, void (ClusterReader::*read)(const YAML::Node&)) {
    if (root[key] && checkList(root[key], key)) {
      for (const auto& entry : root[key]) {
        (this->*read)(entry);
      }
    }
  };
  if (!root["workers"]) {
    problem(root, "cluster: 'workers' is missing");
  }
  each("workers", &ClusterReader::readWorker);
  each("links", &ClusterReader::readLink);
  each("pins", &ClusterReader::readPin);
  each("forbids", &ClusterReader::readForbid);
  if (root["security"]) {
    readSecurity(root["security"]);
  }
}

absl::StatusOr<ClusterDescription> ClusterReader::read(absl::string_view text) {
  GR_RETURN_IF_ERROR(
      readDocument(text, Aliases::kAllowed, [this](const YAML::Node& root) { readRoot(root); }));
  return std::move(cluster_);
}

absl::StatusOr<ClusterDescription> parseClusterDescription(absl::string_view text,
                                                           absl::string_view fileName,
                                                           absl::Span<const DeviceKind> kinds) {
  return ClusterReader(fileName, kinds).read(text);
}

}  // namespace graphrun::runtime
