#include "devices/cuda/cudnn/cudnn_convolution.h"

#include <utility>

#include "devices/cuda/cudnn/convolution.h"
#include "runtime/base/status.h"

namespace graphrun::devices::cuda {

absl::StatusOr<KernelChoice> chooseConvolution(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Convolution convolution, convolutionOf(instruction));
  GR_ASSIGN_OR_RETURN(bool exact, isExact(instruction));
  // Tensor cores want the channels last, engines without them dense tensors.
  return KernelChoice{cudnnWorkspace(instruction, convolution.channelsLast == exact), "cudnn"};
}

absl::StatusOr<CudnnPlan> planConvolution(const CudnnInstruction& known,
                                          const CudnnTarget& target) {
  GR_ASSIGN_OR_RETURN(Convolution its, convolutionOf(known.instruction));
  GR_ASSIGN_OR_RETURN(CudnnLimits limits, known.limits());
  const Argument& result = known.instruction.outputs[0];
  CudnnGraph graph(target);
  auto add = [&](const Argument& argument, const CudnnShape& shape) {
    return graph.addTensor(argument.desc.type, shape, known.addressOf(argument));
  };
  /// The result of the operation that `left` of the epilogue follow.
  auto addResult = [&](size_t left) {
    return left == 0 ? add(result, its.result) : graph.addInner(its.result);
  };
  GR_ASSIGN_OR_RETURN(CudnnTensor input, add(known.instruction.inputs[0], its.input));
  GR_ASSIGN_OR_RETURN(CudnnTensor filter, add(known.instruction.inputs[1], its.filter));
  size_t left = its.epilogue.size();
  GR_ASSIGN_OR_RETURN(CudnnTensor current, addResult(left));
  GR_RETURN_IF_ERROR(
      its.transposed ? graph.convolve({CudnnDirection::kBack, its.window}, current, filter, input)
                     : graph.convolve({CudnnDirection::kForward, its.window, its.sumsIn}, input,
                                      filter, current));
  for (const EpilogueOp& op : its.epilogue) {
    CudnnTensor other = nullptr;
    if (op.operand) {
      GR_ASSIGN_OR_RETURN(other, add(*op.operand, op.shape));
    }
    GR_ASSIGN_OR_RETURN(CudnnTensor next, addResult(--left));
    GR_RETURN_IF_ERROR(graph.apply(op.function, {current, other}, next));
    current = next;
  }
  return std::move(graph).plan(limits);
}

}  // namespace graphrun::devices::cuda
