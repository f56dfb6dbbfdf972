// When nodes and transfers start: what is due, and settling it.
#include <algorithm>

#include "placement/search/schedule.h"

namespace graphrun::placement {

int64_t Schedule::shiftOf(int rank) const {
  for (auto shift = shifts_.rbegin(); shift != shifts_.rend(); ++shift) {
    if (rank >= shift->rank) {
      return shift->delay;
    }
  }
  return 0;
}

int64_t Schedule::earliestStart(int node) const {
  int64_t start = 0;
  forTurns(node, [&](const Turn& turn) {
    start = turn.before == kNone ? start : std::max(start, finishOf(turn.before));
  });
  forArrivals(node, [&](int other) { start = std::max(start, finishOf(other)); });
  auto edge = static_cast<int>(flat_->firstEdge(node));
  for (int tensor : flat_->inputs(node)) {
    int arrived = arrives_[edge++];
    int producer = arrived == kNone ? graph_->tensor(tensor).producer : kNone;
    int64_t there = arrived != kNone ? arrivalOf(arrived) : producer < 0 ? 0 : finishOf(producer);
    start = std::max(start, there);
  }
  return start;
}

int64_t Schedule::durationOf(int node) const { return costs().nodeNs(node); }

/// Those that share work or meet with a node that has moved may have to do it now, or no longer.
void Schedule::touchSharers(int node) {
  if (int shared = flat_->sharedOf(node); shared >= 0) {
    for (int other : graph_->shared[static_cast<size_t>(shared)].nodes) {
      touchNode(other);
    }
  }
  forCollective(node, [&](int other) { touchNode(other); });
}

/// Marks the nodes that wait for a device to come to a collective: they may wait for another node
/// of it now.
void Schedule::touchCollectivesAfter(int node) {
  forCollectivesAfter(node, [&](int other) { touchNode(other); });
}

/// Marks the producer of the tensor: it has another device to send it to now, or one less.
void Schedule::touchSender(int tensor) {
  if (int producer = graph_->tensor(tensor).producer;
      producer >= 0 && simulator_->links().sendsTakeTime()) {
    touchNode(producer);
  }
}

/// Another node may be the first to read a tensor where this one is, or has been.
void Schedule::touchFellows(int node) {
  for (int tensor : flat_->inputs(node)) {
    for (const Use& use : flat_->uses(tensor)) {
      touchNode(use.node);
    }
  }
}

void Schedule::touchNode(int node) { due_.addNode(node, rank(node)); }

void Schedule::touchTransfer(int id) { due_.addTransfer(id, rankOf(linkTransfers_[id])); }

/// Moves what is due of nodes that have new ranks to these.
void Schedule::touchAgain(int firstRank, int lastRank) {
  for (int r = firstRank; r <= lastRank; ++r) {
    bool due = due_.isNodeDue(nodeAt(r));
    forTransfersOf(nodeAt(r), [&](int id) { due = due || due_.isSendingDue(id); });
    if (due) {
      due_.addRank(r);
    }
  }
}

/// Something that a node waits for ends at `is` instead of `was`: the node starts at another time
/// only if it waited for that last, or does now.
void Schedule::followNode(int64_t was, int64_t is, int node) {
  int64_t start = startOf(node);
  if (is > start || was >= start) {
    touchNode(node);
  }
}

/// With interfaces it may pass the side that it leaves by at another time and start when it did.
void Schedule::followTransfer(int64_t was, int64_t is, int id) {
  int64_t start = linkTransfers_[id].start + shiftOf(rankOf(linkTransfers_[id]));
  if (hasSides() || is > start || was >= start) {
    touchTransfer(id);
  }
}

void Schedule::settleNode(int node) {
  const Node& at = nodes_[node];
  int64_t delay = shiftOf(rank(node));
  int64_t start = earliestStart(node) - delay;
  int64_t finish = start + durationOf(node);
  int64_t was = at.finish;
  if (start == at.start && finish == was) {
    return;
  }
  beside_.countBusy(at.device, finish - start - (at.finish - at.start));
  Node& settled = nodes_.edit(node);
  settled.start = start;
  settled.finish = finish;
  for (int core : coresOf(node)) {
    lately_[static_cast<size_t>(core)] = {rank(node), finish - was};
  }
  if (finish == was) {
    return;
  }
  forTurns(node, [&](const Turn& turn) {
    if (turn.after != kNone) {
      followNode(was + delay, finish + delay, turn.after);
    }
  });
  touchCollectivesAfter(node);
  for (int tensor : flat_->outputs(node)) {
    for (const Use& use : flat_->uses(tensor)) {
      if (arrives_[use.edge] == kNone) {
        followNode(was + delay, finish + delay, use.node);
      }
    }
    forTransfers(tensor, [&](int id) {
      linkTransfers_.edit(id).ready = finish;
      reinsert(id);
      followTransfer(was + delay, finish + delay, id);
    });
  }
}

/// When a linkTransfer has its turn by all sides on its way, if its link has room for it at
/// `begin`.
int64_t Schedule::passSides(int id, int64_t begin) {
  const int64_t delay = shiftOf(rankOf(linkTransfers_[id]));
  forLines(id, [&](LineKind kind) {
    if (kind == LineKind::kLink) {
      return;
    }
    const Passage& at = linkTransfers_.passage(kind, id);
    if (int before = at.turn.before; before != kNone) {
      const int64_t free =
          linkTransfers_.passage(kind, before).free + shiftOf(rankOf(linkTransfers_[before]));
      begin = std::max(begin, free - delay);
    }
    if (const int64_t free = begin + at.duration; free != at.free) {
      linkTransfers_.editPassage(kind, id).free = free;
      if (at.turn.after != kNone) {
        touchTransfer(at.turn.after);
      }
    }
  });
  return begin;
}

void Schedule::settleTransfer(int id) {
  due_.dropTransfer(id);
  const LinkTransfer& at = linkTransfers_[id];
  int64_t delay = shiftOf(rankOf(at));
  bool waits = at.turn.before != kNone && queues(at.link);
  int64_t start = waits ? std::max(at.ready, arrivalOf(at.turn.before) - delay) : at.ready;
  start = hasSides() ? passSides(id, start) : start;
  int64_t finish = start + at.duration;
  int64_t was = at.finish;
  if (start == at.start && finish == was) {
    return;
  }
  LinkTransfer& settled = linkTransfers_.edit(id);
  settled.start = start;
  settled.finish = finish;
  if (finish == was) {
    return;
  }
  if (settled.turn.after != kNone && queues(settled.link)) {
    followTransfer(was + delay, finish + delay, settled.turn.after);
  }
  for (const Use& use : flat_->uses(settled.tensor)) {
    if (arrives_[use.edge] == id) {
      followNode(was + delay, finish + delay, use.node);
    }
  }
}

void Schedule::settleRank(int rank) {
  if (rank < 0) {
    for (int id : due_.takeInputs()) {
      settleTransfer(id);
    }
    return;
  }
  int node = nodeAt(rank);
  if (due_.isNodeDue(node)) {
    due_.dropNode(node);
    settleNode(node);
  }
  forTransfersOf(node, [&](int id) {
    if (due_.isSendingDue(id)) {
      settleTransfer(id);
    }
  });
}

void Schedule::settleAll() {
  constexpr int kFirstLook = 48;  // settled ranks after which a shift is considered
  std::fill(lately_.begin(), lately_.end(), Delayed{});
  int settled = 0;
  int look = kFirstLook;
  for (int rank = due_.takeRank(nodeCount()); rank < nodeCount();
       rank = due_.takeRank(nodeCount())) {
    settleRank(rank);
    if (++settled >= look && (shifts_.empty() || shifts_.back().rank <= rank)) {
      if (int64_t delay = commonDelay(rank + 1); delay != 0) {
        shift(delay, rank + 1);
      }
      look = 2 * settled;
    }
  }
}

/// Returns what a step of `step` ns takes beside that: Simulation::overheadNs and crowdingNs.
int64_t Schedule::besideNs(int64_t step) const {
  return beside_.ns(step, lines_.links(), [this](int link) { return lines_.onLink(link).bytes; });
}

int64_t Schedule::stepNs() {
  if (isOpen()) {
    return windowNs();
  }
  settleAll();
  int64_t step = 0;
  for (int core = 0; core < onCore_.size(); ++core) {
    int last = onCore_[core].last;
    step = last == kNone ? step : std::max(step, finishOf(last));
  }
  for (int l = 0; ends_.asksLinks && l < lines_.links(); ++l) {
    int last = lines_.onLink(l).last;
    step = last == kNone ? step : std::max(step, arrivalOf(last));
  }
  for (size_t i = 0; !ends_.asksLinks && i < ends_.outputs.size(); ++i) {
    forTransfers(ends_.outputs[i], [&](int id) { step = std::max(step, arrivalOf(id)); });
  }
  return step + besideNs(step);
}

/// Nothing is due any more; after a window it stays due, what has to be and perhaps some more.
void Schedule::forget() {
  for (int rank = due_.takeRank(endOfWork()); rank < endOfWork();
       rank = due_.takeRank(endOfWork())) {
    if (rank >= 0) {
      due_.dropNode(nodeAt(rank));
      forTransfersOf(nodeAt(rank), [&](int id) { due_.dropTransfer(id); });
    }
  }
  for (int id : due_.takeInputs()) {
    due_.dropTransfer(id);
  }
}

}  // namespace graphrun::placement
