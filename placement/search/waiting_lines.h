// WaitingLines are the lines in which linkTransfers wait.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_WAITING_LINES_H_
#define GRAPHRUN_PLACEMENT_SEARCH_WAITING_LINES_H_

#include <cstdint>
#include <vector>

#include "placement/search/link_transfers.h"
#include "placement/search/undoable_vector.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// Nodes of a core, or linkTransfers of a link or of a side of an interface.
struct WaitingLine {
  int first = -1;
  int last = -1;
  int count = 0;
  int finger = -1;    // of a link: where something was put last
  int64_t bytes = 0;  // of a link
};

/// The lines of links and of the sides of interfaces. Which linkTransfers stand in them, and in
/// what order, is for others to say. Changes since the last call of keep or undo can be taken back.
/// Not synchronised; the simulator must outlive it.
class WaitingLines {
 public:
  explicit WaitingLines(const Simulator& simulator) : links_(&simulator.links()) {
    onLink_.assign(links_->links().size(), {});
    onSide_.assign(links_->sides().size(), {});
    findShared(static_cast<int>(simulator.cluster().devices.size()));
    kindOfSide_.assign(links_->sides().size(), LineKind::kLeaves);
    for (const LinkInfo& link : links_->links()) {
      if (link.enters >= 0) {
        kindOfSide_[static_cast<size_t>(link.enters)] = LineKind::kEnters;
      }
    }
  }

  int links() const { return onLink_.size(); }
  int sides() const { return onSide_.size(); }
  const WaitingLine& onLink(int link) const { return onLink_[link]; }
  const WaitingLine& at(LineKind kind, int line) const {
    return kind == LineKind::kLink ? onLink_[line] : onSide_[line];
  }
  WaitingLine& edit(LineKind kind, int line) {
    return kind == LineKind::kLink ? onLink_.edit(line) : onSide_.edit(line);
  }
  /// Returns the link, or the side, for which a linkTransfer waits; -1: none.
  int lineOf(LineKind kind, const LinkTransfer& linkTransfer) const {
    const LinkInfo& link = links_->link(linkTransfer.link);
    return kind == LineKind::kLink     ? linkTransfer.link
           : kind == LineKind::kLeaves ? link.leaves
                                       : link.enters;
  }
  /// Calls `visit` with the kind of each line in which the linkTransfer waits.
  template <typename Visit>
  void forLines(const LinkTransfer& linkTransfer, const Visit& visit) const {
    visit(LineKind::kLink);
    for (LineKind kind : {LineKind::kLeaves, LineKind::kEnters}) {
      if (sides() > 0 && lineOf(kind, linkTransfer) >= 0) {
        visit(kind);
      }
    }
  }
  /// Returns the kind of the line of a side.
  LineKind kindOfSide(int side) const { return kindOfSide_[static_cast<size_t>(side)]; }
  /// Returns whether the order on a link needs the time at which linkTransfers are ready: several
  /// endpoints send over it.
  bool isShared(int link) const { return isShared_[static_cast<size_t>(link)] != 0; }

  void undo() {
    onLink_.undo();
    onSide_.undo();
  }
  void keep() {
    onLink_.keep();
    onSide_.keep();
  }

 private:
  void findShared(int devices) {
    std::vector<int> senders(links_->links().size(), kClient - 1);
    // LinkTransfers that wait in several lines must have one order in all, or they would wait for
    // each other.
    isShared_.assign(senders.size(), links_->sides().empty() ? 0 : 1);
    for (int from = kClient; from < devices; ++from) {
      for (int to = kClient; to < devices; ++to) {
        if (from != to) {
          auto link = static_cast<size_t>(links_->id(from, to));
          isShared_[link] |= senders[link] >= kClient && senders[link] != from ? 1 : 0;
          senders[link] = from;
        }
      }
    }
  }

  const LinkTable* links_;
  UndoableVector<WaitingLine> onLink_;
  UndoableVector<WaitingLine> onSide_;
  std::vector<LineKind> kindOfSide_;
  std::vector<char> isShared_;  // by link
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_WAITING_LINES_H_
