// Row post-ops are fused behind kernels that make a channel's results in rows. Internal to
// devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_ROW_POST_OPS_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_ROW_POST_OPS_H_

#include <optional>
#include <string>
#include <vector>

#include "devices/cpu/base/kernel.h"
#include "devices/cpu/vectors/post_op_functions.h"

namespace graphrun::devices::cpu {

/// The post-ops of an instruction with one dense f32 result of dims N x C x ….
class RowPostOps {
 public:
  /// Unimplemented where one of them is not among those that rows know, or has an operand that is
  /// neither one number, nor one a channel, nor like the result.
  static absl::StatusOr<RowPostOps> make(const Instruction& instruction);

  /// Their operands, all dense: LayoutChoice::postOps.
  static std::vector<TensorDesc> layouts(const Instruction& instruction);

  /// Returns whether they add what the result's memory holds.
  bool readsResult() const;

  /// Applies them to `count` results of `channel`, which are to be stored from `result` + `offset`
  /// on. One thread; call it under runWide.
  void apply(void* const* buffers, const float* result, int64_t channel, int64_t offset,
             int64_t count, float* row) const;

 private:
  enum class Reach : uint8_t { kOne, kChannel, kElement };

  struct Op {
    std::optional<PostOpCall> call;     ///< without an operand
    Combination combination = nullptr;  ///< with an operand, or the result that is there
    std::optional<uint32_t> operand;
    Reach reach = Reach::kElement;
  };

  static absl::StatusOr<Op> opOf(const Instruction& instruction, const PostOp& post);

  std::vector<Op> ops_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_ROW_POST_OPS_H_
