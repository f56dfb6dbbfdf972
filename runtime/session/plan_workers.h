// These functions tell what a plan says of its workers.
#ifndef GRAPHRUN_RUNTIME_SESSION_PLAN_WORKERS_H_
#define GRAPHRUN_RUNTIME_SESSION_PLAN_WORKERS_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "runtime/format/plan_file.h"

namespace graphrun::runtime {

/// The name of this process in plans; its rank is kCoordinatorRank.
inline constexpr char kClientName[] = "client";

/// Returns the worker of a device, or of a partition, by name.
absl::string_view workerOf(const format::PlanFile& plan, uint32_t device);
absl::string_view workerOf(const format::PlanFile& plan, const format::Partition& partition);

/// Returns whether other processes than this one have a part of the plan.
bool needsOthers(const format::PlanFile& plan);

/// Returns whether a worker gets something from a device of this process that computes nothing, and
/// so sends it at once.
bool getsInputs(const format::PlanFile& plan, const std::string& worker);

/// Returns the weights of the model that a worker's partitions read.
std::set<uint32_t> weightsOf(const format::PlanFile& plan, const std::string& worker);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_SESSION_PLAN_WORKERS_H_
