#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/names.h"
#include "placement/orders.h"
#include "placement/strategy.h"
#include "placement/validate.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

struct Rule {
  std::string nodes;
  int device;
  bool used;
};

class FileReader {
 public:
  FileReader(const PlacementProblem& problem, absl::string_view fileName)
      : problem_(problem), fileName_(fileName) {}

  absl::StatusOr<std::vector<int>> read(absl::string_view json) {
    auto root = nlohmann::ordered_json::parse(json, nullptr, /*allow_exceptions=*/false);
    if (!root.is_object()) {
      return absl::InvalidArgumentError(absl::StrCat(
          fileName_, ": expected a JSON object from node names or globs to device names"));
    }
    for (const auto& [nodes, device] : root.items()) {
      readRule(nodes, device.is_string() ? device.get<std::string>() : device.dump());
    }
    std::vector<int> devices;
    for (const CostNode& node : problem_.graph().nodes) {
      devices.push_back(deviceOf(node.name));
    }
    reportUnused();
    if (!problems_.empty()) {
      return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
    }
    return devices;
  }

 private:
  void readRule(const std::string& nodes, const std::string& device) {
    std::optional<int> index = problem_.cluster().findDevice(device);
    if (!index.has_value()) {
      problems_.push_back(absl::StrCat(fileName_, ": '", nodes, "': no device '", device, "'",
                                       didYouMean(device, problem_.cluster().deviceNames())));
    }
    rules_.push_back({nodes, index.value_or(0), false});
  }

  /// A rule that is the node's very name wins over globs, an earlier glob over a later one.
  int deviceOf(const std::string& node) {
    Rule* match = nullptr;
    for (Rule& rule : rules_) {
      bool exact = rule.nodes == node;
      if (exact || (match == nullptr && isGlob(rule.nodes) && matchesGlob(rule.nodes, node))) {
        match = &rule;
      }
      rule.used = rule.used || exact || matchesGlob(rule.nodes, node);
      if (exact) {
        break;
      }
    }
    if (match == nullptr) {
      problems_.push_back(absl::StrCat(fileName_, ": no entry for node '", node,
                                       "'; add \"*\": DEVICE as the last one for the rest"));
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
                                         didYouMean(rule.nodes, names)));
      }
    }
  }

  const PlacementProblem& problem_;
  std::string fileName_;
  std::vector<Rule> rules_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::StatusOr<PlacementResult> placeFromJson(const PlacementProblem& problem,
                                              absl::string_view json, absl::string_view fileName) {
  Placement placement;
  GR_ASSIGN_OR_RETURN(placement.device, FileReader(problem, fileName).read(json));
  placement.strategy = "file";
  // A device that cannot run a node has no time to rank by: validation reports it in program order.
  bool supported = true;
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    supported =
        supported && problem.graph().node(n).supports(placement.device[static_cast<size_t>(n)]);
  }
  placement.setOrder(supported ? upwardRankOrder(problem, placement.device)
                               : problem.graph().topologicalOrder);
  absl::Status valid = validatePlacement(problem, placement);
  if (!valid.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(fileName, ": ", valid.message()));
  }
  GR_ASSIGN_OR_RETURN(Simulation simulation, problem.simulator.run(placement));
  return PlacementResult{std::move(placement), std::move(simulation)};
}

}  // namespace graphrun::placement
