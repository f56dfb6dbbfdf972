// A core table tells which devices compete for the same cores.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_CORE_TABLE_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_CORE_TABLE_H_

#include <vector>

#include "absl/types/span.h"
#include "placement/cluster/cluster.h"
#include "placement/cost_graph/flat_graph.h"

namespace graphrun::placement {

/// The cores of all hosts that devices have, as resources with dense ids. A node has all cores of
/// its device from its start to its end, so devices with one in common never compute at the same
/// time. A CPU device whose cores nobody told has one in common with each other CPU device of its
/// host. Cores that the same devices have are one here, and one whose devices all meet at another
/// is left out: it would say nothing more. A device that shares nothing has one to itself; if no
/// device shares, the ids are those of the devices. Immutable.
class CoreTable {
 public:
  explicit CoreTable(const Cluster& cluster);

  int count() const { return devices_.count(); }
  /// Returns whether some devices have a core in common.
  bool isShared() const { return isShared_; }
  /// The cores of a device, ascending; at least one.
  absl::Span<const int> of(int device) const { return cores_[device]; }
  /// The devices that have a core, ascending.
  absl::Span<const int> devices(int core) const { return devices_[core]; }
  /// Returns whether a device has a core in common with another.
  bool isShared(int device) const;
  /// Sets of devices, ascending, that share nothing with each other, and with the rest something:
  /// of devices with about as many cores, so that one has the wholes and another the halves. Each
  /// device is in one of them at least; if nothing is shared, there is one.
  std::vector<std::vector<int>> devicesApart() const;

 private:
  std::vector<int> devicesApartFrom(int first) const;

  IntLists devices_;  // by core
  IntLists cores_;    // by device
  bool isShared_ = false;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_CORE_TABLE_H_
