// Sendings are tensors on their way, as search changes them.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_SENDINGS_H_
#define GRAPHRUN_PLACEMENT_SEARCH_SENDINGS_H_

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

/// Transfers wait in line for one of these.
enum class Way : uint8_t { kLink, kLeaves, kEnters };

/// A tensor on its way to an endpoint, and its neighbours on its link. Times without shifts.
struct Sending {
  int tensor = 0;
  int producer = -1;  // node; -1 for an input of the graph
  int to = kClient;
  int link = 0;
  int uses = 0;   // consumers there, and one for an output that goes there
  int next = -1;  // another sending of the tensor
  Turn turn;      // on its link
  int64_t duration = 0;
  int64_t ready = 0;
  int64_t start = 0;
  int64_t finish = 0;
};

/// A sending on its way by a side of an interface, and its neighbours there. Times without shifts.
struct Passage {
  Turn turn;
  int64_t duration = 0;
  int64_t free = 0;  // when the side is free again
};

/// The sendings of each tensor, by id. Changes since the last call of keep or undo can be taken
/// back; ids of sendings that are gone are used again. Not synchronised.
class Sendings {
 public:
  void assign(size_t tensors, bool hasPassages) {
    sent_.assign(tensors, -1);
    sendings_.assign(0, {});
    passages_.assign(0, {});
    hasPassages_ = hasPassages;
  }
  int size() const { return sendings_.size(); }
  const Sending& operator[](int id) const { return sendings_[id]; }
  Sending& edit(int id) { return sendings_.edit(id); }
  const Passage& passage(Way way, int id) const { return passages_[passageId(way, id)]; }
  Passage& editPassage(Way way, int id) { return passages_.edit(passageId(way, id)); }
  const Turn& turn(Way way, int id) const {
    return way == Way::kLink ? sendings_[id].turn : passage(way, id).turn;
  }
  Turn& editTurn(Way way, int id) {
    return way == Way::kLink ? edit(id).turn : editPassage(way, id).turn;
  }

  /// Calls `visit` with each sending of a tensor.
  template <typename Visit>
  void forTensor(int tensor, const Visit& visit) const {
    for (int id = sent_[tensor]; id >= 0; id = sendings_[id].next) {
      visit(id);
    }
  }
  /// Returns the one of a tensor to an endpoint; -1: none.
  int find(int tensor, int to) const {
    int id = sent_[tensor];
    while (id >= 0 && sendings_[id].to != to) {
      id = sendings_[id].next;
    }
    return id;
  }

  /// Makes a sending that is on no link yet, and for which nobody waits.
  int make(int tensor, int producer, int to) {
    int id = take();
    made_.push_back(id);
    Sending& sending = sendings_.replace(id);
    sending = {};
    if (hasPassages_) {
      passages_.replace(passageId(Way::kLeaves, id)) = {};
      passages_.replace(passageId(Way::kEnters, id)) = {};
    }
    sending.tensor = tensor;
    sending.producer = producer;
    sending.to = to;
    sending.next = sent_[tensor];
    sent_.edit(tensor) = id;
    return id;
  }
  /// Takes one that is on no link any more out of those of its tensor.
  void remove(int id) {
    const Sending& gone = sendings_[id];
    int* place = &sent_.edit(gone.tensor);
    while (*place != id) {
      place = &sendings_.edit(*place).next;
    }
    *place = gone.next;
    gone_.push_back(id);
  }

  void undo() {
    sendings_.undo();
    sent_.undo();
    passages_.undo();
    reuse(made_);
  }
  void keep() {
    sendings_.keep();
    sent_.keep();
    passages_.keep();
    reuse(gone_);
  }

 private:
  static int passageId(Way way, int id) { return 2 * id + (way == Way::kEnters ? 1 : 0); }
  int take() {
    if (free_.empty()) {
      if (hasPassages_) {
        passages_.append();
        passages_.append();
      }
      return sendings_.append();
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

  UndoableVector<Sending> sendings_;
  UndoableVector<int> sent_;          // by tensor: its first sending
  UndoableVector<Passage> passages_;  // [sending][leaves, enters]
  bool hasPassages_ = false;
  std::vector<int> free_;  // sendings that stand for nothing
  std::vector<int> made_;  // since the last keep or undo
  std::vector<int> gone_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_SENDINGS_H_
