// Lowering of one partition: its work items become instructions. Internal to the GPU's
// compiler.
#ifndef GRAPHRUN_DEVICES_CUDA_COMPILER_LOWERING_H_
#define GRAPHRUN_DEVICES_CUDA_COMPILER_LOWERING_H_

#include "devices/compiler/instruction_writer.h"
#include "devices/cuda/compiler/work_item.h"

namespace graphrun::devices::cuda {

/// Tensors with strides; generated kernels copy between them.
class StridedLayouts final : public LayoutRules {
 public:
  /// `code` outlives this, and gets the kernels.
  explicit StridedLayouts(KernelCode& code) : code_(code) {}

  absl::StatusOr<uint64_t> bytes(const TensorDesc& desc) const override;
  bool isDense(const TensorDesc& desc) const override { return desc.layout.empty(); }
  bool isSame(const TensorDesc& a, const TensorDesc& b) const override { return a == b; }
  absl::StatusOr<TensorDesc> ofType(const TensorDesc& desc,
                                    runtime::ElementType type) const override {
    return TensorDesc{type, desc.dims, desc.layout};
  }
  absl::Status setCopyKernel(Instruction& instruction) const override;

 private:
  KernelCode& code_;
};

/// One use: writes the instructions of a partition into `executable` (buffers have no offsets yet).
class Lowering {
 public:
  /// All that is given outlives this.
  Lowering(Executable& executable, KernelCode& code, const WeightIndex& weightIndex);

  /// `chosen`: the candidate of each of the partition's `items`.
  absl::Status lower(mlir::func::FuncOp partition, llvm::ArrayRef<WorkItem> items,
                     llvm::ArrayRef<uint32_t> chosen);

 private:
  absl::Status lowerItem(const WorkItem& item, const WorkCandidate& candidate);
  absl::Status lowerLibrary(const WorkItem& item, const WorkCandidate& candidate);
  absl::Status lowerGenerated(const WorkItem& item, const WorkCandidate& candidate);
  absl::Status lowerRecurrent(const WorkItem& item, const WorkCandidate& candidate);
  /// A stored buffer with these bytes.
  Argument constantBytes(const std::vector<uint8_t>& bytes);

  Executable& executable_;
  KernelCode& code_;
  StridedLayouts layouts_;
  ValueTable values_;
  InstructionWriter writer_;
};

}  // namespace graphrun::devices::cuda

#endif  // GRAPHRUN_DEVICES_CUDA_COMPILER_LOWERING_H_
