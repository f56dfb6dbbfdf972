#include "frontends/compiler/partition_reader.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "passes/model_io.h"
#include "passes/passes.h"
#include "runtime/base/status.h"

namespace graphrun::compiler {
namespace {

/// What the device receives from other processes takes its memory, unless it is bound to the
/// host's.
uint64_t slotBytes(const format::PlanFile& plan, uint32_t index) {
  return plan.device(index).kind()->str() == "cuda" ? 0 : plan.slotBytes(index);
}

/// The device that an executable is for. Its limit is what is left for weights and arena.
devices::DeviceDescription describe(const format::PlanFile& plan, uint32_t index,
                                    const GrPartition& task) {
  const format::PlanDevice& device = plan.device(index);
  devices::DeviceDescription description;
  description.name = device.name()->str();
  description.kind = device.kind()->str();
  description.index = device.index();
  description.cores.assign(task.cores, task.cores + task.coreCount);
  description.threads = task.threads;
  if (device.memory_bytes() != 0) {
    uint64_t slots = std::min(slotBytes(plan, index), device.memory_bytes() - 1);
    description.memoryBytes = device.memory_bytes() - slots;
  }
  return description;
}

passes::WeightSourceView weightsOf(const format::PlanFile& plan, const GrPartition& task) {
  passes::WeightSourceView weights;
  const auto* entries = plan.plan().weights();
  weights.count = entries == nullptr ? 0 : entries->size();
  weights.get = [entries,
                 task](uint32_t index) -> absl::StatusOr<passes::WeightSourceView::Weight> {
    const format::WeightEntry* entry = entries->Get(index);
    GrBytes bytes = {};
    int32_t code = task.readWeight(task.context, index, &bytes);
    if (code != 0) {
      return absl::Status(static_cast<absl::StatusCode>(code),
                          absl::StrCat("weight '", entry->name()->str(), "' cannot be read"));
    }
    runtime::TensorSpec spec{static_cast<runtime::ElementType>(entry->type()->element()), {}};
    if (entry->type()->dims() != nullptr) {
      spec.dims.assign(entry->type()->dims()->begin(), entry->type()->dims()->end());
    }
    return passes::WeightSourceView::Weight{
        entry->name()->str(), std::move(spec), entry->splat(), {bytes.data, bytes.size}};
  };
  return weights;
}

}  // namespace

absl::StatusOr<PartitionModule> readPartition(Context& context, const format::PlanFile& plan,
                                              const GrPartition& task) {
  const auto* partitions = plan.plan().partitions();
  if (partitions == nullptr || task.index >= partitions->size()) {
    return absl::InvalidArgumentError(absl::StrCat("the plan has no partition ", task.index));
  }
  const format::Partition* partition = partitions->Get(task.index);
  PartitionModule result;
  GR_ASSIGN_OR_RETURN(result.module, passes::importGraph(*partition->graph(), weightsOf(plan, task),
                                                         context.mlir()));
  auto function = passes::graphOf(*result.module);
  if (mlir::failed(function)) {
    return context.takeError(absl::StatusCode::kInvalidArgument, "the partition has no graph");
  }
  result.function = *function;
  result.device = describe(plan, partition->device(), task);
  result.weightIndex = [](ir::ConstantOp constant) -> std::optional<uint32_t> {
    auto index = constant->getAttrOfType<mlir::IntegerAttr>(ir::kWeightAttr);
    return index ? std::optional<uint32_t>(static_cast<uint32_t>(index.getInt())) : std::nullopt;
  };
  return result;
}

}  // namespace graphrun::compiler
