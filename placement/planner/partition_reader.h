// A partition of a plan is read as a function of the gr dialect, for a device's compiler.
#ifndef GRAPHRUN_PLACEMENT_PLANNER_PARTITION_READER_H_
#define GRAPHRUN_PLACEMENT_PLANNER_PARTITION_READER_H_

#include "absl/status/statusor.h"
#include "devices/device_compiler.h"
#include "placement/planner/context.h"
#include "runtime/compiler_loader/compiler_api.h"
#include "runtime/format/plan_file.h"

namespace graphrun::compiler {

/// A PartitionModule is the input of DeviceCompiler::compile. Lives as long as the context that it
/// was read into.
struct PartitionModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  devices::DeviceDescription device;
  devices::WeightIndex weightIndex;
};

/// Reads partition `task.index` of `plan`. InvalidArgument for an index out of range or a graph
/// that the dialect refuses.
absl::StatusOr<PartitionModule> readPartition(Context& context, const format::PlanFile& plan,
                                              const GrPartition& task);

}  // namespace graphrun::compiler

#endif  // GRAPHRUN_PLACEMENT_PLANNER_PARTITION_READER_H_
