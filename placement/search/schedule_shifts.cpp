// Delays of everything from a rank on.
#include <algorithm>

#include "placement/search/schedule.h"

namespace graphrun::placement {

/// By how much most cores that have something to run from rank `cut` on are late there; 0 when
/// there is no such time.
int64_t Schedule::commonDelay(int cut) const {
  const int window = 64 + 16 * static_cast<int>(lately_.size());
  auto delayOf = [&](const Delayed& late) { return late.rank + window >= cut ? late.delay : 0; };
  int64_t common = 0;
  int most = 0;
  int active = 0;
  for (int core = 0; core < onCore_.size(); ++core) {
    int last = onCore_[core].last;
    active += last != kNone && rank(last) >= cut ? 1 : 0;
    int64_t delay = delayOf(lately_[static_cast<size_t>(core)]);
    auto same =
        static_cast<int>(std::count_if(lately_.begin(), lately_.end(), [&](const Delayed& other) {
          return delayOf(other) == delay;
        }));
    if (delay != 0 && same > most) {
      common = delay;
      most = same;
    }
  }
  return 2 * most > active ? common : 0;
}

/// Delays everything from rank `cut` on; what waits for something before it is due.
void Schedule::shift(int64_t delay, int cut) {
  shifts_.push_back({cut, (shifts_.empty() ? 0 : shifts_.back().delay) + delay});
  for (Delayed& late : lately_) {
    late.delay -= delay;
  }
  touchReaders(cut);
  touchFirsts(cut);
  for (int r = cut; !collectives_->empty() && r < nodeCount(); ++r) {
    if (graph_->node(nodeAt(r)).collective >= 0) {
      touchNode(nodeAt(r));
    }
  }
  for (int l = 0; l < lines_.links(); ++l) {
    if (lines_.isShared(l)) {
      mergeLine(LineKind::kLink, l, cut);
    }
  }
  for (int s = 0; s < lines_.sides(); ++s) {
    mergeLine(lines_.kindOfSide(s), s, cut);
  }
}

/// Nodes that read tensors from before `cut`, and perhaps some more.
void Schedule::touchReaders(int cut) {
  auto touch = [&](int node) {
    if (rank(node) >= cut) {
      touchNode(node);
    }
  };
  auto slack = static_cast<int>(readers_.moved.size());
  for (int r = std::max(0, cut - slack); r < nodeCount(); ++r) {
    if (readers_.oldest[static_cast<size_t>(r)] < cut + slack) {
      touch(readers_.order[static_cast<size_t>(r)]);
    }
  }
  for (int node : readers_.moved) {
    touch(node);
    for (int tensor : flat_->outputs(node)) {
      for (const Use& use : flat_->uses(tensor)) {
        touch(use.node);
      }
    }
  }
}

/// The first node of each core and the first linkTransfer of each link from `cut` on.
void Schedule::touchFirsts(int cut) {
  int missing = 0;
  for (int core = 0; core < onCore_.size(); ++core) {
    int last = onCore_[core].last;
    missing += last != kNone && rank(last) >= cut ? 1 : 0;
  }
  for (int l = 0; l < lines_.links(); ++l) {
    int last = lines_.onLink(l).last;
    bool counts = !lines_.isShared(l) && last != kNone;
    missing += counts && rankOf(linkTransfers_[last]) >= cut ? 1 : 0;
  }
  ++seen_.round;
  auto isFirst = [&](std::vector<int>& rounds, int id) {
    int& seen = rounds[static_cast<size_t>(id)];
    bool first = seen != seen_.round;
    seen = seen_.round;
    missing -= first ? 1 : 0;
    return first;
  };
  for (int r = cut; missing > 0 && r < nodeCount(); ++r) {
    int node = nodeAt(r);
    for (int core : coresOf(node)) {
      if (isFirst(seen_.cores, core)) {
        touchNode(node);
      }
    }
    forTransfersOf(node, [&](int id) {
      int link = linkTransfers_[id].link;
      if (!lines_.isShared(link) && isFirst(seen_.links, link)) {
        while (linkTransfers_[id].turn.before != kNone &&
               rankOf(linkTransfers_[linkTransfers_[id].turn.before]) >= cut) {
          id = linkTransfers_[id].turn.before;  // of several linkTransfers of the node the first
        }
        touchTransfer(id);
      }
    });
  }
}

void Schedule::learnReaders() {
  readers_ = {order_.nodes(), {}, {}};
  for (int node : order_.nodes()) {
    int oldest = std::numeric_limits<int>::max() / 2;
    for (int tensor : flat_->inputs(node)) {
      int producer = graph_->tensor(tensor).producer;
      oldest = std::min(oldest, producer < 0 ? kNone : rank(producer));
    }
    readers_.oldest.push_back(oldest);
  }
}

/// Writes the shifts into the times of all.
void Schedule::applyShifts() {
  for (int r = shifts_.empty() ? nodeCount() : shifts_.front().rank; r < nodeCount(); ++r) {
    int64_t delay = shiftOf(r);
    Node& node = nodes_.edit(nodeAt(r));
    node.start += delay;
    node.finish += delay;
    forTransfersOf(nodeAt(r), [&](int id) {
      LinkTransfer& linkTransfer = linkTransfers_.edit(id);
      linkTransfer.ready += delay;
      linkTransfer.start += delay;
      linkTransfer.finish += delay;
      for (LineKind kind : {LineKind::kLeaves, LineKind::kEnters}) {
        if (hasSides()) {
          linkTransfers_.editPassage(kind, id).free += delay;
        }
      }
    });
  }
  shifts_.clear();
}

}  // namespace graphrun::placement
