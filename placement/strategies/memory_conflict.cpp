// Memory limits together with rules on nodes.
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/problem/placement_result.h"
#include "placement/rules/conflict.h"
#include "placement/strategies/memory_conflict.h"
#include "runtime/base/units.h"

namespace graphrun::placement {
namespace {

using Kind = PlacementRule::Kind;

/// Rules of a conflict that are told, and limits whose least change is looked for.
constexpr size_t kMostLines = 8;
constexpr size_t kMostLimits = 3;

/// The problem with fewer rules, tried with two heuristics.
class Relaxed {
 public:
  Relaxed(const PlacementProblem& problem, const std::vector<PlacementRule>& all,
          const std::vector<int>& kept)
      : graph_(problem.graph()), limits_(problem.limits.size(), kUnlimited) {
    std::vector<PlacementRule> dropped = all;
    for (int rule : kept) {
      dropped[static_cast<size_t>(rule)].nodes.clear();
      dropped[static_cast<size_t>(rule)].groups.clear();
      if (all[static_cast<size_t>(rule)].kind == Kind::kMemory) {
        auto device = static_cast<size_t>(all[static_cast<size_t>(rule)].devices[0]);
        limits_[device] = problem.limits[device];
      }
    }
    for (const PlacementRule& rule : dropped) {
      drop(rule);
    }
  }

  void setLimit(int device, int64_t bytes) { limits_[static_cast<size_t>(device)] = bytes; }

  /// The peak by device of a placement that was found, nothing if none was.
  std::optional<std::vector<int64_t>> peaks(const PlacementProblem& like) const {
    auto problem = PlacementProblem::create(graph_, like.cluster(), like.simulator.options());
    if (!problem.ok()) {
      return std::nullopt;
    }
    problem->limits = limits_;
    problem->objective = like.objective;
    problem->contiguous = like.contiguous;
    absl::StatusOr<PlacementResult> result = placeGreedy(*problem);
    if (!result.ok()) {
      result = placeSingle(*problem);
    }
    if (!result.ok()) {
      return std::nullopt;
    }
    std::vector<int64_t> peaks;
    peaks.reserve(limits_.size());
    for (const DeviceUse& use : result->simulation.devices) {
      peaks.push_back(use.peakBytes);
    }
    return peaks;
  }

 private:
  void drop(const PlacementRule& rule) {
    if (rule.kind == Kind::kColocation && !rule.groups.empty()) {
      graph_.colocation.clear();
    } else if (rule.kind == Kind::kPin && !rule.nodes.empty()) {
      std::erase_if(graph_.pins, [&](const NodePin& pin) {
        return pin.source == rule.source && pin.device == rule.devices[0];
      });
    } else if (rule.kind == Kind::kForbid && !rule.nodes.empty()) {
      graph_.dropForbids(rule.source);
    }
  }

  CostGraph graph_;
  std::vector<int64_t> limits_;
};

class MemoryRules {
 public:
  explicit MemoryRules(const PlacementProblem& problem) : problem_(problem) {
    for (int d = 0; d < problem.deviceCount(); ++d) {
      if (problem.limits[static_cast<size_t>(d)] != kUnlimited) {
        PlacementRule rule;
        rule.kind = Kind::kMemory;
        rule.source = problem.cluster().devices[static_cast<size_t>(d)].memorySource;
        rule.devices = {d};
        rules_.push_back(std::move(rule));
      }
    }
    for (PlacementRule& rule : rulesOf(problem.graph())) {
      rules_.push_back(std::move(rule));
    }
  }

  std::string describe() const {
    std::vector<int> conflict = minimalConflict(
        static_cast<int>(rules_.size()),
        [this](const std::vector<int>& rules) { return peaksWith(rules).has_value(); });
    if (conflict.empty()) {
      return "";
    }
    std::vector<std::string> lines = {
        "no placement was found that keeps all of these rules, and each of them is needed for "
        "that:"};
    for (size_t i = 0; i < conflict.size() && i < kMostLines; ++i) {
      lines.push_back(absl::StrCat("  - ", describeRule(conflict[i])));
    }
    if (conflict.size() > kMostLines) {
      lines.push_back(absl::StrCat("  - and ", conflict.size() - kMostLines, " more"));
    }
    std::vector<std::string> enough = changesOf(conflict);
    lines.emplace_back(enough.empty() ? "no single change of these is enough"
                                      : "each of these changes is enough:");
    lines.insert(lines.end(), enough.begin(), enough.end());
    return absl::StrJoin(lines, "\n");
  }

 private:
  const PlacementRule& at(int rule) const { return rules_[static_cast<size_t>(rule)]; }
  std::string describeRule(int rule) const {
    return at(rule).kind == Kind::kMemory
               ? describeLimit(at(rule))
               : placement::describeRule(problem_.graph(), problem_.cluster(), at(rule));
  }
  const std::string& nameOf(const PlacementRule& rule) const {
    return problem_.cluster().devices[static_cast<size_t>(rule.devices[0])].name;
  }
  int64_t limitOf(const PlacementRule& rule) const {
    return problem_.limits[static_cast<size_t>(rule.devices[0])];
  }
  std::string describeLimit(const PlacementRule& rule) const {
    return absl::StrCat(nameOf(rule), " has at most ", runtime::formatBytes(limitOf(rule)),
                        rule.source.empty() ? "" : absl::StrCat(" (", rule.source, ")"));
  }

  std::optional<std::vector<int64_t>> peaksWith(const std::vector<int>& rules) const {
    return Relaxed(problem_, rules_, rules).peaks(problem_);
  }

  std::vector<int> allBut(int left) const {
    std::vector<int> rules;
    for (int rule = 0; rule < static_cast<int>(rules_.size()); ++rule) {
      if (rule != left) {
        rules.push_back(rule);
      }
    }
    return rules;
  }

  /// Single changes that are enough: of limits those that take the least, then other rules.
  std::vector<std::string> changesOf(const std::vector<int>& conflict) const {
    std::vector<std::tuple<int64_t, int, int64_t>>
        limits;  // bytes more, rule, bytes that are enough
    std::vector<std::string> changes;
    for (int rule : conflict) {
      std::optional<std::vector<int64_t>> peaks = peaksWith(allBut(rule));
      if (peaks.has_value() && at(rule).kind == Kind::kMemory) {
        int64_t peak = (*peaks)[static_cast<size_t>(at(rule).devices[0])];
        limits.emplace_back(peak - limitOf(at(rule)), rule, peak);
      } else if (peaks.has_value()) {
        changes.push_back(absl::StrCat("  - no longer: ", describeRule(rule)));
      }
    }
    std::sort(limits.begin(), limits.end());
    limits.resize(std::min(limits.size(), kMostLimits));
    std::vector<std::string> more;
    more.reserve(limits.size());
    for (auto [bytes, rule, enough] : limits) {
      int64_t least = problem_.withMargin(leastLimit(rule, enough));
      more.push_back(absl::StrCat("  - give ", nameOf(at(rule)), " ",
                                  runtime::formatNeededBytes(least), ", ",
                                  runtime::formatNeededBytes(least - limitOf(at(rule))), " more"));
    }
    changes.insert(changes.begin(), more.begin(), more.end());
    return changes;
  }

  /// Within a hundredth the least limit, up to one that is enough, with which a placement is found.
  int64_t leastLimit(int rule, int64_t enough) const {
    Relaxed relaxed(problem_, rules_, allBut(rule));
    int64_t low = limitOf(at(rule));
    while (enough - low > enough / 100 + 1) {
      int64_t middle = low + (enough - low) / 2;
      relaxed.setLimit(at(rule).devices[0], middle);
      (relaxed.peaks(problem_).has_value() ? enough : low) = middle;
    }
    return enough;
  }

  const PlacementProblem& problem_;
  std::vector<PlacementRule> rules_;
};

}  // namespace

std::string describeMemoryConflict(const PlacementProblem& problem) {
  return MemoryRules(problem).describe();
}

}  // namespace graphrun::placement
