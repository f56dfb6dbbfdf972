#include "placement/search/resident_memory.h"

#include <algorithm>

namespace graphrun::placement {

ResidentMemory::ResidentMemory(const PlacementProblem& problem, const Placement& placement)
    : problem_(problem),
      device_(placement.device),
      bytes_(problem.limits.size(), 0),
      weights_(problem.graph(), problem.limits.size()),
      seen_(problem.limits.size(), 0) {
  const CostGraph& graph = problem.graph();
  for (int n = 0; n < graph.nodeCount(); ++n) {
    int device = device_[static_cast<size_t>(n)];
    bytes_[static_cast<size_t>(device)] += weights_.addedBytes(n, device);
    weights_.add(n, device);
  }
  for (int t = 0; t < graph.tensorCount(); ++t) {
    const CostTensor& tensor = graph.tensor(t);
    if (tensor.producer < 0 && tensor.inputHome != kClient) {
      bytes_[static_cast<size_t>(tensor.inputHome)] += tensor.bytes;
    }
    count(t, 1);
  }
}

bool ResidentMemory::mayBind(const PlacementProblem& problem) {
  int64_t all = 0;
  for (const CostNode& node : problem.graph().nodes) {
    all += node.weightBytes + node.workspaceBytes;
  }
  for (const CostTensor& tensor : problem.graph().tensors) {
    all += tensor.bytes + problem.simulator.receiveBytes(tensor, 0) +
           problem.simulator.receiveBytes(tensor, kClient);
  }
  return std::any_of(problem.limits.begin(), problem.limits.end(),
                     [&](int64_t limit) { return all > limit; });
}

void ResidentMemory::move(int node, int device) {
  moved_.emplace_back(node, device_[static_cast<size_t>(node)]);
  place(node, device);
}

void ResidentMemory::place(int node, int device) {
  const FlatGraph& flat = problem_.simulator.flat();
  auto countAll = [&](int64_t sign) {
    for (int t : flat.inputs(node)) {
      count(t, sign);
    }
    for (int t : flat.outputs(node)) {
      count(t, sign);
    }
  };
  countAll(-1);
  int& at = device_[static_cast<size_t>(node)];
  weights_.remove(node, at);
  bytes_[static_cast<size_t>(at)] -= weights_.addedBytes(node, at);
  at = device;
  bytes_[static_cast<size_t>(at)] += weights_.addedBytes(node, at);
  weights_.add(node, at);
  countAll(1);
}

/// The buffers of a tensor on all that receive it.
void ResidentMemory::count(int t, int64_t sign) {
  const CostTensor& tensor = problem_.graph().tensor(t);
  int home = tensor.producer < 0 ? tensor.inputHome : device_[static_cast<size_t>(tensor.producer)];
  int64_t bytes = sign * problem_.simulator.receiveBytes(tensor, home);
  ++counts_;
  auto arrive = [&](int device) {
    if (device != home && device != kClient && seen_[static_cast<size_t>(device)] != counts_) {
      seen_[static_cast<size_t>(device)] = counts_;
      bytes_[static_cast<size_t>(device)] += bytes;
    }
  };
  for (const Use& use : problem_.simulator.flat().uses(t)) {
    arrive(device_[static_cast<size_t>(use.node)]);
  }
  if (tensor.isOutput) {
    arrive(tensor.outputHome);
  }
}

bool ResidentMemory::fits() const {
  return std::equal(bytes_.begin(), bytes_.end(), problem_.limits.begin(),
                    [](int64_t bytes, int64_t limit) { return bytes <= limit; });
}

void ResidentMemory::undo() {
  for (auto moved = moved_.rbegin(); moved != moved_.rend(); ++moved) {
    place(moved->first, moved->second);
  }
  moved_.clear();
}

}  // namespace graphrun::placement
