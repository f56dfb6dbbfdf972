// Devices of one machine that compute at the same time slow each other down by crowding.
#ifndef GRAPHRUN_PLACEMENT_CLUSTER_CROWDING_H_
#define GRAPHRUN_PLACEMENT_CLUSTER_CROWDING_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "placement/cluster/cluster.h"

namespace graphrun::placement {

/// Crowding evaluates Cluster::crowds for placements. CPU devices of a machine share its memory and
/// its last cache: while another one computes, each takes longer by some share. That stretches all
/// that happens meanwhile alike, so that a step needs no more than the sums of what devices do to
/// tell by how much: where somebody computes at any time, that is the sum less the step in which
/// several do, each beyond the first counted. Immutable.
class Crowding {
 public:
  explicit Crowding(const Cluster& cluster);

  /// Returns whether nothing is known: then it takes nothing.
  bool empty() const { return shares_.empty(); }
  /// Machines of which something is known.
  int machines() const { return static_cast<int>(shares_.size()); }
  /// The machine of a device; -1: none of them, or it is no CPU, or has several lanes or calls.
  int machineOf(int device) const { return machineOf_[static_cast<size_t>(device)]; }

  /// By how many ns a step of `step` ns is longer, in which the devices of machine `m` compute for
  /// busy(m) ns altogether.
  template <typename Busy>
  int64_t stepNs(const Busy& busy, int64_t step) const {
    int64_t most = 0;
    for (int m = 0; m < machines(); ++m) {
      const auto together = static_cast<double>(std::max<int64_t>(busy(m) - step, 0));
      most = std::max<int64_t>(most, std::llround(shares_[static_cast<size_t>(m)] * together));
    }
    return most;
  }
  /// By how many ns the period is longer on a machine whose devices compute for `busy` ns a step
  /// altogether, `most` of these on one of them.
  int64_t periodNs(int machine, int64_t busy, int64_t most) const;

 private:
  std::vector<double> shares_;  // by machine
  std::vector<int> machineOf_;  // by device
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_CLUSTER_CROWDING_H_
