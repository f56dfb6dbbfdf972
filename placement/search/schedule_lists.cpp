// The order of what cores run and links carry.
#include <algorithm>
#include <iterator>

#include "placement/search/schedule.h"

namespace graphrun::placement {

/// Finds the cores of devices: where devices share cores, a node has a turn on each core of its
/// device.
void Schedule::findCores() {
  size_t devices = cores_->isShared() ? simulator_->cluster().devices.size() : 0;
  coreIndex_.assign(devices, std::vector<int>(static_cast<size_t>(onCore_.size()), kNone));
  for (size_t d = 0; d < devices; ++d) {
    int count = 0;
    for (int core : cores_->of(static_cast<int>(d))) {
      coreIndex_[d][static_cast<size_t>(core)] = count++;
    }
    moreCores_ = std::max(moreCores_, count - 1);
  }
  moreTurns_.assign(graph_->nodes.size() * static_cast<size_t>(moreCores_), {});
}

int Schedule::nodeBefore(int node) const {
  int last = kNone;
  forTurns(node, [&](const Turn& turn) {
    bool isLater = turn.before != kNone && (last == kNone || rank(turn.before) > rank(last));
    last = isLater ? turn.before : last;
  });
  return last;
}

/// The last node of `core` with a lower rank than `node`: looked for from the end of the core's
/// list when that is short, else from the node's place among all.
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
    if (hasCore(device(nodeAt(r)), core)) {
      return nodeAt(r);
    }
  }
  return kNone;
}

/// So much more is computed on the machine of a node's device.
void Schedule::countBusy(int node, int64_t ns) {
  if (int machine = ns == 0 ? kNone : crowding_->machineOf(device(node)); machine >= 0) {
    busy_.edit(machine) += ns;
  }
}

void Schedule::leaveDevice(int node) {
  touchMeetingsAfter(node);
  countBusy(node, nodes_[node].start - nodes_[node].finish);
  for (int core : coresOf(node)) {
    Turn left = turnOn(node, core);
    List& list = onCore_.edit(core);
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
  countBusy(node, nodes_[node].finish - nodes_[node].start);
  for (int core : cores_->of(device)) {
    joinCore(node, core);
  }
  touchMeetingsAfter(node);
}

void Schedule::joinCore(int node, int core) {
  List& list = onCore_.edit(core);
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
Schedule::Place Schedule::placeOf(Way way, int id) const {
  const Sending& at = sendings_[id];
  int rank = rankOf(at);
  bool isShared = way != Way::kLink || isShared_[static_cast<size_t>(at.link)] != 0;
  return {isShared ? at.ready + shiftOf(rank) : 0, rank, at.tensor, at.to, id};
}

bool Schedule::precedes(Way way, int a, int b) const { return placeOf(way, a) < placeOf(way, b); }

/// A sending in the same line, likely to be near; kNone when there is no other.
int Schedule::neighbour(Way way, const Sending& sending) const {
  constexpr int kFar = 64;  // ranks
  constexpr int kShort = 16;
  const int line = lineOf(way, sending);
  if (lineAt(way, line).count <= kShort) {
    return lineAt(way, line).last;
  }
  int found = kNone;
  int last = std::max(0, rankOf(sending) - kFar);
  for (int r = rankOf(sending) - 1; r >= last && found == kNone; --r) {
    forSendingsOf(nodeAt(r),
                  [&](int id) { found = lineOf(way, sendings_[id]) == line ? id : found; });
  }
  return found == kNone ? lineAt(way, line).finger : found;
}

void Schedule::leaveLine(Way way, int id) {
  const Turn left = turnIn(way, id);
  List& list = editLine(way, lineOf(way, sendings_[id]));
  --list.count;
  list.bytes -= graph_->tensor(sendings_[id].tensor).bytes;
  (left.before == kNone ? list.first : editTurnIn(way, left.before).after) = left.after;
  (left.after == kNone ? list.last : editTurnIn(way, left.after).before) = left.before;
  if (list.finger == id) {
    list.finger = left.before == kNone ? left.after : left.before;
  }
  if (left.after != kNone) {
    touchSending(left.after);
  }
}

void Schedule::leaveLink(int id) {
  forWays(id, [&](Way way) { leaveLine(way, id); });
}

/// Puts a sending on the link that leads from where its tensor is, and in line for its interfaces.
void Schedule::joinLink(int id) {
  const LinkTable& links = simulator_->links();
  Sending& sending = sendings_.edit(id);
  const int64_t bytes = graph_->tensor(sending.tensor).bytes;
  sending.link = links.id(homeOf(sending.tensor), sending.to);
  sending.duration = links.nanos(sending.link, bytes);
  forWays(id, [&](Way way) {
    if (way != Way::kLink) {
      passages_.edit(passageId(way, id)).duration =
          links.side(lineOf(way, sendings_[id])).nanos(bytes);
    }
    insert(way, id, neighbour(way, sendings_[id]));
  });
}

/// Puts a sending where its line's order wants it, looking from `near` on.
void Schedule::insert(Way way, int id, int near) {
  int before = near;
  while (before != kNone && precedes(way, id, before)) {
    before = turnIn(way, before).before;
  }
  List& list = editLine(way, lineOf(way, sendings_[id]));
  int after = before == kNone ? list.first : turnIn(way, before).after;
  while (after != kNone && precedes(way, after, id)) {
    before = after;
    after = turnIn(way, after).after;
  }
  ++list.count;
  list.bytes += graph_->tensor(sendings_[id].tensor).bytes;
  list.finger = id;
  editTurnIn(way, id) = {before, after};
  (before == kNone ? list.first : editTurnIn(way, before).after) = id;
  (after == kNone ? list.last : editTurnIn(way, after).before) = id;
  touchSending(id);
  if (after != kNone) {
    touchSending(after);
  }
}

bool Schedule::isMisplaced(Way way, int id) const {
  auto [before, after] = turnIn(way, id);
  return (before != kNone && precedes(way, id, before)) ||
         (after != kNone && precedes(way, after, id));
}

/// After a change of what decides its place.
void Schedule::reinsert(int id) {
  forWays(id, [&](Way way) {
    if (isMisplaced(way, id)) {
      auto [before, after] = turnIn(way, id);
      leaveLine(way, id);
      insert(way, id, before != kNone ? before : after);
    }
  });
}

/// After a change of the node's rank. What it sends may follow each other on a link: all of them
/// leave before the first is put back, or one would be put beside another that is out of place.
void Schedule::reinsertAll(int node) {
  bool misplaced = false;
  forSendingsOf(node, [&](int id) {
    forWays(id, [&](Way way) { misplaced = misplaced || isMisplaced(way, id); });
  });
  if (misplaced) {
    forSendingsOf(node, [&](int id) { leaveLink(id); });
    forSendingsOf(node, [&](int id) {
      forWays(id, [&](Way way) { insert(way, id, neighbour(way, sendings_[id])); });
    });
  }
}

/// Puts what several endpoints send over a link, or by a side, in order again after a shift: what
/// has ranks below `cut` is in order, and so is the rest.
void Schedule::mergeLine(Way way, int line, int cut) {
  early_.clear();
  late_.clear();
  bool sorted = true;
  bool wasLate = false;
  Place last{-1, 0, 0, 0, kNone};
  for (int id = lineAt(way, line).first; id != kNone; id = turnIn(way, id).after) {
    Place place = placeOf(way, id);
    if (wasLate != (place.rank >= cut)) {
      wasLate = !wasLate;
      touchSending(id);
    }
    sorted = sorted && last < place;
    last = place;
    (wasLate ? late_ : early_).push_back(place);
  }
  if (sorted) {
    return;
  }
  merged_.clear();
  std::merge(early_.begin(), early_.end(), late_.begin(), late_.end(), std::back_inserter(merged_));
  List& list = editLine(way, line);
  list.first = merged_.front().sending;
  list.last = merged_.back().sending;
  for (size_t i = 0; i < merged_.size(); ++i) {
    int id = merged_[i].sending;
    int before = i == 0 ? kNone : merged_[i - 1].sending;
    int after = i + 1 == merged_.size() ? kNone : merged_[i + 1].sending;
    const Turn now = turnIn(way, id);
    if (now.before != before) {
      touchSending(id);
    }
    if (now.before != before || now.after != after) {
      editTurnIn(way, id) = {before, after};
    }
  }
}

/// Finds the way that each side leads.
void Schedule::findSides() {
  const LinkTable& links = simulator_->links();
  onSide_.assign(links.sides().size(), {});
  passages_.assign(0, {});
  wayOfSide_.assign(links.sides().size(), Way::kLeaves);
  for (const LinkInfo& link : links.links()) {
    if (link.enters >= 0) {
      wayOfSide_[static_cast<size_t>(link.enters)] = Way::kEnters;
    }
  }
}

/// After a sending that a node waits for comes that node. Of the others the last one on each link
/// is enough to look at, if the link queues, or all, if they are fewer.
void Schedule::findEnds() {
  const std::vector<LinkInfo>& links = simulator_->links().links();
  for (int t = 0; t < graph_->tensorCount(); ++t) {
    if (graph_->tensor(t).isOutput) {
      ends_.push_back(t);
    }
  }
  asksLinks_ = ends_.size() > links.size() &&
               std::all_of(links.begin(), links.end(),
                           [](const LinkInfo& link) { return link.model.queues; });
}

void Schedule::findSharedLinks() {
  const LinkTable& links = simulator_->links();
  std::vector<int> senders(links.links().size(), kClient - 1);
  // Sendings that wait in several lines must have one order in all, or they would wait for each
  // other.
  isShared_.assign(senders.size(), links.sides().empty() ? 0 : 1);
  auto devices = static_cast<int>(simulator_->cluster().devices.size());
  for (int from = kClient; from < devices; ++from) {
    for (int to = kClient; to < devices; ++to) {
      if (from != to) {
        auto link = static_cast<size_t>(links.id(from, to));
        isShared_[link] |= senders[link] >= kClient && senders[link] != from ? 1 : 0;
        senders[link] = from;
      }
    }
  }
}

}  // namespace graphrun::placement
