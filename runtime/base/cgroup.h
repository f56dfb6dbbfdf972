// What the control groups of a process let it use.
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

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_BASE_CGROUP_H_
