#include "placement/search/schedule.h"

#include <algorithm>
#include <cassert>

#include "runtime/base/status.h"

namespace graphrun::placement {

Schedule::Schedule(const Simulator& simulator, const Placement& placement)
    : simulator_(&simulator),
      graph_(&simulator.graph()),
      flat_(&simulator.flat()),
      collectives_(&simulator.collectives()),
      cores_(simulator),
      order_(placement),
      lines_(simulator),
      beside_(simulator),
      due_(simulator.graph().nodeCount()) {}

absl::StatusOr<Schedule> Schedule::create(const Simulator& simulator, const Placement& placement) {
  GR_ASSIGN_OR_RETURN(Simulation simulation, simulator.run(placement));
  Schedule schedule(simulator, placement);
  schedule.build(placement, simulation);
  return schedule;
}

void Schedule::build(const Placement& placement, const Simulation& simulation) {
  size_t nodes = graph_->nodes.size();
  auto cores = static_cast<size_t>(cores_.count());
  nodes_.assign(nodes, {});
  moreTurns_.assign(nodes * static_cast<size_t>(cores_.more()), {});
  onCore_.assign(cores, {});
  arrives_.assign(flat_->edgeCount(), kNone);
  linkTransfers_.assign(graph_->tensors.size(), hasSides());
  lately_.resize(cores);
  seen_ = {0, std::vector<int>(cores, 0), std::vector<int>(static_cast<size_t>(lines_.links()), 0)};
  findEnds();
  for (int n : order_.nodes()) {
    Node& node = nodes_.edit(n);
    node.start = simulation.ops[static_cast<size_t>(n)].start;
    node.finish = simulation.ops[static_cast<size_t>(n)].finish;
    joinDevice(n, placement.device[static_cast<size_t>(n)]);
    beside_.moveNode(kNone, device(n));
  }
  for (const Transfer& transfer : simulation.transfers) {  // each link's in its order
    const int id = make(transfer.tensor, transfer.to);
    LinkTransfer& linkTransfer = linkTransfers_.edit(id);
    linkTransfer.start = transfer.start;
    linkTransfer.finish = transfer.finish;
    forLines(id, [&](LineKind kind) {
      if (kind != LineKind::kLink) {
        Passage& passage = linkTransfers_.editPassage(kind, id);
        passage.free =
            kind == LineKind::kLeaves ? transfer.sent : transfer.start + passage.duration;
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
  placement.rank = order_.ranks();
  placement.strategy = strategy;
  return placement;
}

// What is sent.

/// A linkTransfer that nobody waits for yet.
int Schedule::make(int tensor, int to) {
  const int producer = graph_->tensor(tensor).producer;
  const int id = linkTransfers_.make(tensor, producer, to);
  due_.admit(id);
  linkTransfers_.edit(id).ready = producer < 0 ? 0 : nodes_[producer].finish;
  joinLink(id);
  touchSender(tensor);
  return id;
}

int Schedule::acquire(int tensor, int to) {
  int id = linkTransfers_.find(tensor, to);
  id = id == kNone ? make(tensor, to) : id;
  ++linkTransfers_.edit(id).uses;
  return id;
}

void Schedule::release(int id) {
  if (--linkTransfers_.edit(id).uses > 0) {
    return;
  }
  leaveLink(id);
  linkTransfers_.remove(id);
  touchSender(linkTransfers_[id].tensor);
  due_.dropTransfer(id);
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
  beside_.moveNode(from, to);
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
  // Whether its collective is held may have changed with it.
  forCollective(node, [&](int other) {
    auto input = static_cast<int>(flat_->firstEdge(other));
    for (int tensor : flat_->inputs(other)) {
      receive(tensor, {other, input++});
    }
  });
  touchNode(node);
  touchSharers(node);
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
  forTransfers(tensor, [&](int id) {
    if (linkTransfers_[id].to != to) {
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
    release(linkTransfers_.find(tensor, to));
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

void Schedule::setRank(int node, int to) {
  assert(shifts_.empty());
  int from = rank(node);
  if (from == to) {
    return;
  }
  readers_.moved.push_back(node);
  touchCollectivesAfter(node);
  order_.move(node, to);
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
  onCore_.undo();
  order_.undo();
  arrives_.undo();
  linkTransfers_.undo();
  lines_.undo();
  beside_.undo();
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
  onCore_.keep();
  order_.keep();
  arrives_.keep();
  linkTransfers_.keep();
  lines_.keep();
  beside_.keep();
}

}  // namespace graphrun::placement
