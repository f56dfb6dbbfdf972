// The interfaces are the network interfaces of a real cluster's machines.
#ifndef GRAPHRUN_PLACEMENT_CLUSTER_INTERFACES_H_
#define GRAPHRUN_PLACEMENT_CLUSTER_INTERFACES_H_

#include <vector>

#include "placement/cluster/cluster.h"

namespace graphrun::placement {

/// One for each host of the cluster's workers, the client's included, from which tensors go to
/// another host: as fast as the fastest of its links to others, which nothing else need be known
/// for. Of what cluster.links says now.
std::vector<Interface> interfacesOf(const Cluster& cluster);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_CLUSTER_INTERFACES_H_
