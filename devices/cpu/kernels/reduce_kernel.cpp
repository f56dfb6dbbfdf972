#include "devices/cpu/kernels/reduce_kernel.h"

#include <omp.h>

#include <algorithm>

#include "devices/cpu/base/dim_order.h"
#include "devices/cpu/kernels/reduce_stages.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.reduce: lines are reduced ", what));
}

struct Plan {
  ReduceFunction function = nullptr;
  /// One after the other, the last dims first: dims that lie next to each other and are reduced.
  std::vector<ReduceStage> stages;
  float factor = 1;  ///< of the sums: 1 / elements for a mean

  /// Elements of the largest intermediate results; they take turns in two places.
  std::array<int64_t, 2> scratch() const {
    std::array<int64_t, 2> sizes = {0, 0};
    for (size_t i = 0; i + 1 < stages.size(); ++i) {
      sizes[i % 2] = std::max(sizes[i % 2], stages[i].results());
    }
    return sizes;
  }
  /// Returns the floats of a stage's parts, which lie behind them.
  int64_t partialFloats() const {
    int64_t most = 0;
    for (const ReduceStage& stage : stages) {
      most = std::max(most, stage.partialFloats());
    }
    return most;
  }
};

/// Returns which dims are reduced.
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
  plan.function = reduceFunction(kind);
  if (plan.function == nullptr) {
    return declined("to a sum, mean, product, maximum or minimum");
  }
  const Dims& in = step.inputs[0].desc.dims;
  int64_t outer = countOf(in), length = 1, inner = 1;
  int64_t elements = 1;
  auto addStage = [&](int64_t outside) {
    if (length > 1) {
      plan.stages.emplace_back(outside, length, inner, omp_get_max_threads());
    }
  };
  for (size_t i = order.size(); i-- > 0;) {
    int64_t dim = in[order[i]];
    if (reduced[order[i]]) {
      outer /= dim;
      length *= dim;
      elements *= dim;
      continue;
    }
    addStage(outer);
    outer /= dim;
    length = 1;
    inner *= dim;
  }
  addStage(outer);
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
  return static_cast<uint64_t>(a + b + plan.partialFloats()) * sizeof(float);
}

void runPlan(const Plan& plan, const float* in, float* scratch, float* out) {
  auto [a, b] = plan.scratch();
  std::array<float*, 2> places = {scratch, scratch + a};
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    float* to = i + 1 == plan.stages.size() ? out : places[i % 2];
    plan.function(plan.stages[i], in, scratch + a + b, to);
    in = to;
  }
  for (int64_t i = 0; plan.factor != 1 && i < plan.stages.back().results(); ++i) {
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
  choice.parts = plan.stages.front().pieces();
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
