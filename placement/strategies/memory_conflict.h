// A memory conflict is a set of memory limits that, together with other rules, leave no placement.
#ifndef GRAPHRUN_PLACEMENT_STRATEGIES_MEMORY_CONFLICT_H_
#define GRAPHRUN_PLACEMENT_STRATEGIES_MEMORY_CONFLICT_H_

#include <string>

#include "placement/problem/problem.h"

namespace graphrun::placement {

/// For a problem that cannot be placed for its memory limits: which limits, pins, forbids and
/// colocation leave no placement that `greedy` or `single` find, and which single changes are
/// enough, some lines; "" if memory is not to blame. Some ten placements for each rule in it.
std::string describeMemoryConflict(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_STRATEGIES_MEMORY_CONFLICT_H_
