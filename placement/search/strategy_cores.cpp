// Devices that share cores: which nodes get many cores, and which run side by side on few.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "placement/list_scheduling/heuristics.h"
#include "placement/list_scheduling/memory_budget.h"
#include "placement/list_scheduling/orders.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "placement/search/latency_searches.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// List schedules that go by what the one before them was like.
constexpr int kMostRounds = 4;

/// By node, how many nodes run while it does, itself counted, on average.
std::vector<double> nodesAtATime(const Simulation& simulation) {
  std::map<int64_t, int> changes;
  for (const OpTime& time : simulation.ops) {
    ++changes[time.start];
    --changes[time.finish];
  }
  std::map<int64_t, double> until;  // time to the sum of all nodes' times until then
  double sum = 0;
  int running = 0;
  int64_t last = 0;
  for (auto [time, change] : changes) {
    sum += static_cast<double>(time - last) * running;
    until[time] = sum;
    running += change;
    last = time;
  }
  std::vector<double> counts;
  counts.reserve(simulation.ops.size());
  for (const OpTime& time : simulation.ops) {
    auto ns = static_cast<double>(time.finish - time.start);
    counts.push_back(ns > 0 ? (until[time.finish] - until[time.start]) / ns : 1);
  }
  return counts;
}

/// List schedules take a whole machine for each node that is ready, which is done first there; that
/// a half of it would have left the other to the next node they do not see. So the nodes are first
/// scheduled on small devices that share nothing. What then runs alone goes to larger ones, and
/// list schedules choose among those of the size that each node was given.
class CoreSizes {
 public:
  CoreSizes(const PlacementProblem& problem, const PlacementResult& start)
      : problem_(problem), cores_(problem.simulator.cores()), best_(start) {}

  PlacementResult run() {
    for (const std::vector<int>& devices : cores_.devicesApart()) {
      runFrom(devices);
    }
    return std::move(best_);
  }

 private:
  void runFrom(const std::vector<int>& devices) {
    auto among = [&](const Unit& /*unit*/, int device) {
      return std::binary_search(devices.begin(), devices.end(), device);
    };
    absl::StatusOr<PlacementResult> last = schedule(restricted(among));
    int64_t before = kUnlimited;
    for (int round = 0; round < kMostRounds && last.ok() && last->simulation.latencyNs() < before;
         ++round) {
      before = last->simulation.latencyNs();
      std::vector<double> counts = nodesAtATime(last->simulation);
      last = schedule(restricted([&](const Unit& unit, int device) {
        return !cores_.isShared(device) || sizeOf(device) == bestSize(unit, counts);
      }));
    }
  }

  int sizeOf(int device) const { return static_cast<int>(cores_.of(device).size()); }

  /// Returns how many cores the unit's device should have, if it shares them, when so many nodes
  /// run at a time: while all have so many, they cannot all run at once. 0: it has no such device.
  int bestSize(const Unit& unit, const std::vector<double>& counts) const {
    std::map<int, double> cost;  // by size
    for (int device : unit.allowed) {
      if (!cores_.isShared(device)) {
        continue;
      }
      double sum = 0;
      for (int n : unit.nodes) {
        double wanted = counts[static_cast<size_t>(n)] * sizeOf(device) / cores_.count();
        sum += static_cast<double>(problem_.simulator.flat().timeNs(n, device)) *
               std::max(1.0, wanted);
      }
      auto [entry, isNew] = cost.try_emplace(sizeOf(device), sum);
      entry->second = std::min(entry->second, sum);
    }
    auto least = std::min_element(cost.begin(), cost.end(),
                                  [](const auto& a, const auto& b) { return a.second < b.second; });
    return least == cost.end() ? 0 : least->first;
  }

  /// The units, each with those of its devices that `wanted` takes, or all if there are none.
  template <typename Wanted>
  Constraints restricted(const Wanted& wanted) const {
    Constraints result = problem_.constraints;
    for (Unit& unit : result.units) {
      std::vector<int> kept;
      std::copy_if(unit.allowed.begin(), unit.allowed.end(), std::back_inserter(kept),
                   [&](int device) { return wanted(unit, device); });
      if (!kept.empty()) {
        unit.allowed = std::move(kept);
      }
    }
    return result;
  }

  absl::StatusOr<PlacementResult> schedule(Constraints constraints) {
    PlacementProblem narrow = problem_;
    narrow.constraints = std::move(constraints);
    auto order = [&] { return upwardRankOrder(narrow); };
    GR_ASSIGN_OR_RETURN(PlacementResult result,
                        placeByLists(narrow, "cores", {{order, true, finishOf}}));
    if (result.simulation.latencyNs() < best_.simulation.latencyNs()) {
      best_ = result;
    }
    return result;
  }

  const PlacementProblem& problem_;
  const CoreTable& cores_;
  PlacementResult best_;
};

}  // namespace

bool isForCores(const PlacementProblem& problem) {
  return isForSearch(problem) && problem.simulator.cores().isShared();
}

absl::StatusOr<PlacementResult> improveByCores(const PlacementProblem& problem,
                                               const PlacementResult* start) {
  if (start == nullptr) {
    GR_ASSIGN_OR_RETURN(PlacementResult first, placeGreedy(problem));  // tells why not
    return improveByCores(problem, &first);
  }
  return CoreSizes(problem, *start).run();
}

}  // namespace graphrun::placement
