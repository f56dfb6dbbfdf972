#include "devices/cuda/cudnn/cudnn_pool.h"

#include <algorithm>
#include <utility>

#include "devices/executable/window.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {
namespace {

using runtime::ElementType;

/// A pool as the library takes it.
struct Pool {
  cudnnResampleMode_t mode = CUDNN_RESAMPLE_MAXPOOL;
  CudnnShape input, result;
  CudnnWindow window;
};

absl::Status checkTypes(const Instruction& instruction) {
  bool isMax = instruction.operation == "gr.max_pool";
  if ((!isMax && instruction.operation != "gr.avg_pool") || instruction.inputs.size() != 1 ||
      instruction.outputs.size() != 1) {
    return absl::InvalidArgumentError("expected a pool of one operand and one result");
  }
  ElementType type = instruction.outputs[0].desc.type;
  // cuDNN 9.19 makes plans for pools of bf16 too, whose results were wrong on an H200: largest
  // elements that were not there, means of 1e34.
  bool known = type == ElementType::kF32 || type == ElementType::kF16;
  if (!known || instruction.inputs[0].desc.type != type || !instruction.postOps.empty()) {
    return absl::UnimplementedError("cuDNN's pools are of f32 or f16, with nothing fused");
  }
  const std::vector<int64_t>& in = instruction.inputs[0].desc.dims;
  const std::vector<int64_t>& out = instruction.outputs[0].desc.dims;
  if (out.size() != in.size() || in.size() < 3 || in[0] != out[0] || in[1] != out[1]) {
    return absl::InvalidArgumentError("the shapes of input and result do not fit");
  }
  if (in.size() > 5 || instruction.inputs[0].desc.spec().elementCount() == 0 ||
      instruction.outputs[0].desc.spec().elementCount() == 0) {
    return absl::UnimplementedError("cuDNN's pools have 1 to 3 spatial dims, and elements");
  }
  return absl::OkStatus();
}

absl::StatusOr<CudnnWindow> windowFor(const Instruction& instruction, bool countsPadding) {
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> kernel,
                      attribute<std::vector<int64_t>>(instruction, "kernel"));
  GR_ASSIGN_OR_RETURN(bool ceilMode, attributeOr(instruction, "ceil_mode", false));
  GR_ASSIGN_OR_RETURN(Window window,
                      windowOf(instruction, in.subspan(2), kernel, out.subspan(2), ceilMode));
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    if (window.dilations[i] != 1 || window.padsBegin[i] < 0) {
      return absl::UnimplementedError("cuDNN's pools have no dilations and crop nothing");
    }
    // A window that ceil_mode lets hang over counts what it covers, not its whole size.
    if (countsPadding && window.padsCovering[i] > window.padsEnd[i]) {
      return absl::UnimplementedError("a window reaches beyond the padding that is counted");
    }
    window.padsCovering[i] = std::max<int64_t>(window.padsCovering[i], 0);
  }
  return CudnnWindow{windowDims(window.kernel, 1),
                     windowDims(window.strides, 1),
                     {},
                     windowDims(window.padsBegin, 0),
                     windowDims(window.padsCovering, 0)};
}

absl::StatusOr<Pool> understand(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkTypes(instruction));
  GR_ASSIGN_OR_RETURN(bool countsPadding, attributeOr(instruction, "count_include_pad", false));
  Pool pool;
  if (instruction.operation == "gr.avg_pool") {
    pool.mode = countsPadding ? CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING
                              : CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING;
  }
  GR_ASSIGN_OR_RETURN(pool.window,
                      windowFor(instruction, pool.mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING));
  const TensorDesc& input = instruction.inputs[0].desc;
  const TensorDesc& result = instruction.outputs[0].desc;
  GR_ASSIGN_OR_RETURN(bool channelsLast, haveChannelsLast({&input, &result}));
  pool.input = imageShape(input.dims, channelsLast);
  pool.result = imageShape(result.dims, channelsLast);
  return pool;
}

}  // namespace

absl::StatusOr<KernelChoice> choosePool(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(runtime::annotate(understand(instruction).status(), instruction.label));
  return KernelChoice{cudnnWorkspace(instruction, false), "cudnn"};
}

absl::StatusOr<CudnnPlan> planPool(const CudnnInstruction& known, const CudnnTarget& target) {
  GR_ASSIGN_OR_RETURN(Pool pool, understand(known.instruction));
  GR_ASSIGN_OR_RETURN(CudnnLimits limits, known.limits());
  limits.exact = false;  // nothing is multiplied
  const Argument& from = known.instruction.inputs[0];
  const Argument& to = known.instruction.outputs[0];
  CudnnGraph graph(target);
  GR_ASSIGN_OR_RETURN(CudnnTensor input,
                      graph.addTensor(from.desc.type, pool.input, known.addressOf(from)));
  GR_ASSIGN_OR_RETURN(CudnnTensor result,
                      graph.addTensor(to.desc.type, pool.result, known.addressOf(to)));
  GR_RETURN_IF_ERROR(graph.pool(pool.mode, pool.window, input, result));
  return std::move(graph).plan(limits);
}

}  // namespace graphrun::devices::cuda
