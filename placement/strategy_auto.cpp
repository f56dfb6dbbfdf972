#include <algorithm>
#include <cassert>
#include <optional>

#include "absl/strings/str_join.h"
#include "placement/device_weights.h"
#include "placement/strategy.h"
#include "runtime/base/clock.h"

namespace graphrun::placement {

std::vector<Candidate> runCandidates(const PlacementProblem& problem) {
  std::vector<Candidate> candidates;
  if (WeightedProblem::applies(problem)) {
    auto weighted = WeightedProblem::create(problem);
    assert(weighted.ok());  // as the problem itself
    for (Candidate& candidate : runCandidates(weighted->problem())) {
      candidates.push_back({candidate.strategy, weighted->asItRuns(std::move(candidate.result))});
    }
    return candidates;
  }
  for (const Strategy& strategy : strategies()) {
    if (strategy.heuristic) {
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

namespace {

/// Why nothing was found: memory, if any way failed for it.
absl::Status combined(const std::vector<absl::Status>& failures) {
  bool memory = false;
  std::vector<std::string> reasons;
  for (const absl::Status& failure : failures) {
    memory = memory || absl::IsResourceExhausted(failure);
    if (std::find(reasons.begin(), reasons.end(), failure.message()) == reasons.end()) {
      reasons.emplace_back(failure.message());
    }
  }
  std::string message = absl::StrJoin(reasons, "\n");
  return memory ? absl::ResourceExhaustedError(message) : absl::FailedPreconditionError(message);
}

std::vector<const Strategy*> searchesFor(const PlacementProblem& problem) {
  std::vector<const Strategy*> searches;
  for (const Strategy& strategy : strategies()) {
    if (strategy.improve != nullptr && strategy.isFor(problem)) {
      searches.push_back(&strategy);
    }
  }
  return searches;
}

/// Shares what is left of a budget among so many searches.
class BudgetShares {
 public:
  explicit BudgetShares(int64_t budgetNs) : budgetNs_(budgetNs) {}
  int64_t next(size_t searches) const {
    constexpr int64_t kLeast = 1;  // 0 would be a search's own
    if (budgetNs_ == 0) {
      return 0;
    }
    int64_t left = begin_ + budgetNs_ - runtime::nowNanos();
    return std::max(kLeast, left / static_cast<int64_t>(searches));
  }

 private:
  int64_t budgetNs_;
  int64_t begin_ = runtime::nowNanos();
};

}  // namespace

absl::StatusOr<PlacementResult> placeAuto(const PlacementProblem& problem) {
  BudgetShares shares(problem.search.budgetNs);
  std::vector<Candidate> candidates = runCandidates(problem);
  std::vector<absl::Status> failures;
  failures.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    failures.push_back(candidate.result.status());
  }
  std::optional<PlacementResult> best;
  if (const PlacementResult* candidate = bestCandidate(problem, candidates)) {
    best = *candidate;
  }
  const int64_t bound = lowerBounds(problem).ns();
  std::vector<const Strategy*> searches = searchesFor(problem);
  PlacementProblem within = problem;
  for (size_t i = 0; i < searches.size(); ++i) {
    if (best.has_value() &&
        problem.objectiveNs(best->simulation) <= std::max(bound, best->boundNs)) {
      break;
    }
    within.search.budgetNs = shares.next(searches.size() - i);
    auto found = searches[i]->improve(within, best.has_value() ? &*best : nullptr);
    failures.push_back(found.status());
    if (found.ok()) {
      found->boundNs = std::max(found->boundNs, best.has_value() ? best->boundNs : 0);
      best = *std::move(found);
    }
  }
  if (!best.has_value()) {
    return combined(failures);
  }
  return *std::move(best);
}

}  // namespace graphrun::placement
