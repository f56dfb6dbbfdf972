#include "placement/strategies/replan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "placement/bounds/lower_bounds.h"
#include "placement/formats/placement_file.h"
#include "placement/list_scheduling/heuristics.h"
#include "placement/list_scheduling/orders.h"
#include "placement/problem/contiguity.h"
#include "placement/problem/placement_result.h"
#include "placement/search/latency_searches.h"
#include "placement/search/local_search.h"
#include "placement/strategies/device_weights.h"
#include "placement/strategies/strategy.h"
#include "placement/throughput/coarse_search.h"
#include "placement/throughput/throughput_searches.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// Moves of the searches: about a hundredth of what they have on their own.
constexpr int64_t kReplanMovesByNode = 1;
constexpr int64_t kMostReplanMoves = 40'000;
constexpr int64_t kLeastReplanMoves = 60;
constexpr int64_t kLoadMoves = 80'000;
/// Devices tried for new nodes, in all.
constexpr int kMostTried = 240;
/// No placement is proved to be the best here: the bounds cost more than the search.
constexpr int64_t kNoBound = 0;

class Replanner {
 public:
  Replanner(const PlacementProblem& problem, const FilePlacement& old)
      : problem_(problem), graph_(problem.graph()), old_(old) {}

  /// Returns the part of the old placement that can be kept, if that is an answer at all.
  absl::StatusOr<PlacementResult> start() const {
    Placement placement;
    placement.device = devices();
    placement.setOrder(order());
    placement.strategy = "replan";
    GR_ASSIGN_OR_RETURN(Simulation simulation, problem_.simulator.run(placement));
    GR_RETURN_IF_ERROR(checkFeasible(problem_, placement, simulation));
    return PlacementResult{std::move(placement), std::move(simulation)};
  }

 private:
  /// By node. A unit stays where its first node was that may still be there.
  std::vector<int> devices() const {
    std::vector<int> device(graph_.nodes.size(), -1);
    for (const Unit& unit : problem_.constraints.units) {
      auto known = std::find_if(unit.nodes.begin(), unit.nodes.end(), [&](int node) {
        return unit.allows(old_.device[static_cast<size_t>(node)]);
      });
      setUnit(unit, known == unit.nodes.end() ? -1 : old_.device[static_cast<size_t>(*known)],
              device);
    }
    for (int node : graph_.topologicalOrder) {
      if (device[static_cast<size_t>(node)] < 0) {
        const Unit& unit = problem_.constraints.unit(node);
        setUnit(unit, deviceForNew(node, unit, device), device);
      }
    }
    return device;
  }

  static void setUnit(const Unit& unit, int to, std::vector<int>& device) {
    for (int node : unit.nodes) {
      device[static_cast<size_t>(node)] = to;
    }
  }

  /// With what it reads most of; else where it is fastest.
  int deviceForNew(int node, const Unit& unit, const std::vector<int>& device) const {
    std::vector<int64_t> bytes(static_cast<size_t>(problem_.deviceCount()), 0);
    for (int t : graph_.node(node).inputs) {
      int producer = graph_.tensor(t).producer;
      int there = producer < 0 ? -1 : device[static_cast<size_t>(producer)];
      if (there >= 0) {
        bytes[static_cast<size_t>(there)] += 1 + graph_.tensor(t).bytes;
      }
    }
    auto better = [&](int a, int b) {
      auto worth = [&](int d) {
        return std::pair(-bytes[static_cast<size_t>(d)],
                         graph_.node(node).timeNs[static_cast<size_t>(d)]);
      };
      return worth(a) < worth(b);
    };
    return *std::min_element(unit.allowed.begin(), unit.allowed.end(), better);
  }

  /// The old order, new nodes behind the last one that they read from.
  std::vector<int> order() const {
    std::vector<double> position(graph_.nodes.size(), -1);
    for (size_t i = 0; i < old_.order.size(); ++i) {
      position[static_cast<size_t>(old_.order[i])] = static_cast<double>(i);
    }
    if (old_.order.empty()) {
      return upwardRankOrder(problem_);
    }
    for (int node : graph_.topologicalOrder) {
      double latest = 0;
      for (int t : graph_.node(node).inputs) {
        int producer = graph_.tensor(t).producer;
        latest = producer < 0 ? latest : std::max(latest, position[static_cast<size_t>(producer)]);
      }
      double& own = position[static_cast<size_t>(node)];
      own = own < 0 ? latest : own;
    }
    for (double& value : position) {
      value = -value;  // the highest priority comes first
    }
    return priorityOrder(graph_, position);
  }

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const FilePlacement& old_;
};

/// The devices that nodes before and behind a new one have.
std::set<int> devicesAround(const CostGraph& graph, const Schedule& schedule, int node) {
  std::set<int> devices;
  for (int t : graph.node(node).inputs) {
    if (graph.tensor(t).producer >= 0) {
      devices.insert(schedule.device(graph.tensor(t).producer));
    }
  }
  for (int t : graph.node(node).outputs) {
    for (int consumer : graph.tensor(t).consumers) {
      devices.insert(schedule.device(consumer));
    }
  }
  return devices;
}

/// Tries each new unit on the devices of its neighbours, and where it is fastest; the longest
/// first.
absl::StatusOr<PlacementResult> settleNew(const PlacementProblem& problem, const FilePlacement& old,
                                          const PlacementResult& start) {
  GR_ASSIGN_OR_RETURN(Schedule schedule, Schedule::create(problem.simulator, start.placement));
  std::vector<int> fresh;
  for (int node = 0; node < problem.graph().nodeCount(); ++node) {
    if (old.device[static_cast<size_t>(node)] < 0) {
      fresh.push_back(node);
    }
  }
  std::stable_sort(fresh.begin(), fresh.end(),
                   [&](int a, int b) { return fastestNs(problem, a) > fastestNs(problem, b); });
  int tried = 0;
  int64_t best = start.simulation.latencyNs();
  for (size_t i = 0; i < fresh.size() && tried < kMostTried; ++i) {
    const Unit& unit = problem.constraints.unit(fresh[i]);
    std::set<int> devices = devicesAround(problem.graph(), schedule, fresh[i]);
    const std::vector<int64_t>& times = problem.graph().node(fresh[i]).timeNs;
    devices.insert(*std::min_element(unit.allowed.begin(), unit.allowed.end(), [&](int a, int b) {
      return times[static_cast<size_t>(a)] < times[static_cast<size_t>(b)];
    }));
    devices.erase(schedule.device(fresh[i]));
    for (int device : devices) {
      if (!unit.allows(device)) {
        continue;
      }
      for (int node : unit.nodes) {
        schedule.setDevice(node, device);
      }
      ++tried;
      int64_t step = schedule.stepNs();
      if (step < best) {
        best = step;
        schedule.keep();
      } else {
        schedule.undo();
      }
    }
  }
  PlacementResult settled{schedule.placement("replan"), {}, 0};
  GR_ASSIGN_OR_RETURN(settled.simulation, problem.simulator.run(settled.placement));
  return checkFeasible(problem, settled.placement, settled.simulation).ok() ? settled : start;
}

absl::StatusOr<PlacementResult> improve(const PlacementProblem& problem, PlacementResult start) {
  if (isForThroughput(problem) && !problem.contiguous) {
    PeriodGoal goal;
    return improveCoarse(problem, coarsenUnits(problem), /*staged=*/false, goal, kNoBound,
                         kLoadMoves, start, "replan");
  }
  if (!isForSearch(problem)) {
    return start;
  }
  int64_t nodes = problem.graph().nodeCount();
  int64_t moves =
      std::min(kReplanMovesByNode * nodes, std::max(kLeastReplanMoves, kMostReplanMoves / nodes));
  SearchLimit limit(problem.search.budgetNs, moves);
  LocalSearch search(problem, std::move(start), {problem.constraints});
  search.run(kNoBound, limit);
  return search.best();
}

absl::StatusOr<PlacementResult> replanFrom(const PlacementProblem& problem,
                                           const FilePlacement& old) {
  absl::StatusOr<PlacementResult> start = Replanner(problem, old).start();
  absl::StatusOr<PlacementResult> single = placeSingle(problem);
  auto objective = [&](const PlacementResult& result) {
    return problem.objectiveNs(result.simulation);
  };
  if (!start.ok() || (single.ok() && objective(*single) < objective(*start))) {
    start = std::move(single);
  }
  if (!start.ok()) {
    return place(problem, "auto");
  }
  if (isForSearch(problem)) {
    start = settleNew(problem, old, *start);
  }
  GR_ASSIGN_OR_RETURN(PlacementResult better, improve(problem, *std::move(start)));
  better.placement.strategy = "replan";
  return better;
}

}  // namespace

absl::StatusOr<PlacementResult> replan(const PlacementProblem& problem, absl::string_view json,
                                       absl::string_view fileName) {
  GR_ASSIGN_OR_RETURN(FilePlacement old, readOldPlacementFile(problem, json, fileName));
  if (!WeightedProblem::applies(problem)) {
    return replanFrom(problem, old);
  }
  GR_ASSIGN_OR_RETURN(WeightedProblem weighted, WeightedProblem::create(problem));
  return weighted.asItRuns(replanFrom(weighted.problem(), old));
}

}  // namespace graphrun::placement
