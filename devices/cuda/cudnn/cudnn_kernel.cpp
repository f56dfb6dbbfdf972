#include "devices/cuda/cudnn/cudnn_kernel.h"

#include <algorithm>
#include <utility>

#include "devices/cuda/cudnn/cudnn_library.h"
#include "devices/cuda/kernels/layouts.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

class PlannedKernel : public Kernel {
 public:
  PlannedKernel(CudnnLibrary& library, CudnnPlan plan)
      : library_(library), plan_(std::move(plan)) {}

  absl::Status enqueue(CUstream stream) override { return library_.execute(plan_, stream); }
  size_t plan() const override { return plan_.number(); }

 private:
  CudnnLibrary& library_;
  CudnnPlan plan_;
};

}  // namespace

absl::StatusOr<CudnnLimits> CudnnInstruction::limits() const {
  CudnnLimits limits;
  GR_ASSIGN_OR_RETURN(limits.exact, isExact(instruction));
  GR_ASSIGN_OR_RETURN(limits.plan, algorithmOf(instruction));
  if (instruction.scratch) {
    limits.workspace = addressOf(*instruction.scratch);
    limits.workspaceBytes = instruction.scratch->desc.spec().byteSize();
  }
  return limits;
}

absl::StatusOr<std::unique_ptr<Kernel>> createPlanned(const Instruction& instruction,
                                                      const KernelContext& context,
                                                      CudnnPlanner planner) {
  GR_ASSIGN_OR_RETURN(CudnnTarget target, context.cudnn.target());
  absl::StatusOr<CudnnPlan> plan = planner({instruction, context.addresses}, target);
  GR_RETURN_IF_ERROR(runtime::annotate(plan.status(), instruction.label));
  return std::make_unique<PlannedKernel>(context.cudnn, *std::move(plan));
}

absl::StatusOr<bool> isExact(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(bool tf32, attributeOr(instruction, "tf32", false));
  return instruction.outputs[0].desc.type == runtime::ElementType::kF32 && !tf32;
}

uint64_t cudnnWorkspace(const Instruction& instruction, bool relaid) {
  uint64_t bytes = uint64_t{16} << 20;
  for (const auto* list : {&instruction.inputs, &instruction.outputs}) {
    for (const Argument& argument : *list) {
      bytes += relaid ? argument.desc.spec().byteSize() : 0;
    }
  }
  return bytes;
}

std::vector<int64_t> windowDims(std::vector<int64_t> values, int64_t otherwise) {
  if (values.size() == 1) {
    values.insert(values.begin(), otherwise);
  }
  return values;
}

CudnnShape imageShape(std::vector<int64_t> dims, bool channelsLast) {
  if (dims.size() == 3) {
    dims.insert(dims.begin() + 2, 1);
  }
  std::vector<int64_t> strides = channelsLast ? channelsLastStrides(dims) : denseStrides(dims);
  return {std::move(dims), std::move(strides)};
}

absl::StatusOr<bool> haveChannelsLast(absl::Span<const TensorDesc* const> tensors) {
  for (bool channelsLast : {true, false}) {
    bool all = std::all_of(tensors.begin(), tensors.end(), [&](const TensorDesc* desc) {
      return liesAs(*desc,
                    channelsLast ? channelsLastStrides(desc->dims) : denseStrides(desc->dims));
    });
    if (all) {
      return channelsLast;
    }
  }
  return absl::UnimplementedError("expected all tensors dense, or all with the channels last");
}

}  // namespace graphrun::devices::cuda
