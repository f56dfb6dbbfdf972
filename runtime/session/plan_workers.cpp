#include "runtime/session/plan_workers.h"

#include <algorithm>

#include "runtime/format/weight_table.h"

namespace graphrun::runtime {

absl::string_view workerOf(const format::PlanFile& plan, uint32_t device) {
  return format::textOf(plan.worker(plan.device(device).worker()).name());
}

absl::string_view workerOf(const format::PlanFile& plan, const format::Partition& partition) {
  return workerOf(plan, partition.device());
}

bool needsOthers(const format::PlanFile& plan) {
  const auto& partitions = *plan.plan().partitions();
  return std::any_of(partitions.begin(), partitions.end(), [&](const format::Partition* partition) {
    return workerOf(plan, *partition) != kClientName;
  });
}

bool getsInputs(const format::PlanFile& plan, const std::string& worker) {
  for (uint32_t i = 0; i < plan.edgeCount(); ++i) {
    const format::Edge& edge = plan.edge(i);
    if (workerOf(plan, edge.source()) == kClientName && workerOf(plan, edge.target()) == worker &&
        format::sizeOf(plan.partitionOn(edge.source())->nodes()) == 0) {
      return true;
    }
  }
  return false;
}

std::set<uint32_t> weightsOf(const format::PlanFile& plan, const std::string& worker) {
  std::set<uint32_t> indices;
  for (const format::Partition* partition : *plan.plan().partitions()) {
    if (workerOf(plan, *partition) != worker || partition->weights() == nullptr) {
      continue;
    }
    for (uint32_t index : *partition->weights()) {
      if (!plan.plan().weights()->Get(index)->in_plan()) {
        indices.insert(index);
      }
    }
  }
  return indices;
}

}  // namespace graphrun::runtime
