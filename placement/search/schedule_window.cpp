// The step as a part of the order tells it.
#include <algorithm>
#include <cassert>
#include <tuple>
#include <vector>

#include "placement/search/schedule.h"

namespace graphrun::placement {

namespace {

/// A node, or a transfer: by time, causes before their effects.
struct Event {
  int64_t start;
  int64_t finish;
  int rank;  // of the node, or of the transfer's producer
  bool isTransfer;
  int id;
  bool operator<(const Event& other) const {
    return std::tie(start, finish, rank, isTransfer) <
           std::tie(other.start, other.finish, other.rank, other.isTransfer);
  }
};

}  // namespace

void Schedule::learnTails() {
  assert(!isOpen() && shifts_.empty());
  std::vector<Event> events;
  events.reserve(static_cast<size_t>(nodeCount()) + linkTransfers_.size());
  for (int n : order_.nodes()) {
    events.push_back({nodes_[n].start, nodes_[n].finish, rank(n), false, n});
    forTransfersOf(n, [&](int id) {
      events.push_back({linkTransfers_[id].start, linkTransfers_[id].finish, rank(n), true, id});
    });
  }
  std::sort(events.begin(), events.end());
  tails_.nodes.assign(static_cast<size_t>(nodeCount()), 0);
  tails_.linkTransfers.assign(static_cast<size_t>(linkTransfers_.size()), 0);
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    (event->isTransfer ? tails_.linkTransfers : tails_.nodes)[static_cast<size_t>(event->id)] =
        event->isTransfer ? tailOfTransfer(event->id) : tailOfNode(event->id);
  }
}

int64_t Schedule::tailOfTransfer(int id) const {
  const LinkTransfer& at = linkTransfers_[id];
  bool isWaitedFor = at.turn.after != kNone && queues(at.link);
  int64_t longest = isWaitedFor ? tails_.linkTransfers[static_cast<size_t>(at.turn.after)] : 0;
  for (const Use& use : flat_->uses(at.tensor)) {
    if (arrives_[use.edge] == id) {
      longest = std::max(longest, tails_.nodes[static_cast<size_t>(use.node)]);
    }
  }
  longest += at.duration;
  forLines(id, [&](LineKind kind) {
    if (int after = linkTransfers_.turn(kind, id).after;
        kind != LineKind::kLink && after != kNone) {
      const int64_t held = linkTransfers_.passage(kind, id).free - at.start;
      longest = std::max(longest, held + tails_.linkTransfers[static_cast<size_t>(after)]);
    }
  });
  return longest;
}

int64_t Schedule::tailOfNode(int node) const {
  int64_t longest = 0;
  forTurns(node, [&](const Turn& turn) {
    bool isWaitedFor = turn.after != kNone;
    longest = std::max(longest, isWaitedFor ? tails_.nodes[static_cast<size_t>(turn.after)] : 0);
  });
  forCollectivesAfter(node, [&](int other) {
    forArrivals(other, [&](int last) {
      longest = std::max(longest, last == node ? tails_.nodes[static_cast<size_t>(other)] : 0);
    });
  });
  for (int tensor : flat_->outputs(node)) {
    for (const Use& use : flat_->uses(tensor)) {
      if (arrives_[use.edge] == kNone) {
        longest = std::max(longest, tails_.nodes[static_cast<size_t>(use.node)]);
      }
    }
    forTransfers(tensor, [&](int id) {
      longest = std::max(longest, tails_.linkTransfers[static_cast<size_t>(id)]);
    });
  }
  return durationOf(node) + longest;
}

void Schedule::openWindow(int first, int last) {
  assert(first >= window_.first && last > first && last <= nodeCount());
  window_.first = first;
  window_.last = last;
  windowNs();
  commit();
  findReaders();
}

void Schedule::closeWindow() {
  window_ = {};
  learnReaders();
  keep();
}

/// The first node of each core after the window, and those that read what it makes.
void Schedule::findReaders() {
  window_.readers.clear();
  window_.ends.clear();
  int missing = 0;
  for (int core = 0; core < onCore_.size(); ++core) {
    int last = onCore_[core].last;
    missing += last != kNone && rank(last) >= window_.last ? 1 : 0;
  }
  for (int r = window_.last; missing > 0; ++r) {
    forTurns(nodeAt(r), [&](const Turn& turn) {
      if (turn.before == kNone || rank(turn.before) < window_.last) {
        window_.readers.push_back(nodeAt(r));
        --missing;
      }
    });
  }
  for (int r = window_.first; r < window_.last; ++r) {
    forCollectivesAfter(nodeAt(r), [&](int other) {
      if (rank(other) >= window_.last) {
        window_.readers.push_back(other);
      }
    });
    for (int tensor : flat_->outputs(nodeAt(r))) {
      if (graph_->tensor(tensor).isOutput) {
        window_.ends.push_back(tensor);
      }
      for (const Use& use : flat_->uses(tensor)) {
        if (rank(use.node) >= window_.last) {
          window_.readers.push_back(use.node);
        }
      }
    }
  }
  std::sort(window_.readers.begin(), window_.readers.end());
  window_.readers.erase(std::unique(window_.readers.begin(), window_.readers.end()),
                        window_.readers.end());
}

/// When a node after the window could start if it waited only for what comes before the end of the
/// window.
int64_t Schedule::startAfterWindow(int node) const {
  auto counts = [&](int other) { return other != kNone && rank(other) < window_.last; };
  int64_t start = 0;
  forTurns(node, [&](const Turn& turn) {
    start = counts(turn.before) ? std::max(start, nodes_[turn.before].finish) : start;
  });
  forArrivals(node, [&](int other) {
    start = counts(other) ? std::max(start, nodes_[other].finish) : start;
  });
  auto edge = static_cast<int>(flat_->firstEdge(node));
  for (int tensor : flat_->inputs(node)) {
    int arrived = arrives_[edge++];
    if (int producer = graph_->tensor(tensor).producer; counts(producer)) {
      start = std::max(start,
                       arrived == kNone ? nodes_[producer].finish : linkTransfers_[arrived].finish);
    }
  }
  return start;
}

int64_t Schedule::windowNs() {
  for (int rank = due_.takeRank(window_.last); rank < window_.last;
       rank = due_.takeRank(window_.last)) {
    settleRank(rank);
  }
  int64_t step = 0;
  for (int core = 0; core < onCore_.size(); ++core) {
    int last = onCore_[core].last;
    bool ends = last != kNone && rank(last) < window_.last;
    step = std::max(step, ends ? nodes_[last].finish : 0);
  }
  for (int node : window_.readers) {
    step = std::max(step, startAfterWindow(node) + tails_.nodes[static_cast<size_t>(node)]);
  }
  for (int tensor : window_.ends) {
    forTransfers(tensor, [&](int id) { step = std::max(step, linkTransfers_[id].finish); });
  }
  return step + besideNs(step);
}

/// The node after the window, or the last one in it, that makes the step as long as it is.
int Schedule::firstBlocked() const {
  int found = kNone;
  int64_t longest = -1;
  auto look = [&](int node, int64_t ns) {
    found = ns > longest ? node : found;
    longest = std::max(longest, ns);
  };
  for (int node : window_.readers) {
    look(node, startAfterWindow(node) + tails_.nodes[static_cast<size_t>(node)]);
  }
  for (int core = 0; core < onCore_.size(); ++core) {
    int last = onCore_[core].last;
    if (last != kNone && rank(last) < window_.last) {
      look(last, nodes_[last].finish);
    }
  }
  for (int tensor : window_.ends) {
    forTransfers(tensor, [&](int id) { look(senderOf(id), linkTransfers_[id].finish); });
  }
  return found;
}

}  // namespace graphrun::placement
