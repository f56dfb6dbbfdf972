#include "placement/planner/explanation.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "placement/problem/placement_result.h"
#include "runtime/base/status.h"

namespace graphrun::compiler {
namespace {

/// Some half a second: all nodes of a graph of 5,000 on four devices.
constexpr int64_t kWork = 4'000'000;

}  // namespace

absl::StatusOr<placement::Explanation> explainWith(const placement::PlacementProblem& problem,
                                                   const placement::PlacementResult& result,
                                                   const ExplanationOptions& options) {
  placement::Explanation explanation = placement::explain(
      problem, result,
      options.candidates.empty() ? placement::runCandidates(problem) : options.candidates);
  if (options.mainChoices) {
    explanation.choices = placement::explainMainNodes(problem, result, kWork);
  }
  for (const std::string& name : options.nodes) {
    auto nodes = placement::explainNodes(problem, result, name);
    if (!nodes.ok()) {
      return runtime::annotate(nodes.status(), "--op");
    }
    std::move(nodes->begin(), nodes->end(), std::back_inserter(explanation.choices));
  }
  return explanation;
}

std::string explanationText(const placement::Explanation& explanation, bool details) {
  return placement::explanationJson(explanation, details)
      .dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace graphrun::compiler
