#include "devices/cpu/reduce_kernel.h"

#include <omp.h>

#include <algorithm>
#include <limits>

#include "devices/cpu/dim_order.h"
#include "devices/cpu/reference_support.h"
#include "devices/cpu/wide.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.reduce: lines are reduced ", what));
}

struct Add {
  static constexpr float kStart = 0;
  static float apply(float all, float x) { return all + x; }
};
struct Multiply {
  static constexpr float kStart = 1;
  static float apply(float all, float x) { return all * x; }
};
// A NaN stays.
struct Largest {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static float apply(float all, float x) {
    float larger = all > x ? all : x;
    return all == all ? larger : all;
  }
};
struct Smallest {
  static constexpr float kStart = std::numeric_limits<float>::infinity();
  static float apply(float all, float x) {
    float smaller = all < x ? all : x;
    return all == all ? smaller : all;
  }
};

/// Elements that are combined one after the other; more are combined from such parts, so that sums
/// stay exact to a few bits however long a line is.
constexpr int64_t kPart = 1024;
/// Lines side by side that are combined together.
constexpr int64_t kWidth = 512;

/// Combines `rows` elements, at most kPart, of each of `width` lines side by side into `to`.
template <typename Op>
void reduceRows(const float* x, int64_t rows, int64_t stride, int64_t width, float* to) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4, x += 4 * stride) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      float low = Op::apply(x[j], x[stride + j]);
      float high = Op::apply(x[2 * stride + j], x[3 * stride + j]);
      to[j] = Op::apply(to[j], Op::apply(low, high));
    }
  }
  for (; i < rows; ++i, x += stride) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      to[j] = Op::apply(to[j], x[j]);
    }
  }
}

/// `width` lines side by side, of `count` elements that are `stride` apart.
template <typename Op>
void reduceLines(const float* x, int64_t count, int64_t stride, int64_t width, float* to) {
  std::array<float, kWidth> part;
  std::fill_n(to, width, Op::kStart);
  for (int64_t begin = 0; begin < count; begin += kPart) {
    std::fill_n(part.begin(), width, Op::kStart);
    reduceRows<Op>(x + begin * stride, std::min(kPart, count - begin), stride, width, part.data());
    reduceRows<Op>(part.data(), 1, 0, width, to);
  }
}

/// Lines that are combined together where the elements of a line follow each other, and the lanes
/// of each.
constexpr int64_t kLanes = 16;
using Lanes = std::array<float, kLanes>;

/// Combines the elements of a line into `to`, taken for kLanes lines side by side.
template <typename Op>
void reduceLine(const float* x, int64_t count, Lanes& to) {
  int64_t rows = count / kLanes;
  if (rows <= kPart) {
    to.fill(Op::kStart);
    reduceRows<Op>(x, rows, kLanes, kLanes, to.data());
  } else {
    reduceLines<Op>(x, rows, kLanes, kLanes, to.data());
  }
  x += rows * kLanes;
  count -= rows * kLanes;
#pragma omp simd
  for (int64_t j = 0; j < kLanes; ++j) {
    to[j] = Op::apply(to[j], j < count ? x[j] : Op::kStart);
  }
}

/// At most kLanes lines of `count` elements, which follow each other.
template <typename Op>
void reduceRuns(const float* x, int64_t lines, int64_t count, float* to) {
  std::array<Lanes, kLanes> all;
  for (int64_t line = 0; line < lines; ++line) {
    reduceLine<Op>(x + line * count, count, all[static_cast<size_t>(line)]);
  }
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (int64_t line = 0; line < lines; ++line) {
      float* lanes = all[static_cast<size_t>(line)].data();
      reduceRows<Op>(lanes + half, 1, 0, half, lanes);
    }
  }
  for (int64_t line = 0; line < lines; ++line) {
    to[line] = all[static_cast<size_t>(line)][0];
  }
}

/// outer x dim x inner to outer x inner.
template <typename Op>
void reduceDim(const float* x, int64_t outer, int64_t dim, int64_t inner, float* to) {
  if (inner == 1) {
    // A vector of lines at a time, as long as each thread has some.
    int64_t lines = std::clamp<int64_t>(outer / omp_get_max_threads(), 1, kLanes);
    parallelFor((outer + lines - 1) / lines, dim * lines, [&](int64_t unit) {
      int64_t first = unit * lines;
      runWide([&] {
        reduceRuns<Op>(x + first * dim, std::min(lines, outer - first), dim, to + first);
      });
    });
    return;
  }
  int64_t blocks = (inner + kWidth - 1) / kWidth;
  parallelFor(outer * blocks, dim * std::min(inner, kWidth), [&](int64_t unit) {
    int64_t o = unit / blocks;
    int64_t begin = unit % blocks * kWidth;
    runWide([&] {
      reduceLines<Op>(x + o * dim * inner + begin, dim, inner, std::min(kWidth, inner - begin),
                      to + o * inner + begin);
    });
  });
}

using ReduceFunction = void (*)(const float*, int64_t, int64_t, int64_t, float*);

absl::StatusOr<ReduceFunction> functionOf(const std::string& kind) {
  static constexpr std::pair<absl::string_view, ReduceFunction> kFunctions[] = {
      {"sum", reduceDim<Add>},     {"mean", reduceDim<Add>},     {"prod", reduceDim<Multiply>},
      {"max", reduceDim<Largest>}, {"min", reduceDim<Smallest>},
  };
  for (const auto& [name, function] : kFunctions) {
    if (name == kind) {
      return function;
    }
  }
  return declined("to a sum, mean, product, maximum or minimum");
}

/// One after the other, the last dims first: dims that lie next to each other and are reduced.
struct Stage {
  int64_t outer, dim, inner;
};

struct Plan {
  ReduceFunction function = nullptr;
  std::vector<Stage> stages;
  float factor = 1;  ///< of the sums: 1 / elements for a mean

  /// Elements of the largest intermediate results; they take turns in two places.
  std::array<int64_t, 2> scratch() const {
    std::array<int64_t, 2> sizes = {0, 0};
    for (size_t i = 0; i + 1 < stages.size(); ++i) {
      sizes[i % 2] = std::max(sizes[i % 2], stages[i].outer * stages[i].inner);
    }
    return sizes;
  }
};

/// Which dims are reduced.
absl::StatusOr<std::vector<bool>> reducedDims(const Step& step) {
  std::vector<bool> reduced(step.inputs[0].desc.dims.size(), false);
  GR_ASSIGN_OR_RETURN(Dims axes, attribute<Dims>(step, "axes"));
  for (int64_t axis : axes) {
    GR_ASSIGN_OR_RETURN(axis, normalizeAxis(step, axis, reduced.size()));
    reduced[static_cast<size_t>(axis)] = true;
  }
  return reduced;
}

absl::StatusOr<Plan> planOf(const Step& step, const std::vector<size_t>& order) {
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(step, "kind"));
  GR_ASSIGN_OR_RETURN(std::vector<bool> reduced, reducedDims(step));
  Plan plan;
  GR_ASSIGN_OR_RETURN(plan.function, functionOf(kind));
  const Dims& in = step.inputs[0].desc.dims;
  Stage stage{countOf(in), 1, 1};
  int64_t elements = 1;
  for (size_t i = order.size(); i-- > 0;) {
    int64_t dim = in[order[i]];
    stage.outer /= dim;
    if (reduced[order[i]]) {
      stage.dim *= dim;
      elements *= dim;
      continue;
    }
    if (stage.dim > 1) {
      plan.stages.push_back({stage.outer * dim, stage.dim, stage.inner});
    }
    stage.dim = 1;
    stage.inner *= dim;
  }
  if (stage.dim > 1) {
    plan.stages.push_back(stage);
  }
  if (plan.stages.empty()) {
    return declined("where there is something to reduce");
  }
  plan.factor = kind == "mean" ? 1.0F / static_cast<float>(elements) : 1.0F;
  return plan;
}

/// The result's layout: the operand's order without the dims that are gone.
absl::StatusOr<TensorDesc> resultLike(const Step& step, const std::vector<size_t>& order) {
  GR_ASSIGN_OR_RETURN(std::vector<bool> reduced, reducedDims(step));
  GR_ASSIGN_OR_RETURN(bool keepdims, attributeOr(step, "keepdims", true));
  const TensorDesc& out = step.outputs[0].desc;
  Dims expected;
  std::vector<size_t> places(reduced.size());
  for (size_t d = 0; d < reduced.size(); ++d) {
    places[d] = expected.size();
    if (keepdims || !reduced[d]) {
      expected.push_back(reduced[d] ? 1 : step.inputs[0].desc.dims[d]);
    }
  }
  if (expected != out.dims) {
    return invalidStep(step, "the result's shape does not fit the axes");
  }
  std::vector<size_t> kept;
  for (size_t d : order) {
    if (keepdims || !reduced[d]) {
      kept.push_back(places[d]);
    }
  }
  GR_ASSIGN_OR_RETURN(TensorDesc result, inDimOrder(out, kept));
  return isDense(result) ? TensorDesc{out.type, out.dims} : result;
}

absl::Status checkStep(const Step& step) {
  if (step.inputs.size() != 1 || step.outputs.size() != 1 || !step.postOps.empty() ||
      step.inputs[0].desc.type != ElementType::kF32 ||
      step.outputs[0].desc.type != ElementType::kF32 || countOf(step.inputs[0].desc.dims) == 0) {
    return declined("of f32, not empty, with nothing fused behind");
  }
  return absl::OkStatus();
}

uint64_t scratchBytes(const Plan& plan) {
  auto [a, b] = plan.scratch();
  return static_cast<uint64_t>(a + b) * sizeof(float);
}

void runPlan(const Plan& plan, const float* in, float* scratch, float* out) {
  std::array<float*, 2> places = {scratch, scratch + plan.scratch()[0]};
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    const Stage& stage = plan.stages[i];
    float* to = i + 1 == plan.stages.size() ? out : places[i % 2];
    plan.function(in, stage.outer, stage.dim, stage.inner, to);
    in = to;
  }
  const Stage& last = plan.stages.back();
  for (int64_t i = 0; plan.factor != 1 && i < last.outer * last.inner; ++i) {
    out[i] *= plan.factor;
  }
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseReduce(const Step& step) {
  GR_RETURN_IF_ERROR(checkStep(step));
  TensorDesc in = step.inputs[0].desc;
  in.any = false;
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, dimOrder(in));
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(step, order));
  GR_ASSIGN_OR_RETURN(TensorDesc result, resultLike(step, order));
  if (!step.outputs[0].desc.any && !sameLayout(result, step.outputs[0].desc)) {
    return declined("where operand and result lie alike");
  }
  LayoutChoice choice;
  choice.sources = {TensorDesc{in.type, in.dims}};
  choice.inputs = {std::move(in)};
  choice.outputs = {std::move(result)};
  choice.scratchBytes = scratchBytes(plan);
  choice.implementation = "lines";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createReduceLines(const Step& step, KernelContext&) {
  GR_RETURN_IF_ERROR(chooseReduce(step).status());
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, dimOrder(step.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(step, order));
  // Without intermediate results any buffer will do: it is not touched.
  uint32_t scratch = step.outputs[0].buffer;
  if (uint64_t bytes = scratchBytes(plan); bytes > 0) {
    GR_ASSIGN_OR_RETURN(scratch, scratchBuffer(step, bytes));
  }
  return makeKernel([in = step.inputs[0].buffer, out = step.outputs[0].buffer, scratch,
                     plan = std::move(plan)](void* const* buffers) {
    runPlan(plan, static_cast<const float*>(buffers[in]), static_cast<float*>(buffers[scratch]),
            static_cast<float*>(buffers[out]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
