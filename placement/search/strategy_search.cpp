#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "placement/bounds/lower_bounds.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/list_scheduling/orders.h"
#include "placement/problem/placement_result.h"
#include "placement/search/forced_colocation.h"
#include "placement/search/heavy_edges.h"
#include "placement/search/latency_searches.h"
#include "placement/search/local_search.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// Moves without a budget: by node, but no more than about so many nodes' worth of changed times,
/// and of large graphs, where a change is looked at in a window, so many by node.
constexpr int64_t kMovesByNode = 40;
constexpr int64_t kMostChanges = 4'000'000;
constexpr int64_t kLeastMost = 12'000;
constexpr int64_t kMovesOfLarge = 1;
/// Nodes times devices of a list schedule that is a unit of work.
constexpr int64_t kTrialsByUnit = 500;

/// Graphs with more nodes are list scheduled less often: of each kind of larger units until one
/// gives nothing; and not at all if they have more nodes times devices than this.
constexpr int kLarge = 1000;
constexpr int64_t kMostTrials = 3'000'000;
/// Sizes of coarse units, in nodes of mean time.
constexpr std::array<int, 5> kCoarseNodes = {8, 16, 32, 4, 2};

/// The ends of the step that are tried, as multiples of the lower bound.
constexpr std::array<double, 11> kHorizons = {1.001, 1.03, 1.06, 1.1, 1.15, 1.2,
                                              1.3,   1.4,  1.6,  2.0, 3.0};

class Search {
 public:
  Search(const PlacementProblem& problem, const PlacementResult& start)
      : problem_(problem),
        bound_(boundOf(problem, start)),
        overhead_(problem.simulator.starts().leastNs(problem.graph())),
        best_(start),
        levels_{problem.constraints} {}

  PlacementResult run(SearchLimit& limit) {
    if (trials() <= kMostTrials) {
      tryHorizons(limit);
    }
    if (isLarge() && trials() <= kMostTrials) {
      tryCoarse(limit);
    }
    LocalSearch search(problem_, best_, std::move(levels_));
    search.run(bound_, limit);
    return search.best();
  }

 private:
  bool isLarge() const { return problem_.graph().nodeCount() > kLarge; }
  /// Returns the number of trials of a list schedule.
  int64_t trials() const { return int64_t{problem_.graph().nodeCount()} * problem_.deviceCount(); }

  /// Units that a step until a horizon needs together.
  void tryHorizons(SearchLimit& limit) {
    bool gave = true;
    for (size_t i = 0; i < kHorizons.size() && (gave || !isLarge()) && !done(limit); ++i) {
      auto horizon = static_cast<int64_t>(kHorizons[i] * static_cast<double>(bound_ - overhead_));
      if (horizon >= best_.simulation.latencyNs() - overhead_) {
        return;
      }
      std::optional<Constraints> tied = forcedColocation(problem_, horizon);
      if (tied.has_value() && isNew(*tied)) {
        gave = tryUnits(*std::move(tied), limit);
      }
    }
  }

  /// Units that heavy edges join.
  void tryCoarse(SearchLimit& limit) {
    int64_t work = 0;
    for (int n = 0; n < problem_.graph().nodeCount(); ++n) {
      work += fastestNs(problem_, n);
    }
    bool gave = true;
    for (size_t i = 0; i < kCoarseNodes.size() && gave && !done(limit); ++i) {
      Constraints coarse =
          joinHeavyEdges(problem_, work / problem_.graph().nodeCount() * kCoarseNodes[i]);
      if (isNew(coarse)) {
        gave = tryUnits(std::move(coarse), limit);
      }
    }
  }

  bool isNew(const Constraints& units) const {
    return units.units.size() != levels_.back().units.size() &&
           units.units.size() != problem_.constraints.units.size();
  }

  /// List schedules of larger units; whether they are better.
  bool tryUnits(Constraints units, SearchLimit& limit) {
    int64_t before = best_.simulation.latencyNs();
    PlacementProblem joined = problem_;
    joined.constraints = units;
    levels_.push_back(std::move(units));
    std::vector<int> order = upwardRankOrder(joined);
    for (bool insertion : {true, false}) {
      if (isLarge() && !insertion) {
        break;
      }
      consider(placeByLists(joined, "search", {{[&] { return order; }, insertion, finishOf}}));
      for (int64_t i = 0; i <= trials() / kTrialsByUnit; ++i) {
        limit.spend();
      }
    }
    return best_.simulation.latencyNs() < before;
  }

  void consider(absl::StatusOr<PlacementResult> found) {
    if (found.ok() && found->simulation.latencyNs() < best_.simulation.latencyNs()) {
      best_ = *std::move(found);
    }
  }

  bool done(const SearchLimit& limit) const {
    return limit.spent() || best_.simulation.latencyNs() <= bound_;
  }

  const PlacementProblem& problem_;
  int64_t bound_;
  int64_t overhead_;  // of each placement, at least
  PlacementResult best_;
  std::vector<Constraints> levels_;
};

}  // namespace

bool isForSearch(const PlacementProblem& problem) {
  const std::vector<Device>& devices = problem.cluster().devices;
  return problem.objective == Objective::kLatency && !problem.contiguous && devices.size() > 1 &&
         problem.graph().nodeCount() > 1 &&
         std::all_of(devices.begin(), devices.end(),
                     [](const Device& device) { return device.lanes == 1 && !device.isOffload; });
}

absl::StatusOr<PlacementResult> improveBySearch(const PlacementProblem& problem,
                                                const PlacementResult* start) {
  if (start == nullptr) {
    GR_ASSIGN_OR_RETURN(PlacementResult first, placeGreedy(problem));  // tells why not
    return improveBySearch(problem, &first);
  }
  int64_t nodes = problem.graph().nodeCount();
  int64_t most = std::max({kMostChanges / nodes, kLeastMost, kMovesOfLarge * nodes});
  int64_t moves = std::min(kMovesByNode * nodes, most);
  SearchLimit limit(problem.search, moves);
  return Search(problem, *start).run(limit);
}

}  // namespace graphrun::placement
