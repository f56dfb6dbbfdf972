// List heuristics rank nodes by the mean costs of nodes and transfers before they know any device.
#ifndef GRAPHRUN_PLACEMENT_LIST_SCHEDULING_MEAN_COSTS_H_
#define GRAPHRUN_PLACEMENT_LIST_SCHEDULING_MEAN_COSTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Keeps a reference to the problem, which must outlive it.
class MeanCosts {
 public:
  explicit MeanCosts(const PlacementProblem& problem);

  /// Over the devices that the node may go to.
  double nodeNs(int node) const;
  /// Over all ordered pairs of devices, of which equal ones cost nothing.
  double transferNs(int64_t bytes) const {
    const Line& line = lineOf(bytes);
    return line.latencyNs + line.nsPerByte * static_cast<double>(bytes);
  }
  /// Over all pairs of different devices.
  double transferToOtherNs(int64_t bytes) const { return transferNs(bytes) * otherShare_; }

 private:
  /// The mean of all links' lines for tensors of so many bytes or more.
  struct Line {
    int64_t fromBytes = 0;
    double latencyNs = 0;
    double nsPerByte = 0;
  };

  const Line& lineOf(int64_t bytes) const {
    auto after =
        std::upper_bound(lines_.begin() + 1, lines_.end(), bytes,
                         [](int64_t size, const Line& line) { return size < line.fromBytes; });
    return *(after - 1);
  }

  const PlacementProblem& problem_;
  std::vector<Line> lines_;  // ascending; the first one begins at 0
  double otherShare_ = 1;
};

/// By node: its mean time and the longest mean path from its end to the end of the step, transfers
/// included but those within a unit.
std::vector<double> upwardRanks(const PlacementProblem& problem);

/// By node: the longest mean path from the begin of the step to its start, likewise.
std::vector<double> downwardRanks(const PlacementProblem& problem);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_LIST_SCHEDULING_MEAN_COSTS_H_
