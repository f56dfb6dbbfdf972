// Contiguity means that the nodes of each device are one piece.
#ifndef GRAPHRUN_PLACEMENT_PROBLEM_CONTIGUITY_H_
#define GRAPHRUN_PLACEMENT_PROBLEM_CONTIGUITY_H_

#include <string>
#include <vector>

#include "placement/problem/problem.h"

namespace graphrun::placement {

/// For each device whose forward nodes a path leaves and comes back to, over forward nodes alone, a
/// sentence with one such path's ends. Source of the definition: Tarnawski et al., "Efficient
/// Algorithms for Device Placement of DNN Graph Operators", NeurIPS 2020, section 3. O(D (V + E)).
std::vector<std::string> brokenContiguity(const PlacementProblem& problem,
                                          const Placement& placement);

/// OK, or why this placement is no answer to the problem: ResourceExhausted for the memory limits,
/// FailedPrecondition for contiguity where the problem asks for it.
absl::Status checkFeasible(const PlacementProblem& problem, const Placement& placement,
                           const Simulation& simulation);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_PROBLEM_CONTIGUITY_H_
