// The order of what cores run and links carry.
#include <algorithm>
#include <iterator>

#include "placement/search/schedule.h"

namespace graphrun::placement {

int Schedule::nodeBefore(int node) const {
  int last = kNone;
  forTurns(node, [&](const Turn& turn) {
    bool isLater = turn.before != kNone && (last == kNone || rank(turn.before) > rank(last));
    last = isLater ? turn.before : last;
  });
  return last;
}

/// The last node of `core` with a lower rank than `node`: looked for from the end of the core's
/// list when that is short, else from the node's position among all.
int Schedule::nodeBefore(int node, int core) const {
  constexpr int kShort = 32;
  int at = onCore_[core].last;
  if (onCore_[core].count <= kShort) {
    while (at != kNone && rank(at) > rank(node)) {
      at = turnOn(at, core).before;
    }
    return at;
  }
  for (int r = rank(node) - 1; r >= 0; --r) {
    if (cores_.has(device(nodeAt(r)), core)) {
      return nodeAt(r);
    }
  }
  return kNone;
}

void Schedule::leaveDevice(int node) {
  touchCollectivesAfter(node);
  beside_.countBusy(device(node), nodes_[node].start - nodes_[node].finish);
  for (int core : coresOf(node)) {
    Turn left = turnOn(node, core);
    WaitingLine& list = onCore_.edit(core);
    --list.count;
    (left.before == kNone ? list.first : editTurnOn(left.before, core).after) = left.after;
    (left.after == kNone ? list.last : editTurnOn(left.after, core).before) = left.before;
    if (left.after != kNone) {
      touchNode(left.after);
    }
  }
}

void Schedule::joinDevice(int node, int device) {
  nodes_.edit(node).device = device;
  beside_.countBusy(device, nodes_[node].finish - nodes_[node].start);
  for (int core : cores_.of(device)) {
    joinCore(node, core);
  }
  touchCollectivesAfter(node);
}

void Schedule::joinCore(int node, int core) {
  WaitingLine& list = onCore_.edit(core);
  int before = nodeBefore(node, core);
  int after = before == kNone ? list.first : turnOn(before, core).after;
  ++list.count;
  editTurnOn(node, core) = {before, after};
  (before == kNone ? list.first : editTurnOn(before, core).after) = node;
  (after == kNone ? list.last : editTurnOn(after, core).before) = node;
  if (after != kNone) {
    touchNode(after);
  }
}

/// Returns a transfer's position: what one endpoint sends is ready in the order of ranks, whatever
/// is due.
Schedule::LinePosition Schedule::positionOf(LineKind kind, int id) const {
  const LinkTransfer& at = linkTransfers_[id];
  int rank = rankOf(at);
  bool isShared = kind != LineKind::kLink || lines_.isShared(at.link);
  return {isShared ? at.ready + shiftOf(rank) : 0, rank, at.tensor, at.to, id};
}

bool Schedule::precedes(LineKind kind, int a, int b) const {
  return positionOf(kind, a) < positionOf(kind, b);
}

/// A linkTransfer in the same line, likely to be near; kNone when there is no other.
int Schedule::neighbour(LineKind kind, const LinkTransfer& linkTransfer) const {
  constexpr int kFar = 64;  // ranks
  constexpr int kShort = 16;
  const int line = lines_.lineOf(kind, linkTransfer);
  if (lines_.at(kind, line).count <= kShort) {
    return lines_.at(kind, line).last;
  }
  int found = kNone;
  int last = std::max(0, rankOf(linkTransfer) - kFar);
  for (int r = rankOf(linkTransfer) - 1; r >= last && found == kNone; --r) {
    forTransfersOf(nodeAt(r), [&](int id) {
      found = lines_.lineOf(kind, linkTransfers_[id]) == line ? id : found;
    });
  }
  return found == kNone ? lines_.at(kind, line).finger : found;
}

void Schedule::leaveLine(LineKind kind, int id) {
  const Turn left = linkTransfers_.turn(kind, id);
  WaitingLine& list = lines_.edit(kind, lines_.lineOf(kind, linkTransfers_[id]));
  --list.count;
  list.bytes -= graph_->tensor(linkTransfers_[id].tensor).bytes;
  (left.before == kNone ? list.first : linkTransfers_.editTurn(kind, left.before).after) =
      left.after;
  (left.after == kNone ? list.last : linkTransfers_.editTurn(kind, left.after).before) =
      left.before;
  if (list.finger == id) {
    list.finger = left.before == kNone ? left.after : left.before;
  }
  if (left.after != kNone) {
    touchTransfer(left.after);
  }
}

void Schedule::leaveLink(int id) {
  forLines(id, [&](LineKind kind) { leaveLine(kind, id); });
}

/// Puts a linkTransfer on the link that leads from where its tensor is, and in line for its
/// interfaces.
void Schedule::joinLink(int id) {
  const LinkTable& links = simulator_->links();
  LinkTransfer& linkTransfer = linkTransfers_.edit(id);
  const int64_t bytes = graph_->tensor(linkTransfer.tensor).bytes;
  linkTransfer.link = links.id(homeOf(linkTransfer.tensor), linkTransfer.to);
  linkTransfer.duration = links.nanos(linkTransfer.link, bytes);
  forLines(id, [&](LineKind kind) {
    if (kind != LineKind::kLink) {
      linkTransfers_.editPassage(kind, id).duration =
          links.side(lines_.lineOf(kind, linkTransfers_[id])).nanos(bytes);
    }
    insert(kind, id, neighbour(kind, linkTransfers_[id]));
  });
}

/// Puts a linkTransfer where its line's order wants it, looking from `near` on.
void Schedule::insert(LineKind kind, int id, int near) {
  int before = near;
  while (before != kNone && precedes(kind, id, before)) {
    before = linkTransfers_.turn(kind, before).before;
  }
  WaitingLine& list = lines_.edit(kind, lines_.lineOf(kind, linkTransfers_[id]));
  int after = before == kNone ? list.first : linkTransfers_.turn(kind, before).after;
  while (after != kNone && precedes(kind, after, id)) {
    before = after;
    after = linkTransfers_.turn(kind, after).after;
  }
  ++list.count;
  list.bytes += graph_->tensor(linkTransfers_[id].tensor).bytes;
  list.finger = id;
  linkTransfers_.editTurn(kind, id) = {before, after};
  (before == kNone ? list.first : linkTransfers_.editTurn(kind, before).after) = id;
  (after == kNone ? list.last : linkTransfers_.editTurn(kind, after).before) = id;
  touchTransfer(id);
  if (after != kNone) {
    touchTransfer(after);
  }
}

bool Schedule::isMisplaced(LineKind kind, int id) const {
  auto [before, after] = linkTransfers_.turn(kind, id);
  return (before != kNone && precedes(kind, id, before)) ||
         (after != kNone && precedes(kind, after, id));
}

/// After a change of what decides its position.
void Schedule::reinsert(int id) {
  forLines(id, [&](LineKind kind) {
    if (isMisplaced(kind, id)) {
      auto [before, after] = linkTransfers_.turn(kind, id);
      leaveLine(kind, id);
      insert(kind, id, before != kNone ? before : after);
    }
  });
}

/// After a change of the node's rank. What it sends may follow each other on a link: all of them
/// leave before the first is put back, or one would be put beside another that is out of place.
void Schedule::reinsertAll(int node) {
  bool misplaced = false;
  forTransfersOf(node, [&](int id) {
    forLines(id, [&](LineKind kind) { misplaced = misplaced || isMisplaced(kind, id); });
  });
  if (misplaced) {
    forTransfersOf(node, [&](int id) { leaveLink(id); });
    forTransfersOf(node, [&](int id) {
      forLines(id, [&](LineKind kind) { insert(kind, id, neighbour(kind, linkTransfers_[id])); });
    });
  }
}

/// Puts what several endpoints send over a link, or by a side, in order again after a shift: what
/// has ranks below `cut` is in order, and so is the rest.
void Schedule::mergeLine(LineKind kind, int line, int cut) {
  merge_.early.clear();
  merge_.late.clear();
  bool sorted = true;
  bool wasLate = false;
  LinePosition last{-1, 0, 0, 0, kNone};
  for (int id = lines_.at(kind, line).first; id != kNone;
       id = linkTransfers_.turn(kind, id).after) {
    LinePosition position = positionOf(kind, id);
    if (wasLate != (position.rank >= cut)) {
      wasLate = !wasLate;
      touchTransfer(id);
    }
    sorted = sorted && last < position;
    last = position;
    (wasLate ? merge_.late : merge_.early).push_back(position);
  }
  if (sorted) {
    return;
  }
  merge_.merged.clear();
  std::merge(merge_.early.begin(), merge_.early.end(), merge_.late.begin(), merge_.late.end(),
             std::back_inserter(merge_.merged));
  WaitingLine& list = lines_.edit(kind, line);
  list.first = merge_.merged.front().linkTransfer;
  list.last = merge_.merged.back().linkTransfer;
  for (size_t i = 0; i < merge_.merged.size(); ++i) {
    int id = merge_.merged[i].linkTransfer;
    int before = i == 0 ? kNone : merge_.merged[i - 1].linkTransfer;
    int after = i + 1 == merge_.merged.size() ? kNone : merge_.merged[i + 1].linkTransfer;
    const Turn now = linkTransfers_.turn(kind, id);
    if (now.before != before) {
      touchTransfer(id);
    }
    if (now.before != before || now.after != after) {
      linkTransfers_.editTurn(kind, id) = {before, after};
    }
  }
}

/// After a linkTransfer that a node waits for comes that node. Of the others the last one on each
/// link is enough to look at, if the link queues, or all, if they are fewer.
void Schedule::findEnds() {
  const std::vector<LinkInfo>& links = simulator_->links().links();
  for (int t = 0; t < graph_->tensorCount(); ++t) {
    if (graph_->tensor(t).isOutput) {
      ends_.outputs.push_back(t);
    }
  }
  ends_.asksLinks = ends_.outputs.size() > links.size() &&
                    std::all_of(links.begin(), links.end(),
                                [](const LinkInfo& link) { return link.model.queues; });
}

}  // namespace graphrun::placement
