#include "placement/rules/constraints.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/cost_graph/disjoint_sets.h"
#include "placement/cost_graph/shared_weights.h"
#include "placement/rules/conflict.h"

namespace graphrun::placement {
namespace {

Constraints makeUnits(const CostGraph& graph) {
  DisjointSets sets(graph.nodes.size());
  for (const std::vector<int>& group : graph.colocation) {
    for (int node : group) {
      int a = sets.root(group[0]);
      int b = sets.root(node);
      sets.join(std::max(a, b), std::min(a, b));
    }
  }
  Constraints result;
  result.unitOf.resize(graph.nodes.size());
  for (int n = 0; n < graph.nodeCount(); ++n) {
    int root = sets.root(n);
    if (root == n) {
      result.unitOf[static_cast<size_t>(n)] = static_cast<int>(result.units.size());
      result.units.emplace_back();
    }
    int unit = result.unitOf[static_cast<size_t>(root)];
    result.unitOf[static_cast<size_t>(n)] = unit;
    result.units[static_cast<size_t>(unit)].nodes.push_back(n);
  }
  for (Unit& unit : result.units) {
    unit.weightBytes = weightBytesOf(graph, unit.nodes);
  }
  return result;
}

std::string describeUnit(const CostGraph& graph, const Unit& unit) {
  std::string first = absl::StrCat("node '", graph.node(unit.nodes[0]).name, "'");
  return unit.nodes.size() == 1
             ? first
             : absl::StrCat(first, " and ", unit.nodes.size() - 1, " colocated with it");
}

class Resolver {
 public:
  Resolver(const CostGraph& graph, const Cluster& cluster)
      : graph_(graph), cluster_(cluster), result_(makeUnits(graph)), pins_(result_.units.size()) {}

  absl::StatusOr<Constraints> run() {
    for (const NodePin& pin : graph_.pins) {
      pins_[static_cast<size_t>(result_.unitOf[static_cast<size_t>(pin.node)])].push_back(&pin);
    }
    for (size_t u = 0; u < result_.units.size(); ++u) {
      resolve(result_.units[u], pins_[u]);
    }
    if (!problems_.empty()) {
      return absl::FailedPreconditionError(absl::StrJoin(problems_, "\n"));
    }
    return std::move(result_);
  }

 private:
  const std::string& deviceName(int device) const {
    return cluster_.devices[static_cast<size_t>(device)].name;
  }
  std::string describePin(const NodePin& pin) const {
    return absl::StrCat("'", graph_.node(pin.node).name, "' to ", deviceName(pin.device), " (",
                        pin.source, ")");
  }
  /// The first node of the unit that `device` cannot run, or -1.
  int blockerOn(const Unit& unit, int device) const {
    auto it = std::find_if(unit.nodes.begin(), unit.nodes.end(),
                           [&](int n) { return !graph_.node(n).supports(device); });
    return it == unit.nodes.end() ? -1 : *it;
  }
  std::string whyNot(int node, int device) const {
    return absl::StrCat(deviceName(device), ": '", graph_.node(node).name, "' (",
                        graph_.node(node).op, "): ", graph_.node(node).whyUnsupported(device));
  }

  void resolve(Unit& unit, const std::vector<const NodePin*>& pins) {
    for (const NodePin* pin : pins) {
      if (pin->device != pins[0]->device) {
        problem(unit, absl::StrCat("conflicting pins of ", describeUnit(graph_, unit), ": ",
                                   describePin(*pins[0]), " and ", describePin(*pin),
                                   "; drop one of them"));
        return;
      }
    }
    unit.pinned = !pins.empty();
    pins.empty() ? resolveFree(unit) : resolvePinned(unit, *pins[0]);
  }

  /// Notes a problem of a unit, for the first ones also with the rules that are to blame.
  void problem(const Unit& unit, const std::string& text) {
    constexpr size_t kMostExplained = 10;
    std::string conflict =
        problems_.size() < kMostExplained ? describeUnitConflict(graph_, cluster_, unit.nodes) : "";
    problems_.push_back(absl::StrCat(text, conflict.empty() ? "" : "\n", conflict));
  }

  void resolvePinned(Unit& unit, const NodePin& pin) {
    int blocker = blockerOn(unit, pin.device);
    unit.allowed = {pin.device};
    if (blocker >= 0) {
      problem(unit, absl::StrCat("pin of ", describePin(pin),
                                 " cannot hold: ", whyNot(blocker, pin.device),
                                 pin.fromModel ? "; --pin 'NODE=DEVICE' overrules the model" : ""));
    }
  }

  void resolveFree(Unit& unit) {
    std::vector<std::string> reasons;
    for (int d = 0; d < static_cast<int>(cluster_.devices.size()); ++d) {
      int blocker = blockerOn(unit, d);
      if (blocker < 0) {
        unit.allowed.push_back(d);
      } else {
        reasons.push_back(whyNot(blocker, d));
      }
    }
    if (unit.allowed.empty()) {
      problem(unit, absl::StrCat("no device can run ", describeUnit(graph_, unit), ": ",
                                 absl::StrJoin(reasons, "; ")));
    }
  }

  const CostGraph& graph_;
  const Cluster& cluster_;
  Constraints result_;
  std::vector<std::vector<const NodePin*>> pins_;
  std::vector<std::string> problems_;
};

}  // namespace

bool Unit::allows(int device) const {
  return std::binary_search(allowed.begin(), allowed.end(), device);
}

absl::StatusOr<Constraints> resolveConstraints(const CostGraph& graph, const Cluster& cluster) {
  return Resolver(graph, cluster).run();
}

}  // namespace graphrun::placement
