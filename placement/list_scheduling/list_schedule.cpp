#include "placement/list_scheduling/list_schedule.h"

#include <algorithm>

namespace graphrun::placement {

ListSchedule::ListSchedule(const PlacementProblem& problem, std::vector<int64_t> budget,
                           bool insertion)
    : problem_(problem),
      graph_(problem.graph()),
      cores_(problem.simulator.cores()),
      budget_(std::move(budget)),
      insertion_(insertion),
      device_(graph_.nodes.size(), -1),
      unitDevice_(problem.constraints.units.size(), -1),
      times_(graph_.nodes.size()),
      busy_(static_cast<size_t>(cores_.count())),
      lineFree_(problem.simulator.links().links().size() + problem.simulator.links().sides().size(),
                0),
      arrivals_(graph_.tensors.size() * budget_.size(), -1),
      memory_(budget_.size()),
      weightsThere_(graph_.sharedWeights.size() * budget_.size(), 0) {
  commits_.reserve(graph_.nodes.size());
  for (int t = 0; t < graph_.tensorCount(); ++t) {
    const CostTensor& tensor = graph_.tensor(t);
    users_.push_back(static_cast<int>(tensor.consumers.size()));
    if (tensor.producer < 0 && tensor.inputHome != kClient) {
      arrivals(t)[tensor.inputHome] = 0;
      memory_[static_cast<size_t>(tensor.inputHome)].fixed += tensor.bytes;
    }
  }
}

int ListSchedule::homeOf(const CostTensor& tensor) const {
  return tensor.producer < 0 ? tensor.inputHome : device_[static_cast<size_t>(tensor.producer)];
}

/// Notes what does not depend on the device.
void ListSchedule::look(int node) {
  const CostNode& cost = graph_.node(node);
  auto unit = static_cast<size_t>(problem_.constraints.unitOf[static_cast<size_t>(node)]);
  timesOf_ = &cost.timeNs;
  shared_ = cost.shared < 0 ? nullptr : &graph_.shared[static_cast<size_t>(cost.shared)];
  weightBytes_ = unitDevice_[unit] < 0 ? problem_.constraints.units[unit].weightBytes : 0;
  sharedWeights_.clear();
  for (int n : problem_.constraints.units[unit].nodes) {
    if (unitDevice_[unit] >= 0 || graph_.sharedWeights.empty()) {
      break;
    }
    for (int weights : graph_.node(n).sharedWeights) {
      if (std::find(sharedWeights_.begin(), sharedWeights_.end(), weights) ==
          sharedWeights_.end()) {
        sharedWeights_.push_back(weights);
      }
    }
  }
  runBytes_ = cost.workspaceBytes;
  for (int t : cost.outputs) {
    runBytes_ += graph_.tensor(t).bytes;
  }
  readings_.clear();
  for (int t : cost.inputs) {
    const CostTensor& tensor = graph_.tensor(t);
    int from = homeOf(tensor);
    int64_t ready = tensor.producer < 0 ? 0 : times_[static_cast<size_t>(tensor.producer)].finish;
    readings_.push_back({from, ready, arrivals(t), tensor.bytes,
                         problem_.simulator.receiveBytes(tensor, from), tensor.producer >= 0});
  }
}

/// When a link, or a side of an interface, is free again after what else the node has sent.
int64_t& ListSchedule::freeAgain(size_t line) {
  auto queued = std::find_if(queued_.begin(), queued_.end(),
                             [&](const auto& entry) { return entry.first == line; });
  if (queued == queued_.end()) {
    queued_.emplace_back(line, lineFree_[line]);
    queued = queued_.end() - 1;
  }
  return queued->second;
}

/// When a transfer that may start at `from` has its turn on a side of an interface.
int64_t ListSchedule::passSide(int side, int64_t bytes, int64_t from) {
  if (side < 0) {
    return from;
  }
  const LinkTable& table = problem_.simulator.links();
  int64_t& free = freeAgain(table.links().size() + static_cast<size_t>(side));
  const int64_t start = std::max(from, free);
  free = start + table.side(side).nanos(bytes);
  return start;
}

/// When what is read is on a device, if it is sent there after what else the node has sent.
int64_t ListSchedule::send(const Reading& reading, int device) {
  const LinkTable& table = problem_.simulator.links();
  const int link = table.id(reading.from, device);
  const LinkInfo& info = table.link(link);
  int64_t start = reading.ready + (reading.isMade ? table.sendNs(link, reading.bytes) : 0);
  if (info.model.queues) {
    start = std::max(start, freeAgain(static_cast<size_t>(link)));
  }
  start = passSide(info.leaves, reading.bytes, start);
  start = passSide(info.enters, reading.bytes, start);
  const int64_t there = start + table.nanos(link, reading.bytes);
  if (info.model.queues) {
    freeAgain(static_cast<size_t>(link)) = there;
  }
  return there;
}

/// The first time from `ready` on when all cores of the device are free for so long.
int64_t ListSchedule::startOn(int device, int64_t ready, int64_t duration) const {
  auto firstOn = [&](int core, int64_t from) {
    const CoreTimeline& busy = busy_[static_cast<size_t>(core)];
    return insertion_ ? busy.firstStart(from, duration) : std::max(from, busy.end());
  };
  if (!cores_.isShared()) {
    return firstOn(device, ready);
  }
  absl::Span<const int> cores = cores_.of(device);
  int64_t start = ready;
  size_t agreed = 0;  // cores in turn that have nothing against `start`
  for (size_t i = 0; agreed < cores.size(); i = (i + 1) % cores.size()) {
    int64_t first = firstOn(cores[i], start);
    agreed = first == start ? agreed + 1 : 1;
    start = first;
  }
  return start;
}

/// When one that shares the node's work has done it on a device; -1 if none has.
int64_t ListSchedule::sharedUntil(int device) const {
  int64_t first = -1;
  for (size_t i = 0; shared_ != nullptr && i < shared_->nodes.size(); ++i) {
    auto other = static_cast<size_t>(shared_->nodes[i]);
    bool isFirst = device_[other] == device && (first < 0 || times_[other].finish < first);
    first = isFirst ? times_[other].finish : first;
  }
  return first;
}

bool ListSchedule::isThere(int weights, int device) const {
  return weightsThere_[static_cast<size_t>(weights) * budget_.size() +
                       static_cast<size_t>(device)] != 0;
}

Trial ListSchedule::tryOn(int device) {
  auto d = static_cast<size_t>(device);
  Trial trial;
  trial.device = device;
  trial.fixedBytes = weightBytes_;
  for (int weights : sharedWeights_) {
    trial.fixedBytes -=
        isThere(weights, device) ? graph_.sharedWeights[static_cast<size_t>(weights)].bytes : 0;
  }
  queued_.clear();
  double reads = 0;  // ns for what comes to the device with this node
  int64_t ready = 0;
  for (const Reading& reading : readings_) {
    int64_t there = reading.arrivals[d];
    if (there < 0) {
      there = send(reading, device);
      trial.fixedBytes += reading.receiveBytes;
      const LinkTable& links = problem_.simulator.links();
      const LinkModel& model = links.link(links.id(reading.from, device)).model;
      reads += model.readNsPerByte * static_cast<double>(reading.bytes);
    }
    ready = std::max(ready, there);
  }
  int64_t duration = (*timesOf_)[d] + static_cast<int64_t>(reads);
  if (int64_t done = sharedUntil(device); done >= 0) {
    ready = std::max(ready, done);
    duration = 0;
  }
  trial.start = startOn(device, ready, duration);
  trial.finish = trial.start + duration;

  const Memory& memory = memory_[d];
  trial.peakBytes =
      memory.fixed + trial.fixedBytes + std::max(memory.peakLive, memory.live + runBytes_);
  trial.overBytes = std::max<int64_t>(0, trial.peakBytes - budget_[d]);
  return trial;
}

absl::Span<const Trial> ListSchedule::attempt(int node) {
  look(node);
  auto unit = static_cast<size_t>(problem_.constraints.unitOf[static_cast<size_t>(node)]);
  trials_.clear();
  if (unitDevice_[unit] >= 0) {
    trials_.push_back(tryOn(unitDevice_[unit]));
    return trials_;
  }
  for (int device : problem_.constraints.units[unit].allowed) {
    trials_.push_back(tryOn(device));
  }
  return trials_;
}

void ListSchedule::commitMemory(int node, const Trial& trial) {
  Memory& memory = memory_[static_cast<size_t>(trial.device)];
  memory.fixed += trial.fixedBytes;
  for (int weights : sharedWeights_) {
    weightsThere_[static_cast<size_t>(weights) * budget_.size() +
                  static_cast<size_t>(trial.device)] = 1;
  }
  memory.peakLive = std::max(memory.peakLive, memory.live + runBytes_);
  memory.live += runBytes_ - graph_.node(node).workspaceBytes;
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
  look(node);
  auto d = static_cast<size_t>(trial.device);
  queued_.clear();
  for (size_t i = 0; i < readings_.size(); ++i) {
    int64_t& there = arrivals(graph_.node(node).inputs[i])[d];
    there = there < 0 ? send(readings_[i], trial.device) : there;
  }
  for (auto [line, free] : queued_) {
    lineFree_[line] = free;
  }
  device_[static_cast<size_t>(node)] = trial.device;
  commitMemory(node, trial);
  unitDevice_[static_cast<size_t>(problem_.constraints.unitOf[static_cast<size_t>(node)])] =
      trial.device;
  for (int t : graph_.node(node).outputs) {
    arrivals(t)[d] = trial.finish;
  }
  times_[static_cast<size_t>(node)] = {trial.start, trial.finish};
  for (int core : cores_.of(trial.device)) {
    busy_[static_cast<size_t>(core)].occupy(trial.start, trial.finish);
  }
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
