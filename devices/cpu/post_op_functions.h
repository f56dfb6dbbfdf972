// The element-wise functions that are fused behind our own kernels, of a float or of a vector of
// them. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_POST_OP_FUNCTIONS_H_
#define GRAPHRUN_DEVICES_CPU_POST_OP_FUNCTIONS_H_

#include <cstdint>
#include <optional>

#include "devices/cpu/exponential.h"
#include "devices/executable.h"

namespace graphrun::devices::cpu {

enum class PostOpFunction : uint8_t {
  kClip,  ///< to [alpha, beta]
  kLeakyRelu,
  kLinear,  ///< alpha * x + beta
  kHardSigmoid,
  kHardSwish,
  kSigmoid,
  kSwish,  ///< x / (1 + e^(-alpha x))
  kTanh
};

/// A function with its parameters.
struct PostOpCall {
  PostOpFunction function;
  float alpha = 0;
  float beta = 0;
};

/// What an element-wise post-op is; nothing for functions that are not among these.
std::optional<PostOpCall> postOpCall(const PostOp& op);

template <typename Float>
[[gnu::always_inline]] inline void clip(Float& x, const Float& low, const Float& high) {
  x = x < low ? low : x;
  x = x > high ? high : x;
}

/// Calls `body(f)`, where f(x, alpha, beta) changes x in place. NaN passes through each of them.
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
    case PostOpFunction::kHardSigmoid:
      return body([]<typename Float>(Float& x, const Float& alpha, const Float& beta)
                      __attribute__((always_inline)) {
                        x = alpha * x + beta;
                        clip(x, Float{}, Float{} + 1.0F);
                      });
    case PostOpFunction::kHardSwish:
      return body([]<typename Float>(Float& x, const Float&, const Float&)
                      __attribute__((always_inline)) {
                        Float share = x / 6.0F + 0.5F;
                        clip(share, Float{}, Float{} + 1.0F);
                        x *= share;
                      });
    case PostOpFunction::kSigmoid:
      return body([](auto& x, const auto&, const auto&)
                      __attribute__((always_inline)) { makeLogistic(x); });
    case PostOpFunction::kSwish:
      return body([]<typename Float>(Float& x, const Float& alpha, const Float&)
                      __attribute__((always_inline)) {
                        Float share = alpha * x;
                        makeLogistic(share);
                        x *= share;
                      });
    case PostOpFunction::kTanh:
      return body([](auto& x, const auto&, const auto&)
                      __attribute__((always_inline)) { makeTangent(x); });
  }
}

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_POST_OP_FUNCTIONS_H_
