// Forced colocation finds the nodes that have to share a device if the step is to be short.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_FORCED_COLOCATION_H_
#define GRAPHRUN_PLACEMENT_SEARCH_FORCED_COLOCATION_H_

#include <optional>

#include "placement/problem/problem.h"

namespace graphrun::placement {

/// The problem's units, joined where a transfer between two of them would make the step longer than
/// `horizonNs`, whatever the rest does: with the shortest paths to it and from it, free transfers
/// and fastest devices. Nothing if that shows that no step is so short. For latency.
std::optional<Constraints> forcedColocation(const PlacementProblem& problem, int64_t horizonNs);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_FORCED_COLOCATION_H_
