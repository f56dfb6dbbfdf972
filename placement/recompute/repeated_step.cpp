#include "placement/recompute/repeated_step.h"

#include <algorithm>
#include <utility>

namespace graphrun::placement {

RepeatedStep::RepeatedStep(const PlacementProblem& problem, const PlacementResult& placed,
                           int device, const std::vector<bool>& mayRepeat)
    : problem_(problem), placed_(placed), device_(device), mayRepeat_(mayRepeat) {
  const DeviceUse& use = placed.simulation.devices[at(device)];
  base_ = use.weightBytes + use.receiveBytes;
  addTensors();
  std::vector<int> nodes;
  for (int node : placed.placement.order()) {
    if (placed.placement.device[at(node)] == device) {
      nodes.push_back(node);
    }
  }
  setNodes(std::move(nodes));
}

void RepeatedStep::addTensors() {
  const CostGraph& graph = problem_.graph();
  auto isHere = [&](int node) { return placed_.placement.device[at(node)] == device_; };
  const auto count = static_cast<size_t>(graph.tensorCount());
  inputs_.resize(graph.nodes.size());
  bytes_.assign(count, 0);
  stays_.assign(count, false);
  mayLeave_.assign(count, false);
  for (int t = 0; t < graph.tensorCount(); ++t) {
    const CostTensor& tensor = graph.tensor(t);
    if (tensor.producer < 0 || !isHere(tensor.producer) || tensor.liveBytes() == 0) {
      continue;
    }
    bytes_[at(t)] = tensor.liveBytes();
    const bool isSent = placed_.simulation.firstTransfer[at(t)] >= 0;
    stays_[at(t)] = isSent || tensor.isOutput;
    mayLeave_[at(t)] = !stays_[at(t)] && mayRepeat_[at(tensor.producer)];
    for (int consumer : tensor.consumers) {
      if (isHere(consumer)) {
        inputs_[at(consumer)].push_back(t);
      }
    }
  }
}

void RepeatedStep::setNodes(std::vector<int> nodes) {
  nodes_ = std::move(nodes);
  findRanges();
  sumMemory();
}

void RepeatedStep::findRanges() {
  ranges_.clear();
  rangesOf_.assign(bytes_.size(), {});
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const int position = static_cast<int>(i);
    for (int t : inputs_[at(nodes_[i])]) {
      LiveRange& range = ranges_[at(rangesOf_[at(t)].back())];
      range.uses.push_back(position);
      range.end = std::max(range.end, position);
    }
    for (int t : problem_.graph().node(nodes_[i]).outputs) {
      if (bytes_[at(t)] == 0) {
        continue;
      }
      const bool stays = stays_[at(t)] && rangesOf_[at(t)].empty();
      rangesOf_[at(t)].push_back(static_cast<int>(ranges_.size()));
      ranges_.push_back({t, position, {}, stays ? static_cast<int>(nodes_.size()) - 1 : position});
    }
  }
}

void RepeatedStep::sumMemory() {
  std::vector<int64_t> change(nodes_.size() + 1, 0);
  for (const LiveRange& range : ranges_) {
    change[at(range.begin)] += bytes_[at(range.tensor)];
    change[at(range.end) + 1] -= bytes_[at(range.tensor)];
  }
  memory_.resize(nodes_.size());
  int64_t live = base_;
  peak_ = 0;
  peakCount_ = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    live += change[i];
    memory_[i] = live + problem_.graph().node(nodes_[i]).workspaceBytes;
    if (memory_[i] > memory_[at(peak_)]) {
      peak_ = static_cast<int>(i);
      peakCount_ = 0;
    }
    peakCount_ += memory_[i] == memory_[at(peak_)] ? 1 : 0;
  }
}

int RepeatedStep::rangeAt(int tensor, int position) const {
  const std::vector<int>& ranges = rangesOf_[at(tensor)];
  auto next = std::partition_point(ranges.begin(), ranges.end(),
                                   [&](int range) { return ranges_[at(range)].begin < position; });
  return next == ranges.begin() ? -1 : *(next - 1);
}

std::vector<bool> RepeatedStep::repetitions() const {
  std::vector<bool> ran(problem_.graph().nodes.size(), false);
  std::vector<bool> again;
  again.reserve(nodes_.size());
  for (int node : nodes_) {
    again.push_back(ran[at(node)]);
    ran[at(node)] = true;
  }
  return again;
}

}  // namespace graphrun::placement
