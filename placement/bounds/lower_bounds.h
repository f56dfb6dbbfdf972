// Lower bounds: no placement can be better than these.
#ifndef GRAPHRUN_PLACEMENT_BOUNDS_LOWER_BOUNDS_H_
#define GRAPHRUN_PLACEMENT_BOUNDS_LOWER_BOUNDS_H_

#include <algorithm>
#include <cstdint>

#include "placement/problem/placement_result.h"
#include "placement/problem/problem.h"

namespace graphrun::placement {

/// Lower bounds of any placement's objective, ns.
struct LowerBounds {
  /// The longest path with each node on its fastest allowed device and free transfers; 0 for
  /// throughput.
  int64_t criticalPathNs = 0;
  /// All nodes, cut at will and spread over all lanes as their times on each allow. What may run on
  /// a device without a limit of lanes does not count.
  int64_t workNs = 0;
  /// The largest unit on the device that is best for it.
  int64_t unitNs = 0;
  /// To start and end the step, beside what these bound; 0 for throughput.
  int64_t overheadNs = 0;

  int64_t ns() const { return std::max({criticalPathNs, workNs, unitNs}) + overheadNs; }
};

LowerBounds lowerBounds(const PlacementProblem& problem);

/// The bound of a result, from lowerBounds if it has none.
int64_t boundOf(const PlacementProblem& problem, const PlacementResult& result);

/// The smallest time of `node` on a device its constraints allow, ns; 0 where another
/// node may do its work, or a library.
int64_t fastestNs(const PlacementProblem& problem, int node);

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_BOUNDS_LOWER_BOUNDS_H_
