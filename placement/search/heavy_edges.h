// Coarse units join nodes that exchange much, so that they share a device.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_HEAVY_EDGES_H_
#define GRAPHRUN_PLACEMENT_SEARCH_HEAVY_EDGES_H_

#include "placement/problem/problem.h"

namespace graphrun::placement {

/// The problem's units, joined along edges, the one with the most bytes first, as long as a unit
/// takes no more than `mostNs` on the fastest devices. List schedules need no order among units, so
/// paths may leave one and come back.
Constraints joinHeavyEdges(const PlacementProblem& problem, int64_t mostNs);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_HEAVY_EDGES_H_
