// Control groups and whoever started a process limit what it may use of the machine.
#ifndef GRAPHRUN_RUNTIME_BASE_CGROUP_H_
#define GRAPHRUN_RUNTIME_BASE_CGROUP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace graphrun::runtime {

/// Nothing where no group sets a limit.
struct CgroupLimits {
  std::optional<size_t> cores;     ///< CPUs that the quota pays for, rounded up
  std::optional<uint64_t> memory;  ///< bytes
};

/// The least limits of this process's groups and of those around them, of either version of
/// control groups. In a container the process's own group is mounted at the root. `root`: where the
/// groups are mounted; `membership`: the file that names those of the process.
CgroupLimits readCgroup(const std::string& root = "/sys/fs/cgroup",
                        const std::string& membership = "/proc/self/cgroup");

/// Threads that may run at the same time: by the affinity mask of the process, its control groups
/// and, below these, OMP_NUM_THREADS. At least one.
uint32_t usableThreads();

/// The number of threads that OMP_NUM_THREADS asks for (of a list by levels of nesting the first),
/// where it is less than what else is allowed; 0: it says nothing.
uint32_t fewerThreads();

/// Bytes that this process may use: the machine's memory, or what readCgroup leaves of it.
uint64_t usableMemory();

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_CGROUP_H_
