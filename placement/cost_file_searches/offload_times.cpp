#include "placement/cost_file_searches/offload_times.h"

#include <algorithm>
#include <limits>

#include "placement/cost_file_searches/cost_file_searches.h"
#include "placement/problem/contiguity.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

bool isForOffload(const PlacementProblem& problem) {
  const std::vector<Device>& devices = problem.cluster().devices;
  return problem.objective == Objective::kLatency && problem.graph().nodeCount() > 0 &&
         std::any_of(devices.begin(), devices.end(),
                     [](const Device& device) { return device.isOffload; }) &&
         std::all_of(devices.begin(), devices.end(),
                     [](const Device& device) { return device.isOffload || device.lanes == 0; }) &&
         transfersAreFree(problem);
}

OffloadTimes::OffloadTimes(const PlacementProblem& problem, const CoarseGraph& coarse)
    : problem_(problem), coarse_(coarse), nodesOf_(problem.limits.size()) {
  const CostGraph& graph = problem.graph();
  for (const CostNode& node : graph.nodes) {
    for (int t : node.outputs) {
      for (int consumer : graph.tensor(t).consumers) {
        after_.add(consumer);
      }
    }
    after_.endList();
  }
  for (const Device& device : problem.cluster().devices) {
    isOffload_.push_back(device.isOffload);
  }
  vertex_.resize(graph.nodes.size());
}

void OffloadTimes::placeNodes(const DeviceLoads& loads) {
  size_t devices = nodesOf_.size();
  for (std::vector<int>& nodes : nodesOf_) {
    nodes.clear();
  }
  for (size_t n = 0; n < vertex_.size(); ++n) {
    auto device = static_cast<size_t>(loads.device(coarse_.of[n]));
    vertex_[n] = isOffload_[device] ? device : devices + n;
    if (isOffload_[device]) {
      nodesOf_[device].push_back(static_cast<int>(n));
    }
  }
  missing_.assign(devices + vertex_.size(), 0);
  start_.assign(devices + vertex_.size(), 0);
  for (size_t n = 0; n < vertex_.size(); ++n) {
    for (int next : after_[static_cast<int>(n)]) {
      missing_[vertexOf(next)] += vertexOf(next) != vertex_[n] ? 1 : 0;
    }
  }
}

void OffloadTimes::finish(int node, int64_t at) {
  for (int next : after_[node]) {
    size_t vertex = vertexOf(next);
    if (vertex != vertexOf(node)) {
      start_[vertex] = std::max(start_[vertex], at);
      if (--missing_[vertex] == 0) {
        ready_.push_back(vertex);
      }
    }
  }
}

int64_t OffloadTimes::stepNs(const DeviceLoads& loads) {
  placeNodes(loads);
  size_t devices = nodesOf_.size();
  ready_.clear();
  size_t left = 0;
  for (size_t v = 0; v < missing_.size(); ++v) {
    bool used = v < devices ? !nodesOf_[v].empty() : vertex_[v - devices] == v;
    left += used ? 1 : 0;
    if (used && missing_[v] == 0) {
      ready_.push_back(v);
    }
  }
  int64_t step = 0;
  for (; !ready_.empty(); --left) {
    size_t vertex = ready_.back();
    ready_.pop_back();
    bool call = vertex < devices;
    int node = static_cast<int>(vertex - devices);
    int64_t time = call ? loads.busyNs(static_cast<int>(vertex))
                        : problem_.simulator.flat().timeNs(
                              node, loads.device(coarse_.of[static_cast<size_t>(node)]));
    int64_t end = start_[vertex] + time;
    step = std::max(step, end);
    if (call) {
      for (int one : nodesOf_[vertex]) {
        finish(one, end);
      }
    } else {
      finish(node, end);
    }
  }
  return left == 0 ? step : kUnlimited;
}

OffloadGoal::OffloadGoal(const PlacementProblem& problem, const CoarseGraph& coarse,
                         int64_t scaleNs)
    : problem_(problem),
      coarse_(coarse),
      times_(problem, coarse),
      scale_(static_cast<double>(std::max<int64_t>(scaleNs, 1))) {}

double OffloadGoal::energy(const DeviceLoads& loads) {
  constexpr double kOfScale = 30;
  last_ = times_.stepNs(loads);
  return last_ == kUnlimited ? std::numeric_limits<double>::infinity()
                             : kOfScale * static_cast<double>(last_) / scale_;
}

int64_t OffloadGoal::ns(const DeviceLoads& loads) {
  if (problem_.contiguous) {
    Placement placement;
    placement.device = coarse_.deviceByNode(loads.devices());
    if (!brokenContiguity(problem_, placement).empty()) {
      return kUnlimited;
    }
  }
  return last_;
}

}  // namespace graphrun::placement
