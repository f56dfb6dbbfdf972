// A schedule is a placement whose predicted times follow its changes.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_SCHEDULE_H_
#define GRAPHRUN_PLACEMENT_SEARCH_SCHEDULE_H_

#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "placement/cost_graph/placement.h"
#include "placement/search/beside_step.h"
#include "placement/search/core_indices.h"
#include "placement/search/due_work.h"
#include "placement/search/link_transfers.h"
#include "placement/search/rank_order.h"
#include "placement/search/undoable_vector.h"
#include "placement/search/waiting_lines.h"
#include "placement/simulator/placed_costs.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// Local search changes a schedule. Its times are those of the simulator, bit for bit, but a change
/// costs only what it affects. One thread.
///
///     schedule.setDevice(node, device);            // any number of changes
///     if (schedule.stepNs() < best) {
///       schedule.keep();
///     } else {
///       schedule.undo();
///     }
///
/// A core (see CoreTable) runs its nodes by rank, a link carries its transfers in the order in
/// which they are ready (ties: rank of the producer, tensor, target), and so does each side of an
/// interface. These orders are lists here,
/// so that each node and each transfer starts when the last of a few others has finished. One that
/// may start at another time is *due*; what is due is settled by rank until nothing is.
///
/// In a full schedule nearly every change delays nearly everything that follows, mostly all by the
/// same time. So once most cores are off by one delay at some rank, that is noted for all ranks
/// from there on at once (a *shift*), and what is due then is what waits for something that is not
/// off by so much.
///
/// Of a long schedule a *window* may be opened: ranks to which changes are confined. Then what
/// comes after it stays as it was, and the step is told from how much time that takes from the end
/// of the window on: a change costs what it affects in the window, and is exact if no order changes
/// after it. When the window is closed, all that was put off is done.
class Schedule {
 public:
  /// InvalidArgument for a placement that the simulator refuses. The simulator must outlive it.
  static absl::StatusOr<Schedule> create(const Simulator& simulator, const Placement& placement);

  /// Moves a node to a device that supports it, at its rank.
  void setDevice(int node, int device);
  /// The ranks, in the window if there is one, that keep the order topological while all other
  /// nodes stay in theirs: first, last.
  std::pair<int, int> rankRange(int node) const;
  /// Takes the node out of the order of all nodes and puts it back as number `rank`, which lies in
  /// its range.
  void setRank(int node, int rank);

  /// The predicted step with its overhead, which is Simulation::latencyNs; with a window as the
  /// window tells it. After it comes keep or undo, before other changes.
  int64_t stepNs();

  /// Learns how long the step goes on after each node: before the first of several windows.
  void learnTails();
  /// Confines changes to ranks from `first` to before `last`, not before those of the window that
  /// was open. After keep or undo, as closeWindow.
  void openWindow(int first, int last);
  void closeWindow();
  /// The first rank of the window, and the one after its last; all ranks without one.
  std::pair<int, int> window() const {
    return isOpen() ? std::pair(window_.first, window_.last) : std::pair(0, nodeCount());
  }

  /// Takes back the changes since the last keep, undo or create, in the time that they took.
  void undo();
  /// Makes them permanent.
  void keep();

  /// Nodes of a chain that makes the step as long as it is, the last one first: each ends when the
  /// one before it, or what that sends, can start. With a window those in it, if there are any.
  /// After keep or undo.
  std::vector<int> criticalNodes() const;

  int device(int node) const { return nodes_[node].device; }
  int rank(int node) const { return order_.rank(node); }
  int nodeAt(int rank) const { return order_.nodeAt(rank); }
  /// The last node that runs before this one on a core of its device, -1 if it is the first.
  int nodeBefore(int node) const;
  /// Valid after stepNs.
  OpTime time(int node) const { return {startOf(node), finishOf(node)}; }
  Placement placement(const char* strategy) const;

 private:
  static constexpr int kNone = -1;

  /// A node, and its turn on the first core of its device. Times without shifts.
  struct Node {
    int device = 0;
    Turn turn;
    int64_t start = 0;
    int64_t finish = 0;
  };
  /// Everything of a rank from here on happens so much later than its times tell.
  struct Shift {
    int rank = 0;
    int64_t delay = 0;
  };
  /// The last node of a core that was settled, and how much later it ends than before.
  struct Delayed {
    int rank = std::numeric_limits<int>::min() / 2;
    int64_t delay = 0;
  };
  /// A LinePosition decides the order of transfers in a line.
  struct LinePosition {
    int64_t ready;
    int rank;
    int tensor;
    int to;
    int linkTransfer;
    bool operator<(const LinePosition& other) const {
      return std::tie(ready, rank, tensor, to) <
             std::tie(other.ready, other.rank, other.tensor, other.to);
    }
  };
  /// Readers tell which nodes read something that was made before a rank: the oldest input of each,
  /// as of an order that has changed little since.
  struct Readers {
    std::vector<int> order;   // nodes by rank at that time
    std::vector<int> oldest;  // by rank at that time: lowest rank of a producer
    std::vector<int> moved;   // nodes that got another rank since; all others moved by as many
                              // ranks at most
  };

  /// Ranks to which changes are confined, and the nodes after them that wait for them first.
  struct Window {
    int first = 0;
    int last = 0;  // 0: there is none
    std::vector<int> readers;
    std::vector<int> ends;  // outputs of the graph that it makes
  };

  /// These positions are looked at when lines are merged.
  struct Merge {
    std::vector<LinePosition> early;
    std::vector<LinePosition> late;
    std::vector<LinePosition> merged;
  };
  /// The end of the step is that of these.
  struct Ends {
    std::vector<int> outputs;  // of the graph
    bool asksLinks = false;    // rather than the outputs
  };
  /// A tail lasts from the start of a node, or linkTransfer, to the end of the step.
  struct Tails {
    std::vector<int64_t> nodes;
    std::vector<int64_t> linkTransfers;  // while those of nodes are learnt
  };
  /// Tells in which round something was seen first, by core and by link.
  struct Seen {
    int round = 0;
    std::vector<int> cores;
    std::vector<int> links;
  };

  Schedule(const Simulator& simulator, const Placement& placement);
  void build(const Placement& placement, const Simulation& simulation);
  int nodeCount() const { return nodes_.size(); }
  PlacedCosts<Schedule> costs() const { return {*simulator_, *this}; }
  int homeOf(int tensor) const { return costs().home(tensor); }
  /// Returns whether a node has a tensor only when it has been sent.
  bool travels(int tensor, int node) const { return costs().isSent(tensor, node); }
  /// Calls `visit` with all nodes of a node's collective.
  template <typename Visit>
  void forCollective(int node, const Visit& visit) const {
    int collective = collectives_->empty() ? kNone : graph_->node(node).collective;
    for (size_t i = 0;
         collective >= 0 && i < graph_->collectives[static_cast<size_t>(collective)].members.size();
         ++i) {
      for (int other : graph_->collectives[static_cast<size_t>(collective)].members[i].nodes) {
        visit(other);
      }
    }
  }
  /// Calls `visit` with what a node that meets others waits for on each core of theirs: the last
  /// there before the collective.
  template <typename Visit>
  void forArrivals(int node, const Visit& visit) const {
    if (!collectives_->isEntry(*this, node)) {
      return;
    }
    const int collective = graph_->node(node).collective;
    const int first = collectives_->firstStep(collective, *this);
    for (int device : collectives_->devicesOf(collective, *this)) {
      for (int core : cores_.of(device)) {
        int last = nodeBefore(first, core);
        last = last == first ? turnOn(first, core).before : last;
        if (last != kNone) {
          visit(last);
        }
      }
    }
  }
  /// Calls `visit` with the nodes of all collectives that may wait for a node: their first step is
  /// between it and the next one on a core.
  template <typename Visit>
  void forCollectivesAfter(int node, const Visit& visit) const {
    if (collectives_->empty()) {
      return;
    }
    int end = rank(node);
    forTurns(node, [&](const Turn& turn) {
      end = turn.after == kNone ? end : std::max(end, rank(turn.after));
    });
    for (int r = rank(node) + 1; r <= end; ++r) {
      const int collective = graph_->node(nodeAt(r)).collective;
      if (collective >= 0 && collectives_->firstStep(collective, *this) == nodeAt(r)) {
        forCollective(nodeAt(r), visit);
      }
    }
  }
  bool queues(int link) const { return simulator_->links().link(link).model.queues; }
  int rankOf(const LinkTransfer& linkTransfer) const {
    return linkTransfer.producer < 0 ? kNone : rank(linkTransfer.producer);
  }
  /// Calls `visit` with each linkTransfer of a tensor, or of all outputs of a node.
  template <typename Visit>
  void forTransfers(int tensor, const Visit& visit) const {
    linkTransfers_.forTensor(tensor, visit);
  }
  template <typename Visit>
  void forTransfersOf(int node, const Visit& visit) const {
    for (int tensor : flat_->outputs(node)) {
      forTransfers(tensor, visit);
    }
  }

  /// The turn of a node on the i-th core of its device.
  const Turn& turnAt(int node, int i) const {
    return i == 0 ? nodes_[node].turn : moreTurns_[node * cores_.more() + i - 1];
  }
  Turn& editTurnAt(int node, int i) {
    return i == 0 ? nodes_.edit(node).turn : moreTurns_.edit(node * cores_.more() + i - 1);
  }
  /// Returns the turn of a node on a core by its id.
  const Turn& turnOn(int node, int core) const {
    return turnAt(node, cores_.indexOf(device(node), core));
  }
  Turn& editTurnOn(int node, int core) {
    return editTurnAt(node, cores_.indexOf(device(node), core));
  }
  absl::Span<const int> coresOf(int node) const { return cores_.of(device(node)); }
  /// Calls `visit` with each of the node's turns.
  template <typename Visit>
  void forTurns(int node, const Visit& visit) const {
    visit(nodes_[node].turn);
    for (int i = 1; cores_.more() > 0 && i < static_cast<int>(coresOf(node).size()); ++i) {
      visit(turnAt(node, i));
    }
  }

  // schedule.cpp: changes.
  int make(int tensor, int to);
  int acquire(int tensor, int to);
  void release(int linkTransfer);
  void receive(int tensor, const Use& use);
  void moveOutput(int tensor, int from, int to);
  void commit();

  // schedule_lists.cpp: the order of cores and links.
  int nodeBefore(int node, int core) const;
  void leaveDevice(int node);
  void joinDevice(int node, int device);
  void joinCore(int node, int core);
  bool hasSides() const { return lines_.sides() > 0; }
  /// Calls `visit` with the kind of each line in which the linkTransfer waits.
  template <typename Visit>
  void forLines(int linkTransfer, const Visit& visit) const {
    lines_.forLines(linkTransfers_[linkTransfer], visit);
  }
  LinePosition positionOf(LineKind kind, int linkTransfer) const;
  bool precedes(LineKind kind, int a, int b) const;
  int neighbour(LineKind kind, const LinkTransfer& linkTransfer) const;
  void leaveLine(LineKind kind, int linkTransfer);
  void leaveLink(int linkTransfer);
  void joinLink(int linkTransfer);
  void insert(LineKind kind, int linkTransfer, int near);
  bool isMisplaced(LineKind kind, int linkTransfer) const;
  void reinsert(int linkTransfer);
  void reinsertAll(int node);
  void mergeLine(LineKind kind, int line, int cut);
  void findEnds();

  // schedule_times.cpp: what is due.
  int64_t shiftOf(int rank) const;
  int64_t startOf(int node) const { return nodes_[node].start + shiftOf(rank(node)); }
  int64_t finishOf(int node) const { return nodes_[node].finish + shiftOf(rank(node)); }
  int64_t arrivalOf(int linkTransfer) const {
    return linkTransfers_[linkTransfer].finish + shiftOf(rankOf(linkTransfers_[linkTransfer]));
  }
  int64_t earliestStart(int node) const;
  int64_t durationOf(int node) const;
  int lastNode() const;
  int senderOf(int linkTransfer) const;
  int blocker(int node) const;
  void touchNode(int node);
  void touchSharers(int node);
  bool readsTakeTime() const { return simulator_->links().readsTakeTime(); }
  void touchSender(int tensor);
  void touchFellows(int node);
  void touchCollectivesAfter(int node);
  void touchTransfer(int linkTransfer);
  void touchAgain(int firstRank, int lastRank);
  void followNode(int64_t was, int64_t is, int node);
  void followTransfer(int64_t was, int64_t is, int linkTransfer);
  void settleNode(int node);
  void settleTransfer(int linkTransfer);
  int64_t passSides(int linkTransfer, int64_t begin);
  void settleRank(int rank);
  void settleAll();
  int64_t besideNs(int64_t step) const;
  void forget();

  // schedule_shifts.cpp: delays of everything from a rank on.
  int64_t commonDelay(int cut) const;
  void shift(int64_t delay, int cut);
  void touchReaders(int cut);
  void touchFirsts(int cut);
  void learnReaders();
  void applyShifts();

  // schedule_window.cpp: the step as a window tells it.
  bool isOpen() const { return window_.last > 0; }
  int endOfWork() const { return isOpen() ? window_.last : nodeCount(); }
  int64_t tailOfTransfer(int id) const;
  int64_t tailOfNode(int node) const;
  void findReaders();
  int64_t startAfterWindow(int node) const;
  int64_t windowNs();
  int firstBlocked() const;

  const Simulator* simulator_;
  const CostGraph* graph_;
  const FlatGraph* flat_;
  const CollectiveGroups* collectives_;
  CoreIndices cores_;

  UndoableVector<Node> nodes_;
  UndoableVector<Turn> moreTurns_;  // [node][core of its device beside the first]
  UndoableVector<WaitingLine> onCore_;
  RankOrder order_;
  UndoableVector<int> arrives_;  // by edge: the linkTransfer that brings the tensor, kNone at home
  LinkTransfers linkTransfers_;
  WaitingLines lines_;
  BesideStep beside_;
  Ends ends_;

  DueWork due_;
  std::vector<Shift> shifts_;    // ascending; the last one that is not above a rank counts
  std::vector<Delayed> lately_;  // by core
  Readers readers_;

  Window window_;
  Tails tails_;

  // Scratch.
  Seen seen_;
  Merge merge_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_SCHEDULE_H_
