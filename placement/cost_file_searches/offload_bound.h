// A lower bound of the step where devices run all their nodes in one call.
#ifndef GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_OFFLOAD_BOUND_H_
#define GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_OFFLOAD_BOUND_H_

#include <cstdint>

#include "placement/problem/problem.h"

namespace graphrun::placement {

/// No placement has a shorter step: what the nodes of one path take at least when they are cut into
/// calls that fit, with the ports' time of what the path hands over. Paths that are long with and
/// without ports are looked at. O(V + E + L^2) for paths of L nodes.
int64_t offloadPathBound(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_OFFLOAD_BOUND_H_
