// The client's process computes for steps, on cores that devices have; that is its load.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_CLIENT_LOAD_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_CLIENT_LOAD_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "placement/cluster/cluster.h"
#include "placement/simulator/core_table.h"

namespace graphrun::placement {

/// ClientLoad evaluates Cluster::client for placements. The system runs the client's threads where
/// nobody computes; where devices compute on all cores at all times, they share these alike, and
/// the period of all is longer by that. Keeps a reference to the cluster. Immutable.
class ClientLoad {
 public:
  ClientLoad(const Cluster& cluster, const CoreTable& cores);

  /// Returns whether nothing is known: then it takes nothing.
  bool empty() const { return cluster_.client.work.empty(); }
  /// The cores of the client's machine that are one in the CoreTable; 0: it is no core of that.
  int cores(int core) const { return width_[static_cast<size_t>(core)]; }

  /// CPU time of the client's process for a step in which so many workers take part, and of which
  /// so many bytes come from or go to the client.
  int64_t workNs(int workers, int64_t bytes) const;
  /// By how many ns the period is longer on the client's machine for `work` ns a step, where
  /// devices compute on so many of its cores, and on the busiest for `busiest` ns a step.
  int64_t periodNs(int64_t work, int used, int64_t busiest) const;

 private:
  const Cluster& cluster_;
  std::vector<int> width_;  // by core of the CoreTable
};

/// The loads of the client's machine, core by core.
class ClientMachine {
 public:
  explicit ClientMachine(const ClientLoad& client) : client_(client) {}

  /// On a core of the CoreTable devices compute for `total` ns a step, by which its period is
  /// `period` ns.
  void add(int core, int64_t total, int64_t period) {
    if (total > 0 && client_.cores(core) > 0) {
      used_ += client_.cores(core);
      busiest_ = std::max(busiest_, period);
    }
  }
  /// The period of its busiest core with the client's work.
  int64_t periodNs(int64_t work) const {
    return busiest_ + client_.periodNs(work, used_, busiest_);
  }

 private:
  const ClientLoad& client_;
  int used_ = 0;
  int64_t busiest_ = 0;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_CLIENT_LOAD_H_
