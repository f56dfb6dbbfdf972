#include "placement/strategies/portfolio.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "absl/strings/str_join.h"
#include "placement/bounds/lower_bounds.h"
#include "placement/problem/placement_result.h"
#include "placement/strategies/device_weights.h"
#include "runtime/base/clock.h"

namespace graphrun::placement {
namespace {

/// The shares of the time that is left that a list schedule and a search may take; the rest is for
/// the simulation of what they give.
constexpr double kListShare = 0.7;
constexpr double kSearchShare = 0.9;
/// The shares of the budget that must be left for a heuristic to begin, and for a search.
constexpr double kLeastForHeuristic = 0.15;
constexpr double kLeastForSearch = 0.4;
/// The first turn's share of the work that a search sees fit; each later turn is twice as long.
constexpr double kFirstEffort = 1.0 / 64;
constexpr int kMostTurns = 64;

/// Why nothing was found: memory, if any way failed for it.
absl::Status allFailed(const std::vector<absl::Status>& failures) {
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

}  // namespace

Portfolio::Portfolio(const PlacementProblem& problem)
    : problem_(problem), beginNs_(runtime::nowNanos()) {}

void Portfolio::consider(const absl::StatusOr<PlacementResult>& found) {
  if (!found.ok()) {
    failures_.push_back(found.status());
    return;
  }
  int64_t bound = std::max(found->boundNs, best_.has_value() ? best_->boundNs : 0);
  if (!best_.has_value() ||
      problem_.objectiveNs(found->simulation) < problem_.objectiveNs(best_->simulation)) {
    best_ = *found;
  }
  best_->boundNs = bound;
}

void Portfolio::runHeuristics() {
  PlacementProblem within = problem_;
  for (const Strategy& strategy : strategies()) {
    if (strategy.place == nullptr || !strategy.isFor(problem_)) {
      continue;
    }
    Candidate candidate{std::string(strategy.name),
                        absl::DeadlineExceededError("the plan budget was used up")};
    wasCut_ = wasCut_ || isLate(kLeastForHeuristic);
    if (!wasCut_) {
      within.search.endNs =
          isTimed() && best_.has_value() ? runtime::nowNanos() + partOf(kListShare) : 0;
      candidate.result = strategy.place(within);
      wasCut_ = absl::IsDeadlineExceeded(candidate.result.status());
    }
    if (!wasCut_) {
      consider(candidate.result);
    }
    candidates_.push_back(std::move(candidate));
  }
}

/// Returns whether there is an answer, and less than this share of the budget is left.
bool Portfolio::isLate(double share) const {
  auto least = static_cast<int64_t>(share * static_cast<double>(problem_.search.budgetNs));
  return best_.has_value() && isTimed() && partOf(1) < least;
}

/// Returns a share of the time that is left.
int64_t Portfolio::partOf(double share) const {
  int64_t left = beginNs_ + problem_.search.budgetNs - runtime::nowNanos();
  return static_cast<int64_t>(share * static_cast<double>(left));
}

/// Returns whether nothing more is to be done, or can be.
bool Portfolio::isOver() const {
  bool isDone = best_.has_value() && problem_.objectiveNs(best_->simulation) <= best_->boundNs;
  bool isWorkDone = problem_.search.workLeft != nullptr && *problem_.search.workLeft < 0;
  return isDone || isWorkDone || (isTimed() && runtime::nowNanos() >= endNs_);
}

void Portfolio::search(const Strategy& strategy, PlacementProblem& within) {
  if (isTimed()) {
    within.search.budgetNs = std::max<int64_t>(1, endNs_ - runtime::nowNanos());
    within.search.endNs = endNs_;
  }
  consider(strategy.improve(within, best_.has_value() ? &*best_ : nullptr));
}

void Portfolio::runSearches(const std::vector<const Strategy*>& searches) {
  if (searches.empty() || (best_.has_value() && (wasCut_ || isLate(kLeastForSearch)))) {
    return;
  }
  int64_t bound = lowerBounds(problem_).ns();  // takes as long as some heuristics
  if (isLate(kLeastForSearch)) {
    return;
  }
  if (best_.has_value()) {
    best_->boundNs = std::max(best_->boundNs, bound);
  }
  endNs_ = runtime::nowNanos() + partOf(kSearchShare);
  bool inTurns =
      problem_.search.isLimited() && (searches.size() > 1 || searches.front()->hasPhases);
  PlacementProblem within = problem_;
  within.search.effort = inTurns ? kFirstEffort : problem_.search.effort;
  for (int round = 0; round < (inTurns ? kMostTurns : 1); ++round) {
    for (const Strategy* strategy : searches) {
      if (isOver()) {
        return;
      }
      search(*strategy, within);
    }
    within.search.effort *= 2;
    ++within.search.seed;
  }
}

absl::StatusOr<PlacementResult> Portfolio::result() const {
  return best_.has_value() ? absl::StatusOr<PlacementResult>(*best_) : allFailed(failures_);
}

std::vector<Candidate> runCandidates(const PlacementProblem& problem) {
  if (WeightedProblem::applies(problem)) {
    auto weighted = WeightedProblem::create(problem);
    assert(weighted.ok());  // as the problem itself
    std::vector<Candidate> candidates = runCandidates(weighted->problem());
    for (Candidate& candidate : candidates) {
      candidate.result = weighted->asItRuns(std::move(candidate.result));
    }
    return candidates;
  }
  Portfolio portfolio(problem);
  portfolio.runHeuristics();
  return portfolio.takeCandidates();
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

}  // namespace graphrun::placement
