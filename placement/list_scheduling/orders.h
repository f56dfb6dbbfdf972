// Orders of nodes that strategies start from. All are topological.
#ifndef GRAPHRUN_PLACEMENT_LIST_SCHEDULING_ORDERS_H_
#define GRAPHRUN_PLACEMENT_LIST_SCHEDULING_ORDERS_H_

#include <vector>

#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Takes, of the nodes that could run next, always the one that leaves the fewest bytes live, ties
/// by id. A greedy heuristic for the least memory on one device. O(E log V) for bounded fan-out.
std::vector<int> leanOrder(const CostGraph& graph);

/// By descending upward rank (mean_costs.h). Source: Topcuoglu, Hariri, Wu, "HEFT", IEEE TPDS
/// 13(3), 2002, section 4.
std::vector<int> upwardRankOrder(const PlacementProblem& problem);

/// As upwardRankOrder with the true times and transfers of a given device for each node.
std::vector<int> upwardRankOrder(const PlacementProblem& problem, const std::vector<int>& device);

/// Takes, of the nodes that could run next, always the one of the highest priority, ties by id.
std::vector<int> priorityOrder(const CostGraph& graph, const std::vector<double>& priority);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_LIST_SCHEDULING_ORDERS_H_
