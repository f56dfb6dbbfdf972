// The order of what cores run and links carry.
#include <algorithm>
#include <iterator>

#include "placement/schedule.h"

namespace graphrun::placement {

/// Where devices share cores, a node has a turn on each core of its device.
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

void Schedule::leaveDevice(int node) {
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
  for (int core : cores_->of(device)) {
    joinCore(node, core);
  }
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

/// What one endpoint sends is ready in the order of ranks, whatever is due.
Schedule::Place Schedule::placeOf(int id) const {
  const Sending& at = sendings_[id];
  int rank = rankOf(at);
  int64_t ready = isShared_[static_cast<size_t>(at.link)] != 0 ? at.ready + shiftOf(rank) : 0;
  return {ready, rank, at.tensor, at.to, id};
}

bool Schedule::precedes(int a, int b) const { return placeOf(a) < placeOf(b); }

/// A sending on the same link, likely to be near; kNone when there is no other.
int Schedule::neighbour(const Sending& sending) const {
  constexpr int kFar = 64;  // ranks
  constexpr int kShort = 16;
  if (onLink_[sending.link].count <= kShort) {
    return onLink_[sending.link].last;
  }
  int found = kNone;
  int last = std::max(0, rankOf(sending) - kFar);
  for (int r = rankOf(sending) - 1; r >= last && found == kNone; --r) {
    forSendingsOf(nodeAt(r),
                  [&](int id) { found = sendings_[id].link == sending.link ? id : found; });
  }
  return found == kNone ? onLink_[sending.link].finger : found;
}

void Schedule::leaveLink(int id) {
  Sending left = sendings_[id];
  List& list = onLink_.edit(left.link);
  --list.count;
  (left.before == kNone ? list.first : sendings_.edit(left.before).after) = left.after;
  (left.after == kNone ? list.last : sendings_.edit(left.after).before) = left.before;
  list.bytes -= graph_->tensor(sendings_[id].tensor).bytes;
  if (list.finger == id) {
    list.finger = left.before == kNone ? left.after : left.before;
  }
  if (left.after != kNone) {
    touchSending(left.after);
  }
}

/// Puts a sending on the link that leads from where its tensor is.
void Schedule::joinLink(int id) {
  Sending& sending = sendings_.edit(id);
  sending.link = simulator_->links().id(homeOf(sending.tensor), sending.to);
  sending.duration =
      simulator_->links().link(sending.link).model.transferNs(graph_->tensor(sending.tensor).bytes);
  insert(id, neighbour(sending));
}

/// Puts a sending where its link's order wants it, looking from `near` on.
void Schedule::insert(int id, int near) {
  int before = near;
  while (before != kNone && precedes(id, before)) {
    before = sendings_[before].before;
  }
  List& list = onLink_.edit(sendings_[id].link);
  int after = before == kNone ? list.first : sendings_[before].after;
  while (after != kNone && precedes(after, id)) {
    before = after;
    after = sendings_[after].after;
  }
  ++list.count;
  list.bytes += graph_->tensor(sendings_[id].tensor).bytes;
  list.finger = id;
  Sending& inserted = sendings_.edit(id);
  inserted.before = before;
  inserted.after = after;
  (before == kNone ? list.first : sendings_.edit(before).after) = id;
  (after == kNone ? list.last : sendings_.edit(after).before) = id;
  touchSending(id);
  if (after != kNone) {
    touchSending(after);
  }
}

bool Schedule::isMisplaced(int id) const {
  int before = sendings_[id].before;
  int after = sendings_[id].after;
  return (before != kNone && precedes(id, before)) || (after != kNone && precedes(after, id));
}

/// After a change of what decides its place.
void Schedule::reinsert(int id) {
  if (isMisplaced(id)) {
    int before = sendings_[id].before;
    int after = sendings_[id].after;
    leaveLink(id);
    insert(id, before != kNone ? before : after);
  }
}

/// After a change of the node's rank. What it sends may follow each other on a link: all of them
/// leave before the first is put back, or one would be put beside another that is out of place.
void Schedule::reinsertAll(int node) {
  bool misplaced = false;
  forSendingsOf(node, [&](int id) { misplaced = misplaced || isMisplaced(id); });
  if (misplaced) {
    forSendingsOf(node, [&](int id) { leaveLink(id); });
    forSendingsOf(node, [&](int id) { insert(id, neighbour(sendings_[id])); });
  }
}

/// Puts what several endpoints send over a link in order again after a shift: what has ranks below
/// `cut` is in order, and so is the rest.
void Schedule::mergeLink(int link, int cut) {
  early_.clear();
  late_.clear();
  bool sorted = true;
  bool wasLate = false;
  Place last{-1, 0, 0, 0, kNone};
  for (int id = onLink_[link].first; id != kNone; id = sendings_[id].after) {
    Place place = placeOf(id);
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
  List& list = onLink_.edit(link);
  list.first = merged_.front().sending;
  list.last = merged_.back().sending;
  for (size_t i = 0; i < merged_.size(); ++i) {
    int id = merged_[i].sending;
    int before = i == 0 ? kNone : merged_[i - 1].sending;
    int after = i + 1 == merged_.size() ? kNone : merged_[i + 1].sending;
    if (sendings_[id].before != before) {
      touchSending(id);
    }
    if (sendings_[id].before != before || sendings_[id].after != after) {
      sendings_.edit(id).before = before;
      sendings_.edit(id).after = after;
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
  isShared_.assign(senders.size(), 0);
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
