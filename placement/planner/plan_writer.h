// The plan writer makes a Plan of a partitioned, placed graph.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_PLAN_WRITER_H_
#define GRAPHRUN_PLACEMENT_PLANNER_PLAN_WRITER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "passes/intern_strings.h"
#include "passes/partition.h"
#include "placement/cluster/cluster.h"
#include "placement/from_ir/build_cost_graph.h"
#include "placement/problem/placement_result.h"
#include "placement/simulator/simulator.h"
#include "runtime/format/model_file.h"

namespace graphrun::compiler {

/// The pseudo device of the process that the user started: it holds inputs and outputs when the
/// devices are elsewhere.
inline constexpr char kHomeDevice[] = "client/host:0";

/// All that a plan is made of; the parts must outlive the call.
struct PlanParts {
  const format::ModelFile& model;
  uint64_t hash;  ///< of model and request
  const placement::Cluster& cluster;
  const passes::Partitioning& partitioning;
  const placement::GraphOfOps& graph;
  const placement::Simulator& simulator;  ///< that predicted `result`
  const placement::PlacementResult& result;
  int64_t promisedNs;  ///< see Placed
  uint8_t splits;      ///< format::SplitChoice
  bool single;         ///< see PlanRequest
  const passes::InternedStrings& strings;
  uint8_t numerics;   ///< runtime::Numerics
  uint8_t precision;  ///< runtime::Precision
  bool isForMany;     ///< steps are to follow each other without a gap
};

/// The FlatBuffer of the Plan. Worker 0 is the client; a cluster's worker inside the client is the
/// client itself. Weights refer to the model file; what planning computed is in Plan.constants.
absl::StatusOr<std::vector<uint8_t>> writePlan(const PlanParts& parts);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_PLAN_WRITER_H_
