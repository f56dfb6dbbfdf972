// The cluster of a cluster.yaml.

#include "placement/cluster/cluster.h"
#include "runtime/base/status.h"
#include "runtime/cluster/cluster_description.h"

namespace graphrun::placement {
namespace {

Worker workerOf(const runtime::GivenWorker& given) {
  Worker worker;
  worker.name = given.name;
  worker.inClient = given.isInClient();
  worker.local = given.isLocal() || worker.inClient;
  worker.address = worker.local ? "" : given.address;
  worker.devicesGiven = given.devicesGiven;
  worker.specs = given.devices;
  return worker;
}

/// Its ends are known: the reader checked them.
LinkOverride linkOf(const Cluster& cluster, const runtime::GivenLink& given) {
  const int a = cluster.findEndpoint(given.a).value_or(kClient);
  const int b = cluster.findEndpoint(given.b).value_or(kClient);
  LinkOverride link;
  link.workerA = std::min(a, b);
  link.workerB = std::max(a, b);
  link.latencyNs = given.latencyNs;
  link.bytesPerSecond = given.bytesPerSecond;
  link.queues = given.queues;
  return link;
}

PinRule ruleOf(const runtime::GivenRule& given) {
  return {given.nodes, given.device, given.source, given.annotation};
}

Cluster clusterOf(const runtime::ClusterDescription& description) {
  Cluster cluster;
  for (const runtime::GivenWorker& worker : description.workers) {
    cluster.workers.push_back(workerOf(worker));
  }
  cluster.rebuildDevices();
  for (const runtime::GivenLink& link : description.links) {
    cluster.links.push_back(linkOf(cluster, link));
  }
  for (const runtime::GivenRule& pin : description.pins) {
    cluster.pins.push_back(ruleOf(pin));
  }
  for (const runtime::GivenRule& forbid : description.forbids) {
    cluster.forbids.push_back(ruleOf(forbid));
  }
  return cluster;
}

}  // namespace

absl::StatusOr<Cluster> parseCluster(absl::string_view text, absl::string_view fileName,
                                     absl::Span<const DeviceKind> kinds) {
  GR_ASSIGN_OR_RETURN(runtime::ClusterDescription description,
                      runtime::parseClusterDescription(text, fileName, kinds));
  return clusterOf(description);
}

}  // namespace graphrun::placement
