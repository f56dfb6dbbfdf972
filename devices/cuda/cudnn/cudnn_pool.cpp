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

absl::Status checkTypes(const Step& step) {
  bool isMax = step.operation == "gr.max_pool";
  if ((!isMax && step.operation != "gr.avg_pool") || step.inputs.size() != 1 ||
      step.outputs.size() != 1) {
    return absl::InvalidArgumentError("expected a pool of one operand and one result");
  }
  ElementType type = step.outputs[0].desc.type;
  // cuDNN 9.19 makes plans for pools of bf16 too, whose results were wrong on an H200: largest
  // elements that were not there, means of 1e34.
  bool known = type == ElementType::kF32 || type == ElementType::kF16;
  if (!known || step.inputs[0].desc.type != type || !step.postOps.empty()) {
    return absl::UnimplementedError("cuDNN's pools are of f32 or f16, with nothing fused");
  }
  const std::vector<int64_t>& in = step.inputs[0].desc.dims;
  const std::vector<int64_t>& out = step.outputs[0].desc.dims;
  if (out.size() != in.size() || in.size() < 3 || in[0] != out[0] || in[1] != out[1]) {
    return absl::InvalidArgumentError("the shapes of input and result do not fit");
  }
  if (in.size() > 5 || step.inputs[0].desc.spec().elementCount() == 0 ||
      step.outputs[0].desc.spec().elementCount() == 0) {
    return absl::UnimplementedError("cuDNN's pools have 1 to 3 spatial dims, and elements");
  }
  return absl::OkStatus();
}

absl::StatusOr<CudnnWindow> windowFor(const Step& step, bool countsPadding) {
  absl::Span<const int64_t> in = step.inputs[0].desc.dims;
  absl::Span<const int64_t> out = step.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, attribute<std::vector<int64_t>>(step, "kernel"));
  GR_ASSIGN_OR_RETURN(bool ceilMode, attributeOr(step, "ceil_mode", false));
  GR_ASSIGN_OR_RETURN(Window window,
                      windowOf(step, in.subspan(2), kernel, out.subspan(2), ceilMode));
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

absl::StatusOr<Pool> understand(const Step& step) {
  GR_RETURN_IF_ERROR(checkTypes(step));
  GR_ASSIGN_OR_RETURN(bool countsPadding, attributeOr(step, "count_include_pad", false));
  Pool pool;
  if (step.operation == "gr.avg_pool") {
    pool.mode = countsPadding ? CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING
                              : CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING;
  }
  GR_ASSIGN_OR_RETURN(pool.window,
                      windowFor(step, pool.mode == CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING));
  const TensorDesc& input = step.inputs[0].desc;
  const TensorDesc& result = step.outputs[0].desc;
  GR_ASSIGN_OR_RETURN(bool channelsLast, haveChannelsLast({&input, &result}));
  pool.input = imageShape(input.dims, channelsLast);
  pool.result = imageShape(result.dims, channelsLast);
  return pool;
}

}  // namespace

absl::StatusOr<KernelChoice> choosePool(const Step& step) {
  GR_RETURN_IF_ERROR(runtime::annotate(understand(step).status(), step.label));
  return KernelChoice{cudnnWorkspace(step, false), "cudnn"};
}

absl::StatusOr<CudnnPlan> planPool(const CudnnStep& step, const CudnnTarget& target) {
  GR_ASSIGN_OR_RETURN(Pool pool, understand(step.step));
  GR_ASSIGN_OR_RETURN(CudnnLimits limits, step.limits());
  limits.exact = false;  // nothing is multiplied
  const Argument& from = step.step.inputs[0];
  const Argument& to = step.step.outputs[0];
  CudnnGraph graph(target);
  GR_ASSIGN_OR_RETURN(CudnnTensor input,
                      graph.addTensor(from.desc.type, pool.input, step.addressOf(from)));
  GR_ASSIGN_OR_RETURN(CudnnTensor result,
                      graph.addTensor(to.desc.type, pool.result, step.addressOf(to)));
  GR_RETURN_IF_ERROR(graph.pool(pool.mode, pool.window, input, result));
  return std::move(graph).plan(limits);
}

}  // namespace graphrun::devices::cuda
