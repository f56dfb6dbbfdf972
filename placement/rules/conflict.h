// A conflict is a set of rules of users, models and devices that leave no placement; its report
// says what to change.
#ifndef GRAPHRUN_PLACEMENT_RULES_CONFLICT_H_
#define GRAPHRUN_PLACEMENT_RULES_CONFLICT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "placement/cluster/cluster.h"
#include "placement/cost_graph/cost_graph.h"

namespace graphrun::placement {

/// Tells whether rules, by their numbers, can hold together.
using CanHold = std::function<bool(const std::vector<int>& rules)>;

/// Returns, of rules 0 to `count` - 1, which cannot all hold, some that cannot, none of which can
/// be left out; the first ones rather than the last. Empty if not even no rule is possible. Some k
/// log(count / k) questions for an answer of k. Source: Junker, "QuickXplain: preferred
/// explanations and relaxations for over-constrained problems", AAAI 2004.
std::vector<int> minimalConflict(int count, const CanHold& canHold);

/// Rules without which all others hold, none of which can be left in; the last ones rather than the
/// first. Empty if not even no rule is possible.
std::vector<int> minimalRelaxation(int count, const CanHold& canHold);

/// Something that is asked for under one name.
struct PlacementRule {
  enum class Kind : uint8_t { kPin, kForbid, kColocation, kMemory, kSupport };
  Kind kind = Kind::kPin;
  std::string source;                          // "cluster.yaml:12", "--pin"; "": not known
  std::vector<int> nodes;                      // kPin, kForbid, kSupport: whom it is for
  std::vector<int> devices;                    // kPin, kMemory: the one; kForbid: those
  std::vector<std::pair<int, int>> forbidden;  // kForbid: node and device, ascending
  std::vector<int> groups;                     // kColocation: of CostGraph::colocation
};

/// Pins by source and device, forbids by source, then colocation as one rule.
std::vector<PlacementRule> rulesOf(const CostGraph& graph);

/// "'a' and 2 more are pinned to n0/cpu:0 (cluster.yaml:12)".
std::string describeRule(const CostGraph& graph, const Cluster& cluster, const PlacementRule& rule);

/// Nodes that share a device whose pins, forbids and support cannot hold together: which of them,
/// and the smallest change, some lines. "" where only one rule and what devices support are to
/// blame.
std::string describeUnitConflict(const CostGraph& graph, const Cluster& cluster,
                                 const std::vector<int>& unit);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_RULES_CONFLICT_H_
