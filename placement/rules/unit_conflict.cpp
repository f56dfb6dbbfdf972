// Rules on nodes that share a device, without memory.
#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/rules/conflict.h"

namespace graphrun::placement {
namespace {

using Kind = PlacementRule::Kind;

class UnitRules {
 public:
  UnitRules(const CostGraph& graph, const Cluster& cluster, const std::vector<int>& unit)
      : graph_(graph), cluster_(cluster), unit_(unit) {
    for (size_t i = 0; i < unit.size(); ++i) {
      position_[unit[i]] = static_cast<int>(i);
    }
    for (PlacementRule& rule : rulesOf(graph)) {
      if (rule.kind == Kind::kColocation) {
        addGroups(rule);
      } else {
        std::erase_if(rule.nodes, [&](int node) { return !position_.contains(node); });
        if (!rule.nodes.empty()) {
          rules_.push_back(std::move(rule));
        }
      }
    }
    for (int node : unit) {
      addSupport(node);
    }
  }

  std::string describe() const {
    CanHold canHold = [this](const std::vector<int>& rules) { return hold(rules); };
    std::vector<int> conflict = minimalConflict(count(), canHold);
    auto asked = std::count_if(conflict.begin(), conflict.end(),
                               [&](int rule) { return at(rule).kind != Kind::kSupport; });
    if (asked < 2) {
      return "";
    }
    std::vector<std::string> lines = {
        "these rules contradict each other, and each of them is needed for that:"};
    for (int rule : conflict) {
      lines.push_back(absl::StrCat("  - ", describeRule(graph_, cluster_, at(rule))));
    }
    std::vector<std::string> enough;
    for (int rule : conflict) {
      if (at(rule).kind != Kind::kSupport && holdsWithout(rule)) {
        enough.push_back(absl::StrCat("  - no longer: ", describeRule(graph_, cluster_, at(rule))));
      }
    }
    absl::StrAppend(&lines.back(), "\n",
                    enough.empty() ? relaxation() : "each of these changes is enough:");
    lines.insert(lines.end(), enough.begin(), enough.end());
    return absl::StrJoin(lines, "\n");
  }

 private:
  int count() const { return static_cast<int>(rules_.size()); }
  const PlacementRule& at(int rule) const { return rules_[static_cast<size_t>(rule)]; }

  /// A rule for each group, so that those that are not to blame are left out.
  void addGroups(const PlacementRule& all) {
    for (int group : all.groups) {
      if (position_.contains(graph_.colocation[static_cast<size_t>(group)].front())) {
        PlacementRule rule = all;
        rule.groups = {group};
        rules_.push_back(std::move(rule));
      }
    }
  }

  void addSupport(int node) {
    std::vector<bool> supported(cluster_.devices.size());
    for (size_t d = 0; d < supported.size(); ++d) {
      supported[d] = graph_.supportsWithoutForbids(node, static_cast<int>(d));
    }
    if (std::find(supported.begin(), supported.end(), false) != supported.end()) {
      PlacementRule rule;
      rule.kind = Kind::kSupport;
      rule.nodes = {node};
      rules_.push_back(std::move(rule));
    }
    supported_.push_back(std::move(supported));
  }

  bool holdsWithout(int left) const {
    std::vector<int> others;
    for (int rule = 0; rule < count(); ++rule) {
      if (rule != left) {
        others.push_back(rule);
      }
    }
    return hold(others);
  }

  /// When no single change is enough: several that are. Support comes first, as it stays.
  std::string relaxation() const {
    std::vector<int> order(rules_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_partition(order.begin(), order.end(),
                          [&](int rule) { return at(rule).kind == Kind::kSupport; });
    std::vector<int> dropped = minimalRelaxation(count(), [&](const std::vector<int>& indices) {
      std::vector<int> rules;
      rules.reserve(indices.size());
      for (int index : indices) {
        rules.push_back(order[static_cast<size_t>(index)]);
      }
      return hold(rules);
    });
    std::vector<std::string> lines = {"these changes together are enough:"};
    for (int index : dropped) {
      const PlacementRule& rule = at(order[static_cast<size_t>(index)]);
      if (rule.kind == Kind::kSupport) {
        return absl::StrCat("no change of rules is enough: add a device that can run '",
                            graph_.node(rule.nodes[0]).name, "'");
      }
      lines.push_back(absl::StrCat("  - no longer: ", describeRule(graph_, cluster_, rule)));
    }
    return absl::StrJoin(lines, "\n");
  }

  /// Returns whether each part of the unit that the colocation among `rules` joins has a device.
  bool hold(const std::vector<int>& rules) const {
    size_t devices = cluster_.devices.size();
    std::vector<int> part = partsOf(rules);
    std::vector<std::vector<bool>> allowed(unit_.size(), std::vector<bool>(devices, true));
    for (int rule : rules) {
      for (int node : at(rule).nodes) {
        std::vector<bool>& ofPart =
            allowed[static_cast<size_t>(part[static_cast<size_t>(position_.at(node))])];
        for (size_t d = 0; d < devices; ++d) {
          ofPart[d] = ofPart[d] && allows(at(rule), node, static_cast<int>(d));
        }
      }
    }
    return std::all_of(allowed.begin(), allowed.end(), [](const std::vector<bool>& ofPart) {
      return std::find(ofPart.begin(), ofPart.end(), true) != ofPart.end();
    });
  }

  bool allows(const PlacementRule& rule, int node, int device) const {
    switch (rule.kind) {
      case Kind::kPin:
        return rule.devices[0] == device;
      case Kind::kForbid:
        return !std::binary_search(rule.forbidden.begin(), rule.forbidden.end(),
                                   std::pair(node, device));
      case Kind::kSupport:
        return supported_[static_cast<size_t>(position_.at(node))][static_cast<size_t>(device)];
      default:
        return true;
    }
  }

  /// By position in the unit: the first position that is joined with it.
  std::vector<int> partsOf(const std::vector<int>& rules) const {
    std::vector<int> part(unit_.size());
    std::iota(part.begin(), part.end(), 0);
    for (int rule : rules) {
      for (int group : at(rule).groups) {
        join(graph_.colocation[static_cast<size_t>(group)], part);
      }
    }
    return part;
  }

  void join(const std::vector<int>& group, std::vector<int>& part) const {
    int to = part[static_cast<size_t>(position_.at(group[0]))];
    for (int node : group) {
      int from = part[static_cast<size_t>(position_.at(node))];
      std::replace(part.begin(), part.end(), from, to);
    }
  }

  const CostGraph& graph_;
  const Cluster& cluster_;
  const std::vector<int>& unit_;
  absl::flat_hash_map<int, int> position_;  // by node, in the unit
  std::vector<PlacementRule> rules_;
  std::vector<std::vector<bool>> supported_;  // by position and device
};

}  // namespace

std::string describeUnitConflict(const CostGraph& graph, const Cluster& cluster,
                                 const std::vector<int>& unit) {
  return UnitRules(graph, cluster, unit).describe();
}

}  // namespace graphrun::placement
