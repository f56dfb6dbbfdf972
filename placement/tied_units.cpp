#include "placement/tied_units.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace graphrun::placement {
namespace {

class Tier {
 public:
  Tier(const PlacementProblem& problem, int64_t horizonNs)
      : problem_(problem),
        graph_(problem.graph()),
        flat_(problem.simulator.flat()),
        horizon_(horizonNs),
        parent_(problem.constraints.units.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  std::optional<Constraints> run() {
    findFastestLink();
    findWays();
    for (int t = 0; t < graph_.tensorCount(); ++t) {
      tieUses(t);
    }
    return joined();
  }

 private:
  void findFastestLink() {
    const LinkTable& table = problem_.simulator.links();
    link_.latencyNs = std::numeric_limits<int64_t>::max() / 4;
    link_.bytesPerSecond = 1;
    for (int a = 0; a < problem_.deviceCount(); ++a) {
      for (int b = 0; b < problem_.deviceCount(); ++b) {
        if (a != b) {
          const LinkModel& model = table.link(table.id(a, b)).model;
          link_.latencyNs = std::min(link_.latencyNs, model.latencyNs);
          link_.bytesPerSecond = std::max(link_.bytesPerSecond, model.bytesPerSecond);
        }
      }
    }
  }

  /// The longest way to the end of each node, and from its start, on fastest devices.
  void findWays() {
    head_.assign(graph_.nodes.size(), 0);
    tail_.assign(graph_.nodes.size(), 0);
    std::vector<int64_t> fastest;
    fastest.reserve(graph_.nodes.size());
    for (int n = 0; n < graph_.nodeCount(); ++n) {
      fastest.push_back(fastestNs(problem_, n));
    }
    const std::vector<int>& order = graph_.topologicalOrder;
    for (int n : order) {
      for (int t : flat_.inputs(n)) {
        int producer = graph_.tensor(t).producer;
        head_[at(n)] = std::max(head_[at(n)], producer < 0 ? 0 : head_[at(producer)]);
      }
      head_[at(n)] += fastest[at(n)];
    }
    for (auto n = order.rbegin(); n != order.rend(); ++n) {
      for (int t : flat_.outputs(*n)) {
        for (const Use& use : flat_.uses(t)) {
          tail_[at(*n)] = std::max(tail_[at(*n)], tail_[at(use.node)]);
        }
      }
      tail_[at(*n)] += fastest[at(*n)];
    }
  }

  void tieUses(int t) {
    const CostTensor& tensor = graph_.tensor(t);
    if (tensor.producer < 0) {
      return;
    }
    int64_t there = head_[at(tensor.producer)] + link_.transferNs(tensor.bytes);
    for (const Use& use : flat_.uses(t)) {
      if (there + tail_[at(use.node)] > horizon_) {
        parent_[at(root(unitOf(use.node)))] = root(unitOf(tensor.producer));
      }
    }
  }

  std::optional<Constraints> joined() {
    const std::vector<Unit>& units = problem_.constraints.units;
    std::vector<int> newUnit(units.size(), -1);
    Constraints result;
    result.unitOf.resize(graph_.nodes.size());
    for (size_t u = 0; u < units.size(); ++u) {
      int& unit = newUnit[at(root(static_cast<int>(u)))];
      if (unit < 0) {
        unit = static_cast<int>(result.units.size());
        result.units.push_back({{}, units[u].allowed, false, 0});
      }
      join(units[u], result.units[at(unit)]);
      for (int n : units[u].nodes) {
        result.unitOf[at(n)] = unit;
      }
    }
    for (Unit& unit : result.units) {
      std::sort(unit.nodes.begin(), unit.nodes.end());
      if (!fits(unit)) {
        return std::nullopt;
      }
    }
    return result;
  }

  static void join(const Unit& part, Unit& whole) {
    std::vector<int> allowed;
    std::set_intersection(whole.allowed.begin(), whole.allowed.end(), part.allowed.begin(),
                          part.allowed.end(), std::back_inserter(allowed));
    whole.allowed = std::move(allowed);
    whole.nodes.insert(whole.nodes.end(), part.nodes.begin(), part.nodes.end());
    whole.pinned = whole.pinned || part.pinned;
    whole.weightBytes += part.weightBytes;
  }

  /// Whether a device can run it all before the horizon.
  bool fits(const Unit& unit) const {
    return std::any_of(unit.allowed.begin(), unit.allowed.end(), [&](int device) {
      int64_t ns = 0;
      for (int n : unit.nodes) {
        ns += flat_.timeNs(n, device);
      }
      return ns <= horizon_;
    });
  }

  static size_t at(int id) { return static_cast<size_t>(id); }
  int unitOf(int node) const { return problem_.constraints.unitOf[at(node)]; }
  int root(int unit) {
    while (parent_[at(unit)] != unit) {
      unit = parent_[at(unit)] = parent_[at(parent_[at(unit)])];
    }
    return unit;
  }

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const FlatGraph& flat_;
  int64_t horizon_;
  LinkModel link_;
  std::vector<int64_t> head_;
  std::vector<int64_t> tail_;
  std::vector<int> parent_;  // by unit
};

}  // namespace

std::optional<Constraints> tiedUnits(const PlacementProblem& problem, int64_t horizonNs) {
  return Tier(problem, horizonNs).run();
}

}  // namespace graphrun::placement
