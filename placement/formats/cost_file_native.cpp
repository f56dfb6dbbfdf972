// GraphRun's own format of cost graphs: costs.schema.json.
#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/formats/cost_file_formats.h"

namespace graphrun::placement {
namespace {

constexpr int64_t kMostLanes = 1'000'000;
constexpr double kMostBandwidth = 1e18;
constexpr double kMostReadNs = 1e6;  // a byte
/// Names among which the one that was meant is looked for.
constexpr size_t kMostHints = 10'000;

using Ids = std::unordered_map<std::string, int>;

class NativeReader {
 public:
  NativeReader(const nlohmann::json& json, absl::Span<const DeviceKind> kinds,
               FileProblems& problems, CostFile& file)
      : root_(json, "", problems), kinds_(kinds), problems_(problems), file_(file) {
    for (const DeviceKind& kind : kinds) {
      kindNames_.push_back(kind.name);
    }
  }

  void read() {
    root_.onlyKeys({"format", "version", "objective", "contiguous", "devices", "links",
                    "default_link", "interfaces", "crowds", "step_starts", "client", "client_work",
                    "nodes", "tensors", "colocate", "shared_work", "shared_weights", "pins"});
    readHead();
    forEach("devices", true, [&](const JsonObject& json) { readDevice(json); });
    if (file_.cluster.devices.empty()) {
      root_.problem("devices", "expected at least one device");
      return;
    }
    file_.cluster.otherLinks = freeLink();
    if (const nlohmann::json* link = root_.find("default_link")) {
      readDefaultLink(JsonObject(*link, "default_link", problems_));
    }
    forEach("links", false, [&](const JsonObject& json) { readLink(json); });
    forEach("interfaces", false, [&](const JsonObject& json) { readInterface(json); });
    forEach("crowds", false, [&](const JsonObject& json) { readCrowd(json); });
    forEach("step_starts", false,
            [&](const JsonObject& json) { readByWorkers(json, file_.cluster.stepStarts); });
    if (const nlohmann::json* client = root_.find("client")) {
      readClient(JsonObject(*client, "client", problems_));
    }
    forEach("client_work", false,
            [&](const JsonObject& json) { readByWorkers(json, file_.cluster.client.work); });
    forEach("nodes", true, [&](const JsonObject& json) { readNode(json); });
    forEach("tensors", false, [&](const JsonObject& json) { readTensor(json); });
    readColocation();
    forEach("shared_work", false, [&](const JsonObject& json) { readSharedWork(json); });
    forEach("shared_weights", false, [&](const JsonObject& json) {
      json.onlyKeys({"nodes", "bytes"});
      file_.graph.sharedWeights.push_back(
          {nodesOf(json), json.integer("bytes", std::nullopt, kMostBytes)});
    });
    forEach("pins", false, [&](const JsonObject& json) { readPin(json); });
  }

 private:
  template <typename Function>
  void forEach(const char* key, bool required, Function function) {
    const nlohmann::json* items = root_.array(key, required);
    for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
      function(JsonObject((*items)[i], absl::StrCat(key, "[", i, "]"), problems_));
    }
  }

  std::string hint(const Ids& ids, const std::string& name) const {
    if (problems_.full() || ids.size() > kMostHints) {
      return "";
    }
    std::vector<std::string> known;
    known.reserve(ids.size());
    for (const auto& [key, id] : ids) {
      known.push_back(key);
    }
    std::sort(known.begin(), known.end());
    return hintFor(name, known);
  }

  /// The id of a name that the file must have given; what it has not is a problem.
  std::optional<int> idOf(const Ids& ids, const char* what, const std::string& name,
                          const JsonObject& json, absl::string_view key) {
    auto found = ids.find(name);
    if (found == ids.end()) {
      json.problem(key, absl::StrCat("there is no ", what, " ", describeJson(nlohmann::json(name)),
                                     hint(ids, name)));
      return std::nullopt;
    }
    return found->second;
  }

  void newName(Ids& ids, const std::string& name, int id, const JsonObject& json) {
    if (!name.empty() && !ids.try_emplace(name, id).second) {
      json.problem("name", absl::StrCat(describeJson(nlohmann::json(name)), " is given twice"));
    }
  }

  template <typename T>
  T choice(const JsonObject& json, const char* key, const std::vector<std::string>& names,
           T otherwise) {
    std::string text = json.text(key);
    auto found = std::find(names.begin(), names.end(), text);
    if (!text.empty() && found == names.end()) {
      json.problem(key, absl::StrCat("got ", describeJson(nlohmann::json(text)), ", expected '",
                                     absl::StrJoin(names, "' or '"), "'", hintFor(text, names)));
    }
    return found == names.end() ? otherwise : static_cast<T>(found - names.begin());
  }

  void readHead() {
    if (root_.text("format", true) != "graphrun-costs") {
      root_.problem("format", "expected 'graphrun-costs'");
    }
    if (root_.integer("version", std::nullopt, kMostNs) != 1) {
      root_.problem("version", "expected 1");
    }
    file_.objective = choice(root_, "objective", {"latency", "throughput"}, Objective::kLatency);
    file_.contiguous = root_.flag("contiguous", false);
  }

  void readDevice(const JsonObject& json) {
    json.onlyKeys({"name", "worker", "kind", "memory_bytes", "class", "port", "calls", "lanes",
                   "cores", "weight"});
    if (file_.cluster.devices.size() == static_cast<size_t>(kMostDevices)) {
      json.problem("name", absl::StrCat("there are more than ", kMostDevices, " devices"));
      return;
    }
    std::string name = json.text("name", true);
    std::string worker = json.text("worker");
    worker = worker.empty() ? name : worker;
    for (const std::string& taken : {name, worker}) {
      if (taken == kClientName) {
        json.problem("name", "'client' is the process that the user starts, and no device");
      }
    }
    newName(devices_, name, static_cast<int>(file_.cluster.devices.size()), json);
    Device& device = addDevice(file_.cluster, name, worker);
    workers_.try_emplace(worker, device.worker);
    device.kind = readKind(json);
    if (json.find("memory_bytes") != nullptr) {
      device.memoryBytes = json.integer("memory_bytes", std::nullopt, kMostBytes);
      if (device.memoryBytes == 0) {
        json.problem("memory_bytes", "expected at least one byte; leave it out for no limit");
      }
    }
    device.hasPort = json.flag("port", false);
    device.isOffload = choice(json, "calls", {"each", "once"}, 0) == 1;
    device.lanes = static_cast<int>(json.integer("lanes", 1, kMostLanes));
    if (device.isOffload && device.lanes != 1) {
      json.problem("lanes", "a device with \"calls\": \"once\" runs its nodes one after the other");
    }
    readCores(json, device);
    device.weight = json.number("weight", 1, 100);
    if (device.weight < 0.01) {
      json.problem("weight", "expected a number from 0.01 to 100");
    }
    classes_.push_back(json.text("class"));
    classIds_.try_emplace(classes_.back(), 0);
  }

  /// Returns the kind that `json` gives, or the host's kind, of which a file needs no more than the
  /// name.
  DeviceKind readKind(const JsonObject& json) {
    const size_t found = choice(json, "kind", kindNames_, kinds_.size());
    const DeviceKind* host = runtime::findKind(kinds_, kHostKind);
    const DeviceKind otherwise = host == nullptr ? DeviceKind() : *host;
    return found < kinds_.size() ? kinds_[found] : otherwise;
  }

  /// Names of cores hold in the whole file: all its workers are on one host.
  void readCores(const JsonObject& json, Device& device) {
    for (const std::string& name : json.texts("cores")) {
      int core = cores_.try_emplace(name, static_cast<int>(cores_.size())).first->second;
      device.cores.push_back(core);
    }
    std::sort(device.cores.begin(), device.cores.end());
    if (std::adjacent_find(device.cores.begin(), device.cores.end()) != device.cores.end()) {
      json.problem("cores", "a core is given twice");
    }
    if (!device.cores.empty() && (device.isOffload || device.lanes != 1)) {
      json.problem("cores",
                   "a device with cores runs one node at a time, so it has one lane and "
                   "no \"calls\": \"once\"");
    }
  }

  double bandwidth(const JsonObject& json) {
    double rate = json.number("bytes_per_second", std::nullopt, kMostBandwidth);
    if (rate < 1) {
      json.problem("bytes_per_second", "expected at least 1; leave it out for no limit");
    }
    return std::max(rate, 1.0);
  }

  void readDefaultLink(const JsonObject& json) {
    json.onlyKeys({"latency_ns", "bytes_per_second", "queues"});
    LinkModel link = file_.cluster.otherLinks.value_or(LinkModel{});
    link.latencyNs = json.integer("latency_ns", 0, kMostNs);
    if (json.find("bytes_per_second") != nullptr) {
      link.bytesPerSecond = bandwidth(json);
    }
    link.queues = json.flag("queues", true);
    file_.cluster.otherLinks = link;
  }

  std::optional<std::pair<std::string, std::string>> readKinds(const JsonObject& json) {
    if (json.find("kinds") == nullptr) {
      return std::nullopt;
    }
    std::vector<std::string> names = json.texts("kinds");
    if (names.size() == 2) {
      const bool areKnown = std::all_of(names.begin(), names.end(), [&](const std::string& name) {
        return runtime::findKind(kinds_, name) != nullptr;
      });
      if (areKnown) {
        return std::pair(names[0], names[1]);
      }
    }
    json.problem("kinds",
                 absl::StrCat("expected two of '", absl::StrJoin(kindNames_, "' and '"), "'"));
    return std::nullopt;
  }

  std::optional<LargeTransfers> readLarge(const JsonObject& json) {
    const nlohmann::json* large = json.find("large");
    if (large == nullptr) {
      return std::nullopt;
    }
    JsonObject line(*large, json.path() + ".large", problems_);
    line.onlyKeys({"from_bytes", "latency_ns", "bytes_per_second"});
    return LargeTransfers{line.integer("from_bytes", std::nullopt, kMostBytes),
                          {line.integer("latency_ns", std::nullopt, kMostNs), bandwidth(line)}};
  }

  int endOf(const JsonObject& json, const char* key, const std::string& name) {
    return name == kClientName ? kClient : idOf(workers_, "worker", name, json, key).value_or(0);
  }

  void readInterface(const JsonObject& json) {
    json.onlyKeys({"workers", "bytes_per_second"});
    Interface interface;
    for (const std::string& name : json.texts("workers", true)) {
      interface.workers.push_back(endOf(json, "workers", name));
      if (!behindInterface_.insert(interface.workers.back()).second) {
        json.problem("workers", absl::StrCat(describeJson(nlohmann::json(name)),
                                             " is behind an interface already"));
      }
    }
    interface.bytesPerSecond = bandwidth(json);
    file_.cluster.interfaces.push_back(std::move(interface));
  }

  void readCrowd(const JsonObject& json) {
    json.onlyKeys({"workers", "share"});
    Crowd crowd;
    for (const std::string& name : json.texts("workers", true)) {
      crowd.workers.push_back(endOf(json, "workers", name));
      if (crowd.workers.back() == kClient || !crowded_.insert(crowd.workers.back()).second) {
        json.problem("workers", absl::StrCat(describeJson(nlohmann::json(name)),
                                             " is no worker, or in a crowd already"));
      }
    }
    crowd.share = json.number("share", 0, 1);
    file_.cluster.crowds.push_back(std::move(crowd));
  }

  void readClient(const JsonObject& json) {
    json.onlyKeys({"workers", "cores"});
    ClientWork& client = file_.cluster.client;
    for (const std::string& name : json.texts("workers", true)) {
      client.workers.push_back(endOf(json, "workers", name));
    }
    client.cores = static_cast<int>(json.integer("cores", 1, kMostDevices));
  }

  /// One of what is told by numbers of workers.
  void readByWorkers(const JsonObject& json, std::vector<StepStart>& all) {
    json.onlyKeys({"workers", "latency_ns", "bytes_per_second", "large"});
    StepStart step;
    step.workers = static_cast<int>(json.integer("workers", std::nullopt, kMostDevices));
    step.start.latencyNs = json.integer("latency_ns", 0, kMostNs);
    step.start.bytesPerSecond = json.find("bytes_per_second") != nullptr
                                    ? bandwidth(json)
                                    : std::numeric_limits<double>::infinity();
    step.start.large = readLarge(json);
    if (step.workers < 1 || (!all.empty() && step.workers <= all.back().workers)) {
      json.problem("workers", "expected 1 or more, ascending from entry to entry");
    }
    all.push_back(step);
  }

  void readLink(const JsonObject& json) {
    json.onlyKeys({"between", "kinds", "one_way", "latency_ns", "bytes_per_second", "large",
                   "shared", "queues", "read_ns_per_byte", "send_ns_per_byte"});
    std::vector<std::string> ends = json.texts("between", true);
    if (ends.size() != 2) {
      json.problem("between", "expected two names of workers, or 'client'");
      return;
    }
    LinkOverride link;
    link.workerA = endOf(json, "between", ends[0]);
    link.workerB = endOf(json, "between", ends[1]);
    if (json.find("latency_ns") != nullptr) {
      link.latencyNs = json.integer("latency_ns", std::nullopt, kMostNs);
    }
    if (json.find("bytes_per_second") != nullptr) {
      link.bytesPerSecond = bandwidth(json);
    }
    link.large = readLarge(json);
    link.readNsPerByte = json.number("read_ns_per_byte", 0, kMostReadNs);
    link.sendNsPerByte = json.number("send_ns_per_byte", 0, kMostReadNs);
    link.kinds = readKinds(json);
    link.shared = json.flag("shared", true);
    link.oneWay = json.flag("one_way", false);
    if (json.find("queues") != nullptr) {
      link.queues = json.flag("queues", true);
    }
    file_.cluster.links.push_back(link);
  }

  void readNode(const JsonObject& json) {
    json.onlyKeys({"name", "op", "kind", "time_ns", "weight_bytes", "workspace_bytes", "backward"});
    int64_t times =
        (int64_t{file_.graph.nodeCount()} + 1) * static_cast<int64_t>(file_.cluster.devices.size());
    if (times > kMostTimes) {
      problems_.add(json.path(), "too many nodes for so many devices");
      return;
    }
    CostNode node;
    node.name = json.text("name", true);
    node.op = json.text("op");
    node.op = node.op.empty() ? "node" : node.op;
    node.kind = json.text("kind");
    newName(nodes_, node.name, file_.graph.nodeCount(), json);
    readTimes(json, node);
    node.weightBytes = json.integer("weight_bytes", 0, kMostBytes);
    node.workspaceBytes = json.integer("workspace_bytes", 0, kMostBytes);
    node.backward = json.flag("backward", false);
    file_.graph.addNode(std::move(node));
  }

  void readTimes(const JsonObject& json, CostNode& node) {
    const nlohmann::json* given = json.find("time_ns");
    size_t count = file_.cluster.devices.size();
    if (given == nullptr || !given->is_object()) {
      node.timeNs.assign(count, json.integer("time_ns", std::nullopt, kMostNs));
      return;
    }
    JsonObject times(*given, json.at("time_ns"), problems_);
    for (const auto& [key, value] : given->items()) {
      if (!classIds_.contains(key)) {
        idOf(devices_, "device or class", key, times, "");
      }
    }
    for (size_t d = 0; d < count; ++d) {
      const std::string& name = file_.cluster.devices[d].name;
      const std::string& key = given->contains(name) ? name : classes_[d];
      bool runs = !key.empty() && given->contains(key);
      node.timeNs.push_back(runs ? times.integer(key.c_str(), std::nullopt, kMostNs)
                                 : kUnsupported);
      if (!runs) {
        node.unsupported.emplace_back(static_cast<int>(d), "the file gives no time for it");
      }
    }
  }

  void readTensor(const JsonObject& json) {
    json.onlyKeys({"name", "type", "producer", "consumers", "bytes", "port_ns", "output", "home"});
    CostTensor tensor;
    tensor.name = json.text("name");
    std::string producer = json.text("producer");
    if (!producer.empty()) {
      tensor.producer = idOf(nodes_, "node", producer, json, "producer").value_or(0);
    }
    tensor.name = !tensor.name.empty() ? tensor.name
                  : !producer.empty()  ? producer
                                       : absl::StrCat("input ", file_.graph.tensorCount());
    for (const std::string& consumer : json.texts("consumers")) {
      tensor.consumers.push_back(idOf(nodes_, "node", consumer, json, "consumers").value_or(0));
    }
    tensor.type = json.text("type");
    tensor.bytes = json.integer("bytes", 0, kMostBytes);
    tensor.portNs = json.integer("port_ns", 0, kMostNs);
    tensor.isOutput = json.flag("output", false);
    readHome(json, tensor);
    file_.graph.addTensor(std::move(tensor));
  }

  void readHome(const JsonObject& json, CostTensor& tensor) {
    std::string home = json.text("home");
    if (home.empty() || home == kClientName) {
      return;
    }
    if (tensor.producer >= 0 && !tensor.isOutput) {
      json.problem("home", "only an input or output of the graph has one");
      return;
    }
    int device = idOf(devices_, "device", home, json, "home").value_or(kClient);
    tensor.inputHome = tensor.producer < 0 ? device : kClient;
    tensor.outputHome = tensor.isOutput ? device : kClient;
  }

  void readColocation() {
    const nlohmann::json* groups = root_.array("colocate");
    for (size_t i = 0; groups != nullptr && i < groups->size(); ++i) {
      file_.graph.colocation.push_back(
          nodesOf(root_, absl::StrCat("colocate[", i, "]"), (*groups)[i]));
    }
  }

  void readSharedWork(const JsonObject& json) {
    json.onlyKeys({"nodes", "only_apart"});
    SharedWork work;
    work.nodes = nodesOf(json);
    work.onlyApart = json.flag("only_apart", false);
    file_.graph.shared.push_back(std::move(work));
  }

  std::vector<int> nodesOf(const JsonObject& json) {
    static const nlohmann::json kNothing;
    const nlohmann::json* nodes = json.find("nodes");
    return nodesOf(json, "nodes", nodes == nullptr ? kNothing : *nodes);
  }

  std::vector<int> nodesOf(const JsonObject& json, const std::string& key,
                           const nlohmann::json& names) {
    std::vector<int> nodes;
    if (!names.is_array() || names.empty()) {
      json.problem(key, "expected an array of names of nodes");
      return nodes;
    }
    for (const nlohmann::json& name : names) {
      if (!name.is_string()) {
        json.problem(key, absl::StrCat("got ", describeJson(name), ", expected a string"));
        continue;
      }
      nodes.push_back(idOf(nodes_, "node", name.get<std::string>(), json, key).value_or(0));
    }
    return nodes;
  }

  void readPin(const JsonObject& json) {
    json.onlyKeys({"node", "device"});
    std::string node = json.text("node", true);
    std::string device = json.text("device", true);
    if (!node.empty() && !device.empty()) {
      NodePin pin;
      pin.node = idOf(nodes_, "node", node, json, "node").value_or(0);
      pin.device = idOf(devices_, "device", device, json, "device").value_or(0);
      pin.source = json.path();
      file_.graph.pins.push_back(std::move(pin));
    }
  }

  JsonObject root_;
  absl::Span<const DeviceKind> kinds_;
  std::vector<std::string> kindNames_;
  FileProblems& problems_;
  CostFile& file_;
  Ids devices_;
  Ids workers_;
  Ids nodes_;
  Ids classIds_;
  Ids cores_;
  std::set<int> behindInterface_;     // workers
  std::set<int> crowded_;             // workers
  std::vector<std::string> classes_;  // by device, "" without one
};

}  // namespace

void readNativeCosts(const nlohmann::json& json, absl::Span<const DeviceKind> kinds,
                     FileProblems& problems, CostFile& file) {
  NativeReader(json, kinds, problems, file).read();
}

}  // namespace graphrun::placement
