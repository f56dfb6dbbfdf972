// These methods find what the step waits for.

#include "placement/search/schedule.h"

namespace graphrun::placement {

/// The node that ends last, or whose output arrives last.
int Schedule::lastNode() const {
  int last = kNone;
  int64_t end = -1;
  auto look = [&](int node, int64_t time) {
    if (node != kNone && time > end) {
      last = node;
      end = time;
    }
  };
  for (int core = 0; core < onCore_.size(); ++core) {
    int node = onCore_[core].last;
    look(node, node == kNone ? 0 : finishOf(node));
  }
  for (int t : ends_.outputs) {
    forTransfers(t, [&](int id) { look(senderOf(id), arrivalOf(id)); });
  }
  return last;
}

/// The node that a linkTransfer leaves from, or the first of those in a line that it waited behind.
int Schedule::senderOf(int id) const {
  auto behind = [&](int linkTransfer) {
    int last = kNone;  // of those before it the one that had its turn last
    forLines(linkTransfer, [&](LineKind kind) {
      int before = linkTransfers_.turn(kind, linkTransfer).before;
      bool isLater = before != kNone &&
                     (last == kNone || linkTransfers_[before].start > linkTransfers_[last].start);
      last = isLater ? before : last;
    });
    return last;
  };
  while (linkTransfers_[id].start > linkTransfers_[id].ready && behind(id) != kNone) {
    id = behind(id);
  }
  return linkTransfers_[id].producer;
}

/// The node without which this one could start earlier, of those that come before the end of a
/// window; kNone at the beginning of the step.
int Schedule::blocker(int node) const {
  auto counts = [&](int other) { return other == kNone || rank(other) < endOfWork(); };
  int64_t latest = 0;
  int found = kNone;
  forTurns(node, [&](const Turn& turn) {
    bool isLater = turn.before != kNone && counts(turn.before) &&
                   (found == kNone || finishOf(turn.before) > latest);
    found = isLater ? turn.before : found;
    latest = isLater ? finishOf(turn.before) : latest;
  });
  forArrivals(node, [&](int other) {
    bool isLater = counts(other) && (found == kNone || finishOf(other) > latest);
    found = isLater ? other : found;
    latest = isLater ? finishOf(other) : latest;
  });
  auto edge = static_cast<int>(flat_->firstEdge(node));
  for (int tensor : flat_->inputs(node)) {
    int arrived = arrives_[edge++];
    int producer = graph_->tensor(tensor).producer;
    int64_t there = arrived != kNone ? arrivalOf(arrived) : producer < 0 ? 0 : finishOf(producer);
    if (there > latest && counts(producer)) {
      latest = there;
      found = arrived != kNone ? senderOf(arrived) : producer;
      // With a window a link may still carry first what has become ready later.
      bool isLater = isOpen() && found != kNone && rank(found) >= rank(node);
      found = isLater ? producer : found;
    }
  }
  return found;
}

std::vector<int> Schedule::criticalNodes() const {
  auto [first, last] = window();
  std::vector<int> nodes;
  int node = isOpen() ? firstBlocked() : lastNode();
  for (; node != kNone && rank(node) >= first; node = blocker(node)) {
    if (rank(node) < last) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

}  // namespace graphrun::placement
