// Local search tries these changes.
#ifndef GRAPHRUN_PLACEMENT_SEARCH_LOCAL_MOVES_H_
#define GRAPHRUN_PLACEMENT_SEARCH_LOCAL_MOVES_H_

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "placement/problem/problem.h"
#include "placement/search/live_memory.h"
#include "placement/search/resident_memory.h"
#include "placement/search/schedule.h"

namespace graphrun::placement {

/// Draws changes of a schedule: nodes, units and groups of units go to the device of a neighbour or
/// to any, alone or against others from there; nodes change places in the order. Half of them begin
/// at a node that the step waits for. Pins, colocation and support are kept, and so is the
/// schedule's window. One thread.
class LocalMoves {
 public:
  /// `levels`: partitions of the nodes, each into groups that may move together; the first is the
  /// problem's units.
  LocalMoves(const PlacementProblem& problem, std::vector<Constraints> levels, uint64_t seed);

  /// Moves are drawn for this schedule from now on.
  void use(Schedule& schedule);
  /// The schedule has another window from now on, or none. After keep or undo.
  void useWindow();

  /// Changes the schedule; false if what was drawn is no change, or needs more memory than there
  /// is. Then comes keep or undo.
  bool propose();
  void keep();
  void undo();

  /// The nodes of the window in their order, with their devices.
  using Snapshot = std::vector<std::pair<int, int>>;
  void save(Snapshot& snapshot) const;
  /// Brings them back. After keep or undo.
  void restore(const Snapshot& snapshot);

  /// The sum, over the devices that exceed their limits, of the excess as a part of the limit.
  double overrun();

  /// From 0 to 1.
  double uniform();

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }
  int pickNode();
  const Unit& pickGroup(int node);
  std::optional<int> neighbourDevice(const Unit& group);
  int64_t arrival(int tensor, int device) const;

  bool changeRank(int node);
  bool changeDevice(int node);
  bool exchange(int from, int to, int near, const Unit& except);
  bool isMovable(const Unit& group) const;
  void setDevice(int node, int device);
  void move(const Unit& group, int device);
  int rankFor(int node) const;

  const PlacementProblem& problem_;
  const CostGraph& graph_;
  const FlatGraph& flat_;
  std::vector<Constraints> levels_;
  std::mt19937_64 random_;
  Schedule* schedule_ = nullptr;
  std::optional<ResidentMemory> memory_;  // if a limit may bind, and so
  std::optional<LiveMemory> live_;
  std::vector<int> critical_;
  bool criticalIsOld_ = true;
  std::vector<int> byRank_;  // scratch
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SEARCH_LOCAL_MOVES_H_
