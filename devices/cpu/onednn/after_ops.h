// A kernel applies after-ops itself, in place, to a result that a library has just written.
// Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_ONEDNN_AFTER_OPS_H_
#define GRAPHRUN_DEVICES_CPU_ONEDNN_AFTER_OPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "devices/cpu/vectors/post_op_functions.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cpu {

/// Post-ops of a result of f32 or bf16. Each gives what it gives as an operation of its own, to the
/// bit: a result of bf16 is rounded behind each.
class AfterOps {
 public:
  /// The first of an instruction's post-ops that is left to these: the library's own function would
  /// differ from that of devices/functions. The number of post-ops where there is none.
  static size_t firstOf(const Instruction& instruction);

  AfterOps() = default;
  /// Those from post-op `first` on: Unimplemented where one is neither a function that rows know
  /// nor arithmetic with a tensor that has the result's dims.
  static absl::StatusOr<AfterOps> make(const Instruction& instruction, size_t first);

  bool empty() const { return ops_.empty(); }
  /// Returns whether zeros stay: padding does then.
  bool keepsZero() const;
  /// Applies them to `count` elements in buffer `result`, on the threads of the caller.
  void run(void* const* buffers, uint32_t result, int64_t count) const;

 private:
  struct Op {
    std::optional<PostOpCall> call;
    Combination combination = nullptr;  ///< without a call
    uint32_t operand = 0;               ///< and its buffer, of the result's layout
  };

  template <typename Rows>
  void runRows(void* const* buffers, uint32_t result, int64_t begin, int64_t end) const;

  std::vector<Op> ops_;
  runtime::ElementType type_ = runtime::ElementType::kF32;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_ONEDNN_AFTER_OPS_H_
