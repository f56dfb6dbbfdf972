#include "devices/cpu/vectors/post_op_functions.h"

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "devices/cpu/vectors/wide.h"
#include "runtime/base/pair_table.h"

namespace graphrun::devices::cpu {
namespace {

template <typename F>
[[gnu::always_inline]] inline void forRow(float* row, int64_t count, const F& f) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    row[i] = f(row[i]);
  }
}

/// row[i] = F(row[i], other[i]), or other[0] for all.
template <typename F>
void combine(float* row, int64_t count, const float* other, bool one) {
  runWide([&] {
    if (one) {
      forRow(row, count, [b = *other](float a) { return F()(a, b); });
      return;
    }
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      row[i] = F()(row[i], other[i]);
    }
  });
}

struct Larger {
  float operator()(float a, float b) const { return a < b || std::isnan(b) ? b : a; }
};
struct Smaller {
  float operator()(float a, float b) const { return a > b || std::isnan(b) ? b : a; }
};

}  // namespace

std::optional<PostOpCall> postOpCall(const PostOp& op, runtime::ElementType rounded) {
  using Function = PostOpFunction;
  if (op.algorithm == "gr.relu") {
    return PostOpCall{Function::kClip, 0, std::numeric_limits<float>::infinity()};
  }
  if (std::optional<RowFunction> row = rowFunction(op, rounded)) {
    return PostOpCall{Function::kRow, op.alpha, op.beta, *row};
  }
  constexpr std::pair<absl::string_view, Function> kFunctions[] = {
      {"gr.clip", Function::kClip},
      {"gr.leaky_relu", Function::kLeakyRelu},
      {"linear", Function::kLinear},
  };
  std::optional<Function> function = runtime::valueFor(kFunctions, op.algorithm);
  return function ? std::optional(PostOpCall{*function, op.alpha, op.beta}) : std::nullopt;
}

void applyCall(const PostOpCall& call, float* row, int64_t count) {
  if (call.function == PostOpFunction::kRow) {
    return call.row(row, row, count);
  }
  runWide([&] {
    withFunction(call.function, [&](const auto& function) __attribute__((always_inline)) {
      forRow(row, count, [&](float x) __attribute__((always_inline)) {
        function(x, call.alpha, call.beta);
        return x;
      });
    });
  });
}

Combination combinationOf(PostOpKind kind) {
  switch (kind) {
    case PostOpKind::kBinaryMul:
      return combine<std::multiplies<>>;
    case PostOpKind::kBinarySub:
      return combine<std::minus<>>;
    case PostOpKind::kBinaryDiv:
      return combine<std::divides<>>;
    case PostOpKind::kBinaryMax:
      return combine<Larger>;
    case PostOpKind::kBinaryMin:
      return combine<Smaller>;
    default:
      return combine<std::plus<>>;
  }
}

}  // namespace graphrun::devices::cpu
