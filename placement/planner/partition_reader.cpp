#include "placement/planner/partition_reader.h"

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "passes/passes.h"
#include "passes/serialization/model_io.h"
#include "runtime/base/status.h"

namespace graphrun::compiler {
namespace {

/// The device that an executable is for.
devices::DeviceDescription describe(const format::PlanDevice& device, const GrPartition& task) {
  devices::DeviceDescription description;
  description.name = device.name()->str();
  description.kind = device.kind()->str();
  description.index = device.index();
  description.cores.assign(task.cores, task.cores + task.coreCount);
  description.threads = task.threads;
  description.memoryBytes = task.memoryBytes;
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
  result.device = describe(plan.device(partition->device()), task);
  result.weightIndex = [](mlir::Operation* op) -> std::optional<uint32_t> {
    auto index = op->getAttrOfType<mlir::IntegerAttr>(ir::kWeightAttr);
    return index ? std::optional<uint32_t>(static_cast<uint32_t>(index.getInt())) : std::nullopt;
  };
  return result;
}

}  // namespace graphrun::compiler
