// Orders of nodes that strategies start from. All are topological.
#ifndef GRAPHRUN_PLACEMENT_ORDERS_H_
#define GRAPHRUN_PLACEMENT_ORDERS_H_

#include <vector>

#include "placement/problem.h"

namespace graphrun::placement {

/// Of the nodes that could run next, always the one that leaves the fewest bytes live, ties by id.
/// A greedy heuristic for the least memory on one device. O(E log V) for bounded fan-out.
std::vector<int> leanOrder(const CostGraph& graph);

/// By descending upward rank: the mean time of the node plus the longest mean way to the end,
/// transfers included. Source: Topcuoglu, Hariri, Wu, "HEFT", IEEE TPDS 13(3), 2002, section 4.
std::vector<int> upwardRankOrder(const PlacementProblem& problem);

/// As upwardRankOrder with the true times and transfers of a given device for each node.
std::vector<int> upwardRankOrder(const PlacementProblem& problem, const std::vector<int>& device);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_ORDERS_H_
