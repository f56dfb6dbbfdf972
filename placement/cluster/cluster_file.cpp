// The cluster of a cluster.yaml.

#include "placement/cluster/cluster.h"
#include "runtime/base/status.h"
#include "runtime/cluster/cluster_description.h"

namespace graphrun::placement {
namespace {

using Kinds = absl::Span<const DeviceKind>;

/// Its kind is known: the reader checked it.
DeviceSpec specOf(const runtime::GivenDevice& given, Kinds kinds) {
  DeviceSpec spec;
  spec.kind = *runtime::findKind(kinds, given.kind);
  spec.cores = given.cores;
  spec.shared = given.shared;
  spec.splits = given.splits;
  spec.detached = given.detached;
  spec.index = given.index;
  spec.memoryBytes = given.memoryBytes;
  spec.memorySource = given.memorySource;
  spec.weight = given.weight;
  return spec;
}

Worker workerOf(const runtime::GivenWorker& given, Kinds kinds) {
  Worker worker;
  worker.name = given.name;
  worker.inClient = given.isInClient();
  worker.local = given.isLocal() || worker.inClient;
  worker.address = worker.local ? "" : given.address;
  worker.devicesGiven = given.devicesGiven;
  for (const runtime::GivenDevice& device : given.devices) {
    worker.specs.push_back(specOf(device, kinds));
  }
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

Cluster clusterOf(const runtime::ClusterDescription& description, Kinds kinds) {
  Cluster cluster;
  for (const runtime::GivenWorker& worker : description.workers) {
    cluster.workers.push_back(workerOf(worker, kinds));
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
                                     Kinds kinds) {
  GR_ASSIGN_OR_RETURN(runtime::ClusterDescription description,
                      runtime::parseClusterDescription(text, fileName, kinds));
  return clusterOf(description, kinds);
}

}  // namespace graphrun::placement
