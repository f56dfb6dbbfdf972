// Clusters that are only thought of: what another device or a faster link would bring.
#ifndef GRAPHRUN_PLACEMENT_CLUSTER_WHAT_IF_H_
#define GRAPHRUN_PLACEMENT_CLUSTER_WHAT_IF_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "placement/cluster/cluster.h"

namespace graphrun::placement {

/// Adds a device of one of `kinds`: "node2:cpu", or with a limit of memory "node2:cpu=48GiB". A
/// worker of a new name comes with it, on a machine of its own. One on the host's cores has the
/// threads of the cluster's first such. Limits
/// that were set on devices before are lost (Cluster::setDevices).
absl::Status addHypotheticalDevice(Cluster& cluster, absl::string_view text,
                                   absl::Span<const DeviceKind> kinds);

/// Changes the links between all workers, "100Gbps" or with a latency "12GB/s,3us", or between two,
/// "node0,node1=100Gbps"; "client" is one too. What is not said stays.
absl::Status supposeLinks(Cluster& cluster, absl::string_view text);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_CLUSTER_WHAT_IF_H_
