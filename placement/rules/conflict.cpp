#include "placement/rules/conflict.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

std::vector<int> joined(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return both;
}

/// The part of `rules` in a minimal conflict of `given` and `rules`; `grew`: `given` was not asked
/// about since rules came to it.
std::vector<int> conflictIn(const std::vector<int>& given, bool grew, const std::vector<int>& rules,
                            const CanHold& canHold) {
  if (grew && !canHold(given)) {
    return {};
  }
  if (rules.size() == 1) {
    return rules;
  }
  auto middle = rules.begin() + static_cast<std::ptrdiff_t>(rules.size() / 2);
  std::vector<int> first(rules.begin(), middle);
  std::vector<int> second(middle, rules.end());
  std::vector<int> ofSecond = conflictIn(joined(given, first), true, second, canHold);
  std::vector<int> ofFirst = conflictIn(joined(given, ofSecond), !ofSecond.empty(), first, canHold);
  return joined(ofFirst, ofSecond);
}

std::string namesOf(const CostGraph& graph, const std::vector<int>& nodes) {
  constexpr size_t kShown = 3;
  std::vector<std::string> names;
  for (size_t i = 0; i < nodes.size() && i < kShown; ++i) {
    names.push_back(absl::StrCat("'", graph.node(nodes[i]).name, "'"));
  }
  size_t more = nodes.size() - names.size();
  return absl::StrCat(absl::StrJoin(names, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::string devicesOf(const Cluster& cluster, const std::vector<int>& devices) {
  return absl::StrJoin(devices, ", ", [&](std::string* out, int device) {
    absl::StrAppend(out, cluster.devices[static_cast<size_t>(device)].name);
  });
}

/// "'x' (gr.conv) runs on A only; B: why not".
std::string describeSupport(const CostGraph& graph, const Cluster& cluster, int node) {
  std::vector<int> can;
  std::vector<std::string> cannot;
  for (int d = 0; d < static_cast<int>(cluster.devices.size()); ++d) {
    if (graph.supportsWithoutForbids(node, d)) {
      can.push_back(d);
    } else {
      cannot.push_back(absl::StrCat(cluster.devices[static_cast<size_t>(d)].name, ": ",
                                    graph.node(node).whyUnsupported(d)));
    }
  }
  return absl::StrCat("'", graph.node(node).name, "' (", graph.node(node).op, ") runs on ",
                      can.empty() ? "no device" : devicesOf(cluster, can), "; ",
                      absl::StrJoin(cannot, "; "));
}

std::string describeColocation(const CostGraph& graph, const PlacementRule& rule) {
  std::vector<std::string> groups;
  constexpr size_t kShown = 2;
  for (size_t i = 0; i < rule.groups.size() && i < kShown; ++i) {
    groups.push_back(namesOf(graph, graph.colocation[static_cast<size_t>(rule.groups[i])]));
  }
  size_t more = rule.groups.size() - groups.size();
  return absl::StrCat(absl::StrJoin(groups, "; "), " must share a device",
                      more > 0 ? absl::StrCat(", and so must ", more, " more groups") : "");
}

}  // namespace

std::vector<int> minimalConflict(int count, const CanHold& canHold) {
  if (count == 0 || !canHold({})) {
    return {};
  }
  std::vector<int> rules(static_cast<size_t>(count));
  std::iota(rules.begin(), rules.end(), 0);
  std::vector<int> conflict = conflictIn({}, false, rules, canHold);
  std::sort(conflict.begin(), conflict.end());
  return conflict;
}

std::vector<int> minimalRelaxation(int count, const CanHold& canHold) {
  std::vector<int> kept;
  std::vector<int> dropped;
  if (!canHold({})) {
    return {};
  }
  for (int rule = 0; rule < count; ++rule) {
    kept.push_back(rule);
    if (!canHold(kept)) {
      kept.pop_back();
      dropped.push_back(rule);
    }
  }
  return dropped;
}

std::vector<PlacementRule> rulesOf(const CostGraph& graph) {
  using Kind = PlacementRule::Kind;
  std::map<std::pair<std::string, int>, PlacementRule> pins;
  for (const NodePin& pin : graph.pins) {
    PlacementRule& rule = pins[{pin.source, pin.device}];
    rule.source = pin.source;
    rule.devices = {pin.device};
    rule.nodes.push_back(pin.node);
  }
  std::map<std::string, PlacementRule> forbids;
  for (const NodeForbid& forbid : graph.forbids) {
    PlacementRule& rule = forbids[forbid.source];
    rule.kind = Kind::kForbid;
    rule.source = forbid.source;
    rule.nodes.push_back(forbid.node);
    rule.devices.push_back(forbid.device);
    rule.forbidden.emplace_back(forbid.node, forbid.device);
  }
  std::vector<PlacementRule> rules;
  auto add = [&](PlacementRule& rule) {
    for (std::vector<int>* ids : {&rule.nodes, &rule.devices}) {
      std::sort(ids->begin(), ids->end());
      ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
    }
    std::sort(rule.forbidden.begin(), rule.forbidden.end());
    rules.push_back(std::move(rule));
  };
  for (auto& [key, rule] : pins) {
    add(rule);
  }
  for (auto& [key, rule] : forbids) {
    add(rule);
  }
  PlacementRule colocation;
  colocation.kind = Kind::kColocation;
  for (size_t g = 0; g < graph.colocation.size(); ++g) {
    colocation.groups.push_back(static_cast<int>(g));
  }
  if (!colocation.groups.empty()) {
    rules.push_back(std::move(colocation));
  }
  return rules;
}

std::string describeRule(const CostGraph& graph, const Cluster& cluster,
                         const PlacementRule& rule) {
  using Kind = PlacementRule::Kind;
  std::string source = rule.source.empty() ? "" : absl::StrCat(" (", rule.source, ")");
  const char* are = rule.nodes.size() == 1 ? " is " : " are ";
  switch (rule.kind) {
    case Kind::kPin:
      return absl::StrCat(namesOf(graph, rule.nodes), are, "pinned to ",
                          devicesOf(cluster, rule.devices), source);
    case Kind::kForbid:
      return absl::StrCat(namesOf(graph, rule.nodes), are, "forbidden on ",
                          devicesOf(cluster, rule.devices), source);
    case Kind::kColocation:
      return describeColocation(graph, rule);
    case Kind::kMemory: {
      const Device& device = cluster.devices[static_cast<size_t>(rule.devices[0])];
      return absl::StrCat(device.name, " has at most ", runtime::formatBytes(device.memoryBytes),
                          source);
    }
    case Kind::kSupport:
      return describeSupport(graph, cluster, rule.nodes[0]);
  }
  return "";
}

}  // namespace graphrun::placement
