// The other way: a problem in GraphRun's own format.
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "placement/formats/cost_file.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

using OrderedJson = nlohmann::ordered_json;

class CostFileWriter {
 public:
  explicit CostFileWriter(const PlacementProblem& problem)
      : problem_(problem), graph_(problem.graph()), cluster_(problem.cluster()) {}

  absl::StatusOr<std::string> run() {
    json_["format"] = "graphrun-costs";
    json_["version"] = 1;
    json_["objective"] = objectiveName(problem_.objective);
    json_["contiguous"] = problem_.contiguous;
    writeDevices();
    GR_RETURN_IF_ERROR(writeLinks());
    writeInterfaces();
    writeCrowds();
    writeStepStarts();
    writeClient();
    writeNodes();
    writeTensors();
    writeConstraints();
    return json_.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  }

 private:
  const std::string& nodeName(int node) const { return graph_.node(node).name; }
  const Device& device(int d) const { return cluster_.devices[static_cast<size_t>(d)]; }
  int workerOf(int end) const { return end == kClient ? kClient : device(end).worker; }
  std::string workerName(int worker) const {
    return worker == kClient ? kClientName : cluster_.workers[static_cast<size_t>(worker)].name;
  }

  void writeDevices() {
    json_["devices"] = OrderedJson::array();
    for (int d = 0; d < problem_.deviceCount(); ++d) {
      OrderedJson entry = {{"name", device(d).name}, {"worker", workerName(device(d).worker)}};
      if (device(d).kind.name != kHostKind) {
        entry["kind"] = device(d).kind.name;
      }
      if (int64_t limit = problem_.limits[static_cast<size_t>(d)]; limit != kUnlimited) {
        entry["memory_bytes"] = limit;
      }
      if (device(d).hasPort) {
        entry["port"] = true;
      }
      if (device(d).isOffload) {
        entry["calls"] = "once";
      }
      if (device(d).lanes != 1) {
        entry["lanes"] = device(d).lanes;
      }
      const CoreTable& cores = problem_.simulator.cores();
      if (cores.isShared(d)) {
        for (int core : cores.of(d)) {
          entry["cores"].push_back(absl::StrCat(core));
        }
      }
      if (device(d).weight != 1) {
        entry["weight"] = device(d).weight;
      }
      json_["devices"].push_back(std::move(entry));
    }
  }

  static bool isAlike(const LinkModel& a, const LinkModel& b) {
    return a.latencyNs == b.latencyNs && a.bytesPerSecond == b.bytesPerSecond &&
           a.queues == b.queues && a.large == b.large && a.readNsPerByte == b.readNsPerByte &&
           a.sendNsPerByte == b.sendNsPerByte;
  }

  using Workers = std::pair<int, int>;  ///< from, to
  using Kinds = std::pair<std::string, std::string>;
  using LinksByKind = std::map<Kinds, LinkInfo>;

  /// All devices of a kind on a worker must have the same.
  absl::StatusOr<std::map<Workers, LinksByKind>> linksByKind() const {
    std::map<Workers, LinksByKind> links;
    const LinkTable& table = problem_.simulator.links();
    for (int from = kClient; from < problem_.deviceCount(); ++from) {
      for (int to = kClient; to < problem_.deviceCount(); ++to) {
        if (from == to) {
          continue;
        }
        const LinkInfo& link = table.link(table.id(from, to));
        auto [known, fresh] = links[{workerOf(from), workerOf(to)}].try_emplace(
            {std::string(cluster_.kindOf(from)), std::string(cluster_.kindOf(to))}, link);
        if (!isAlike(known->second.model, link.model)) {
          return absl::FailedPreconditionError(absl::StrCat(
              "costs: ", known->second.name, " and ", link.name, " differ, but the file can tell ",
              "only one link from a worker's devices of a kind to another's"));
        }
      }
    }
    return links;
  }

  static bool areAlike(const LinksByKind& links) {
    return std::all_of(links.begin(), links.end(), [&](const auto& link) {
      return isAlike(link.second.model, links.begin()->second.model);
    });
  }

  /// One entry for each pair of workers, or one for each direction; where kinds of devices differ,
  /// one for each two kinds.
  absl::Status writeLinks() {
    GR_ASSIGN_OR_RETURN(auto links, linksByKind());
    json_["links"] = OrderedJson::array();
    for (const auto& [workers, forth] : links) {
      const LinksByKind& back = links.at({workers.second, workers.first});
      bool byKind = !areAlike(forth) || !areAlike(back);
      for (const auto& [kinds, link] : forth) {
        bool oneWay = !isAlike(back.at({kinds.second, kinds.first}).model, link.model);
        if (oneWay ||
            std::pair(workers.first, kinds.first) <= std::pair(workers.second, kinds.second)) {
          addLink(workers, byKind ? std::optional(kinds) : std::nullopt, link.model, oneWay);
        }
        if (!byKind) {
          break;
        }
      }
    }
    return absl::OkStatus();
  }

  static void addTimes(const LinkModel& model, OrderedJson& entry) {
    entry["latency_ns"] = model.latencyNs;
    if (std::isfinite(model.bytesPerSecond)) {
      entry["bytes_per_second"] = model.bytesPerSecond;
    }
    if (model.large.has_value()) {
      entry["large"] = {{"from_bytes", model.large->fromBytes},
                        {"latency_ns", model.large->line.latencyNs},
                        {"bytes_per_second", model.large->line.bytesPerSecond}};
    }
  }

  void writeInterfaces() {
    for (const Interface& interface : cluster_.interfaces) {
      OrderedJson entry = {{"workers", OrderedJson::array()},
                           {"bytes_per_second", interface.bytesPerSecond}};
      for (int worker : interface.workers) {
        entry["workers"].push_back(workerName(worker));
      }
      json_["interfaces"].push_back(std::move(entry));
    }
  }

  void writeCrowds() {
    for (const Crowd& crowd : cluster_.crowds) {
      OrderedJson entry = {{"workers", OrderedJson::array()},
                           {"share", std::min(crowd.share, 1.0)}};
      for (int worker : crowd.workers) {
        entry["workers"].push_back(workerName(worker));
      }
      json_["crowds"].push_back(std::move(entry));
    }
  }

  void writeStepStarts() {
    for (const StepStart& step : cluster_.stepStarts) {
      OrderedJson entry = {{"workers", step.workers}};
      addTimes(step.start, entry);
      json_["step_starts"].push_back(std::move(entry));
    }
  }

  void writeClient() {
    const ClientWork& client = cluster_.client;
    if (client.work.empty()) {
      return;
    }
    json_["client"] = {{"workers", OrderedJson::array()}, {"cores", client.cores}};
    for (int worker : client.workers) {
      json_["client"]["workers"].push_back(workerName(worker));
    }
    for (const StepStart& step : client.work) {
      OrderedJson entry = {{"workers", step.workers}};
      addTimes(step.start, entry);
      json_["client_work"].push_back(std::move(entry));
    }
  }

  void addLink(Workers workers, const std::optional<Kinds>& kinds, const LinkModel& model,
               bool oneWay) {
    auto [a, b] = workers;
    OrderedJson entry = {{"between", {workerName(a), workerName(b)}}};
    if (kinds) {
      entry["kinds"] = {kinds->first, kinds->second};
    }
    if (oneWay) {
      entry["one_way"] = true;
    }
    addTimes(model, entry);
    if (model.readNsPerByte > 0) {
      entry["read_ns_per_byte"] = model.readNsPerByte;
    }
    if (model.sendNsPerByte > 0) {
      entry["send_ns_per_byte"] = model.sendNsPerByte;
    }
    bool perDevice = model.kind == LinkKind::kInProcess || model.kind == LinkKind::kPcie;
    if (a != b && perDevice) {
      entry["shared"] = false;
    }
    if (!model.queues) {
      entry["queues"] = false;
    }
    json_["links"].push_back(std::move(entry));
  }

  void writeNodes() {
    json_["nodes"] = OrderedJson::array();
    for (const CostNode& node : graph_.nodes) {
      OrderedJson entry = {{"name", node.name}, {"op", node.op}};
      addUnlessEmpty(entry, "kind", node.kind);
      OrderedJson times = OrderedJson::object();
      for (int d = 0; d < problem_.deviceCount(); ++d) {
        if (node.supports(d)) {
          times[device(d).name] = node.timeNs[static_cast<size_t>(d)];
        }
      }
      entry["time_ns"] = std::move(times);
      addUnlessZero(entry, "weight_bytes", node.weightBytes);
      addUnlessZero(entry, "workspace_bytes", node.workspaceBytes);
      if (node.backward) {
        entry["backward"] = true;
      }
      json_["nodes"].push_back(std::move(entry));
    }
  }

  static void addUnlessZero(OrderedJson& entry, const char* key, int64_t value) {
    if (value != 0) {
      entry[key] = value;
    }
  }

  static void addUnlessEmpty(OrderedJson& entry, const char* key, const std::string& value) {
    if (!value.empty()) {
      entry[key] = value;
    }
  }

  void writeTensors() {
    json_["tensors"] = OrderedJson::array();
    for (const CostTensor& tensor : graph_.tensors) {
      OrderedJson entry = {{"name", tensor.name}};
      addUnlessEmpty(entry, "type", tensor.type);
      if (tensor.producer >= 0) {
        entry["producer"] = nodeName(tensor.producer);
      }
      entry["consumers"] = OrderedJson::array();
      for (int consumer : tensor.consumers) {
        entry["consumers"].push_back(nodeName(consumer));
      }
      addUnlessZero(entry, "bytes", tensor.bytes);
      addUnlessZero(entry, "port_ns", tensor.portNs);
      if (tensor.isOutput) {
        entry["output"] = true;
      }
      int home = tensor.producer < 0 ? tensor.inputHome : tensor.outputHome;
      if (home != kClient) {
        entry["home"] = device(home).name;
      }
      json_["tensors"].push_back(std::move(entry));
    }
  }

  void writeConstraints() {
    json_["colocate"] = OrderedJson::array();
    for (const std::vector<int>& group : graph_.colocation) {
      OrderedJson names = OrderedJson::array();
      for (int node : group) {
        names.push_back(nodeName(node));
      }
      json_["colocate"].push_back(std::move(names));
    }
    for (const SharedWork& work : graph_.shared) {
      OrderedJson entry = {{"nodes", OrderedJson::array()}};
      for (int node : work.nodes) {
        entry["nodes"].push_back(nodeName(node));
      }
      if (work.onlyApart) {
        entry["only_apart"] = true;
      }
      json_["shared_work"].push_back(std::move(entry));
    }
    for (const SharedWeights& weights : graph_.sharedWeights) {
      OrderedJson entry = {{"nodes", OrderedJson::array()}, {"bytes", weights.bytes}};
      for (int node : weights.nodes) {
        entry["nodes"].push_back(nodeName(node));
      }
      json_["shared_weights"].push_back(std::move(entry));
    }
    json_["pins"] = OrderedJson::array();
    for (const NodePin& pin : graph_.pins) {
      json_["pins"].push_back({{"node", nodeName(pin.node)}, {"device", device(pin.device).name}});
    }
  }

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const Cluster& cluster_;
  OrderedJson json_;
};

}  // namespace

absl::StatusOr<std::string> writeCostFile(const PlacementProblem& problem) {
  return CostFileWriter(problem).run();
}

}  // namespace graphrun::placement
