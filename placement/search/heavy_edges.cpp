#include "placement/search/heavy_edges.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "placement/bounds/lower_bounds.h"
#include "placement/search/unit_joiner.h"

namespace graphrun::placement {

Constraints joinHeavyEdges(const PlacementProblem& problem, int64_t mostNs) {
  const std::vector<int>& unitOf = problem.constraints.unitOf;
  auto unit = [&](int node) { return unitOf[static_cast<size_t>(node)]; };
  std::vector<int64_t> work(problem.constraints.units.size(), 0);
  for (int n = 0; n < problem.graph().nodeCount(); ++n) {
    work[static_cast<size_t>(unit(n))] += fastestNs(problem, n);
  }
  std::vector<std::tuple<int64_t, int, int>> edges;  // bytes, units
  for (const CostTensor& tensor : problem.graph().tensors) {
    for (int consumer : tensor.consumers) {
      if (tensor.producer >= 0 && unit(tensor.producer) != unit(consumer)) {
        edges.emplace_back(-tensor.bytes, unit(tensor.producer), unit(consumer));
      }
    }
  }
  std::sort(edges.begin(), edges.end());
  UnitJoiner joiner(problem);
  for (auto [bytes, from, to] : edges) {
    auto a = static_cast<size_t>(joiner.root(from));
    auto b = static_cast<size_t>(joiner.root(to));
    if (a != b && work[a] + work[b] <= mostNs && joiner.join(from, to)) {
      work[static_cast<size_t>(joiner.root(to))] = work[a] + work[b];
    }
  }
  return joiner.joined();
}

}  // namespace graphrun::placement
