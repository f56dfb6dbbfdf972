// A strategy returns a PlacementResult.
#ifndef GRAPHRUN_PLACEMENT_PROBLEM_PLACEMENT_RESULT_H_
#define GRAPHRUN_PLACEMENT_PROBLEM_PLACEMENT_RESULT_H_

#include <cstdint>

#include "placement/cost_graph/placement.h"
#include "placement/simulator/simulator.h"

namespace graphrun::placement {

/// A placement and its prediction.
struct PlacementResult {
  Placement placement;
  Simulation simulation;
  /// No placement has a smaller objective, ns; 0: nobody has looked.
  int64_t boundNs = 0;
};

}  // namespace graphrun::placement

#endif  // GRAPHRUN_PLACEMENT_PROBLEM_PLACEMENT_RESULT_H_
