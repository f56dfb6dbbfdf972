#include "placement/formats/placement_file.h"

#include <nlohmann/json.hpp>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/names.h"

namespace graphrun::placement {
namespace {

struct Rule {
  std::string nodes;
  int device = 0;
  bool used = false;
};

class FileReader {
 public:
  /// `isOld`: what does not fit is no problem.
  FileReader(const PlacementProblem& problem, absl::string_view fileName, bool isOld)
      : problem_(problem), fileName_(fileName), isOld_(isOld) {
    const CostGraph& graph = problem.graph();
    for (int n = 0; n < graph.nodeCount(); ++n) {
      ids_[graph.node(n).name] = n;
    }
  }

  absl::StatusOr<FilePlacement> read(absl::string_view json) {
    auto root = Json::parse(json, nullptr, /*allow_exceptions=*/false);
    if (!root.is_object()) {
      return absl::InvalidArgumentError(absl::StrCat(
          fileName_, ": expected a JSON object from node names or globs to device names, or one ",
          "with a list \"nodes\" of {\"node\", \"device\"}"));
    }
    isList_ = root.contains("nodes") && root["nodes"].is_array();
    isList_ ? readList(root["nodes"]) : readMap(root);
    FilePlacement placement;
    for (const CostNode& node : problem_.graph().nodes) {
      placement.device.push_back(deviceOf(node.name));
    }
    if (!isOld_) {
      reportUnused();
    }
    if (problems_.empty() && isList_ && (isOld_ || globs_.empty())) {
      placement.order = listOrder();
    }
    if (!problems_.empty()) {
      return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
    }
    return placement;
  }

 private:
  using Json = nlohmann::ordered_json;

  void readMap(const Json& map) {
    for (const auto& [nodes, device] : map.items()) {
      readRule(nodes, device.is_string() ? device.get<std::string>() : device.dump());
    }
  }

  void readList(const Json& list) {
    std::set<std::string> seen;
    for (const Json& entry : list) {
      if (!entry.is_object() || !entry.contains("node") || !entry["node"].is_string() ||
          !entry.contains("device") || !entry["device"].is_string()) {
        problems_.push_back(absl::StrCat(fileName_, ": nodes[", &entry - &list[0],
                                         "]: expected {\"node\": NAME, \"device\": DEVICE}"));
        continue;
      }
      auto node = entry["node"].get<std::string>();
      if (!seen.insert(node).second && !isOld_) {
        problems_.push_back(absl::StrCat(fileName_, ": '", node, "' is given twice"));
        continue;
      }
      readRule(node, entry["device"].get<std::string>());
    }
  }

  void readRule(const std::string& nodes, const std::string& device) {
    std::optional<int> index = problem_.cluster().findDevice(device);
    if (!index.has_value() && isOld_) {
      return;
    }
    if (!index.has_value()) {
      problems_.push_back(
          absl::StrCat(fileName_, ": '", nodes, "': no device '", device, "'",
                       runtime::didYouMean(device, problem_.cluster().deviceNames())));
    }
    if (runtime::isGlob(nodes) && !ids_.contains(nodes)) {
      globs_.push_back(rules_.size());
    }
    named_[nodes] = rules_.size();
    rules_.push_back({nodes, index.value_or(0)});
  }

  /// The nodes that are named, in the order of the list.
  std::vector<int> listOrder() {
    std::vector<int> order;
    order.reserve(rules_.size());
    for (const Rule& rule : rules_) {
      if (auto found = ids_.find(rule.nodes); found != ids_.end()) {
        order.push_back(found->second);
      }
    }
    if (!isOld_) {
      checkOrder(order);
    }
    return order;
  }

  void checkOrder(const std::vector<int>& order) {
    std::vector<bool> done(problem_.graph().nodes.size(), false);
    for (int node : order) {
      checkInputs(node, done);
      done[static_cast<size_t>(node)] = true;
    }
  }

  void checkInputs(int node, const std::vector<bool>& done) {
    const CostGraph& graph = problem_.graph();
    for (int t : graph.node(node).inputs) {
      int producer = graph.tensor(t).producer;
      if (producer >= 0 && !done[static_cast<size_t>(producer)]) {
        problems_.push_back(absl::StrCat(
            fileName_, ": '", graph.node(node).name, "' comes before '", graph.node(producer).name,
            "', whose output it reads; the order of \"nodes\" is that in which devices run them"));
      }
    }
  }

  /// A rule that is the node's very name wins over globs, an earlier glob over a later one.
  int deviceOf(const std::string& node) {
    Rule* match = nullptr;
    for (size_t glob : globs_) {
      if (runtime::matchesGlob(rules_[glob].nodes, node)) {
        match = match == nullptr ? &rules_[glob] : match;
        rules_[glob].used = true;
      }
    }
    if (auto named = named_.find(node); named != named_.end()) {
      match = &rules_[named->second];
      match->used = true;
    }
    if (match == nullptr && isOld_) {
      return -1;
    }
    if (match == nullptr) {
      problems_.push_back(
          absl::StrCat(fileName_, ": no entry for node '", node,
                       isList_ ? "'; add {\"node\": \"*\", \"device\": DEVICE} for the rest"
                               : "'; add \"*\": DEVICE as the last one for the rest"));
      return 0;
    }
    return match->device;
  }

  void reportUnused() {
    std::vector<std::string> names;
    for (const CostNode& node : problem_.graph().nodes) {
      names.push_back(node.name);
    }
    for (const Rule& rule : rules_) {
      if (!rule.used && rule.nodes != "*") {
        problems_.push_back(absl::StrCat(fileName_, ": '", rule.nodes, "' matches no node",
                                         runtime::didYouMean(rule.nodes, names)));
      }
    }
  }

  const PlacementProblem& problem_;
  std::string fileName_;
  bool isOld_;
  absl::flat_hash_map<absl::string_view, int> ids_;  // of the graph's nodes, by name
  bool isList_ = false;
  std::vector<Rule> rules_;
  std::vector<size_t> globs_;                       // of the rules
  absl::flat_hash_map<std::string, size_t> named_;  // all rules, by their text
  std::vector<std::string> problems_;
};

}  // namespace

absl::StatusOr<FilePlacement> readPlacementFile(const PlacementProblem& problem,
                                                absl::string_view json,
                                                absl::string_view fileName) {
  return FileReader(problem, fileName, /*isOld=*/false).read(json);
}

absl::StatusOr<FilePlacement> readOldPlacementFile(const PlacementProblem& problem,
                                                   absl::string_view json,
                                                   absl::string_view fileName) {
  return FileReader(problem, fileName, /*isOld=*/true).read(json);
}

}  // namespace graphrun::placement
