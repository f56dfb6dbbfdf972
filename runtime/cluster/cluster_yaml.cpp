// cluster.yaml: its workers, links, rules and security.
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
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

/// Problems of a file that are told one by one.
constexpr size_t kMostTold = 100;

/// DocumentStart notes where a document begins; what is in it does not matter.
class DocumentStart final : public YAML::EventHandler {
 public:
  std::optional<int> line;  ///< from 1

  void OnDocumentStart(const YAML::Mark& mark) override { line = mark.line + 1; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// The line where a second document begins; nothing where there is none. Two documents and no more
/// are looked at: the library finds documents without end in a text that it cannot go on with
/// (",").
std::optional<int> secondDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart first, second;
  const bool any = parser.HandleNextDocument(first) && parser.HandleNextDocument(second);
  return any ? second.line : std::nullopt;
}

bool isText(const YAML::Node& node) { return node.IsScalar() && !node.Scalar().empty(); }

/// Returns whether a text can be told as it is.
bool isPlain(const std::string& text) {
  return isUtf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_iscntrl(static_cast<unsigned char>(c));
         });
}

}  // namespace

bool ClusterReader::checkMap(const YAML::Node& node, const std::string& where,
                             const std::vector<std::string>& keys) {
  if (!node.IsMap()) {
    problem(node,
            absl::StrCat(where, ": expected a mapping with the keys ", absl::StrJoin(keys, ", ")));
    return false;
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      bool list = !key.empty() && absl::ascii_isdigit(static_cast<unsigned char>(key[0]));
      std::string hint = list ? "; a list with a comma needs quotes, as in cores: \"0-7,9\""
                              : didYouMean(key, keys);
      problem(entry.first, absl::StrCat(where, ": unknown key '", key, "'", hint,
                                        " (known: ", absl::StrJoin(keys, ", "), ")"));
    } else if (!seen.insert(key).second) {
      problem(entry.first, absl::StrCat(where, ": the key '", key, "' is given twice"));
    }
  }
  return true;
}

bool ClusterReader::checkList(const YAML::Node& node, const std::string& where) {
  if (node.IsSequence() && node.size() > 0) {
    return true;
  }
  problem(node, absl::StrCat(where, ": expected a list with at least one entry"));
  return false;
}

std::string ClusterReader::text(const YAML::Node& map, const char* key, const std::string& where) {
  YAML::Node value = map[key];
  if (!value) {
    problem(map, absl::StrCat(where, ": '", key, "' is missing"));
    return "";
  }
  if (!isText(value)) {
    problem(value, absl::StrCat(where, ": '", key, "' must be a text"));
    return "";
  }
  return value.Scalar();
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

absl::Status ClusterReader::report() const {
  std::string lines;
  size_t told = 0;
  for (const auto& [line, text] : problems_) {
    if (++told > kMostTold) {
      absl::StrAppend(&lines, "\n", fileName_, ": and ", problems_.size() - kMostTold,
                      " problems more");
      break;
    }
    absl::StrAppend(&lines, lines.empty() ? "" : "\n", fileName_, ":", line, ": ", text);
  }
  return absl::InvalidArgumentError(lines);
}

absl::StatusOr<ClusterDescription> ClusterReader::read(absl::string_view text) {
  // yaml-cpp reports by exception; none leaves this function.
  try {
    // Where it is of wider characters these hold zeros, at the latest the fourth byte.
    const bool isWide =
        text.substr(0, 4).find('\0') != text.npos || absl::StartsWith(text, "\xff\xfe");
    if (const size_t zero = text.find('\0'); zero != text.npos && !isWide) {
      const auto lines =
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
      problems_.emplace(lines + 1, "not YAML: a byte is zero");
      return report();
    }
    const std::string whole(text);
    readRoot(YAML::Load(whole));
    if (const std::optional<int> line = secondDocument(whole)) {
      problems_.emplace(*line, "a second document begins; expected one");
    }
  } catch (const YAML::Exception& error) {
    problems_.emplace(error.mark.line + 1, absl::StrCat("not YAML: ", error.msg));
  }
  if (!problems_.empty()) {
    return report();
  }
  return std::move(cluster_);
}

absl::StatusOr<ClusterDescription> parseClusterDescription(absl::string_view text,
                                                           absl::string_view fileName,
                                                           absl::Span<const DeviceKind> kinds) {
  return ClusterReader(fileName, kinds).read(text);
}

}  // namespace graphrun::runtime
