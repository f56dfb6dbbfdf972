#include "devices/cpu/activation.h"

#include "devices/cpu/exponential.h"
#include "devices/cpu/parallel.h"
#include "devices/cpu/vector.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// With erf(x / sqrt(2)) = x * P(u), where u in [-1, 1] is linear in x^2: a minimax polynomial for
/// |x| up to kFlat, where erf has come to 1.
[[gnu::always_inline]] inline void gelu(Vector& x) {
  constexpr float kFlat = 5.23259F;
  constexpr float kCoefficients[] = {-5.48073836e-3F, 5.92819368e-3F,  -7.03084283e-3F,
                                     1.56197967e-2F,  -2.70216726e-2F, 3.73458788e-2F,
                                     -4.94868122e-2F, 6.38975352e-2F,  -7.96816424e-2F,
                                     9.95659754e-2F,  -1.34680316e-1F, 2.70211905e-1F};
  Vector y = x < -kFlat ? Vector{} - kFlat : x;
  y = y > kFlat ? Vector{} + kFlat : y;
  Vector u = y * y * (2 / (kFlat * kFlat)) - 1.0F;
  Vector p = Vector{} + 1.92272069e-3F;
#pragma GCC unroll 12
  for (float coefficient : kCoefficients) {
    p = p * u + coefficient;
  }
  x = x * (0.5F + 0.5F * y * p);
}

[[gnu::always_inline]] inline void swish(float factor, Vector& x) {
  Vector e = x * factor;
  raiseBounded(e);
  x = x / (1.0F + e);
}

template <typename Apply>
void applyTo(float* data, int64_t count, const Apply& apply) {
  parallelRanges(count, [=](int64_t begin, int64_t end) {
    runWide([=] {
      auto own = apply;  // in registers: what is stored could lie where a reference leads
      int64_t i = begin;
      for (; i + kVectorLanes <= end; i += kVectorLanes) {
        Vector v;
        loadVector(data + i, v);
        own(v);
        storeVector(v, data + i);
      }
      if (i < end) {
        Vector v;
        loadPart(data + i, end - i, 0, v);
        own(v);
        storePart(v, end - i, data + i);
      }
    });
  });
}

}  // namespace

std::optional<Activation> activationOf(const PostOp& op) {
  using Kind = Activation::Kind;
  if (op.kind != PostOpKind::kEltwise ||
      (op.algorithm != "gr.swish" && op.algorithm != "gr.gelu")) {
    return std::nullopt;
  }
  return Activation{op.algorithm == "gr.swish" ? Kind::kSwish : Kind::kGelu, op.alpha};
}

void activate(const Activation& activation, float* data, int64_t count) {
  switch (activation.kind) {
    case Activation::Kind::kSwish:
      return applyTo(data, count,
                     [factor = -activation.alpha](Vector& x)
                         __attribute__((always_inline)) { swish(factor, x); });
    case Activation::Kind::kGelu:
      return applyTo(data, count, [](Vector& x) __attribute__((always_inline)) { gelu(x); });
  }
}

}  // namespace graphrun::devices::cpu
