// Local search looks for the shortest step.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_LOCAL_SEARCH_H_
#define GRAPHRUN_PLACEMENT_SEARCH_LOCAL_SEARCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/problem/search_limit.h"
#include "placement/search/local_moves.h"

namespace graphrun::placement {

/// Simulated annealing in rounds, each with twice the moves of the one before, each from the best
/// placement so far. Source: Kirkpatrick, Gelatt, Vecchi, Science 220, 1983. Of a large graph
/// windows of the order are annealed one after the other (see Schedule): a move then costs what a
/// window does. What devices hold beyond their limits counts like time, so that the way to a better
/// placement may lead over some that do not fit. Devices run one node at a time.
class LocalSearch {
 public:
  /// `start` stays within the limits; `levels` as LocalMoves has them.
  LocalSearch(const PlacementProblem& problem, PlacementResult start,
              std::vector<Constraints> levels);

  /// Until the step is `boundNs` or the limit is spent.
  void run(int64_t boundNs, SearchLimit& limit);

  const PlacementResult& best() const { return best_; }

 private:
  /// Called with each step within the limits that is shorter than all before; false if it does not
  /// count.
  using Better = std::function<bool(int64_t stepNs)>;

  void sweep(int round, int64_t moves, SearchLimit& limit);
  void annealWindow(int first, int last, int64_t moves, SearchLimit& limit);
  int64_t anneal(int64_t moves, SearchLimit& limit, const Better& better);
  int64_t overrunNs();
  void begin();
  void check();
  bool consider(int64_t stepNs);

  const PlacementProblem& problem_;
  PlacementResult best_;
  int64_t bestNs_;
  int64_t boundNs_ = 0;
  bool limited_;  // memory may bind
  int window_;    // ranks
  std::unique_ptr<Schedule> schedule_;
  LocalMoves moves_;
  LocalMoves::Snapshot snapshot_;  // scratch
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_LOCAL_SEARCH_H_
