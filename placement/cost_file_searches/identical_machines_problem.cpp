#include <algorithm>
#include <numeric>
#include <ranges>

#include "placement/cost_file_searches/identical_machines.h"
#include "placement/cost_graph/longest_paths.h"

namespace graphrun::placement {
namespace {

bool isAlike(const PlacementProblem& problem, int node) {
  const std::vector<int64_t>& times = problem.graph().node(node).timeNs;
  return static_cast<int>(problem.constraints.unit(node).allowed.size()) == problem.deviceCount() &&
         problem.constraints.unit(node).nodes.size() == 1 &&
         std::all_of(times.begin(), times.end(), [&](int64_t time) { return time == times[0]; });
}

/// Devices that each run one node at a time, and nothing but the step's time matters.
bool isClassical(const PlacementProblem& problem) {
  const std::vector<Device>& devices = problem.cluster().devices;
  return problem.objective == Objective::kLatency && !problem.contiguous &&
         problem.graph().shared.empty() && problem.graph().collectives.empty() &&
         !problem.simulator.cores().isShared() &&
         std::all_of(devices.begin(), devices.end(),
                     [](const Device& device) { return device.lanes == 1 && !device.isOffload; });
}

/// Everything there is fits on each device at once.
bool memorySuffices(const PlacementProblem& problem) {
  int64_t all = 0;
  for (const CostNode& node : problem.graph().nodes) {
    all += node.weightBytes + node.workspaceBytes;
  }
  for (const CostTensor& tensor : problem.graph().tensors) {
    all += tensor.bytes + problem.simulator.receiveBytes(tensor, 0);
  }
  return std::all_of(problem.limits.begin(), problem.limits.end(),
                     [&](int64_t limit) { return all <= limit; });
}

}  // namespace

MachineProblem MachineProblem::make(int machines, std::vector<int64_t> duration,
                                    const std::vector<std::vector<int>>& before) {
  MachineProblem problem;
  problem.machines = machines;
  problem.duration = std::move(duration);
  problem.before = IntLists::of(before);
  problem.after = problem.before.reversed();
  auto cost = [&](int task) { return problem.duration[static_cast<size_t>(task)]; };
  auto edgesOf = [](const IntLists& lists) {
    return [&](int task, const auto& visit) {
      for (int other : lists[task]) {
        visit(other, 0);
      }
    };
  };
  auto tasks = std::views::iota(0, static_cast<int>(before.size()));
  problem.head = longestPaths<int64_t>(tasks, cost, edgesOf(problem.before)).before;
  problem.tail =
      longestPaths<int64_t>(tasks | std::views::reverse, cost, edgesOf(problem.after)).before;
  return problem;
}

MachineProblem MachineProblem::reversed() const {
  int last = taskCount() - 1;
  std::vector<std::vector<int>> reversedBefore(duration.size());
  for (int i = 0; i <= last; ++i) {
    for (int a : after[i]) {
      reversedBefore[static_cast<size_t>(last - i)].push_back(last - a);
    }
  }
  return make(machines, std::vector<int64_t>(duration.rbegin(), duration.rend()), reversedBefore);
}

std::optional<MachineProblem> MachineProblem::of(const PlacementProblem& problem) {
  const CostGraph& graph = problem.graph();
  std::vector<int> task(graph.nodes.size());
  std::vector<int64_t> duration;
  for (int n : graph.topologicalOrder) {
    if (!isAlike(problem, n)) {
      return std::nullopt;
    }
    task[static_cast<size_t>(n)] = static_cast<int>(duration.size());
    duration.push_back(graph.node(n).timeNs[0]);
  }
  if (!problem.cluster().stepStarts.empty() || !problem.cluster().crowds.empty() ||
      !isClassical(problem) || !transfersAreFree(problem) || !memorySuffices(problem)) {
    return std::nullopt;
  }
  std::vector<std::vector<int>> before(duration.size());
  for (int n : graph.topologicalOrder) {
    std::vector<int>& list = before[static_cast<size_t>(task[static_cast<size_t>(n)])];
    for (int t : graph.node(n).inputs) {
      if (graph.tensor(t).producer >= 0) {
        list.push_back(task[static_cast<size_t>(graph.tensor(t).producer)]);
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return make(problem.deviceCount(), std::move(duration), before);
}

namespace {

/// Returns whether all tasks can end by `end` as far as the load of every stretch of time tells.
bool mayEndBy(const MachineProblem& p, int64_t end) {
  std::vector<int64_t> points;
  for (size_t i = 0; i < p.duration.size(); ++i) {
    int64_t latest = end - p.tail[i];
    points.insert(points.end(),
                  {p.head[i], p.head[i] + p.duration[i], latest, latest - p.duration[i]});
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  for (size_t a = 0; a < points.size(); ++a) {
    for (size_t b = a + 1; b < points.size(); ++b) {
      int64_t from = points[a];
      int64_t to = points[b];
      int64_t load = 0;
      for (size_t i = 0; i < p.duration.size(); ++i) {
        int64_t latestStart = end - p.tail[i] - p.duration[i];
        load +=
            std::max<int64_t>(0, std::min({p.duration[i], to - from,
                                           p.head[i] + p.duration[i] - from, to - latestStart}));
      }
      if (load > p.machines * (to - from)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

int64_t intervalBound(const MachineProblem& problem) {
  int64_t work = std::accumulate(problem.duration.begin(), problem.duration.end(), int64_t{0});
  int64_t low = (work + problem.machines - 1) / problem.machines;
  for (size_t i = 0; i < problem.duration.size(); ++i) {
    low = std::max(low, problem.head[i] + problem.duration[i] + problem.tail[i]);
  }
  int64_t high = work;  // one after the other
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    mayEndBy(problem, middle) ? high = middle : low = middle + 1;
  }
  return low;
}

}  // namespace graphrun::placement
