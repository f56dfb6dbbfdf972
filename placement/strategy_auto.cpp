#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "placement/strategy.h"

namespace graphrun::placement {

std::vector<Candidate> runCandidates(const PlacementProblem& problem) {
  std::vector<Candidate> candidates;
  for (const Strategy& strategy : strategies()) {
    if (strategy.candidate) {
      candidates.push_back({std::string(strategy.name), strategy.place(problem)});
    }
  }
  return candidates;
}

const PlacementResult* bestCandidate(const PlacementProblem& problem,
                                     const std::vector<Candidate>& candidates) {
  const PlacementResult* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.result.ok() &&
        (best == nullptr || problem.objectiveNs(candidate.result->simulation) <
                                problem.objectiveNs(best->simulation))) {
      best = &*candidate.result;
    }
  }
  return best;
}

absl::StatusOr<PlacementResult> placeAuto(const PlacementProblem& problem) {
  std::vector<Candidate> candidates = runCandidates(problem);
  const PlacementResult* best = bestCandidate(problem, candidates);
  if (best != nullptr) {
    return *best;
  }
  bool memory = false;
  std::vector<std::string> reasons;
  for (const Candidate& candidate : candidates) {
    memory = memory || absl::IsResourceExhausted(candidate.result.status());
    reasons.emplace_back(candidate.result.status().message());
  }
  std::string message = absl::StrJoin(reasons, "\n");
  return memory ? absl::ResourceExhaustedError(message) : absl::FailedPreconditionError(message);
}

}  // namespace graphrun::placement
