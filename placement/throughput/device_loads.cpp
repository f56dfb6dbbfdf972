#include "placement/throughput/device_loads.h"

#include <algorithm>
#include <utility>

namespace graphrun::placement {
DeviceLoads::DeviceLoads(const PlacementProblem& problem, const CoarseGraph& coarse,
                         std::vector<int> device)
    : problem_(problem),
      coarse_(coarse),
      cores_(problem.simulator.cores()),
      devices_(problem.limits.size()),
      linksTakeTime_(!transfersAreFree(problem)),
      device_(std::move(device)),
      readers_(coarse.tensors.size() * devices_, 0),
      sharers_(problem.graph().shared.size() * devices_, 0),
      total_(static_cast<size_t>(cores_.count()) + problem.simulator.links().links().size(), 0),
      crowds_(static_cast<size_t>(problem.simulator.crowding().machines()), 0),
      bytes_(devices_, 0),
      onWorker_(problem.cluster().workers.size(), 0),
      power_(total_.size(), 0),
      isChanged_(total_.size(), false) {
  for (int p = 0; p < coarse.count(); ++p) {
    int at = device_[static_cast<size_t>(p)];
    addNode(p, at, 1);
    bytes_[static_cast<size_t>(at)] += coarse.node(p).weightBytes;
  }
  for (const CostTensor& tensor : problem.graph().tensors) {
    if (tensor.producer < 0 && tensor.inputHome != kClient) {
      bytes_[static_cast<size_t>(tensor.inputHome)] += tensor.bytes;
    }
  }
  for (size_t t = 0; t < coarse.tensors.size(); ++t) {
    for (int consumer : coarse.tensors[t].consumers) {
      ++readers(t, device_[static_cast<size_t>(consumer)]);
    }
    count(t, 1);
  }
  setScale(std::max<int64_t>(periodNs(), 1));
}

/// The coarse node comes to a device or, with -1, leaves it.
void DeviceLoads::addNode(int coarseNode, int device, int sign) {
  const FlatGraph& flat = problem_.simulator.flat();
  int64_t ns = 0;
  for (int node : coarse_.node(coarseNode).nodes) {
    ns += flat.sharedOf(node) < 0 ? sign * flat.timeNs(node, device) : shareNs(node, device, sign);
  }
  addDevice(device, ns);
  if (int worker = problem_.simulator.starts().toldFor(device); worker >= 0) {
    onWorker_[static_cast<size_t>(worker)] += sign;
  }
}

/// Adds the time that a node that shares work takes on a device.
int64_t DeviceLoads::shareNs(int node, int device, int sign) {
  const FlatGraph& flat = problem_.simulator.flat();
  auto id = static_cast<size_t>(flat.sharedOf(node));
  const SharedWork& work = problem_.graph().shared[id];
  int& here = sharers_[id * devices_ + static_cast<size_t>(device)];
  auto isDone = [&] {
    bool isNone = work.onlyApart && here == static_cast<int>(work.nodes.size());
    return here > 0 && !isNone ? 1 : 0;
  };
  int before = isDone();
  here += sign;
  return (isDone() - before) * flat.timeNs(node, device);
}

int64_t DeviceLoads::loadNs(size_t resource) const {
  if (resource >= static_cast<size_t>(cores_.count())) {
    return total_[resource];
  }
  int device = cores_.devices(static_cast<int>(resource)).front();  // several have one lane each
  int lanes = problem_.cluster().devices[static_cast<size_t>(device)].lanes;
  return lanes == 0 ? 0 : (total_[resource] + lanes - 1) / lanes;
}

int64_t DeviceLoads::periodNs() const {
  const Crowding& crowding = problem_.simulator.crowding();
  const auto cores = static_cast<size_t>(cores_.count());
  ClientMachine client(problem_.simulator.client());
  int64_t most = 0;
  for (size_t r = 0; r < total_.size(); ++r) {
    const int machine =
        r < cores ? crowding.machineOf(cores_.devices(static_cast<int>(r)).front()) : -1;
    const int64_t crowded =
        machine < 0 ? 0
                    : crowding.periodNs(machine, crowds_[static_cast<size_t>(machine)], total_[r]);
    const int64_t period = loadNs(r) + crowded;
    if (r < cores) {
      client.add(static_cast<int>(r), total_[r], period);
    }
    most = std::max(most, period);
  }
  return std::max(most, client.periodNs(clientNs()));
}

int64_t DeviceLoads::clientNs() const {
  const auto workers =
      std::count_if(onWorker_.begin(), onWorker_.end(), [](int nodes) { return nodes > 0; });
  return problem_.simulator.client().workNs(static_cast<int>(workers), clientBytes_);
}

double DeviceLoads::powerOf(size_t resource) const {
  double x = static_cast<double>(loadNs(resource)) / scale_;
  double x4 = x * x * x * x;
  return x4 * x4 * x4;
}

void DeviceLoads::setScale(int64_t ns) {
  scale_ = static_cast<double>(ns);
  energy_ = 0;
  for (size_t r = 0; r < power_.size(); ++r) {
    power_[r] = powerOf(r);
    energy_ += power_[r];
    isChanged_[r] = false;
  }
  changed_.clear();
}

void DeviceLoads::add(size_t resource, int64_t ns) {
  total_[resource] += ns;
  if (!isChanged_[resource]) {
    isChanged_[resource] = true;
    changed_.push_back(resource);
  }
}

void DeviceLoads::addDevice(int device, int64_t ns) {
  for (int core : cores_.of(device)) {
    add(static_cast<size_t>(core), ns);
  }
  if (int machine = problem_.simulator.crowding().machineOf(device); machine >= 0) {
    crowds_[static_cast<size_t>(machine)] += ns;
  }
}

void DeviceLoads::addLink(int from, int to, int64_t bytes, int sign) {
  clientBytes_ += from == kClient || to == kClient ? sign * bytes : 0;
  if (linksTakeTime_) {
    const LinkTable& links = problem_.simulator.links();
    int id = links.id(from, to);
    const LinkModel& model = links.link(id).model;
    size_t resource = static_cast<size_t>(cores_.count()) + static_cast<size_t>(id);
    add(resource, model.queues ? sign * model.transferNs(bytes) : 0);
  }
}

/// Adds the time for which the tensor's producer is busy with sending it.
void DeviceLoads::addSend(const CostTensor& tensor, int home, int to, int sign) {
  if (tensor.producer >= 0) {
    const LinkTable& links = problem_.simulator.links();
    addDevice(home, sign * links.sendNs(links.id(home, to), tensor.bytes));
  }
}

/// The tensor comes from `home` to another device.
void DeviceLoads::enter(size_t tensor, int home, int device, int sign) {
  const CostTensor& whole = problem_.graph().tensor(coarse_.tensors[tensor].tensor);
  auto d = static_cast<size_t>(device);
  if (problem_.cluster().devices[d].hasPort) {
    addDevice(device, sign * whole.portNs);
  }
  bytes_[d] += sign * problem_.simulator.receiveBytes(whole, home);
  addLink(home, device, whole.bytes, sign);
  if (readers(tensor, device) > 0) {
    const LinkTable& links = problem_.simulator.links();
    addDevice(device, sign * links.readNs(links.id(home, device), whole.bytes));
  }
  addSend(whole, home, device, sign);
}

/// Adds (or takes away) what the tensor costs all, as its producer and consumers are placed.
void DeviceLoads::count(size_t tensor, int sign) {
  const CoarseTensor& entry = coarse_.tensors[tensor];
  const CostTensor& whole = problem_.graph().tensor(entry.tensor);
  int home = entry.producer < 0 ? whole.inputHome : device_[static_cast<size_t>(entry.producer)];
  int out = whole.isOutput ? whole.outputHome : home;
  bool leaves = out != home;
  for (int d = 0; d < static_cast<int>(devices_); ++d) {
    if (d != home && (readers(tensor, d) > 0 || d == out)) {
      enter(tensor, home, d, sign);
      leaves = true;
    }
  }
  if (out == kClient && home != kClient) {
    addLink(home, kClient, whole.bytes, sign);
    addSend(whole, home, kClient, sign);
  }
  if (leaves && home != kClient && problem_.cluster().devices[static_cast<size_t>(home)].hasPort) {
    addDevice(home, sign * whole.portNs);
  }
}

void DeviceLoads::move(int coarseNode, int to) {
  int& at = device_[static_cast<size_t>(coarseNode)];
  for (int t : coarse_.touching[coarseNode]) {
    auto tensor = static_cast<size_t>(t);
    count(tensor, -1);
    if (coarse_.tensors[tensor].producer != coarseNode) {
      --readers(tensor, at);
      ++readers(tensor, to);
    }
  }
  addNode(coarseNode, at, -1);
  addNode(coarseNode, to, 1);
  bytes_[static_cast<size_t>(at)] -= coarse_.node(coarseNode).weightBytes;
  bytes_[static_cast<size_t>(to)] += coarse_.node(coarseNode).weightBytes;
  at = to;
  for (int t : coarse_.touching[coarseNode]) {
    count(static_cast<size_t>(t), 1);
  }
  for (size_t r : changed_) {
    energy_ -= power_[r];
    power_[r] = powerOf(r);
    energy_ += power_[r];
    isChanged_[r] = false;
  }
  changed_.clear();
}

}  // namespace graphrun::placement
