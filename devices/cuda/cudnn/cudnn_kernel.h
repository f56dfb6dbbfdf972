// All kernels through cuDNN share this: an instruction becomes a plan on known addresses. Internal
// to devices/cuda.
#ifndef GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_KERNEL_H_
#define GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_KERNEL_H_

#include "devices/cuda/cudnn/cudnn_graph.h"
#include "devices/cuda/kernels/kernel.h"

namespace graphrun::devices::cuda {

/// The facts about an instruction that are known when its plan is made.
struct CudnnInstruction {
  const Instruction& instruction;
  absl::Span<const CUdeviceptr> addresses;  ///< of the executable's buffers

  CUdeviceptr addressOf(const Argument& argument) const { return addresses[argument.buffer]; }
  /// The scratch memory, and whether f32 must stay exact.
  absl::StatusOr<CudnnLimits> limits() const;
};

/// Makes the plan of an instruction that the kernel's `choose` accepts.
using CudnnPlanner = absl::StatusOr<CudnnPlan> (*)(const CudnnInstruction& known,
                                                   const CudnnTarget& target);

/// KernelEntry::create of the instructions that `planner` plans.
absl::StatusOr<std::unique_ptr<Kernel>> createPlanned(const Instruction& instruction,
                                                      const KernelContext& context,
                                                      CudnnPlanner planner);
template <CudnnPlanner planner>
absl::StatusOr<std::unique_ptr<Kernel>> createWith(const Instruction& instruction,
                                                   const KernelContext& context) {
  return createPlanned(instruction, context, planner);
}

/// True if f32 must be multiplied as it is: the instruction does not allow "tf32".
absl::StatusOr<bool> isExact(const Instruction& instruction);

/// Bytes that engines may need for `instruction`, an engine that wants more is passed over: for
/// sums that several blocks of threads share, and, `relaid`, for its operands and result in another
/// layout.
uint64_t cudnnWorkspace(const Instruction& instruction, bool relaid);

/// A tensor of N x C x spatial dims in one of the two layouts that cuDNN knows, with at least two
/// spatial dims: where there is one, a dim of 1 goes before it.
CudnnShape imageShape(std::vector<int64_t> dims, bool channelsLast);
/// The same dims for the entries of a window.
std::vector<int64_t> windowDims(std::vector<int64_t> values, int64_t otherwise);

/// Which of the two layouts all of `tensors` have: channels last where both would be right.
/// Unimplemented where neither is.
absl::StatusOr<bool> haveChannelsLast(absl::Span<const TensorDesc* const> tensors);

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_CUDNN_CUDNN_KERNEL_H_
