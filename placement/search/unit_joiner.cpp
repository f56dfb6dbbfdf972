#include "placement/search/unit_joiner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "placement/cost_graph/shared_weights.h"

namespace graphrun::placement {

UnitJoiner::UnitJoiner(const PlacementProblem& problem)
    : graph_(problem.graph()),
      constraints_(problem.constraints),
      sets_(constraints_.units.size()),
      allowed_(constraints_.units.size()) {}

const std::vector<int>& UnitJoiner::allowed(int root) const {
  auto r = static_cast<size_t>(root);
  return allowed_[r].empty() ? constraints_.units[r].allowed : allowed_[r];
}

bool UnitJoiner::join(int a, int b) {
  a = root(a);
  b = root(b);
  std::vector<int> both;
  std::set_intersection(allowed(a).begin(), allowed(a).end(), allowed(b).begin(), allowed(b).end(),
                        std::back_inserter(both));
  if (both.empty()) {
    return false;
  }
  sets_.join(a, b);
  allowed_[static_cast<size_t>(b)] = std::move(both);
  return true;
}

Constraints UnitJoiner::joined() {
  std::vector<int> newUnit(constraints_.units.size(), -1);
  Constraints result;
  result.unitOf.resize(constraints_.unitOf.size());
  for (size_t u = 0; u < constraints_.units.size(); ++u) {
    int top = root(static_cast<int>(u));
    int& unit = newUnit[static_cast<size_t>(top)];
    if (unit < 0) {
      unit = static_cast<int>(result.units.size());
      result.units.push_back({{}, allowed(top), false, 0});
    }
    const Unit& part = constraints_.units[u];
    Unit& whole = result.units[static_cast<size_t>(unit)];
    whole.nodes.insert(whole.nodes.end(), part.nodes.begin(), part.nodes.end());
    whole.pinned = whole.pinned || part.pinned;
    for (int n : part.nodes) {
      result.unitOf[static_cast<size_t>(n)] = unit;
    }
  }
  for (Unit& unit : result.units) {
    std::sort(unit.nodes.begin(), unit.nodes.end());
    unit.weightBytes = weightBytesOf(graph_, unit.nodes);
  }
  return result;
}

}  // namespace graphrun::placement
