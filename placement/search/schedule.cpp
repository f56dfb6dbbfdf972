#include "placement/search/schedule.h"

#include <algorithm>
#include <cassert>

#include "runtime/base/status.h"

namespace graphrun::placement {

Schedule::Schedule(const Simulator& simulator)
    : simulator_(&simulator),
      graph_(&simulator.graph()),
      flat_(&simulator.flat()),
      cores_(&simulator.cores()),
      meetings_(&simulator.meetings()),
      starts_(&simulator.starts()),
      crowding_(&simulator.crowding()) {}

absl::StatusOr<Schedule> Schedule::create(const Simulator& simulator, const Placement& placement) {
  GR_ASSIGN_OR_RETURN(Simulation simulation, simulator.run(placement));
  Schedule schedule(simulator);
  schedule.build(placement, simulation);
  return schedule;
}

void Schedule::build(const Placement& placement, const Simulation& simulation) {
  size_t nodes = graph_->nodes.size();
  auto cores = static_cast<size_t>(cores_->count());
  size_t links = simulator_->links().links().size();
  rank_ = placement.rank;
  order_ = placement.order();
  nodes_.assign(nodes, {});
  arrives_.assign(flat_->edgeCount(), kNone);
  sent_.assign(graph_->tensors.size(), kNone);
  onCore_.assign(cores, {});
  onLink_.assign(links, {});
  toldFor_.assign(simulator_->cluster().workers.size(), 0);
  busy_.assign(static_cast<size_t>(crowding_->machines()), 0);
  dueRanks_ = DueRanks(static_cast<int>(nodes));
  nodeDue_.assign(nodes, 0);
  lately_.resize(cores);
  coreRound_.assign(cores, 0);
  linkRound_.assign(links, 0);
  findCores();
  findSharedLinks();
  findSides();
  findEnds();
  for (int n : order_) {
    Node& node = nodes_.edit(n);
    node.start = simulation.ops[static_cast<size_t>(n)].start;
    node.finish = simulation.ops[static_cast<size_t>(n)].finish;
    joinDevice(n, placement.device[static_cast<size_t>(n)]);
    moveTelling(kNone, device(n));
  }
  for (const Transfer& transfer : simulation.transfers) {  // each link's in its order
    Sending& sending = sendings_.edit(make(transfer.tensor, transfer.to));
    sending.start = transfer.start;
    sending.finish = transfer.finish;
    forWays(made_.back(), [&](Way way) {
      if (way != Way::kLink) {
        Passage& passage = passages_.edit(passageId(way, made_.back()));
        passage.free = way == Way::kLeaves ? transfer.sent : transfer.start + passage.duration;
      }
    });
  }
  for (int t = 0; t < graph_->tensorCount(); ++t) {
    const CostTensor& tensor = graph_->tensor(t);
    for (const Use& use : flat_->uses(t)) {
      if (travels(t, use.node)) {
        arrives_.edit(use.edge) = acquire(t, device(use.node));
      }
    }
    if (tensor.isOutput && tensor.outputHome != homeOf(t)) {
      acquire(t, tensor.outputHome);
    }
  }
  learnReaders();
  keep();
}

Placement Schedule::placement(const char* strategy) const {
  Placement placement;
  for (int n = 0; n < nodeCount(); ++n) {
    placement.device.push_back(device(n));
  }
  placement.rank = rank_;
  placement.strategy = strategy;
  return placement;
}

// What is sent.

/// A sending that nobody waits for yet.
int Schedule::make(int tensor, int to) {
  int id;
  if (free_.empty()) {
    id = sendings_.append();
    sendingDue_.push_back(0);
    if (hasSides()) {
      passages_.append();
      passages_.append();
    }
  } else {
    id = free_.back();
    free_.pop_back();
  }
  made_.push_back(id);
  Sending& sending = sendings_.replace(id);
  sending = {};
  if (hasSides()) {
    passages_.replace(passageId(Way::kLeaves, id)) = {};
    passages_.replace(passageId(Way::kEnters, id)) = {};
  }
  sending.tensor = tensor;
  sending.producer = graph_->tensor(tensor).producer;
  sending.to = to;
  sending.ready = sending.producer < 0 ? 0 : nodes_[sending.producer].finish;
  sending.next = sent_[tensor];
  sent_.edit(tensor) = id;
  joinLink(id);
  touchSender(tensor);
  return id;
}

int Schedule::find(int tensor, int to) const {
  int id = sent_[tensor];
  while (id != kNone && sendings_[id].to != to) {
    id = sendings_[id].next;
  }
  return id;
}

int Schedule::acquire(int tensor, int to) {
  int id = find(tensor, to);
  id = id == kNone ? make(tensor, to) : id;
  ++sendings_.edit(id).uses;
  return id;
}

void Schedule::release(int id) {
  if (--sendings_.edit(id).uses > 0) {
    return;
  }
  leaveLink(id);
  const Sending& gone = sendings_[id];
  int* place = &sent_.edit(gone.tensor);
  while (*place != id) {
    place = &sendings_.edit(*place).next;
  }
  *place = gone.next;
  touchSender(gone.tensor);
  sendingDue_[static_cast<size_t>(id)] = 0;
  gone_.push_back(id);
}

// Changes.

void Schedule::setDevice(int node, int to) {
  assert(shifts_.empty());
  int from = device(node);
  if (from == to) {
    return;
  }
  leaveDevice(node);
  joinDevice(node, to);
  moveTelling(from, to);
  auto edge = static_cast<int>(flat_->firstEdge(node));
  for (int tensor : flat_->inputs(node)) {
    int arrived = arrives_[edge];
    arrives_.edit(edge) = travels(tensor, node) ? acquire(tensor, to) : kNone;
    if (arrived != kNone) {
      release(arrived);
    }
    ++edge;
  }
  for (int tensor : flat_->outputs(node)) {
    moveOutput(tensor, from, to);
  }
  if (readsTakeTime()) {
    touchFellows(node);
  }
  // Whether its meeting is held may have changed with it.
  forMeeting(node, [&](int other) {
    auto input = static_cast<int>(flat_->firstEdge(other));
    for (int tensor : flat_->inputs(other)) {
      receive(tensor, {other, input++});
    }
  });
  touchNode(node);
  touchSharers(node);
}

/// The worker of one device must be told of a node less, that of another of one more.
void Schedule::moveTelling(int from, int to) {
  if (starts_->empty()) {
    return;
  }
  auto add = [&](int device, int nodes) {
    if (int worker = device == kNone ? kNone : starts_->toldFor(device); worker >= 0) {
      toldFor_.edit(worker) += nodes;
    }
  };
  add(from, -1);
  add(to, 1);
}

/// Has a tensor sent to one that reads it, or no longer, where it stays.
void Schedule::receive(int tensor, const Use& use) {
  int arrived = arrives_[use.edge];
  if (travels(tensor, use.node) == (arrived != kNone)) {
    return;
  }
  arrives_.edit(use.edge) = arrived == kNone ? acquire(tensor, device(use.node)) : kNone;
  if (arrived != kNone) {
    release(arrived);
  }
  touchNode(use.node);
}

/// A tensor is made on `to` instead of `from`.
void Schedule::moveOutput(int tensor, int from, int to) {
  forSendings(tensor, [&](int id) {
    if (sendings_[id].to != to) {
      leaveLink(id);
      joinLink(id);
    }
  });
  for (const Use& use : flat_->uses(tensor)) {
    if (int there = device(use.node); there == from || there == to) {
      receive(tensor, use);
      touchNode(use.node);
    } else if (readsTakeTime()) {
      touchNode(use.node);  // it comes over another link
    }
  }
  const CostTensor& at = graph_->tensor(tensor);
  if (at.isOutput && at.outputHome == from) {
    acquire(tensor, from);
  } else if (at.isOutput && at.outputHome == to) {
    release(find(tensor, to));
  }
}

std::pair<int, int> Schedule::rankRange(int node) const {
  auto [first, last] = window();
  --last;
  for (int tensor : flat_->inputs(node)) {
    int producer = graph_->tensor(tensor).producer;
    first = producer < 0 ? first : std::max(first, rank(producer) + 1);
  }
  for (int tensor : flat_->outputs(node)) {
    for (const Use& use : flat_->uses(tensor)) {
      last = std::min(last, rank(use.node) - 1);
    }
  }
  return {first, last};
}

/// Moves the node in the order of all nodes; those between move by one.
void Schedule::turnOrder(int node, int to) {
  int from = rank(node);
  auto at = [&](int r) { return order_.begin() + r; };
  if (from < to) {
    std::rotate(at(from), at(from + 1), at(to + 1));
  } else {
    std::rotate(at(to), at(from), at(from + 1));
  }
  for (int r = std::min(from, to); r <= std::max(from, to); ++r) {
    rank_[static_cast<size_t>(nodeAt(r))] = r;
  }
}

void Schedule::setRank(int node, int to) {
  assert(shifts_.empty());
  int from = rank(node);
  if (from == to) {
    return;
  }
  ranksBefore_.emplace_back(node, from);
  readers_.moved.push_back(node);
  touchMeetingsAfter(node);
  turnOrder(node, to);
  touchAgain(std::min(from, to), std::max(from, to));
  int on = device(node);
  leaveDevice(node);
  joinDevice(node, on);
  touchNode(node);
  if (readsTakeTime()) {
    touchFellows(node);
  }
  touchSharers(node);
  reinsertAll(node);
}

void Schedule::undo() {
  forget();
  shifts_.clear();
  nodes_.undo();
  moreTurns_.undo();
  arrives_.undo();
  sendings_.undo();
  sent_.undo();
  onCore_.undo();
  onLink_.undo();
  passages_.undo();
  onSide_.undo();
  toldFor_.undo();
  busy_.undo();
  for (auto change = ranksBefore_.rbegin(); change != ranksBefore_.rend(); ++change) {
    turnOrder(change->first, change->second);
  }
  ranksBefore_.clear();
  free_.insert(free_.end(), made_.begin(), made_.end());
  made_.clear();
  gone_.clear();
}

void Schedule::keep() {
  constexpr size_t kMostMoved = 64;
  stepNs();  // what is due now could not be told from what later changes make due
  applyShifts();
  commit();
  if (!isOpen() && readers_.moved.size() > kMostMoved) {
    learnReaders();
  }
}

void Schedule::commit() {
  nodes_.keep();
  moreTurns_.keep();
  arrives_.keep();
  sendings_.keep();
  sent_.keep();
  onCore_.keep();
  onLink_.keep();
  passages_.keep();
  onSide_.keep();
  toldFor_.keep();
  busy_.keep();
  ranksBefore_.clear();
  free_.insert(free_.end(), gone_.begin(), gone_.end());
  made_.clear();
  gone_.clear();
}

}  // namespace graphrun::placement
