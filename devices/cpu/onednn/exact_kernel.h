// An instruction as its operations are defined, for values that the library gets wrong. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ONEDNN_EXACT_KERNEL_H_
#define GRAPHRUN_DEVICES_CPU_ONEDNN_EXACT_KERNEL_H_

#include <memory>
#include <vector>

#include "devices/cpu/base/cpu_memory.h"
#include "devices/cpu/onednn/onednn_primitive.h"

namespace graphrun::devices::cpu {

/// Computes an instruction by kernels that keep NaN and infinities: a product by a primitive that
/// `plan` plans without the post-ops from the first one on that loses them, all else by the
/// reference, in f32 on dense copies. Slow, with memory of its own: for the few instructions that
/// meet such values.
class ExactKernel : public Kernel {
 public:
  /// `instruction` is laid out. Fails as its kernels do; Unavailable without memory.
  static absl::StatusOr<std::unique_ptr<ExactKernel>> make(const Instruction& instruction,
                                                           PlanFunction plan, const OneDnn& onednn);

  int run(void* const* buffers) override;
  absl::Status errorMessage(int code) const override;

 private:
  explicit ExactKernel(const OneDnn& onednn) : onednn_(onednn) {}

  /// A buffer of the instruction's, in the table of this one's kernels.
  Argument given(const Argument& argument);
  absl::StatusOr<Argument> temporary(TensorDesc desc);
  /// Appends the kernel that `entry` makes for `instruction`, whose layouts are given.
  absl::Status add(const KernelEntry& entry, Instruction instruction);
  absl::Status addReference(const std::string& operation, Attributes attributes,
                            std::vector<Argument> inputs, std::vector<Argument> outputs);
  absl::Status addProduct(const Instruction& instruction, PlanFunction plan,
                          const Argument& result);
  /// The instruction's operation alone, on dense copies; gives its results.
  absl::StatusOr<std::vector<Argument>> addOperation(const Instruction& instruction,
                                                     PlanFunction plan);
  /// `argument` as a dense tensor.
  absl::StatusOr<Argument> dense(const Argument& argument);
  /// Weights of a recurrent cell, packed as 1 x 1 x columns x G x H, as the dense matrix of G*H
  /// rows that they were made of; `source` is how those dims lie in it.
  absl::StatusOr<Argument> matrixOfGates(const Argument& weights, const TensorDesc& source);
  /// `argument`, dense, as a tensor of `type`.
  absl::StatusOr<Argument> converted(const Argument& argument, runtime::ElementType type);
  absl::Status move(const Argument& from, const Argument& to);
  /// Adds `op` on `value`, which is dense and of f32.
  absl::StatusOr<Argument> addPostOp(const PostOp& op, const Argument& value);

  struct Given {
    uint32_t mine, theirs;
  };

  OneDnn onednn_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Memory> memory_;
  std::vector<Given> given_;
  std::vector<void*> table_;
  Kernel* failed_ = nullptr;  ///< whose code was returned last
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ONEDNN_EXACT_KERNEL_H_
