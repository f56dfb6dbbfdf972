// The cluster of this machine alone.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "placement/cluster.h"
#include "runtime/base/cgroup.h"

namespace graphrun::placement {
namespace {

/// Threads that can run at the same time: by the affinity mask and the control groups.
int allowedThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  std::optional<size_t> quota = runtime::readCgroup().cores;
  return std::max(1, quota ? std::min(cores, static_cast<int>(*quota)) : cores);
}

int64_t machineMemory() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  std::optional<uint64_t> limit = runtime::readCgroup().memory;
  return limit ? std::min(bytes, static_cast<int64_t>(*limit)) : bytes;
}

}  // namespace

Cluster localCluster(int threads) {
  // No cores are named: threads of this process stay where the system puts them.
  DeviceSpec cpu;
  int allowed = allowedThreads();
  cpu.threads = threads > 0 ? std::min(threads, allowed) : allowed;
  cpu.memoryBytes = machineMemory();

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
