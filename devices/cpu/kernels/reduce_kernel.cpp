#include "devices/cpu/kernels/reduce_kernel.h"

#include <omp.h>

#include <algorithm>

#include "devices/cpu/base/dim_order.h"
#include "devices/cpu/kernels/given_layouts.h"
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

  /// Elements of the largest intermediate results; they take turns in two buffers.
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
absl::StatusOr<std::vector<bool>> reducedDims(const Instruction& instruction) {
  std::vector<bool> reduced(instruction.inputs[0].desc.dims.size(), false);
  GR_ASSIGN_OR_RETURN(Dims axes, attribute<Dims>(instruction, "axes"));
  for (int64_t axis : axes) {
    GR_ASSIGN_OR_RETURN(axis, normalizeAxis(instruction, axis, reduced.size()));
    reduced[static_cast<size_t>(axis)] = true;
  }
  return reduced;
}

absl::StatusOr<Plan> planOf(const Instruction& instruction, const std::vector<size_t>& order) {
  GR_ASSIGN_OR_RETURN(std::string kind, attribute<std::string>(instruction, "kind"));
  GR_ASSIGN_OR_RETURN(std::vector<bool> reduced, reducedDims(instruction));
  Plan plan;
  plan.function = reduceFunction(kind);
  if (plan.function == nullptr) {
    return declined("to a sum, mean, product, maximum or minimum");
  }
  const Dims& in = instruction.inputs[0].desc.dims;
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
absl::StatusOr<TensorDesc> resultLike(const Instruction& instruction,
                                      const std::vector<size_t>& order) {
  GR_ASSIGN_OR_RETURN(std::vector<bool> reduced, reducedDims(instruction));
  GR_ASSIGN_OR_RETURN(bool keepdims, attributeOr(instruction, "keepdims", true));
  const TensorDesc& out = instruction.outputs[0].desc;
  Dims expected;
  std::vector<size_t> positions(reduced.size());
  for (size_t d = 0; d < reduced.size(); ++d) {
    positions[d] = expected.size();
    if (keepdims || !reduced[d]) {
      expected.push_back(reduced[d] ? 1 : instruction.inputs[0].desc.dims[d]);
    }
  }
  if (expected != out.dims) {
    return invalidInstruction(instruction, "the result's shape does not fit the axes");
  }
  std::vector<size_t> kept;
  for (size_t d : order) {
    if (keepdims || !reduced[d]) {
      kept.push_back(positions[d]);
    }
  }
  GR_ASSIGN_OR_RETURN(TensorDesc result, inDimOrder(out, kept));
  return isDense(result) ? TensorDesc{out.type, out.dims} : result;
}

absl::Status checkInstruction(const Instruction& instruction) {
  if (instruction.inputs.size() != 1 || instruction.outputs.size() != 1 ||
      !instruction.postOps.empty() || instruction.inputs[0].desc.type != ElementType::kF32 ||
      instruction.outputs[0].desc.type != ElementType::kF32 ||
      countOf(instruction.inputs[0].desc.dims) == 0) {
    return declined("if they are of f32, not empty, and nothing is fused behind");
  }
  return absl::OkStatus();
}

uint64_t scratchBytes(const Plan& plan) {
  auto [a, b] = plan.scratch();
  return static_cast<uint64_t>(a + b + plan.partialFloats()) * sizeof(float);
}

void runPlan(const Plan& plan, const float* in, float* scratch, float* out) {
  auto [a, b] = plan.scratch();
  std::array<float*, 2> buffers = {scratch, scratch + a};
  for (size_t i = 0; i < plan.stages.size(); ++i) {
    float* to = i + 1 == plan.stages.size() ? out : buffers[i % 2];
    plan.function(plan.stages[i], in, scratch + a + b, to);
    in = to;
  }
  for (int64_t i = 0; plan.factor != 1 && i < plan.stages.back().results(); ++i) {
    out[i] *= plan.factor;
  }
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseReduce(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  TensorDesc in = instruction.inputs[0].desc;
  in.any = false;
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, dimOrder(in));
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction, order));
  GR_ASSIGN_OR_RETURN(TensorDesc result, resultLike(instruction, order));
  if (!mayLieAs(instruction, result)) {
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

absl::StatusOr<std::unique_ptr<Kernel>> createReduceLines(const Instruction& instruction,
                                                          KernelContext&) {
  GR_RETURN_IF_ERROR(chooseReduce(instruction).status());
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, dimOrder(instruction.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction, order));
  // Without intermediate results any buffer will do: it is not touched.
  uint32_t scratch = instruction.outputs[0].buffer;
  if (uint64_t bytes = scratchBytes(plan); bytes > 0) {
    GR_ASSIGN_OR_RETURN(scratch, scratchBuffer(instruction, bytes));
  }
  return makeKernel([in = instruction.inputs[0].buffer, out = instruction.outputs[0].buffer,
                     scratch, plan = std::move(plan)](void* const* buffers) {
    runPlan(plan, static_cast<const float*>(buffers[in]), static_cast<float*>(buffers[scratch]),
            static_cast<float*>(buffers[out]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
