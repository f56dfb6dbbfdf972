#include "placement/search/forced_colocation.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "placement/bounds/lower_bounds.h"
#include "placement/cost_graph/longest_paths.h"
#include "placement/search/unit_joiner.h"

namespace graphrun::placement {
namespace {

class Tier {
 public:
  Tier(const PlacementProblem& problem, int64_t horizonNs)
      : problem_(problem),
        graph_(problem.graph()),
        flat_(problem.simulator.flat()),
        horizon_(horizonNs),
        joiner_(problem) {}

  std::optional<Constraints> run() {
    findFastestLink();
    findPaths();
    bool possible = true;
    for (int t = 0; t < graph_.tensorCount() && possible; ++t) {
      possible = tieUses(t);
    }
    Constraints joined = joiner_.joined();
    possible = possible && std::all_of(joined.units.begin(), joined.units.end(),
                                       [&](const Unit& unit) { return fits(unit); });
    return possible ? std::optional(std::move(joined)) : std::nullopt;
  }

 private:
  void findFastestLink() {
    const LinkTable& table = problem_.simulator.links();
    link_.latencyNs = std::numeric_limits<int64_t>::max() / 4;
    link_.bytesPerSecond = 1;
    for (int a = 0; a < problem_.deviceCount(); ++a) {
      for (int b = 0; b < problem_.deviceCount(); ++b) {
        if (a != b) {
          const LinkLine line = table.link(table.id(a, b)).model.fastest();
          link_.latencyNs = std::min(link_.latencyNs, line.latencyNs);
          link_.bytesPerSecond = std::max(link_.bytesPerSecond, line.bytesPerSecond);
        }
      }
    }
  }

  /// The longest path to the end of each node, and from its start, on fastest devices.
  void findPaths() {
    std::vector<int64_t> fastest;
    fastest.reserve(graph_.nodes.size());
    for (int n = 0; n < graph_.nodeCount(); ++n) {
      fastest.push_back(fastestNs(problem_, n));
    }
    auto cost = [&](int n) { return fastest[at(n)]; };
    head_ = pathsFromBegin<int64_t>(graph_, cost, kNoEdge).whole;
    tail_ = pathsToEnd<int64_t>(graph_, cost, kNoEdge).whole;
  }

  /// False if two that are tied have no device in common.
  bool tieUses(int t) {
    const CostTensor& tensor = graph_.tensor(t);
    if (tensor.producer < 0) {
      return true;
    }
    int64_t there = head_[at(tensor.producer)] + link_.transferNs(tensor.bytes);
    for (const Use& use : flat_.uses(t)) {
      bool isLate = graph_.node(use.node).collective < 0 && there + tail_[at(use.node)] > horizon_;
      if (isLate && !joiner_.join(unitOf(use.node), unitOf(tensor.producer))) {
        return false;
      }
    }
    return true;
  }

  /// Returns whether a device can run it all before the horizon.
  bool fits(const Unit& unit) const {
    return std::any_of(unit.allowed.begin(), unit.allowed.end(), [&](int device) {
      int64_t ns = 0;
      for (int n : unit.nodes) {
        ns += graph_.node(n).isOwn() ? flat_.timeNs(n, device) : 0;
      }
      return ns <= horizon_;
    });
  }

  static size_t at(int id) { return static_cast<size_t>(id); }
  int unitOf(int node) const { return problem_.constraints.unitOf[at(node)]; }

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const FlatGraph& flat_;
  int64_t horizon_;
  LinkModel link_;
  std::vector<int64_t> head_;
  std::vector<int64_t> tail_;
  UnitJoiner joiner_;
};

}  // namespace

std::optional<Constraints> forcedColocation(const PlacementProblem& problem, int64_t horizonNs) {
  return Tier(problem, horizonNs).run();
}

}  // namespace graphrun::placement
