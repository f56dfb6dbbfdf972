// The directed links that transfers share.
#ifndef GRAPHRUN_PLACEMENT_LINK_TABLE_H_
#define GRAPHRUN_PLACEMENT_LINK_TABLE_H_

#include <string>
#include <vector>

#include "placement/cluster.h"

namespace graphrun::placement {

/// One direction between two endpoints that carries one transfer at a time, unless it does not
/// queue them.
struct LinkInfo {
  std::string name;  // "node0 -> node1", "node0/cpu:0 -> node0/cpu:1"
  LinkModel model;
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

 private:
  size_t stride_;
  std::vector<int> ids_;  // [from + 1][to + 1]
  std::vector<LinkInfo> links_;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_LINK_TABLE_H_
