// The format of msr-fiddle/dnn-partitioning, as its README defines it.
#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "placement/formats/cost_file_formats.h"

namespace graphrun::placement {
namespace {

constexpr int64_t kNsPerMs = 1'000'000;
constexpr double kMostMs = static_cast<double>(kMostNs) / kNsPerMs;
/// The costs of a node's edges are one number, written several times.
constexpr double kSameCost = 1e-6;

class DnnReader {
 public:
  DnnReader(const nlohmann::json& json, Objective objective, absl::Span<const DeviceKind> kinds,
            FileProblems& problems, CostFile& file)
      : root_(json, "", problems),
        objective_(objective),
        kinds_(kinds),
        problems_(problems),
        file_(file) {}

  void read() {
    file_.objective = objective_;
    file_.unit = "ms";
    file_.nsPerUnit = kNsPerMs;
    file_.cluster.otherLinks = freeLink();
    readDevices();
    const nlohmann::json* nodes = root_.array("nodes", /*required=*/true);
    auto count = static_cast<int64_t>(nodes == nullptr ? 0 : nodes->size());
    auto devices = static_cast<int64_t>(file_.cluster.devices.size());
    if (count * devices > kMostTimes) {
      root_.problem("nodes", absl::StrCat(count, " nodes on ", devices, " devices are too many"));
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      readNode(
          JsonObject((*nodes)[static_cast<size_t>(i)], absl::StrCat("nodes[", i, "]"), problems_));
    }
    const nlohmann::json* edges = root_.array("edges", /*required=*/true);
    for (size_t i = 0; edges != nullptr && i < edges->size(); ++i) {
      readEdge(JsonObject((*edges)[i], absl::StrCat("edges[", i, "]"), problems_));
    }
    for (auto& [color, members] : colors_) {
      file_.graph.colocation.push_back(std::move(members));
    }
  }

 private:
  void readDevices() {
    bool calls = objective_ == Objective::kLatency;
    accelerators_ = root_.integer("maxFPGAs", std::nullopt, kMostDevices);
    int64_t cpus = root_.integer("maxCPUs", std::nullopt, kMostDevices);
    double limit = root_.number("maxSizePerFPGA", std::nullopt, static_cast<double>(kMostBytes));
    if (accelerators_ + cpus < 1) {
      root_.problem("maxFPGAs", "expected at least one accelerator or CPU");
    }
    if (accelerators_ > 0 && limit < 1) {
      root_.problem("maxSizePerFPGA", "expected at least one byte");
    }
    auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                             [](const DeviceKind& known) { return known.hasOwnMemory(); });
    if (accelerators_ > 0 && kind == kinds_.end()) {
      root_.problem("maxFPGAs", absl::StrCat("no kind of device that is known here has memory of ",
                                             "its own (known: ", runtime::kindNames(kinds_), ")"));
      return;
    }
    for (int64_t i = 0; i < accelerators_; ++i) {
      Device& device = addDevice(file_.cluster, absl::StrCat("acc:", i), "machine");
      device.kind = *kind;
      device.memoryBytes = static_cast<int64_t>(limit);
      device.hasPort = true;
      device.isOffload = calls;
    }
    for (int64_t i = 0; i < (calls ? std::min<int64_t>(cpus, 1) : cpus); ++i) {
      Device& device = addDevice(file_.cluster, absl::StrCat("cpu:", i), "machine");
      device.lanes = calls ? 0 : 1;
    }
  }

  static int64_t toNs(double ms) { return std::llround(ms * kNsPerMs); }

  void readNode(const JsonObject& json) {
    std::optional<int64_t> id = json.id("id");
    auto known = id.has_value() ? nodes_.try_emplace(*id, file_.graph.nodeCount())
                                : std::pair(nodes_.end(), false);
    if (id.has_value() && !known.second) {
      json.problem("id", absl::StrCat("id ", *id, " is given twice"));
    }
    CostNode node;
    node.name = absl::StrCat(id.value_or(0));
    node.op = "node";
    node.weightBytes =
        std::llround(std::ceil(json.number("size", 0, static_cast<double>(kMostBytes))));
    node.backward = json.flag("isBackwardNode", false);
    int64_t onCpu = toNs(json.number("cpuLatency", std::nullopt, kMostMs));
    int64_t onAccelerator = toNs(json.number("fpgaLatency", std::nullopt, kMostMs));
    bool supported = json.flag("supportedOnFpga", std::nullopt);
    for (int d = 0; d < static_cast<int>(file_.cluster.devices.size()); ++d) {
      bool accelerator = d < accelerators_;
      node.timeNs.push_back(!accelerator ? onCpu : supported ? onAccelerator : kUnsupported);
      if (accelerator && !supported) {
        node.unsupported.emplace_back(d, "supportedOnFpga is false");
      }
    }
    if (json.find("colorClass") != nullptr) {
      if (std::optional<int64_t> color = json.id("colorClass")) {
        colors_[*color].push_back(file_.graph.nodeCount());
      }
    }
    file_.graph.addNode(std::move(node));
  }

  std::optional<int> readEnd(const JsonObject& json, const char* key) {
    std::optional<int64_t> id = json.id(key);
    auto found = id.has_value() ? nodes_.find(*id) : nodes_.end();
    if (id.has_value() && found == nodes_.end()) {
      json.problem(key, absl::StrCat("there is no node with id ", *id));
    }
    return found == nodes_.end() ? std::nullopt : std::optional(found->second);
  }

  void readEdge(const JsonObject& json) {
    std::optional<int> from = readEnd(json, "sourceId");
    std::optional<int> to = readEnd(json, "destId");
    double cost = json.number("cost", std::nullopt, kMostMs);
    if (!from.has_value() || !to.has_value()) {
      return;
    }
    auto [found, fresh] = tensors_.try_emplace(*from, std::pair(file_.graph.tensorCount(), cost));
    if (fresh) {
      CostTensor tensor;
      tensor.name = file_.graph.node(*from).name;
      tensor.producer = *from;
      tensor.portNs = toNs(cost);
      file_.graph.addTensor(std::move(tensor));
    }
    auto [tensor, first] = found->second;
    if (std::abs(first - cost) > kSameCost) {
      json.problem("cost", absl::StrCat("got ", cost, ", but another edge of node ",
                                        file_.graph.node(*from).name, " has ", first,
                                        "; a node's output has one cost"));
    }
    file_.graph.tensors[static_cast<size_t>(tensor)].consumers.push_back(*to);
  }

  JsonObject root_;
  Objective objective_;
  absl::Span<const DeviceKind> kinds_;
  FileProblems& problems_;
  CostFile& file_;
  int64_t accelerators_ = 0;
  std::map<int64_t, int> nodes_;                   // by id
  std::map<int, std::pair<int, double>> tensors_;  // by node: its tensor and cost
  std::map<int64_t, std::vector<int>> colors_;
};

}  // namespace

void readDnnPartitioning(const nlohmann::json& json, Objective objective,
                         absl::Span<const DeviceKind> kinds, FileProblems& problems,
                         CostFile& file) {
  DnnReader(json, objective, kinds, problems, file).read();
}

}  // namespace graphrun::placement
