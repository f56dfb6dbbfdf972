// Explanations of placements are written as text and JSON.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_EXPLANATION_H_
#define GRAPHRUN_PLACEMENT_PLANNER_EXPLANATION_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "placement/explain/explain.h"
#include "placement/problem/placement_result.h"

namespace graphrun::compiler {

struct ExplanationOptions {
  bool mainChoices = false;        ///< of the nodes that matter most
  std::vector<std::string> nodes;  ///< whose choices are wished for, by name or shell pattern
  /// The heuristics' results on the way to the placement; empty: they are run for the comparison.
  std::vector<placement::Candidate> candidates;
};

/// With the comparison of strategies, and the choices of the nodes wished for. InvalidArgument:
/// there is no such node.
absl::StatusOr<placement::Explanation> explainWith(const placement::PlacementProblem& problem,
                                                   const placement::PlacementResult& result,
                                                   const ExplanationOptions& options);

/// As JSON text, valid UTF-8 whatever the names are.
std::string explanationText(const placement::Explanation& explanation, bool details);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_EXPLANATION_H_
