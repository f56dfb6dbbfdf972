// What is done with vectors of a result before they are stored. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_VECTOR_EPILOGUE_H_
#define GRAPHRUN_DEVICES_CPU_VECTOR_EPILOGUE_H_

#include <array>
#include <vector>

#include "devices/cpu/executable.h"
#include "devices/cpu/exponential.h"
#include "devices/cpu/vector.h"

namespace graphrun::devices::cpu {

/// One post-op, as arithmetic.
struct VectorPostOp {
  enum class Kind : uint8_t { kAdd, kClip, kLeakyRelu, kLinear, kHardSwish, kSigmoid, kSwish };
  Kind kind;
  float alpha = 0;  ///< as in PostOp; of a clip the bounds
  float beta = 0;
  uint32_t operand = 0;            ///< kAdd: a buffer of the result's layout
  const float* address = nullptr;  ///< kAdd: that buffer, in a run
};

/// The post-ops of `step`; Unimplemented where one of them is another operation, or adds a tensor
/// that does not have the result's dims.
absl::StatusOr<std::vector<VectorPostOp>> vectorPostOps(const Step& step);

/// 1 / (1 + e^-x) in place.
[[gnu::always_inline]] inline void applyLogistic(Vector& x) {
  Vector e = x < 0 ? x : -x;
  raiseNegative(e);
  x = (x < 0 ? e : Vector{} + 1.0F) / (1.0F + e);
}

/// Applies a post-op other than an addition to `values`.
template <size_t count>
[[gnu::always_inline]] inline void applyPostOp(const VectorPostOp& op,
                                               std::array<Vector, count>& values) {
  const Vector alpha = Vector{} + op.alpha;
  const Vector beta = Vector{} + op.beta;
  auto forEach = [&](const auto& body) __attribute__((always_inline)) {
    unrolled<count>([&](auto i) __attribute__((always_inline)) { body(values[i]); });
  };
  using Kind = VectorPostOp::Kind;
  switch (op.kind) {
    case Kind::kClip:
      return forEach([&](Vector& x) __attribute__((always_inline)) {
        x = x < alpha ? alpha : x;
        x = x > beta ? beta : x;
      });
    case Kind::kLeakyRelu:
      return forEach([&](Vector& x) __attribute__((always_inline)) { x = x < 0 ? alpha * x : x; });
    case Kind::kLinear:
      return forEach([&](Vector& x) __attribute__((always_inline)) { x = alpha * x + beta; });
    case Kind::kHardSwish:
      return forEach([](Vector& x) __attribute__((always_inline)) {
        Vector share = x / 6.0F + 0.5F;
        share = share < 0 ? Vector{} : share;
        x *= share > 1 ? Vector{} + 1.0F : share;
      });
    case Kind::kSigmoid:
      return forEach([](Vector& x) __attribute__((always_inline)) { applyLogistic(x); });
    case Kind::kSwish:
      return forEach([&](Vector& x) __attribute__((always_inline)) {
        Vector share = alpha * x;
        applyLogistic(share);
        x *= share;
      });
    case Kind::kAdd:
      return;
  }
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTOR_EPILOGUE_H_
