// The directed links that transfers share.
#ifndef GRAPHRUN_PLACEMENT_CLUSTER_LINK_TABLE_H_
#define GRAPHRUN_PLACEMENT_CLUSTER_LINK_TABLE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "placement/cluster/cluster.h"

namespace graphrun::placement {

/// One direction between two endpoints that carries one transfer at a time, unless it does not
/// queue them.
struct LinkInfo {
  std::string name;  // "node0 -> node1", "node0/cpu:0 -> node0/cpu:1"
  LinkModel model;
  /// Sides of the interfaces that its transfers leave and enter by; -1: none that says more than
  /// the link itself.
  int leaves = -1;
  int enters = -1;
};

/// One direction of an interface (cluster.h), which the transfers of several links share.
struct InterfaceSide {
  double bytesPerSecond = 1;

  /// Returns how long a transfer has it, rounded up.
  int64_t nanos(int64_t bytes) const { return LinkLine{0, bytesPerSecond}.nanos(bytes); }
};

/// All links of a cluster. Between workers one link a direction serves all their devices, but for
/// those of other kinds whose transfers take other times: they have one of their own. Devices of
/// one process have one link a pair and direction. Immutable.
class LinkTable {
 public:
  explicit LinkTable(const Cluster& cluster);

  /// Index of the link; `from` and `to` are different devices or kClient.
  int id(int from, int to) const {
    return ids_[static_cast<size_t>(from + 1) * stride_ + static_cast<size_t>(to + 1)];
  }
  const std::vector<LinkInfo>& links() const { return links_; }
  const LinkInfo& link(int id) const { return links_[static_cast<size_t>(id)]; }
  /// Returns the time of a transfer that waits for nothing.
  int64_t nanos(int id, int64_t bytes) const {
    const LinkInfo& by = link(id);
    int64_t ns = by.model.transferNs(bytes);
    for (int side : {by.leaves, by.enters}) {
      ns = side < 0 ? ns : std::max(ns, sides_[static_cast<size_t>(side)].nanos(bytes));
    }
    return ns;
  }
  /// Returns whether LinkModel::readNsPerByte, or sendNsPerByte, of some link is not 0.
  bool readsTakeTime() const { return readsTakeTime_; }
  bool sendsTakeTime() const { return sendsTakeTime_; }
  /// Returns the time that so many bytes cost the node that sends them, or the first to read them
  /// there.
  int64_t sendNs(int id, int64_t bytes) const {
    return std::llround(link(id).model.sendNsPerByte * static_cast<double>(bytes));
  }
  int64_t readNs(int id, int64_t bytes) const {
    return std::llround(link(id).model.readNsPerByte * static_cast<double>(bytes));
  }
  const std::vector<InterfaceSide>& sides() const { return sides_; }
  const InterfaceSide& side(int id) const { return sides_[static_cast<size_t>(id)]; }

 private:
  void findSides(const Cluster& cluster);

  size_t stride_;
  std::vector<int> ids_;  // [from + 1][to + 1]
  std::vector<LinkInfo> links_;
  std::vector<InterfaceSide> sides_;
  bool readsTakeTime_ = false;
  bool sendsTakeTime_ = false;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_CLUSTER_LINK_TABLE_H_
