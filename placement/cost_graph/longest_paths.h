// These functions find longest paths through a graph without cycles.
#ifndef GRAPHRUN_PLACEMENT_COST_GRAPH_LONGEST_PATHS_H_
#define GRAPHRUN_PLACEMENT_COST_GRAPH_LONGEST_PATHS_H_

#include <algorithm>
#include <ranges>
#include <vector>

#include "placement/cost_graph/cost_graph.h"

namespace graphrun::placement {

/// By node, the longest path that leads to it, without and with the node itself.
template <typename Number>
struct LongestPaths {
  std::vector<Number> before;
  std::vector<Number> whole;
};

/// Visits the nodes of `order`, each after all that it is reached from. `cost(node)` is its length;
/// `forEdges(node, visit)` calls `visit(other, length)` for each edge by which it is reached.
template <typename Number, typename Order, typename Cost, typename ForEdges>
LongestPaths<Number> longestPaths(const Order& order, const Cost& cost, const ForEdges& forEdges) {
  const auto count = static_cast<size_t>(std::ranges::size(order));
  LongestPaths<Number> paths{std::vector<Number>(count, 0), std::vector<Number>(count, 0)};
  for (int node : order) {
    Number& before = paths.before[static_cast<size_t>(node)];
    forEdges(node, [&](int other, Number length) {
      before = std::max(before, paths.whole[static_cast<size_t>(other)] + length);
    });
    paths.whole[static_cast<size_t>(node)] = before + cost(node);
  }
  return paths;
}

/// From the begin of the step. `edge(tensor, from, to)` is the length from the end of one node to
/// the start of another that reads its tensor.
template <typename Number, typename Cost, typename Edge>
LongestPaths<Number> pathsFromBegin(const CostGraph& graph, const Cost& cost, const Edge& edge) {
  return longestPaths<Number>(graph.topologicalOrder, cost, [&](int node, const auto& visit) {
    for (int t : graph.node(node).inputs) {
      if (int producer = graph.tensor(t).producer; producer >= 0) {
        visit(producer, edge(t, producer, node));
      }
    }
  });
}

/// To the end of the step, likewise.
template <typename Number, typename Cost, typename Edge>
LongestPaths<Number> pathsToEnd(const CostGraph& graph, const Cost& cost, const Edge& edge) {
  auto backwards = graph.topologicalOrder | std::views::reverse;
  return longestPaths<Number>(backwards, cost, [&](int node, const auto& visit) {
    for (int t : graph.node(node).outputs) {
      for (int consumer : graph.tensor(t).consumers) {
        visit(consumer, edge(t, node, consumer));
      }
    }
  });
}

/// The length of edges that take no time.
inline constexpr auto kNoEdge = [](int, int, int) -> int64_t { return 0; };

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_GRAPH_LONGEST_PATHS_H_
