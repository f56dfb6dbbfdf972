// Heuristics and searches, one after the other, while there is time.
#ifndef GRAPHRUN_PLACEMENT_STRATEGIES_PORTFOLIO_H_
#define GRAPHRUN_PLACEMENT_STRATEGIES_PORTFOLIO_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/strategies/strategy.h"

namespace graphrun::placement {

/// A portfolio runs strategies one after the other. What it runs, and in which order, does not
/// depend on the budget, which only says where it ends; what was found is kept. So more time never
/// gives a worse placement, as far as clocks allow, and without a budget every run gives the same.
/// One thread.
class Portfolio {
 public:
  /// The time of `problem.search.budgetNs`, if it is not 0, begins now. The problem must outlive
  /// it.
  explicit Portfolio(const PlacementProblem& problem);

  /// All heuristics in the order of the table, the cheap ones first, until the budget is used up;
  /// but until one has given an answer each has the time that it takes.
  void runHeuristics();
  /// Searches from the best that is known, until nothing better can be. A budget only cuts what is
  /// done: in turns each gets some of the work that it sees fit, next time twice as much. Not if
  /// heuristics were left out: a search that began with less might end with more.
  void runSearches(const std::vector<const Strategy*>& searches);

  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::vector<Candidate> takeCandidates() { return std::move(candidates_); }
  /// The best with the largest bound that is known, or why there is none: ResourceExhausted if any
  /// failed for memory.
  absl::StatusOr<PlacementResult> result() const;

 private:
  bool isTimed() const { return problem_.search.budgetNs > 0; }
  bool isOver() const;
  /// Within what is left of the time.
  void search(const Strategy& strategy, PlacementProblem& within);
  void consider(const absl::StatusOr<PlacementResult>& found);
  int64_t partOf(double share) const;
  bool isLate(double share) const;

  const PlacementProblem& problem_;
  int64_t beginNs_;
  int64_t endNs_ = 0;  // of the searches
  std::vector<Candidate> candidates_;
  bool wasCut_ = false;  // there was no time for a heuristic
  std::optional<PlacementResult> best_;
  std::vector<absl::Status> failures_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_STRATEGIES_PORTFOLIO_H_
