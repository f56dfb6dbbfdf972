#include "placement/list_schedule.h"

#include <algorithm>

namespace graphrun::placement {

ListSchedule::ListSchedule(const PlacementProblem& problem, std::vector<int64_t> budget,
                           bool insertion)
    : problem_(problem),
      graph_(problem.graph()),
      budget_(std::move(budget)),
      insertion_(insertion),
      device_(graph_.nodes.size(), -1),
      unitDevice_(problem.constraints.units.size(), -1),
      times_(graph_.nodes.size()),
      busy_(budget_.size()),
      linkFree_(problem.simulator.links().links().size(), 0),
      arrivals_(graph_.tensors.size() * budget_.size(), -1),
      memory_(budget_.size()) {
  commits_.reserve(graph_.nodes.size());
  for (int t = 0; t < graph_.tensorCount(); ++t) {
    const CostTensor& tensor = graph_.tensor(t);
    users_.push_back(static_cast<int>(tensor.consumers.size()));
    if (tensor.producer < 0 && tensor.inputHome != kClient) {
      arrival(t, tensor.inputHome) = 0;
      memory_[static_cast<size_t>(tensor.inputHome)].fixed += tensor.bytes;
    }
  }
}

std::vector<int> ListSchedule::candidates(int node) const {
  int placed =
      unitDevice_[static_cast<size_t>(problem_.constraints.unitOf[static_cast<size_t>(node)])];
  return placed >= 0 ? std::vector<int>{placed} : problem_.constraints.unit(node).allowed;
}

int ListSchedule::homeOf(const CostTensor& tensor) const {
  return tensor.producer < 0 ? tensor.inputHome : device_[static_cast<size_t>(tensor.producer)];
}

int64_t& ListSchedule::arrival(int tensor, int device) {
  return arrivals_[static_cast<size_t>(tensor) * budget_.size() + static_cast<size_t>(device)];
}

int64_t ListSchedule::arrive(int t, int device, std::vector<std::pair<int, int64_t>>& linkFree) {
  int64_t known = arrival(t, device);
  if (known >= 0) {
    return known;
  }
  const CostTensor& tensor = graph_.tensor(t);
  int from = homeOf(tensor);
  int64_t ready = tensor.producer < 0 ? 0 : times_[static_cast<size_t>(tensor.producer)].finish;
  const LinkTable& table = problem_.simulator.links();
  int link = table.id(from, device);
  const LinkModel& model = table.link(link).model;
  if (!model.queues) {
    return ready + model.transferNs(tensor.bytes);
  }
  auto queued = std::find_if(linkFree.begin(), linkFree.end(),
                             [&](const auto& entry) { return entry.first == link; });
  if (queued == linkFree.end()) {
    linkFree.emplace_back(link, linkFree_[static_cast<size_t>(link)]);
    queued = linkFree.end() - 1;
  }
  queued->second = std::max(ready, queued->second) + model.transferNs(tensor.bytes);
  return queued->second;
}

int64_t ListSchedule::firstGap(int device, int64_t ready, int64_t duration) const {
  const std::vector<Busy>& busy = busy_[static_cast<size_t>(device)];
  if (busy.empty() || !insertion_) {
    return busy.empty() ? ready : std::max(ready, busy.back().finish);
  }
  auto next = std::upper_bound(busy.begin(), busy.end(), ready,
                               [](int64_t time, const Busy& b) { return time < b.finish; });
  int64_t start = ready;
  for (; next != busy.end() && start + duration > next->start; ++next) {
    start = std::max(start, next->finish);
  }
  return start;
}

void ListSchedule::occupy(int device, int64_t start, int64_t finish) {
  std::vector<Busy>& busy = busy_[static_cast<size_t>(device)];
  auto at = std::upper_bound(busy.begin(), busy.end(), start,
                             [](int64_t time, const Busy& b) { return time < b.start; });
  busy.insert(at, {start, finish});
}

/// Weights and receive buffers that the node would add on `device`.
int64_t ListSchedule::newFixedBytes(int node, int device) {
  auto unit = static_cast<size_t>(problem_.constraints.unitOf[static_cast<size_t>(node)]);
  int64_t bytes = unitDevice_[unit] < 0 ? problem_.constraints.units[unit].weightBytes : 0;
  for (int t : graph_.node(node).inputs) {
    int from = homeOf(graph_.tensor(t));
    if (from != device && arrival(t, device) < 0) {
      bytes += problem_.simulator.receiveBytes(graph_.tensor(t), from);
    }
  }
  return bytes;
}

Trial ListSchedule::attempt(int node, int device) {
  scratch_.clear();
  int64_t ready = 0;
  for (int t : graph_.node(node).inputs) {
    ready = std::max(ready, arrive(t, device, scratch_));
  }
  int64_t duration = graph_.node(node).timeNs[static_cast<size_t>(device)];
  Trial trial;
  trial.device = device;
  trial.start = firstGap(device, ready, duration);
  trial.finish = trial.start + duration;

  const Memory& memory = memory_[static_cast<size_t>(device)];
  int64_t live = memory.live + graph_.node(node).workspaceBytes;
  for (int t : graph_.node(node).outputs) {
    live += graph_.tensor(t).bytes;
  }
  trial.peakBytes = memory.fixed + newFixedBytes(node, device) + std::max(memory.peakLive, live);
  trial.overBytes = std::max<int64_t>(0, trial.peakBytes - budget_[static_cast<size_t>(device)]);
  return trial;
}

void ListSchedule::commitMemory(int node, int device) {
  Memory& memory = memory_[static_cast<size_t>(device)];
  memory.fixed += newFixedBytes(node, device);
  for (int t : graph_.node(node).outputs) {
    memory.live += graph_.tensor(t).bytes;
  }
  memory.peakLive = std::max(memory.peakLive, memory.live + graph_.node(node).workspaceBytes);
  auto release = [&](int t) {
    const CostTensor& tensor = graph_.tensor(t);
    int home = homeOf(tensor);
    if (tensor.producer >= 0 && !(tensor.isOutput && tensor.outputHome == home)) {
      memory_[static_cast<size_t>(home)].live -= tensor.bytes;
    }
  };
  for (int t : graph_.node(node).inputs) {
    if (--users_[static_cast<size_t>(t)] == 0) {
      release(t);
    }
  }
  for (int t : graph_.node(node).outputs) {
    if (users_[static_cast<size_t>(t)] == 0) {
      release(t);
    }
  }
}

void ListSchedule::commit(int node, const Trial& trial) {
  device_[static_cast<size_t>(node)] = trial.device;
  commitMemory(node, trial.device);
  unitDevice_[static_cast<size_t>(problem_.constraints.unitOf[static_cast<size_t>(node)])] =
      trial.device;
  scratch_.clear();
  for (int t : graph_.node(node).inputs) {
    arrival(t, trial.device) = arrive(t, trial.device, scratch_);
  }
  for (auto [link, free] : scratch_) {
    linkFree_[static_cast<size_t>(link)] = free;
  }
  for (int t : graph_.node(node).outputs) {
    arrival(t, trial.device) = trial.finish;
  }
  times_[static_cast<size_t>(node)] = {trial.start, trial.finish};
  occupy(trial.device, trial.start, trial.finish);
  commits_.push_back(node);
}

Placement ListSchedule::finish(const char* strategy) const {
  // A consumer starts no earlier than its producers and is committed after them.
  std::vector<std::pair<int64_t, size_t>> keys;
  keys.reserve(commits_.size());
  for (size_t i = 0; i < commits_.size(); ++i) {
    keys.emplace_back(times_[static_cast<size_t>(commits_[i])].start, i);
  }
  std::sort(keys.begin(), keys.end());
  std::vector<int> order;
  order.reserve(keys.size());
  for (const auto& key : keys) {
    order.push_back(commits_[key.second]);
  }
  Placement placement;
  placement.device = device_;
  placement.setOrder(order);
  placement.strategy = strategy;
  return placement;
}

}  // namespace graphrun::placement
