// An epilogue is applied to vectors of a result before they are stored. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_VECTOR_EPILOGUE_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_VECTOR_EPILOGUE_H_

#include <array>
#include <optional>
#include <vector>

#include "devices/cpu/vectors/post_op_functions.h"
#include "devices/cpu/vectors/vector.h"

namespace graphrun::devices::cpu {

/// One post-op, as arithmetic.
struct VectorPostOp {
  std::optional<PostOpCall> call;  ///< nothing: a tensor of the result's layout is added
  uint32_t operand = 0;            ///< the tensor's buffer
  const float* address = nullptr;  ///< the same in a run
};

/// The post-ops of `instruction`; Unimplemented where one of them is another operation, or adds a
/// tensor that does not have the result's dims.
absl::StatusOr<std::vector<VectorPostOp>> vectorPostOps(const Instruction& instruction);

/// Applies a function to `values`.
template <size_t count>
[[gnu::always_inline]] inline void applyCall(const PostOpCall& call,
                                             std::array<Vector, count>& values) {
  if (call.function == PostOpFunction::kRow) {
    std::array<float, count * kVectorLanes> row;
    std::memcpy(row.data(), values.data(), sizeof(values));
    call.row(row.data(), row.data(), static_cast<int64_t>(row.size()));
    std::memcpy(values.data(), row.data(), sizeof(values));
    return;
  }
  const Vector alpha = Vector{} + call.alpha;
  const Vector beta = Vector{} + call.beta;
  withFunction(call.function, [&](const auto& function) __attribute__((always_inline)) {
    unrolled<count>([&](auto i)
                        __attribute__((always_inline)) { function(values[i], alpha, beta); });
  });
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_VECTOR_EPILOGUE_H_
