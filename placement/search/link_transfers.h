// LinkTransfers are tensors on their way, as search changes them.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_LINK_TRANSFERS_H_
#define GRAPHRUN_PLACEMENT_SEARCH_LINK_TRANSFERS_H_

#include <cstdint>
#include <vector>

#include "placement/search/undoable_vector.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// The neighbours of something in a list; -1: none.
struct Turn {
  int before = -1;
  int after = -1;
};

/// A LineKind tells what transfers wait in line for: the link, or the side of an interface by which
/// they leave a worker or enter one.
enum class LineKind : uint8_t { kLink, kLeaves, kEnters };

/// A tensor on its way to an endpoint, and its neighbours on its link. Times without shifts.
struct LinkTransfer {
  int tensor = 0;
  int producer = -1;  // node; -1 for an input of the graph
  int to = kClient;
  int link = 0;
  int uses = 0;   // consumers there, and one for an output that goes there
  int next = -1;  // another linkTransfer of the tensor
  Turn turn;      // on its link
  int64_t duration = 0;
  int64_t ready = 0;
  int64_t start = 0;
  int64_t finish = 0;
};

/// A linkTransfer on its way by a side of an interface, and its neighbours there. Times without
/// shifts.
struct Passage {
  Turn turn;
  int64_t duration = 0;
  int64_t free = 0;  // when the side is free again
};

/// The linkTransfers of each tensor, by id. Changes since the last call of keep or undo can be
/// taken back; ids of linkTransfers that are gone are used again. Not synchronised.
class LinkTransfers {
 public:
  void assign(size_t tensors, bool hasPassages) {
    sent_.assign(tensors, -1);
    linkTransfers_.assign(0, {});
    passages_.assign(0, {});
    hasPassages_ = hasPassages;
  }
  int size() const { return linkTransfers_.size(); }
  const LinkTransfer& operator[](int id) const { return linkTransfers_[id]; }
  LinkTransfer& edit(int id) { return linkTransfers_.edit(id); }
  const Passage& passage(LineKind kind, int id) const { return passages_[passageId(kind, id)]; }
  Passage& editPassage(LineKind kind, int id) { return passages_.edit(passageId(kind, id)); }
  const Turn& turn(LineKind kind, int id) const {
    return kind == LineKind::kLink ? linkTransfers_[id].turn : passage(kind, id).turn;
  }
  Turn& editTurn(LineKind kind, int id) {
    return kind == LineKind::kLink ? edit(id).turn : editPassage(kind, id).turn;
  }

  /// Calls `visit` with each linkTransfer of a tensor.
  template <typename Visit>
  void forTensor(int tensor, const Visit& visit) const {
    for (int id = sent_[tensor]; id >= 0; id = linkTransfers_[id].next) {
      visit(id);
    }
  }
  /// Returns the one of a tensor to an endpoint; -1: none.
  int find(int tensor, int to) const {
    int id = sent_[tensor];
    while (id >= 0 && linkTransfers_[id].to != to) {
      id = linkTransfers_[id].next;
    }
    return id;
  }

  /// Makes a linkTransfer that is on no link yet, and for which nobody waits.
  int make(int tensor, int producer, int to) {
    int id = take();
    made_.push_back(id);
    LinkTransfer& linkTransfer = linkTransfers_.replace(id);
    linkTransfer = {};
    if (hasPassages_) {
      passages_.replace(passageId(LineKind::kLeaves, id)) = {};
      passages_.replace(passageId(LineKind::kEnters, id)) = {};
    }
    linkTransfer.tensor = tensor;
    linkTransfer.producer = producer;
    linkTransfer.to = to;
    linkTransfer.next = sent_[tensor];
    sent_.edit(tensor) = id;
    return id;
  }
  /// Takes one that is on no link any more out of those of its tensor.
  void remove(int id) {
    const LinkTransfer& gone = linkTransfers_[id];
    int* link = &sent_.edit(gone.tensor);
    while (*link != id) {
      link = &linkTransfers_.edit(*link).next;
    }
    *link = gone.next;
    gone_.push_back(id);
  }

  void undo() {
    linkTransfers_.undo();
    sent_.undo();
    passages_.undo();
    reuse(made_);
  }
  void keep() {
    linkTransfers_.keep();
    sent_.keep();
    passages_.keep();
    reuse(gone_);
  }

 private:
  static int passageId(LineKind kind, int id) {
    return 2 * id + (kind == LineKind::kEnters ? 1 : 0);
  }
  int take() {
    if (free_.empty()) {
      if (hasPassages_) {
        passages_.append();
        passages_.append();
      }
      return linkTransfers_.append();
    }
    int id = free_.back();
    free_.pop_back();
    return id;
  }
  void reuse(const std::vector<int>& ids) {
    free_.insert(free_.end(), ids.begin(), ids.end());
    made_.clear();
    gone_.clear();
  }

  UndoableVector<LinkTransfer> linkTransfers_;
  UndoableVector<int> sent_;          // by tensor: its first linkTransfer
  UndoableVector<Passage> passages_;  // [linkTransfer][leaves, enters]
  bool hasPassages_ = false;
  std::vector<int> free_;  // linkTransfers that stand for nothing
  std::vector<int> made_;  // since the last keep or undo
  std::vector<int> gone_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_LINK_TRANSFERS_H_
