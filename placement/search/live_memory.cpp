#include "placement/search/live_memory.h"

#include <algorithm>

#include "placement/simulator/placed_costs.h"

namespace graphrun::placement {

LiveMemory::LiveMemory(const PlacementProblem& problem)
    : problem_(problem),
      graph_(problem.graph()),
      flat_(problem.simulator.flat()),
      lastUses_(problem.graph().tensors.size(), 0),
      peaks_(problem.limits.size(), 0) {}

/// The rank of the last node that needs a tensor where it was made; the number of nodes where it
/// stays until the step ends.
int LiveMemory::lastUse(int t) const {
  const CostTensor& tensor = graph_.tensor(t);
  const int home = schedule_->device(tensor.producer);
  int last = schedule_->rank(tensor.producer);
  const bool holdsSent = problem_.simulator.options().holdsSent;
  bool stays = tensor.isOutput && (holdsSent || tensor.outputHome == home);
  for (const Use& use : flat_.uses(t)) {
    const bool isSent = schedule_->device(use.node) != home;
    stays = stays || (isSent && holdsSent);
    last = isSent ? last : std::max(last, schedule_->rank(use.node));
  }
  return stays ? graph_.nodeCount() : last;
}

/// Returns whether the outputs of a node have memory of their own: those of nodes that share work
/// are one.
bool LiveMemory::isOwn(int node) const {
  return PlacedCosts(problem_.simulator, *schedule_).workerOf(node) == node;
}

void LiveMemory::run(int node, std::vector<Device>& devices) const {
  const int here = schedule_->device(node);
  const int rank = schedule_->rank(node);
  Device& device = devices[static_cast<size_t>(here)];
  auto release = [&](int t) {
    const int producer = graph_.tensor(t).producer;
    const bool isHere = producer >= 0 && schedule_->device(producer) == here && isOwn(producer);
    device.live -=
        isHere && lastUses_[static_cast<size_t>(t)] == rank ? graph_.tensor(t).liveBytes() : 0;
  };
  for (int t : flat_.outputs(node)) {
    device.live += isOwn(node) ? graph_.tensor(t).liveBytes() : 0;
  }
  device.peak = std::max(device.peak, device.live + graph_.node(node).workspaceBytes);
  for (int t : flat_.inputs(node)) {
    release(t);
  }
  for (int t : flat_.outputs(node)) {
    release(t);
  }
}

/// Finds the last uses of what nodes of these ranks make.
void LiveMemory::findLastUses(int first, int last) {
  for (int r = first; r < last; ++r) {
    for (int t : flat_.outputs(schedule_->nodeAt(r))) {
      lastUses_[static_cast<size_t>(t)] = lastUse(t);
    }
  }
}

void LiveMemory::use(const Schedule& schedule) {
  schedule_ = &schedule;
  const auto [first, last] = schedule.window();
  findLastUses(0, graph_.nodeCount());
  crossing_.clear();
  for (int r = first; r < last; ++r) {
    for (int t : flat_.inputs(schedule.nodeAt(r))) {
      const int producer = graph_.tensor(t).producer;
      if (producer >= 0 && schedule.rank(producer) < first) {
        crossing_.push_back(t);
      }
    }
  }
  std::sort(crossing_.begin(), crossing_.end());
  crossing_.erase(std::unique(crossing_.begin(), crossing_.end()), crossing_.end());
  devices_.assign(problem_.limits.size(), {});
  for (int r = 0; r < first; ++r) {
    run(schedule.nodeAt(r), devices_);
  }
  before_ = devices_;
  for (int r = first; r < last; ++r) {
    run(schedule.nodeAt(r), devices_);
  }
  left_.clear();
  for (Device& device : devices_) {
    left_.push_back(device.live);
    device.peak = 0;
  }
  for (int r = last; r < graph_.nodeCount(); ++r) {
    run(schedule.nodeAt(r), devices_);
  }
  after_.clear();
  for (const Device& device : devices_) {
    after_.push_back(device.peak);
  }
}

const std::vector<int64_t>& LiveMemory::peaks() {
  const auto [first, last] = schedule_->window();
  for (int t : crossing_) {
    lastUses_[static_cast<size_t>(t)] = lastUse(t);
  }
  findLastUses(first, last);
  devices_ = before_;
  for (int r = first; r < last; ++r) {
    run(schedule_->nodeAt(r), devices_);
  }
  for (size_t d = 0; d < peaks_.size(); ++d) {
    const int64_t more = std::max<int64_t>(0, devices_[d].live - left_[d]);
    peaks_[d] = std::max(devices_[d].peak, after_[d] > 0 ? after_[d] + more : 0);
  }
  return peaks_;
}

}  // namespace graphrun::placement
