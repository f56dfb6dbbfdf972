#include "devices/cpu/kernels/lstm_kernel.h"

#include <algorithm>

#include "devices/cpu/kernels/recurrent_panels.h"
#include "devices/cpu/vectors/panel_product.h"
#include "devices/cpu/vectors/wide.h"
#include "devices/functions/activations.h"
#include "devices/functions/exponentials.h"
#include "devices/functions/lanes.h"

namespace graphrun::devices::cpu {
namespace {

constexpr int64_t kGates = 4;
/// Hidden values of a panel of weights.
constexpr int64_t kLanes = kPanel / kGates;
/// Rows of inputs that are multiplied at once: enough to read the weights seldom.
constexpr int64_t kChunk = 128;

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.recurrent: panels are for ", what));
}

struct Plan {
  int64_t steps, batch, inputs, hidden;
  bool reverse;

  int64_t panels() const { return (hidden + kLanes - 1) / kLanes; }
  /// The steps whose inputs are multiplied at once.
  int64_t chunk() const { return std::clamp<int64_t>(kChunk / batch, 1, steps); }
  /// Floats of their products.
  int64_t products() const { return chunk() * batch * panels() * kPanel; }
  /// Multiplications of one step.
  int64_t work() const { return batch * panels() * kPanel * hidden; }
};

/// One run: operands and results in memory.
struct Run {
  const Plan& plan;
  const float *x, *weights, *recurrent, *bias, *hidden, *state;
  float *all, *lastState, *products;

  int64_t rowsOfChunk() const { return plan.chunk() * plan.batch; }

  /// The products of the inputs of `count` rows from `first` on, bias added, for one panel.
  void multiplyInputs(int64_t panel, int64_t first, int64_t count) const {
    float* sums = products + panel * rowsOfChunk() * kPanel;
    for (int64_t row = 0; row < count; ++row) {
      std::copy_n(bias + panel * kPanel, kPanel, sums + row * kPanel);
    }
    addPanelProduct({{x + first * plan.inputs, plan.inputs},
                     count,
                     plan.inputs,
                     weights + panel * plan.inputs * kPanel},
                    sums);
  }

  /// Applies the gates i, f, c and o to the state of `width` hidden values, and makes those.
  static void applyGates(const float* gates, const float* before, float* after, float* to,
                         int64_t width) {
    using Lane = functions::Lanes<float>;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j) {
      Lane in = functions::sigmoid(Lane{gates[j]});
      Lane forget = functions::sigmoid(Lane{gates[kLanes + j]});
      Lane fresh = functions::hyperbolicTangent(Lane{gates[2 * kLanes + j]});
      Lane state = fused(forget, Lane{before[j]}, in * fresh);
      after[j] = state.held;
      Lane out = functions::sigmoid(Lane{gates[3 * kLanes + j]});
      to[j] = (out * functions::hyperbolicTangent(state)).held;
    }
  }

  /// One step, t, of one panel; `row` is its first row among those multiplied.
  void advance(int64_t panel, int64_t row, const float* before, const float* stateBefore,
               float* to) const {
    int64_t from = panel * kLanes;
    int64_t width = std::min(kLanes, plan.hidden - from);
    float* sums = products + (panel * rowsOfChunk() + row) * kPanel;
    addPanelProduct(
        {{before, plan.hidden}, plan.batch, plan.hidden, recurrent + panel * plan.hidden * kPanel},
        sums);
    runWide([&] {
      for (int64_t b = 0; b < plan.batch; ++b) {
        int64_t at = b * plan.hidden + from;
        applyGates(sums + b * kPanel, stateBefore + at, lastState + at, to + at, width);
      }
    });
  }

  /// All steps of the panels [begin, end). The threads of a team wait for each other at each step.
  void runPanels(int64_t begin, int64_t end) const {
    const float* before = hidden;
    const float* stateBefore = state;
    for (int64_t done = 0; done < plan.steps;) {
      int64_t count = std::min(plan.chunk(), plan.steps - done);
      int64_t low = plan.reverse ? plan.steps - done - count : done;
      for (int64_t p = begin; p < end; ++p) {
        multiplyInputs(p, low * plan.batch, count * plan.batch);
      }
      for (int64_t i = 0; i < count; ++i, ++done) {
        int64_t t = plan.reverse ? count - 1 - i : i;
        float* to = all + (low + t) * plan.batch * plan.hidden;
        // To and fro: what a cache just too small still has is used first.
        for (int64_t p = begin; p < end; ++p) {
          advance(done % 2 == 0 ? p : begin + end - 1 - p, t * plan.batch, before, stateBefore, to);
        }
        before = to;
        stateBefore = lastState;
#pragma omp barrier
      }
    }
  }
};

class LstmKernel : public RecurrentPanelKernel {
 public:
  LstmKernel(const Instruction& instruction, const Plan& plan, uint32_t products)
      : RecurrentPanelKernel(instruction, plan.panels(), plan.work(), products), plan_(plan) {}

  int run(void* const* buffers) override {
    auto in = [&](size_t i) { return input(buffers, i); };
    float* all = output(buffers, 0);
    runAll(Run{plan_, in(0), in(1), in(2), in(3), in(4), in(5), all, output(buffers, 2),
               scratch(buffers)});
    int64_t last = plan_.reverse ? 0 : plan_.steps - 1;
    int64_t size = plan_.batch * plan_.hidden;
    std::copy_n(all + last * size, size, output(buffers, 1));
    return 0;
  }

 private:
  Plan plan_;
};

absl::Status requireUsual(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(std::string cell, attribute<std::string>(instruction, "cell"));
  GR_ASSIGN_OR_RETURN(auto names, attribute<std::vector<std::string>>(instruction, "activations"));
  GR_ASSIGN_OR_RETURN(double clip, attributeOr(instruction, "clip", 0.0));
  GR_ASSIGN_OR_RETURN(bool inputForget, attributeOr(instruction, "input_forget", false));
  bool usual = cell == "lstm" && !inputForget && clip <= 0 && instruction.postOps.empty() &&
               functions::activations::cellOf(cell)->isUsual(names);
  auto isFloat = [](const Argument& a) { return a.desc.type == ElementType::kF32; };
  bool fits = instruction.inputs.size() == 6 && instruction.outputs.size() == 3 &&
              std::all_of(instruction.inputs.begin(), instruction.inputs.end(), isFloat) &&
              std::all_of(instruction.outputs.begin(), instruction.outputs.end(), isFloat);
  return usual && fits ? absl::OkStatus() : declined("an lstm of f32 without options");
}

absl::StatusOr<Plan> planOf(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(requireUsual(instruction));
  const Dims& x = instruction.inputs[0].desc.dims;
  const Dims& all = instruction.outputs[0].desc.dims;
  if (x.size() != 3 || all.size() != 3) {
    return invalidInstruction(instruction, "input and result must be of rank 3");
  }
  GR_ASSIGN_OR_RETURN(bool reverse, attributeOr(instruction, "reverse", false));
  Plan plan{x[0], x[1], x[2], all[2], reverse};
  if (std::min({plan.steps, plan.batch, plan.inputs, plan.hidden}) < 1) {
    return declined("tensors that are not empty");
  }
  Dims last = {plan.batch, plan.hidden};
  bool fits = all == Dims{plan.steps, plan.batch, plan.hidden} &&
              instruction.outputs[1].desc.dims == last &&
              instruction.outputs[2].desc.dims == last && instruction.inputs[4].desc.dims == last &&
              instruction.inputs[5].desc.dims == last;
  return fits ? absl::StatusOr<Plan>(plan)
              : invalidInstruction(instruction, "the operands do not fit the cell");
}

/// A matrix or vector of weights: G*H x columns, packed as H/16 x columns x G x 16.
struct Packed {
  TensorDesc desc;
  TensorDesc source;
};

absl::StatusOr<Packed> packedWeights(const TensorDesc& given, int64_t hidden, int64_t columns) {
  Dims dims = {hidden, columns, kGates};
  int64_t padded = (hidden + kLanes - 1) / kLanes * kLanes;
  Blocking blocking{
      dims, {padded, columns, kGates}, {columns * kPanel, kPanel, kLanes}, {kLanes}, {0}};
  Packed packed;
  GR_ASSIGN_OR_RETURN(packed.desc, blockedDesc(given.type, blocking));
  GR_ASSIGN_OR_RETURN(packed.source, stridedDesc(given.type, dims, {columns, 1, hidden * columns}));
  return packed;
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseLstm(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  LayoutChoice choice;
  for (size_t i = 0; i < instruction.inputs.size(); ++i) {
    const TensorDesc& given = instruction.inputs[i].desc;
    Packed packed{{given.type, given.dims}, {given.type, given.dims}};
    if (i >= 1 && i <= 3) {
      int64_t columns = i == 1 ? plan.inputs : i == 2 ? plan.hidden : 1;
      bool isGiven = countOf(given.dims) == kGates * plan.hidden * columns;
      if (!isGiven) {
        return invalidInstruction(instruction, "the weights do not fit the cell");
      }
      GR_ASSIGN_OR_RETURN(packed, packedWeights(given, plan.hidden, columns));
    }
    if (!given.any && !sameLayout(given, packed.desc)) {
      return declined("weights of their own layout, and other operands dense");
    }
    choice.inputs.push_back(std::move(packed.desc));
    choice.sources.push_back(std::move(packed.source));
  }
  for (const Argument& output : instruction.outputs) {
    choice.outputs.push_back({output.desc.type, output.desc.dims});
  }
  choice.scratchBytes = static_cast<uint64_t>(plan.products()) * sizeof(float);
  choice.implementation = "panels";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createLstm(const Instruction& instruction, KernelContext&) {
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, chooseLstm(instruction));
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t products, scratchBuffer(instruction, choice.scratchBytes));
  return std::make_unique<LstmKernel>(instruction, plan, products);
}

}  // namespace graphrun::devices::cpu
