// Element-wise functions in a pass of its own over a result that the library has just written.
// Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_RESULT_PASS_H_
#define GRAPHRUN_DEVICES_CPU_RESULT_PASS_H_

#include "devices/cpu/row_post_ops.h"

namespace graphrun::devices::cpu {

/// The post-ops of a step from `first` on.
class ResultPass {
 public:
  /// Unimplemented where one of them has an operand or is unknown, and for a result that is not of
  /// f32. An open layout is taken for one that will do.
  static absl::StatusOr<ResultPass> make(const Step& step, size_t first);

  /// On the threads of the caller.
  void run(void* const* buffers) const;

 private:
  RowPostOps ops_;
  uint32_t buffer_ = 0;
  int64_t elements_ = 0;  ///< with those beyond the dims
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_RESULT_PASS_H_
