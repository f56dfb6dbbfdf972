// Strategies: one interface, one table, one way to run and compare them.
#ifndef GRAPHRUN_PLACEMENT_STRATEGIES_STRATEGY_H_
#define GRAPHRUN_PLACEMENT_STRATEGIES_STRATEGY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// One way to place: a heuristic, a search, or what runs all of them ("auto"). Deterministic, but
/// for what has a budget (SearchOptions), which stops at a time. What comes back is accepted by
/// validatePlacement (memory and contiguity included). ResourceExhausted when memory limits are
/// what stops it, FailedPrecondition for another reason; either says which nodes and devices.
/// DeadlineExceeded when SearchOptions::endNs is.
struct Strategy {
  absl::string_view name;
  absl::string_view summary;
  /// Heuristics: they take part in `auto` and in comparisons.
  absl::StatusOr<PlacementResult> (*place)(const PlacementProblem& problem) = nullptr;
  /// Searches: a placement that is no worse than `start`, the best one that is known, or nullptr.
  absl::StatusOr<PlacementResult> (*improve)(const PlacementProblem& problem,
                                             const PlacementResult* start) = nullptr;
  /// True when it is for problems of this kind; `auto` does without a heuristic that is not.
  bool (*applies)(const PlacementProblem& problem) = nullptr;
  /// Searches: whether what it does first ends by the work that it sees fit, not by a budget: then
  /// it is given little work at first, or the rest might have no time.
  bool hasPhases = false;

  bool isFor(const PlacementProblem& problem) const {
    return applies == nullptr || applies(problem);
  }
  bool isPortfolio() const { return place == nullptr && improve == nullptr; }
};

/// All strategies: heuristics in the order in which `auto` runs them and prefers equals, the cheap
/// ones first, then searches in the order in which it runs them.
absl::Span<const Strategy> strategies();

/// The strategy of this name; NotFound lists the names.
absl::StatusOr<const Strategy*> findStrategy(absl::string_view name);

/// A candidate is the result of one heuristic.
struct Candidate {
  std::string strategy;
  absl::StatusOr<PlacementResult> result;
};

/// Runs every heuristic of the table; with a budget, DeadlineExceeded for those that had no time.
std::vector<Candidate> runCandidates(const PlacementProblem& problem);

/// The smallest objective of those that succeeded, the first of equals; nullptr without one.
const PlacementResult* bestCandidate(const PlacementProblem& problem,
                                     const std::vector<Candidate>& candidates);

/// Places with a strategy; a search begins with the best candidate. FailedPrecondition for a search
/// that is for problems of another kind. `candidates`, if not null, is set to what the heuristics
/// gave that were run on the way: none for a heuristic.
absl::StatusOr<PlacementResult> placeWith(const PlacementProblem& problem, const Strategy& strategy,
                                          std::vector<Candidate>* candidates = nullptr);

/// Places with the strategy of this name, with "random:SEED" (placeRandom) or with "on:DEVICE"
/// (placeOn). When memory stops it: FailedPrecondition with the limits that broke and the least
/// memory that would do (see memory_advice.h). `candidates` as for placeWith.
absl::StatusOr<PlacementResult> place(const PlacementProblem& problem, absl::string_view strategy,
                                      std::vector<Candidate>* candidates = nullptr);

/// Each unit on one of the devices that may have it, drawn with `seed`: for tests that a split
/// model gives what it gives whole. FailedPrecondition when that breaks a memory limit.
absl::StatusOr<PlacementResult> placeRandom(const PlacementProblem& problem, uint64_t seed);

/// The placement of a file: a JSON object from node names or globs to device names, for example
/// {"encoder/*": "node0/cpu:0", "head": "node1/cpu:0"}, or one with a list, {"nodes": [{"node",
/// "device"}]}, whose other members do not count, as in what explanationJson gives. A name wins
/// over globs, an earlier glob over a later one; every node needs an entry. A list that names each
/// node is also the order in which devices run them; otherwise that follows the upward ranks there.
/// InvalidArgument names every problem of the text, FailedPrecondition what validation finds.
absl::StatusOr<PlacementResult> placeFromJson(const PlacementProblem& problem,
                                              absl::string_view json, absl::string_view fileName);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_STRATEGIES_STRATEGY_H_
