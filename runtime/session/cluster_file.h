// What the coordinator needs of cluster.yaml to reach the workers. The planner reads and checks the
// rest (placement/cluster.h); a plan out of the cache needs no more than this.
#ifndef GRAPHRUN_RUNTIME_SESSION_CLUSTER_FILE_H_
#define GRAPHRUN_RUNTIME_SESSION_CLUSTER_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/control/security.h"

namespace graphrun::runtime {

struct ClusterWorker {
  std::string name;
  std::string address;         // "local": to be started on this machine
  bool devicesGiven = false;   // false: the worker is to be asked
  std::vector<uint32_t> gpus;  // that are given: indices
};

struct ClusterFile {
  std::string path;
  std::string text;
  std::vector<ClusterWorker> workers;  // but for those in this process ("address: client")
  Security security;                   // paths relative to the file's folder have been resolved
};

/// NotFound when the file cannot be read; InvalidArgument, with the line, when it is not what is
/// expected here.
absl::StatusOr<ClusterFile> readClusterFile(const std::string& path);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_CLUSTER_FILE_H_
