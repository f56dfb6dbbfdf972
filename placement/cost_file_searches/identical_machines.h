// This schedules on identical devices with free transfers: the classical problem P | prec | Cmax.
#ifndef GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_IDENTICAL_MACHINES_H_
#define GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_IDENTICAL_MACHINES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "placement/cost_graph/flat_graph.h"
#include "placement/problem/problem.h"
#include "placement/problem/search_limit.h"

namespace graphrun::placement {

/// Tasks in a topological order, each with a duration, the tasks that it waits for and those that
/// wait for it, on `machines` that are all alike. Where a problem is one of these, much more is
/// known of it than of others. Immutable.
struct MachineProblem {
  int machines = 1;
  std::vector<int64_t> duration;
  IntLists before;  // by task: those that it waits for
  IntLists after;   // by task: those that wait for it
  /// Longest path to the start of a task, and from its end.
  std::vector<int64_t> head;
  std::vector<int64_t> tail;

  int taskCount() const { return static_cast<int>(duration.size()); }

  /// The same backwards in time: its task i is taskCount - 1 - i here.
  MachineProblem reversed() const;

  /// The problem that `problem` is, its tasks in the order of graph().topologicalOrder; nothing
  /// for throughput, when devices, times or constraints differ, when a transfer takes time or
  /// memory may run short.
  static std::optional<MachineProblem> of(const PlacementProblem& problem);

  /// From durations and predecessors.
  static MachineProblem make(int machines, std::vector<int64_t> duration,
                             const std::vector<std::vector<int>>& before);
};

/// No schedule is shorter: the least end for which no stretch of time is overloaded by what must
/// run in it. Source: Fernandez and Bussell, "Bounds on the number of processors and time for
/// multiprocessor optimal schedules", IEEE ToC C-22(8), 1973. O(n^3) for each end that is tried.
int64_t intervalBound(const MachineProblem& problem);

/// Start of each task and when the last one ends.
struct MachineSchedule {
  std::vector<int64_t> start;
  int64_t end = 0;
};

/// Local search over the priorities of list schedules from the critical path's, until `bound` is
/// reached; each schedule is a unit of work.
MachineSchedule searchPriorities(const MachineProblem& problem, int64_t bound, uint64_t seed,
                                 SearchLimit& limit);

/// A MachineProof is the result of `proveMachine`.
struct MachineProof {
  MachineSchedule best;
  int64_t bound = 0;  ///< no schedule is shorter
};

/// Shortens `known` or proves that it is as short as can be: looks for a schedule that ends sooner,
/// by deciding at each end of a task which of the ready ones begin; what has been looked through is
/// remembered; each state is a unit of work. Forwards and backwards in time in turns, as either may
/// be much easier. At most kMostProved tasks, else `known` comes back.
MachineProof proveMachine(const MachineProblem& problem, MachineSchedule known, int64_t bound,
                          SearchLimit& limit);
inline constexpr int kMostProved = 128;

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_COST_FILE_SEARCHES_IDENTICAL_MACHINES_H_
