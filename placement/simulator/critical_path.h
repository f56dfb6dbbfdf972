// The critical path is what the predicted step waits for, from its beginning to its end.
#ifndef GRAPHRUN_PLACEMENT_SIMULATOR_CRITICAL_PATH_H_
#define GRAPHRUN_PLACEMENT_SIMULATOR_CRITICAL_PATH_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

enum class PathKind : uint8_t {
  kCompute,     // a node runs
  kLink,        // a tensor travels
  kDeviceWait,  // the node's inputs are there, its device is busy with others
  kCoreWait,    // the node's inputs are there, another device has a core of its device, or has yet
                // to come to their collective
  kLinkWait,    // the tensor is ready, its link is busy with others
};

/// "compute", "link", "device wait", "core wait", "link wait".
absl::string_view pathKindName(PathKind kind);

/// A stretch of the path. `id` is the node (kCompute, kDeviceWait, kCoreWait) or an index into
/// Simulation::transfers (kLink, kLinkWait).
struct PathSegment {
  PathKind kind = PathKind::kCompute;
  int id = 0;
  int64_t start = 0;
  int64_t finish = 0;
  int behind = -1;  ///< kCoreWait: the node of another device that had a core, or ran there, last
};

/// From time 0 to the end of the step without a hole: the segments' lengths add up to stepNs.
struct CriticalPath {
  std::vector<PathSegment> segments;
  int64_t computeNs = 0;
  int64_t linkNs = 0;
  int64_t waitNs = 0;  // all kinds of waiting
};

/// Walks back from the last event along the input that arrived last (ties: the lowest tensor id).
/// O(path * fan-in), and O(nodes * cores of a device) where devices share cores; O(nodes)
/// for each collective that a library carries out.
CriticalPath criticalPath(const Simulator& simulator, const Placement& placement,
                          const Simulation& simulation);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_SIMULATOR_CRITICAL_PATH_H_
