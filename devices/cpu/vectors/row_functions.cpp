#include "devices/cpu/vectors/row_functions.h"

#include <algorithm>
#include <cstring>

#include "devices/cpu/vectors/wide.h"
#include "devices/functions/error_functions.h"
#include "devices/functions/lanes.h"
#include "devices/functions/piecewise.h"
#include "devices/functions/wide_functions.h"

namespace graphrun::devices::cpu {
namespace {

using functions::Lanes;

/// The first `count` of kCount floats, the others 0, and the way back.
template <int kCount>
[[gnu::always_inline]] inline void loadLanes(const float* from, int64_t count,
                                             Lanes<float, kCount>& to) {
  float lanes[kCount] = {};
  std::memcpy(lanes, from, static_cast<size_t>(count) * sizeof(float));
  std::memcpy(&to.held, lanes, sizeof(to.held));
}
template <int kCount>
[[gnu::always_inline]] inline void storeLanes(const Lanes<float, kCount>& from, int64_t count,
                                              float* to) {
  float lanes[kCount];
  std::memcpy(lanes, &from.held, sizeof(lanes));
  std::memcpy(to, lanes, static_cast<size_t>(count) * sizeof(float));
}

/// y = f(x), with vectors of which Computed, what f computes in, fills one of the machine's.
template <typename Computed, typename F>
void runRow(const float* x, float* y, int64_t count, const F& f) {
  runVectors([=](auto bits) {
    constexpr int kCount = std::max<int>(4, bits / 8 / sizeof(Computed));
    auto own = f;  // in registers: what is stored could lie where a reference leads
    int64_t i = 0;
    for (; i + kCount <= count; i += kCount) {
      Lanes<float, kCount> v;
      std::memcpy(&v.held, x + i, sizeof(v.held));
      v = own(v);
      std::memcpy(y + i, &v.held, sizeof(v.held));
    }
    if (i < count) {
      Lanes<float, kCount> v;
      loadLanes(x + i, count - i, v);
      v = own(v);
      storeLanes(v, count - i, y + i);
    }
  });
}

#define GR_ROW(Computed, expression)                                                      \
  [](const float* from, float* to, int64_t count, float alpha, float beta) {              \
    runRow<Computed>(from, to, count, [=](const auto& x) __attribute__((always_inline)) { \
      [[maybe_unused]] auto a = x.number(alpha);                                          \
      [[maybe_unused]] auto b = x.number(beta);                                           \
      return functions::expression;                                                       \
    });                                                                                   \
  }

struct Row {
  absl::string_view operation;
  RowFunction::Run run;
};

constexpr Row kRows[] = {
#define GR_LIBRARY(Class, name, flops, onnx, since, computed, row) \
  {"gr." #name, GR_ROW(computed, row(x))},
#define GR_FORM(Class, name, builder, flops, onnx, since, form, ...) \
  {"gr." #name, GR_ROW(float, form)},
#include "devices/functions/elementwise.def"
    {"gr.gelu", GR_ROW(float, gelu(x))},
    {"gelu_tanh", GR_ROW(float, geluByTangent(x))},
};

}  // namespace

std::optional<RowFunction> rowFunction(absl::string_view operation, runtime::ElementType rounded,
                                       float alpha, float beta) {
  if (operation == "gr.gelu" && runtime::elementSize(rounded) == 2) {
    return RowFunction{GR_ROW(float, geluOf16Bits(x)), alpha, beta};
  }
  for (const Row& row : kRows) {
    if (row.operation == operation) {
      return RowFunction{row.run, alpha, beta};
    }
  }
  return std::nullopt;
}

std::optional<RowFunction> rowFunction(const PostOp& op, runtime::ElementType rounded) {
  return op.kind == PostOpKind::kEltwise ? rowFunction(op.algorithm, rounded, op.alpha, op.beta)
                                         : std::nullopt;
}

}  // namespace graphrun::devices::cpu
