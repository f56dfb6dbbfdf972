// Local search on the loads of devices and links.
#ifndef GRAPHRUN_PLACEMENT_THROUGHPUT_LOAD_SEARCH_H_
#define GRAPHRUN_PLACEMENT_THROUGHPUT_LOAD_SEARCH_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "placement/problem/search_limit.h"
#include "placement/throughput/device_loads.h"

namespace graphrun::placement {

/// A SearchGoal is the quantity that a search makes small.
class SearchGoal {
 public:
  virtual ~SearchGoal() = default;
  /// Returns the energy, in units of a move's worth; the best placement known has about as much as
  /// there are busy devices. Infinity where the coarse nodes may not be so.
  virtual double energy(const DeviceLoads& loads) = 0;
  /// The objective of what energy() was asked for last, if it may be an answer.
  virtual int64_t ns(const DeviceLoads& loads) = 0;
};

/// The time between steps.
class PeriodGoal : public SearchGoal {
 public:
  double energy(const DeviceLoads& loads) override { return loads.energy(); }
  int64_t ns(const DeviceLoads& loads) override { return loads.periodNs(); }
};

/// Simulated annealing over moves of single coarse nodes, to devices of their neighbours mostly.
/// Where `staged`, devices keep the order in which the start has them, and a coarse node moves only
/// between the devices of those before and after it: it takes coarsenContiguous.
class LoadSearch {
 public:
  static constexpr int64_t kMovesPerUnit = 16;
  /// Hot and less hot ones take turns.
  static constexpr int kKindsOfRounds = 2;

  /// CoarseGraph on `device`s to begin with, and by device the bytes that are needed beside weights
  /// and receive buffers.
  LoadSearch(const PlacementProblem& problem, const CoarseGraph& coarse, bool staged,
             SearchGoal& goal, std::vector<int> device, std::vector<int64_t> reserved);

  /// Returns, where staged, whether the start has an order of devices to keep.
  bool canBegin();
  /// From the best placement known: so many moves, or until the limit (which kMovesPerUnit count
  /// in) or `bound` is reached. True if a better one was found.
  bool anneal(int64_t moves, int64_t bound, SearchLimit& limit);

  const std::vector<int>& best() const { return best_; }
  int64_t bestNs() const { return bestNs_; }
  /// Begins again from these devices by coarse node.
  void restart(std::vector<int> device);
  /// Changes what is needed beside weights and receive buffers.
  void reserve(std::vector<int64_t> bytes) { reserved_ = std::move(bytes); }
  const std::vector<int64_t>& reserved() const { return reserved_; }

 private:
  bool orderDevices(const DeviceLoads& loads);
  std::vector<int> gathered();
  int target(int coarseNode, const DeviceLoads& loads);
  bool mayGo(int coarseNode, int to, const DeviceLoads& loads) const;
  int64_t overBytes(const DeviceLoads& loads) const;
  int pick(size_t count) { return static_cast<int>(random_() % count); }

  const PlacementProblem& problem_;
  const CoarseGraph& coarse_;
  bool staged_;
  SearchGoal& goal_;
  std::vector<int64_t> reserved_;
  std::vector<int> best_;
  int64_t bestNs_ = 0;
  std::vector<int> stage_;  // by device: its position in the order
  size_t round_ = 0;
  std::mt19937_64 random_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_THROUGHPUT_LOAD_SEARCH_H_
