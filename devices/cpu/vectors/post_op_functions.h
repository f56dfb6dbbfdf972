// The element-wise functions that are fused behind our own kernels, of a float or of a vector of
// them. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_VECTORS_POST_OP_FUNCTIONS_H_
#define GRAPHRUN_DEVICES_CPU_VECTORS_POST_OP_FUNCTIONS_H_

#include <cstdint>
#include <optional>

#include "devices/cpu/vectors/row_functions.h"
#include "devices/executable/executable.h"

namespace graphrun::devices::cpu {

enum class PostOpFunction : uint8_t {
  kClip,  ///< to [alpha, beta]
  kLeakyRelu,
  kLinear,  ///< alpha * x + beta
  kRow      ///< one of devices/functions
};

/// A function with its parameters.
struct PostOpCall {
  PostOpFunction function;
  float alpha = 0;
  float beta = 0;
  RowFunction row = {};  ///< kRow
};

/// Returns the function of an element-wise post-op, whose results are rounded to `rounded` next;
/// nothing for functions that are not among these.
std::optional<PostOpCall> postOpCall(const PostOp& op,
                                     runtime::ElementType rounded = runtime::ElementType::kF32);

/// row[i] = f(row[i]), on this thread.
void applyCall(const PostOpCall& call, float* row, int64_t count);

/// row[i] = f(row[i], other[i]), or of other[0] for all, on this thread.
using Combination = void (*)(float* row, int64_t count, const float* other, bool one);

/// Returns how a post-op combines the result with its operand; a sum is an addition.
Combination combinationOf(PostOpKind kind);

template <typename Float>
[[gnu::always_inline]] inline void clip(Float& x, const Float& low, const Float& high) {
  x = x < low ? low : x;
  x = x > high ? high : x;
}

/// Calls `body(f)`, where f(x, alpha, beta) changes x in place; not for kRow. NaN passes through
/// each of them.
template <typename Body>
[[gnu::always_inline]] inline void withFunction(PostOpFunction function, const Body& body) {
  switch (function) {
    case PostOpFunction::kClip:
      return body([](auto& x, const auto& low, const auto& high)
                      __attribute__((always_inline)) { clip(x, low, high); });
    case PostOpFunction::kLeakyRelu:
      return body([](auto& x, const auto& alpha, const auto&)
                      __attribute__((always_inline)) { x = x < 0 ? alpha * x : x; });
    case PostOpFunction::kLinear:
      return body([](auto& x, const auto& alpha, const auto& beta)
                      __attribute__((always_inline)) { x = alpha * x + beta; });
    case PostOpFunction::kRow:
      return;
  }
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_VECTORS_POST_OP_FUNCTIONS_H_
