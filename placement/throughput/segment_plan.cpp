#include "placement/throughput/segment_plan.h"

#include <algorithm>
#include <limits>

namespace graphrun::placement {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;
/// States of use beyond which devices are used in one order only, each at most once.
constexpr size_t kMostReached = 256;

}  // namespace

bool SegmentPlanner::Kind::alike(const Kind& other) const {
  return port == other.port && again == other.again && lanes == other.lanes &&
         limit == other.limit && timeNs == other.timeNs;
}

SegmentPlanner::SegmentPlanner(const PlacementProblem& problem, const CoarseGraph& coarse,
                               const std::vector<int>& devices)
    : problem_(problem),
      coarse_(coarse),
      sum_(problem.objective == Objective::kLatency),
      lastUse_(coarse.tensors.size()),
      inside_(coarse.tensors.size(), 0),
      producerInside_(coarse.tensors.size(), false) {
  addKinds(devices);
  addSpeeds();
  addStates();
  addCapacities();
  addCrossings();
}

void SegmentPlanner::addKinds(const std::vector<int>& devices) {
  for (int d : devices) {
    const Device& device = problem_.cluster().devices[static_cast<size_t>(d)];
    Kind kind;
    kind.devices = {d};
    kind.port = device.hasPort;
    kind.lanes = device.lanes;
    kind.again = sum_ && device.lanes == 0 && !device.isOffload && !problem_.contiguous;
    kind.limit = problem_.limits[static_cast<size_t>(d)];
    for (const CoarseNode& coarseNode : coarse_.nodes) {
      bool may = std::binary_search(coarseNode.allowed.begin(), coarseNode.allowed.end(), d);
      int64_t time = may ? 0 : kUnsupported;
      for (size_t i = 0; may && i < coarseNode.nodes.size(); ++i) {
        time += problem_.graph().node(coarseNode.nodes[i]).timeNs[static_cast<size_t>(d)];
      }
      kind.timeNs.push_back(time);
    }
    auto known = std::find_if(kinds_.begin(), kinds_.end(),
                              [&](const Kind& other) { return other.alike(kind); });
    if (known == kinds_.end()) {
      kinds_.push_back(std::move(kind));
    } else {
      known->devices.push_back(d);
    }
  }
}

void SegmentPlanner::addSpeeds() {
  for (size_t p = 0; p < coarse_.nodes.size(); ++p) {
    int64_t fastest = kNever;
    for (const Kind& kind : kinds_) {
      fastest = kind.timeNs[p] == kUnsupported ? fastest : std::min(fastest, kind.timeNs[p]);
    }
    fastestNs_.push_back(fastest);
    for (Kind& kind : kinds_) {
      double time = static_cast<double>(std::max<int64_t>(kind.timeNs[p], 0));
      kind.speed =
          time > 0 ? std::max(kind.speed, static_cast<double>(fastest) / time) : kind.speed;
    }
  }
}

/// Steps lead to higher states, or to the same where a device is used again.
void SegmentPlanner::addCapacities() {
  capacity_.assign(steps_.size(), 0);
  for (size_t state = steps_.size(); state-- > 0;) {
    for (Step step : steps_[state]) {
      if (step.kind < 0) {
        continue;
      }
      const Kind& kind = kinds_[static_cast<size_t>(step.kind)];
      double lanes = kind.lanes == 0 || kind.again ? std::numeric_limits<double>::infinity()
                                                   : kind.lanes * kind.speed;
      capacity_[state] =
          std::max(capacity_[state], capacity_[static_cast<size_t>(step.next)] + lanes);
    }
  }
}

/// Returns whether what is behind the cut may be done in less than `below` by what is left.
bool SegmentPlanner::canEnd(size_t state, size_t cut, int64_t below) const {
  return sum_ || static_cast<double>(left_[cut]) <= capacity_[state] * static_cast<double>(below);
}

/// A state is the number of devices of each kind that are used, as digits of a number.
void SegmentPlanner::addStates() {
  size_t states = 1;
  for (const Kind& kind : kinds_) {
    states = std::min(states * (kind.again ? 1 : kind.devices.size() + 1), kMostReached + 1);
  }
  if (states > kMostReached) {
    for (size_t k = 0; k < kinds_.size(); ++k) {
      for (size_t i = 0; i < kinds_[k].devices.size(); ++i) {
        int next = static_cast<int>(steps_.size()) + 1;
        steps_.push_back({{static_cast<int>(k), next}, {-1, next}});
      }
    }
    steps_.emplace_back();
    return;
  }
  steps_.resize(states);
  for (size_t state = 0; state < states; ++state) {
    size_t digit = 1;
    for (size_t k = 0; k < kinds_.size(); ++k) {
      size_t radix = kinds_[k].again ? 1 : kinds_[k].devices.size() + 1;
      bool left = state / digit % radix + 1 < radix;
      if (left || kinds_[k].again) {
        size_t next = kinds_[k].again ? state : state + digit;
        steps_[state].push_back({static_cast<int>(k), static_cast<int>(next)});
      }
      digit *= radix;
    }
  }
}

void SegmentPlanner::addCrossings() {
  const CostGraph& graph = problem_.graph();
  const LinkTable& links = problem_.simulator.links();
  int last = problem_.deviceCount() - 1;
  for (const CoarseTensor& entry : coarse_.tensors) {
    const CostTensor& tensor = graph.tensor(entry.tensor);
    bool input = tensor.producer < 0;
    int64_t linkNs =
        input || last < 1 ? 0 : links.link(links.id(0, last)).model.transferNs(tensor.bytes);
    crossings_.push_back({tensor.portNs, linkNs, input ? 0 : tensor.liveBytes(),
                          problem_.simulator.receiveBytes(tensor, input ? tensor.inputHome : 0),
                          static_cast<int>(entry.consumers.size()) + (tensor.isOutput ? 1 : 0)});
  }
  for (const CoarseNode& coarseNode : coarse_.nodes) {
    int64_t largest = 0;
    for (int node : coarseNode.nodes) {
      largest = std::max(largest, graph.node(node).workspaceBytes);
    }
    transient_.push_back(largest);
  }
}

void SegmentPlanner::cutLimit(int device, int64_t bytes) {
  for (Kind& kind : kinds_) {
    if (std::find(kind.devices.begin(), kind.devices.end(), device) != kind.devices.end()) {
      kind.limit -= bytes;
    }
  }
}

void SegmentPlanner::placeCuts(const std::vector<int>& order) {
  order_ = order;
  position_.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    position_[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  for (size_t t = 0; t < coarse_.tensors.size(); ++t) {
    const CoarseTensor& tensor = coarse_.tensors[t];
    int last = tensor.producer < 0 ? 0 : position_[static_cast<size_t>(tensor.producer)];
    for (int consumer : tensor.consumers) {
      last = std::max(last, position_[static_cast<size_t>(consumer)]);
    }
    lastUse_[t] = last;
  }
  cuts_.clear();
  size_t parts = std::min(order.size(), kMostCuts);
  for (size_t i = 0; i <= parts; ++i) {
    cuts_.push_back(static_cast<int>(order.size() * i / std::max<size_t>(parts, 1)));
  }
  left_.assign(cuts_.size(), 0);
  for (size_t cut = cuts_.size() - 1; cut-- > 0;) {
    left_[cut] = left_[cut + 1];
    for (int i = cuts_[cut]; i < cuts_[cut + 1]; ++i) {
      left_[cut] += fastestNs_[static_cast<size_t>(order[static_cast<size_t>(i)])];
    }
  }
}

/// Adds or takes away what a tensor costs the part as it is cut now.
void SegmentPlanner::touch(Part& part, int tensor, int sign) const {
  auto t = static_cast<size_t>(tensor);
  const Crossing& crossing = crossings_[t];
  bool leaves = producerInside_[t] && inside_[t] < crossing.readers;
  bool comes = !producerInside_[t] && inside_[t] > 0;
  part.portNs += leaves || comes ? sign * crossing.portNs : 0;
  part.linkNs += comes ? sign * crossing.linkNs : 0;
  part.receiveBytes += comes ? sign * crossing.receiveBytes : 0;
}

/// The part from `from` with the coarse node at `at` too; false if no device can have it or more.
bool SegmentPlanner::extend(Part& part, int from, int at, int64_t below) {
  int coarseNode = order_[static_cast<size_t>(at)];
  auto p = static_cast<size_t>(coarseNode);
  for (int tensor : coarse_.touching[coarseNode]) {
    auto t = static_cast<size_t>(tensor);
    if (!producerInside_[t] && inside_[t] == 0) {
      touched_.push_back(tensor);
    }
    touch(part, tensor, -1);
    if (coarse_.tensors[t].producer == coarseNode) {
      producerInside_[t] = true;
      part.liveBytes += crossings_[t].bytes;
    } else {
      ++inside_[t];
    }
    touch(part, tensor, 1);
  }
  part.peakBytes = std::max(part.peakBytes, part.liveBytes + transient_[p]);
  for (int tensor : coarse_.touching[coarseNode]) {
    auto t = static_cast<size_t>(tensor);
    int producer = coarse_.tensors[t].producer;
    bool ends =
        lastUse_[t] == at && producer >= 0 && position_[static_cast<size_t>(producer)] >= from;
    part.liveBytes -= ends ? crossings_[t].bytes : 0;
  }
  part.weightBytes += coarse_.node(coarseNode).weightBytes;
  bool any = false;
  for (size_t k = 0; k < kinds_.size(); ++k) {
    const Kind& kind = kinds_[k];
    part.busyNs[k] += std::max<int64_t>(kind.timeNs[p], 0);
    part.can[k] = part.can[k] && kind.timeNs[p] != kUnsupported && part.weightBytes <= kind.limit &&
                  (!sum_ && kind.lanes == 0 ? 0 : part.busyNs[k] / std::max(kind.lanes, 1)) < below;
    any = any || part.can[k];
  }
  return any;
}

int64_t SegmentPlanner::costOf(const Part& part, size_t kind) const {
  const Kind& entry = kinds_[kind];
  if (!part.can[kind] || part.weightBytes + part.receiveBytes + part.peakBytes > entry.limit) {
    return kNever;
  }
  int64_t load = part.busyNs[kind] + (entry.port ? part.portNs : 0);
  if (sum_) {
    return load + part.linkNs;
  }
  return std::max(entry.lanes == 0 ? 0 : (load + entry.lanes - 1) / entry.lanes, part.linkNs);
}

void SegmentPlanner::relax(const Part& part, size_t from, size_t to) {
  costs_.clear();
  for (size_t k = 0; k < kinds_.size(); ++k) {
    costs_.push_back(costOf(part, k));
  }
  for (size_t state : alive_) {
    int64_t before = best_[slot(state, from)];
    for (Step step : steps_[state]) {
      if (step.kind < 0) {
        continue;
      }
      int64_t cost = costs_[static_cast<size_t>(step.kind)];
      int64_t value = sum_ ? before + cost : std::max(before, cost);
      int64_t& known = best_[slot(static_cast<size_t>(step.next), to)];
      if (value < known) {
        known = value;
        origin_[slot(static_cast<size_t>(step.next), to)] = {static_cast<int>(from),
                                                             static_cast<int>(state), step.kind};
      }
    }
  }
}

std::optional<SegmentPlan> SegmentPlanner::plan(const std::vector<int>& order, int64_t below,
                                                SearchLimit& limit) {
  placeCuts(order);
  best_.assign(steps_.size() * cuts_.size(), below);
  origin_.assign(best_.size(), Origin{});
  best_[slot(0, 0)] = std::min<int64_t>(0, below);
  for (size_t from = 0; from < cuts_.size(); ++from) {
    alive_.clear();
    for (size_t state = 0; state < steps_.size(); ++state) {
      skipDevice(state, from);
      if (best_[slot(state, from)] < below && canEnd(state, from, below)) {
        alive_.push_back(state);
      }
    }
    if (!alive_.empty() && from + 1 < cuts_.size()) {
      if (limit.spend()) {
        return std::nullopt;
      }
      growFrom(from, below);
    }
  }
  size_t best = 0;
  for (size_t state = 0; state < steps_.size(); ++state) {
    if (best_[slot(state, cuts_.size() - 1)] < best_[slot(best, cuts_.size() - 1)]) {
      best = state;
    }
  }
  return best_[slot(best, cuts_.size() - 1)] < below ? std::optional(trace(best)) : std::nullopt;
}

void SegmentPlanner::skipDevice(size_t state, size_t cut) {
  for (Step step : steps_[state]) {
    int64_t& known = best_[slot(static_cast<size_t>(step.next), cut)];
    if (step.kind < 0 && best_[slot(state, cut)] < known) {
      known = best_[slot(state, cut)];
      origin_[slot(static_cast<size_t>(step.next), cut)] = {static_cast<int>(cut),
                                                            static_cast<int>(state), -1};
    }
  }
}

void SegmentPlanner::growFrom(size_t from, int64_t below) {
  Part part;
  part.busyNs.assign(kinds_.size(), 0);
  part.can.assign(kinds_.size(), true);
  int at = cuts_[from];
  bool grows = true;
  for (size_t to = from + 1; grows && to < cuts_.size(); ++to) {
    for (; grows && at < cuts_[to]; ++at) {
      grows = extend(part, cuts_[from], at, below);
    }
    if (grows) {
      relax(part, from, to);
    }
  }
  for (int tensor : touched_) {
    inside_[static_cast<size_t>(tensor)] = 0;
    producerInside_[static_cast<size_t>(tensor)] = false;
  }
  touched_.clear();
}

SegmentPlan SegmentPlanner::trace(size_t state) const {
  size_t cut = cuts_.size() - 1;
  SegmentPlan plan;
  plan.ns = best_[slot(state, cut)];
  plan.device.resize(order_.size());
  std::vector<size_t> used(kinds_.size(), 0);
  while (cut > 0) {
    Origin origin = origin_[slot(state, cut)];
    if (origin.kind >= 0) {
      const Kind& kind = kinds_[static_cast<size_t>(origin.kind)];
      // The last part has the last device of its kind.
      size_t one = kind.again ? 0 : used[static_cast<size_t>(origin.kind)]++;
      for (int i = cuts_[static_cast<size_t>(origin.cut)]; i < cuts_[cut]; ++i) {
        plan.device[static_cast<size_t>(order_[static_cast<size_t>(i)])] =
            kind.devices[kind.devices.size() - 1 - one];
      }
    }
    cut = static_cast<size_t>(origin.cut);
    state = static_cast<size_t>(origin.state);
  }
  return plan;
}

}  // namespace graphrun::placement
