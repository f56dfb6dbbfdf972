#include <algorithm>
#include <numeric>
#include <optional>

#include "placement/cost_file_searches/cost_file_searches.h"
#include "placement/cost_file_searches/identical_machines.h"
#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"
#include "runtime/base/status.h"

namespace graphrun::placement {
namespace {

/// List schedules that are tried; states of the proof.
constexpr int64_t kMostSchedules = 40'000;
constexpr int64_t kMostStates = 200'000;

/// Each task on a machine that is idle when it starts, the tasks in the order of their starts.
Placement placementOf(const PlacementProblem& problem, const MachineProblem& machines,
                      const MachineSchedule& schedule) {
  std::vector<int> tasks(schedule.start.size());
  std::iota(tasks.begin(), tasks.end(), 0);
  std::stable_sort(tasks.begin(), tasks.end(), [&](int a, int b) {
    return schedule.start[static_cast<size_t>(a)] < schedule.start[static_cast<size_t>(b)];
  });
  Placement placement;
  placement.strategy = "machines";
  placement.device.resize(tasks.size());
  std::vector<int> order;
  std::vector<int64_t> idleFrom(static_cast<size_t>(machines.machines), 0);
  for (int task : tasks) {
    auto t = static_cast<size_t>(task);
    auto machine = std::min_element(idleFrom.begin(), idleFrom.end());
    *machine = schedule.start[t] + machines.duration[t];
    int node = problem.graph().topologicalOrder[t];
    placement.device[static_cast<size_t>(node)] = static_cast<int>(machine - idleFrom.begin());
    order.push_back(node);
  }
  placement.setOrder(order);
  return placement;
}

MachineSchedule scheduleOf(const PlacementProblem& problem, const PlacementResult& result) {
  MachineSchedule schedule;
  schedule.end = result.simulation.stepNs;
  schedule.start.reserve(problem.graph().nodes.size());
  for (int node : problem.graph().topologicalOrder) {
    schedule.start.push_back(result.simulation.ops[static_cast<size_t>(node)].start);
  }
  return schedule;
}

}  // namespace

bool isForMachines(const PlacementProblem& problem) {
  return MachineProblem::of(problem).has_value();
}

absl::StatusOr<PlacementResult> improveOnMachines(const PlacementProblem& problem,
                                                  const PlacementResult* start) {
  std::optional<MachineProblem> machines = MachineProblem::of(problem);
  if (!machines.has_value()) {
    return absl::FailedPreconditionError("machines: devices or transfers differ");
  }
  SearchLimit schedules(problem.search, kMostSchedules);
  SearchLimit states(problem.search, kMostStates);
  int64_t bound = intervalBound(*machines);
  MachineSchedule schedule = searchPriorities(*machines, bound, problem.search.seed, schedules);
  if (start != nullptr && start->simulation.stepNs < schedule.end) {
    schedule = scheduleOf(problem, *start);
  }
  MachineProof proof = proveMachine(*machines, std::move(schedule), bound, states);
  PlacementResult result;
  result.placement = placementOf(problem, *machines, proof.best);
  GR_ASSIGN_OR_RETURN(result.simulation, problem.simulator.run(result.placement));
  if (start != nullptr && start->simulation.stepNs <= result.simulation.stepNs) {
    result = *start;
  }
  result.boundNs = proof.bound;
  return result;
}

}  // namespace graphrun::placement
