// cluster.yaml: every problem of the file goes into one report.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/cluster.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

/// An empty file has no mark at all.
int lineOf(const YAML::Node& node) { return std::max(node.Mark().line + 1, 1); }

/// Of devices; the most is as far from 1.
constexpr double kLeastWeight = 0.01;

bool isText(const YAML::Node& node) { return node.IsScalar() && !node.Scalar().empty(); }

class ClusterReader {
 public:
  explicit ClusterReader(absl::string_view fileName) : fileName_(fileName) {}

  absl::StatusOr<Cluster> read(absl::string_view text);

 private:
  void problem(const YAML::Node& at, std::string text) {
    problems_.emplace(lineOf(at), std::move(text));
  }
  bool checkMap(const YAML::Node& node, const std::string& where,
                const std::vector<std::string>& keys);
  bool checkList(const YAML::Node& node, const std::string& where);
  std::string text(const YAML::Node& map, const char* key, const std::string& where);
  template <typename Parse, typename T>
  void quantity(const YAML::Node& map, const char* key, const std::string& where, Parse parse,
                T& value);

  void readRoot(const YAML::Node& root);
  void readWorker(const YAML::Node& node);
  void readAddress(const YAML::Node& map, const std::string& where, Worker& worker);
  void readDevices(const YAML::Node& node, const std::string& where, Worker& worker);
  void readDevice(const YAML::Node& node, const std::string& where, Worker& worker);
  void readCpu(const YAML::Node& node, const std::string& where, Worker& worker);
  void readCuda(const YAML::Node& node, const std::string& where, Worker& worker);
  void readMemoryAndWeight(const YAML::Node& map, const std::string& where, DeviceSpec& spec);
  void readCores(const YAML::Node& node, const std::string& where, DeviceSpec& spec);
  std::optional<bool> readFlag(const YAML::Node& map, const char* key, const std::string& where);
  void readShared(const YAML::Node& node, const std::string& where, DeviceSpec& spec);
  void checkCores(const YAML::Node& node, const std::string& where, const Worker& worker);
  void readLink(const YAML::Node& node);
  std::optional<int> readEndpoint(const YAML::Node& node, const std::string& where);
  void readSecurity(const YAML::Node& node);
  void readForbid(const YAML::Node& node);
  void readPin(const YAML::Node& node);
  void checkPinDevice(const YAML::Node& at, const std::string& device);
  std::vector<std::string> workerNames() const;
  absl::Status report() const;

  std::string fileName_;
  Cluster cluster_;
  std::multimap<int, std::string> problems_;  // by line, in the order of discovery within one
};

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
                              : runtime::didYouMean(key, keys);
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

template <typename Parse, typename T>
void ClusterReader::quantity(const YAML::Node& map, const char* key, const std::string& where,
                             Parse parse, T& value) {
  YAML::Node node = map[key];
  if (!node) {
    return;
  }
  auto parsed = parse(node.IsScalar() ? node.Scalar() : "");
  if (!parsed.ok()) {
    problem(node, absl::StrCat(where, ": ", key, ": ", parsed.status().message()));
    return;
  }
  value = *parsed;
}

std::vector<std::string> ClusterReader::workerNames() const {
  std::vector<std::string> names;
  names.reserve(cluster_.workers.size());
  for (const Worker& worker : cluster_.workers) {
    names.push_back(worker.name);
  }
  return names;
}

void ClusterReader::readAddress(const YAML::Node& map, const std::string& where, Worker& worker) {
  std::string address = text(map, "address", where);
  if (address.empty()) {
    return;
  }
  if (address == "local") {
    worker.local = true;
    return;
  }
  if (address == kClientName) {
    worker.local = true;
    worker.inClient = true;
    for (const Worker& other : cluster_.workers) {
      if (other.inClient) {
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
  for (const Worker& other : cluster_.workers) {
    if (other.address == address) {
      problem(map["address"], absl::StrCat(where, ": address '", address, "' is worker '",
                                           other.name, "'s already"));
    }
  }
  worker.address = address;
}

void ClusterReader::readWorker(const YAML::Node& node) {
  std::string where = absl::StrCat("workers[", cluster_.workers.size(), "]");
  if (node.IsMap() && node["name"] && isText(node["name"])) {
    where = absl::StrCat("worker '", node["name"].Scalar(), "'");
  }
  Worker worker;
  if (checkMap(node, where, {"name", "address", "devices"})) {
    worker.name = text(node, "name", where);
    if (!worker.name.empty()) {
      if (worker.name == kClientName || worker.name.find_first_of("/ \t,=") != std::string::npos) {
        problem(node["name"],
                absl::StrCat(where, ": a name must not be 'client' nor hold / , = or blanks"));
      } else if (cluster_.findWorker(worker.name).has_value()) {
        problem(node["name"], absl::StrCat(where, ": the name is given twice"));
      }
    }
    readAddress(node, where, worker);
    if (node["devices"]) {
      readDevices(node["devices"], where, worker);
    } else if (worker.inClient) {
      problem(node, absl::StrCat(where, ": in the client: 'devices' is missing"));
    }
  }
  cluster_.workers.push_back(std::move(worker));
}

void ClusterReader::readDevices(const YAML::Node& node, const std::string& where, Worker& worker) {
  if (!checkList(node, absl::StrCat(where, ": devices"))) {
    return;
  }
  worker.devicesGiven = true;
  for (const auto& device : node) {
    readDevice(device, where, worker);
  }
  checkCores(node, where, worker);
}

void ClusterReader::readDevice(const YAML::Node& node, const std::string& where, Worker& worker) {
  std::string here = absl::StrCat(where, ": devices");
  if (!checkMap(node, here, {"cpu", "cuda"})) {
    return;
  }
  if (node.size() != 1) {
    problem(node,
            absl::StrCat(here, ": one entry describes one device, got ", node.size(), " keys"));
  } else if (node["cpu"]) {
    readCpu(node["cpu"], where, worker);
  } else if (node["cuda"]) {
    readCuda(node["cuda"], where, worker);
  }
}

void ClusterReader::readCpu(const YAML::Node& node, const std::string& where, Worker& worker) {
  std::string here = absl::StrCat(where, ": cpu");
  DeviceSpec spec;
  if (!node.IsNull() &&
      checkMap(node, here, {"cores", "shared", "memory", "weight", "split", "detached"})) {
    if (node["cores"]) {
      readCores(node["cores"], here, spec);
    }
    readShared(node, here, spec);
    spec.splits = readFlag(node, "split", here).value_or(true);
    spec.detached = readFlag(node, "detached", here).value_or(false);
    readMemoryAndWeight(node, here, spec);
  }
  worker.specs.push_back(std::move(spec));
}

void ClusterReader::readMemoryAndWeight(const YAML::Node& map, const std::string& where,
                                        DeviceSpec& spec) {
  quantity(map, "memory", where, runtime::parseBytes, spec.memoryBytes);
  if (map["memory"]) {
    spec.memorySource = absl::StrCat(fileName_, ":", lineOf(map["memory"]));
  }
  YAML::Node weight = map["weight"];
  bool isNumber = weight && weight.IsScalar() && absl::SimpleAtod(weight.Scalar(), &spec.weight);
  if (weight && !(isNumber && spec.weight >= kLeastWeight && spec.weight <= 1 / kLeastWeight)) {
    problem(weight,
            absl::StrCat(where, ": weight: expected a number from ", kLeastWeight, " to ",
                         1 / kLeastWeight,
                         "; 0.5 counts the device's time twice, forbids keep nodes off it"));
  }
}

void ClusterReader::readCores(const YAML::Node& node, const std::string& where, DeviceSpec& spec) {
  std::vector<std::string> parts;
  for (const auto& part : node) {
    parts.push_back(part.IsScalar() ? part.Scalar() : "");
  }
  auto cores = runtime::parseCores(node.IsSequence() ? absl::StrJoin(parts, ",")
                                                     : (node.IsScalar() ? node.Scalar() : ""));
  if (!cores.ok()) {
    problem(node, absl::StrCat(where, ": cores: ", cores.status().message(),
                               "; expected CPU numbers as in 0-15 or \"0-7,9\""));
    return;
  }
  spec.cores = *std::move(cores);
}

std::optional<bool> ClusterReader::readFlag(const YAML::Node& map, const char* key,
                                            const std::string& where) {
  if (!map[key]) {
    return std::nullopt;
  }
  std::string value = map[key].IsScalar() ? map[key].Scalar() : "";
  if (value != "true" && value != "false") {
    problem(map[key], absl::StrCat(where, ": ", key, ": '", value, "' is not true or false"));
  }
  return value == "true";
}

void ClusterReader::readShared(const YAML::Node& node, const std::string& where, DeviceSpec& spec) {
  spec.shared = readFlag(node, "shared", where).value_or(false);
  if (spec.shared && !node["cores"]) {
    problem(node["shared"], absl::StrCat(where, ": shared needs cores, the CPUs to share"));
  }
}

void ClusterReader::readCuda(const YAML::Node& node, const std::string& where, Worker& worker) {
  std::string here = absl::StrCat(where, ": cuda");
  DeviceSpec spec;
  spec.kind = DeviceKind::kCuda;
  if (checkMap(node, here, {"index", "memory", "weight"})) {
    std::string index = text(node, "index", here);
    if (!index.empty() && (!absl::SimpleAtoi(index, &spec.cudaIndex) || spec.cudaIndex < 0)) {
      problem(node["index"], absl::StrCat(here, ": index '", index, "' is not a number from 0 on"));
    }
    for (const DeviceSpec& other : worker.specs) {
      if (other.kind == DeviceKind::kCuda && other.cudaIndex == spec.cudaIndex) {
        problem(node, absl::StrCat(here, ": index ", spec.cudaIndex, " is given twice"));
      }
    }
    readMemoryAndWeight(node, here, spec);
  }
  worker.specs.push_back(std::move(spec));
}

/// Several CPU devices of one worker have the same core only if each of them says so.
void ClusterReader::checkCores(const YAML::Node& node, const std::string& where,
                               const Worker& worker) {
  std::map<int, bool> sharing;  // core -> whether the devices that have it share it
  int cpus = 0;
  bool unspecified = false;
  for (const DeviceSpec& spec : worker.specs) {
    if (spec.kind != DeviceKind::kCpu) {
      continue;
    }
    ++cpus;
    unspecified = unspecified || spec.cores.empty();
    for (int core : spec.cores) {
      auto [entry, isNew] = sharing.try_emplace(core, spec.shared);
      if (!isNew && !(entry->second && spec.shared)) {
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

std::optional<int> ClusterReader::readEndpoint(const YAML::Node& node, const std::string& where) {
  std::string name = node.IsScalar() ? node.Scalar() : "";
  std::optional<int> worker = cluster_.findEndpoint(name);
  if (!worker.has_value()) {
    problem(node, absl::StrCat(where, ": no worker '", name, "'",
                               runtime::didYouMean(name, workerNames())));
  }
  return worker;
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
  LinkOverride link;
  std::optional<int> a = readEndpoint(between[0], where);
  std::optional<int> b = readEndpoint(between[1], where);
  quantity(node, "bandwidth", where, runtime::parseBandwidth, link.bytesPerSecond);
  quantity(node, "latency", where, runtime::parseDuration, link.latencyNs);
  link.queues = readFlag(node, "queues", where);
  if (!node["bandwidth"] && !node["latency"] && !node["queues"]) {
    problem(node, "links: an entry needs bandwidth, latency or queues");
  }
  if (!a.has_value() || !b.has_value()) {
    return;
  }
  link.workerA = std::min(*a, *b);
  link.workerB = std::max(*a, *b);
  bool twice =
      std::any_of(cluster_.links.begin(), cluster_.links.end(), [&](const LinkOverride& l) {
        return l.workerA == link.workerA && l.workerB == link.workerB;
      });
  if (*a == *b || twice) {
    problem(between, *a == *b ? "links: 'between' names one worker twice"
                              : "links: this pair of workers is given twice");
    return;
  }
  cluster_.links.push_back(link);
}

void ClusterReader::readSecurity(const YAML::Node& node) {
  if (!checkMap(node, "security", {"ca", "cert", "key"})) {
    return;
  }
  SecurityFiles files;
  files.ca = text(node, "ca", "security");
  files.cert = text(node, "cert", "security");
  files.key = text(node, "key", "security");
  cluster_.security = std::move(files);
}

void ClusterReader::checkPinDevice(const YAML::Node& at, const std::string& device) {
  size_t slash = device.find('/');
  std::string workerName = device.substr(0, slash);
  std::optional<int> worker = cluster_.findWorker(workerName);
  if (slash == std::string::npos) {
    problem(at, absl::StrCat("pins: device '", device,
                             "' is not WORKER/KIND:INDEX, as in node0/cpu:0"));
  } else if (!worker.has_value()) {
    problem(at, absl::StrCat("pins: device '", device, "': no worker '", workerName, "'",
                             runtime::didYouMean(workerName, workerNames())));
  } else if (cluster_.workers[static_cast<size_t>(*worker)].devicesGiven &&
             !cluster_.findDevice(device).has_value()) {
    problem(at, absl::StrCat("pins: worker '", workerName, "' has no device '", device, "'",
                             runtime::didYouMean(device, cluster_.deviceNames())));
  }
}

void ClusterReader::readPin(const YAML::Node& node) {
  if (!checkMap(node, "pins", {"nodes", "annotation", "device"})) {
    return;
  }
  PinRule pin;
  pin.annotation = node["annotation"].IsDefined();
  if (pin.annotation && node["nodes"]) {
    problem(node, "pins: an entry is for nodes or for an annotation of the model, not for both");
  }
  pin.nodes = text(node, pin.annotation ? "annotation" : "nodes", "pins");
  pin.device = text(node, "device", "pins");
  pin.source = absl::StrCat(fileName_, ":", lineOf(node));
  if (!pin.device.empty()) {
    checkPinDevice(node["device"], pin.device);
  }
  cluster_.pins.push_back(std::move(pin));
}

void ClusterReader::readForbid(const YAML::Node& node) {
  if (!checkMap(node, "forbids", {"nodes", "device"})) {
    return;
  }
  cluster_.forbids.push_back({text(node, "nodes", "forbids"), text(node, "device", "forbids"),
                              absl::StrCat(fileName_, ":", lineOf(node))});
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
  cluster_.rebuildDevices();
  each("links", &ClusterReader::readLink);
  each("pins", &ClusterReader::readPin);
  each("forbids", &ClusterReader::readForbid);
  if (root["security"]) {
    readSecurity(root["security"]);
  }
}

absl::Status ClusterReader::report() const {
  return absl::InvalidArgumentError(
      absl::StrJoin(problems_, "\n", [&](std::string* out, const auto& problem) {
        absl::StrAppend(out, fileName_, ":", problem.first, ": ", problem.second);
      }));
}

absl::StatusOr<Cluster> ClusterReader::read(absl::string_view text) {
  // yaml-cpp reports by exception; none leaves this function.
  try {
    readRoot(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& error) {
    problems_.emplace(error.mark.line + 1, absl::StrCat("not YAML: ", error.msg));
  }
  if (!problems_.empty()) {
    return report();
  }
  return std::move(cluster_);
}

void resolve(const std::filesystem::path& folder, std::string& file) {
  file = (folder / file).lexically_normal().string();  // an absolute `file` replaces the folder
}

}  // namespace

absl::StatusOr<Cluster> parseCluster(absl::string_view text, absl::string_view fileName) {
  return ClusterReader(fileName).read(text);
}

absl::StatusOr<Cluster> loadCluster(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat("cannot read the cluster description '", path, "'"));
  }
  GR_ASSIGN_OR_RETURN(Cluster cluster, parseCluster(text.str(), path));
  if (cluster.security.has_value()) {
    std::filesystem::path folder = std::filesystem::path(path).parent_path();
    resolve(folder, cluster.security->ca);
    resolve(folder, cluster.security->cert);
    resolve(folder, cluster.security->key);
  }
  return cluster;
}

}  // namespace graphrun::placement
