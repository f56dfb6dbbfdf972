// The cluster of this machine alone.
#include <algorithm>

#include "placement/cluster/cluster.h"
#include "runtime/base/cgroup.h"

namespace graphrun::placement {

Cluster localCluster(int threads, const DeviceKind& host) {
  // No cores are named: threads of this process stay where the system puts them.
  DeviceSpec cpu;
  cpu.kind = host;
  auto allowed = static_cast<int>(runtime::usableThreads());
  cpu.threads = threads > 0 ? std::min(threads, allowed) : allowed;
  cpu.memoryBytes = static_cast<int64_t>(runtime::usableMemory());

  Worker worker;
  worker.name = "local";
  worker.local = true;
  worker.inClient = true;
  Cluster cluster;
  cluster.workers.push_back(std::move(worker));
  cluster.setDevices(0, {std::move(cpu)});
  return cluster;
}

}  // namespace graphrun::placement
