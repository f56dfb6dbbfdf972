// The cluster of this machine alone.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "placement/cluster.h"

namespace graphrun::placement {
namespace {

std::vector<int> allowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &set)) {
        cores.push_back(i);
      }
    }
  }
  return cores;
}

/// The number in a cgroup file, or `otherwise` ("max", no such file).
int64_t readLimit(const char* path, int64_t otherwise) {
  std::ifstream file(path);
  int64_t value = 0;
  return file >> value && value > 0 ? value : otherwise;
}

int64_t machineMemory() {
  int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  bytes = std::min(bytes, readLimit("/sys/fs/cgroup/memory.max", bytes));
  return std::min(bytes, readLimit("/sys/fs/cgroup/memory/memory.limit_in_bytes", bytes));
}

}  // namespace

Cluster localCluster(int threads) {
  // No cores are named: threads of this process stay where the system puts them.
  DeviceSpec cpu;
  int allowed = std::max(1, static_cast<int>(allowedCores().size()));
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
