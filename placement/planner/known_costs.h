// A request brings the costs that runs measured for the devices of a cluster.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_KNOWN_COSTS_H_
#define GRAPHRUN_PLACEMENT_PLANNER_KNOWN_COSTS_H_

#include <cstdint>
#include <vector>

#include "placement/cluster/cluster.h"
#include "placement/cost_graph/measured_costs.h"
#include "runtime/format/compiler_api_generated.h"

namespace graphrun::compiler {

/// Times of operations by device. Not movable: `byDevice` refers to `profiles`.
struct KnownCosts {
  std::vector<placement::MeasuredCosts> profiles;
  /// By device of the cluster; null where nothing was measured.
  std::vector<const placement::MeasuredCosts*> byDevice;
};

/// Fills `known` for the devices of `cluster` from what the request says of workers.
void readCosts(const format::PlanRequest& request, const placement::Cluster& cluster,
               KnownCosts& known);

/// Links as measured. What cluster.yaml gives counts for more: it comes behind these.
std::vector<placement::LinkOverride> measuredLinks(const format::PlanRequest& request,
                                                   const placement::Cluster& cluster);

/// Returns how much longer devices of one machine take that compute at the same time, as measured.
std::vector<placement::Crowd> crowds(const format::PlanRequest& request,
                                     const placement::Cluster& cluster);

/// Returns the time for which the client's process computes for a step of many, as measured, beside
/// the workers of its machine.
placement::ClientWork clientWork(const format::PlanRequest& request,
                                 const placement::Cluster& cluster);

/// Returns the time that starting and ending a step takes on workers outside the client's process,
/// as measured.
std::vector<placement::StepStart> stepStarts(const format::PlanRequest& request);

/// Part of the key of measurements: how operations are computed.
uint64_t numericsKey(const format::PlanRequest& request);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_KNOWN_COSTS_H_
