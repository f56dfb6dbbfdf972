#include "devices/cpu/backward/recurrent_sums_kernel.h"

#include <algorithm>

#include "devices/cpu/backward/recurrent_cells.h"
#include "devices/cpu/kernels/recurrent_panels.h"
#include "devices/cpu/vectors/panel_product.h"
#include "devices/cpu/vectors/vector.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// Rows of inputs that are multiplied at once: enough to read the weights seldom.
constexpr int64_t kChunk = 128;

struct Plan : RecurrentPlan {
  int64_t inputs = 0;

  /// Hidden values of a panel of weights, and the panels. The larger stage of a GRU whose reset
  /// comes first has two parts.
  int64_t lanes() const { return kPanel / (resetsFirst ? 2 : parts()); }
  int64_t panels() const { return (hidden + lanes() - 1) / lanes(); }
  /// The steps whose inputs are multiplied at once.
  int64_t chunk() const { return std::clamp<int64_t>(kChunk / batch, 1, steps); }
  int64_t rowsOfChunk() const { return chunk() * batch; }
  /// Floats of scratch for a panel: its weights, recurrent weights, bias, and a chunk's sums.
  int64_t panelFloats() const { return (inputs + hidden + 1 + rowsOfChunk()) * parts() * lanes(); }
  /// Multiplications of one step.
  int64_t work() const { return batch * panels() * kPanel * hidden; }
};

/// Where operands and results are.
struct Tensors {
  const float *x, *weights, *recurrent, *bias, *hidden, *state;
  float *all, *last, *lastState, *sums, *inner;
};

template <typename Cell>
class Run {
 public:
  Run(const Plan& plan, const Tensors& tensors, float* scratch)
      : plan_(plan), t_(tensors), scratch_(scratch) {}

  /// All steps of the panels [begin, end). The threads of a team wait for each other at each step.
  void runPanels(int64_t begin, int64_t end) const {
    for (int64_t p = begin; p < end; ++p) {
      pack(p);
    }
    for (int64_t done = 0; done < plan_.steps;) {
      const int64_t count = std::min(plan_.chunk(), plan_.steps - done);
      const int64_t low = plan_.reverse ? plan_.steps - done - count : done;
      for (int64_t p = begin; p < end; ++p) {
        multiplyInputs(p, low * plan_.batch, count * plan_.batch);
      }
      for (int64_t i = 0; i < count; ++i, ++done) {
        unrolled<kStages>([&](auto stage) {
          for (int64_t p = begin; p < end; ++p) {
            // To and fro: what a cache just too small still has is used first.
            advance<stage>(done % 2 == 0 ? p : begin + end - 1 - p, done, low);
          }
#pragma omp barrier
        });
      }
    }
  }

 private:
  static constexpr auto kStages = static_cast<int64_t>(Cell::kStages.size());
  /// Hidden values of a panel: as many as let the largest stage fill it.
  static constexpr int64_t kLanes = kPanel / Cell::kStages[0].parts;
  static constexpr int64_t widthOf(const cells::Stage& stage) { return stage.parts * kLanes; }
  int64_t lanesOf(int64_t panel) const { return std::min(kLanes, plan_.hidden - panel * kLanes); }

  // The scratch memory of a stage of a panel: weights, recurrent weights, bias, and sums.
  float* weights(int64_t panel, const cells::Stage& stage) const {
    const int64_t rows = plan_.inputs + plan_.hidden + 1 + plan_.rowsOfChunk();
    return scratch_ + panel * plan_.panelFloats() + stage.first * kLanes * rows;
  }
  float* recurrent(int64_t panel, const cells::Stage& stage) const {
    return weights(panel, stage) + plan_.inputs * widthOf(stage);
  }
  float* bias(int64_t panel, const cells::Stage& stage) const {
    return recurrent(panel, stage) + plan_.hidden * widthOf(stage);
  }
  float* sums(int64_t panel, const cells::Stage& stage) const {
    return bias(panel, stage) + widthOf(stage);
  }

  /// Columns of a panel are rows of a matrix; those of parts that are no product with it are 0.
  void packRows(int64_t panel, const cells::Stage& stage, const float* matrix, int64_t columns,
                const std::array<cells::Parts, 2>& parts, float* to) const {
    const int64_t width = widthOf(stage);
    std::fill_n(to, columns * width, 0.0F);
    for (const cells::Parts& run : parts) {
      for (int64_t i = 0; i < run.count; ++i) {
        const float* rows = matrix + ((run.gate + i) * plan_.hidden + panel * kLanes) * columns;
        float* part = to + (run.first + i) * kLanes;
        constexpr int64_t kBlock = 16;
        for (int64_t first = 0; first < columns; first += kBlock) {
          const int64_t end = std::min(first + kBlock, columns);
          for (int64_t lane = 0; lane < lanesOf(panel); ++lane) {
            for (int64_t k = first; k < end; ++k) {
              part[k * width + lane] = rows[lane * columns + k];
            }
          }
        }
      }
    }
  }

  void pack(int64_t panel) const {
    for (const cells::Stage& stage : Cell::kStages) {
      packRows(panel, stage, t_.weights, plan_.inputs, stage.inputs, weights(panel, stage));
      packRows(panel, stage, t_.recurrent, plan_.hidden, stage.recurrent, recurrent(panel, stage));
      std::fill_n(bias(panel, stage), widthOf(stage), 0.0F);
      for (int64_t part = 0; part < stage.parts; ++part) {
        std::copy_n(t_.bias + (stage.first + part) * plan_.hidden + panel * kLanes, lanesOf(panel),
                    bias(panel, stage) + part * kLanes);
      }
    }
  }

  /// The products of `count` rows of inputs from `first` on, bias added, for one panel.
  void multiplyInputs(int64_t panel, int64_t first, int64_t count) const {
    for (const cells::Stage& stage : Cell::kStages) {
      const int64_t width = widthOf(stage);
      float* to = sums(panel, stage);
      for (int64_t row = 0; row < count; ++row) {
        std::copy_n(bias(panel, stage), width, to + row * width);
      }
      addPanelProduct({{t_.x + first * plan_.inputs, plan_.inputs},
                       count,
                       plan_.inputs,
                       weights(panel, stage),
                       width},
                      to);
    }
  }

  /// One stage of the step that is done as number `done`, of one panel; its chunk begins with step
  /// `low`.
  template <int64_t number>
  void advance(int64_t panel, int64_t done, int64_t low) const {
    constexpr const cells::Stage& kStage = Cell::kStages[number];
    constexpr const cells::Stage& kFirst = Cell::kStages[0];
    const int64_t size = plan_.batch * plan_.hidden;
    const int64_t t = plan_.stepAt(done);
    const int64_t before = done == 0 ? 0 : plan_.stepAt(done - 1);
    const float* hidden = done == 0 ? t_.hidden : t_.all + before * size;
    const float* state = done == 0 ? t_.state : t_.inner + before * size;
    const float* multiplied = number == 0 ? hidden : t_.inner + t * size;
    const int64_t row = (t - low) * plan_.batch;
    float* to = sums(panel, kStage) + row * widthOf(kStage);
    const float* firstSums = sums(panel, kFirst) + row * widthOf(kFirst);
    addPanelProduct({{multiplied, plan_.hidden},
                     plan_.batch,
                     plan_.hidden,
                     recurrent(panel, kStage),
                     widthOf(kStage)},
                    to);
    runWide([&] {
      for (int64_t b = 0; b < plan_.batch; ++b) {
        const int64_t at = b * plan_.hidden + panel * kLanes;
        float* kept = t_.sums + (t * plan_.batch + b) * Cell::kParts * plan_.hidden;
        Cell::template advance<number>({to + b * widthOf(kStage), firstSums + b * widthOf(kFirst),
                                        kLanes, kept + panel * kLanes, plan_.hidden, hidden + at,
                                        state + at, t_.all + t * size + at,
                                        t_.inner + t * size + at, lanesOf(panel)});
      }
    });
  }

  const Plan& plan_;
  const Tensors& t_;
  float* scratch_;
};

class RecurrentSumsKernel : public RecurrentPanelKernel {
 public:
  RecurrentSumsKernel(const Instruction& instruction, const Plan& plan, uint32_t scratch)
      : RecurrentPanelKernel(instruction, plan.panels(), plan.work(), scratch), plan_(plan) {}

  int run(void* const* buffers) override {
    auto in = [&](size_t i) { return input(buffers, i); };
    auto out = [&](size_t i) { return output(buffers, i); };
    const bool lstm = plan_.isLstm();
    // What a cell neither reads nor writes is another tensor of that shape.
    Tensors tensors{in(0),
                    in(1),
                    in(2),
                    in(3),
                    in(4),
                    in(lstm ? 5 : 4),
                    out(0),
                    out(1),
                    out(lstm ? 2 : 1),
                    out(lstm ? 3 : 2),
                    plan_.keepsInner() ? out(outputs() - 1) : out(0)};
    dispatchCell(plan_,
                 [&]<typename Cell>() { runAll(Run<Cell>(plan_, tensors, scratch(buffers))); });
    const int64_t size = plan_.batch * plan_.hidden;
    const int64_t last = plan_.stepAt(plan_.steps - 1) * size;
    std::copy_n(tensors.all + last, size, tensors.last);
    if (lstm) {
      std::copy_n(tensors.inner + last, size, tensors.lastState);
    }
    return 0;
  }

 private:
  Plan plan_;
};

absl::StatusOr<Plan> planOf(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(bool keeps, attributeOr(instruction, "keep_sums", false));
  if (!keeps) {
    return absl::UnimplementedError("gr.recurrent: its sums are not kept");
  }
  const Dims& x = instruction.inputs[0].desc.dims;
  const Dims& recurrent = instruction.inputs[2].desc.dims;
  if (x.size() != 3 || recurrent.size() != 2) {
    return invalidInstruction(instruction, "input must be of rank 3, and recurrent weights of 2");
  }
  GR_ASSIGN_OR_RETURN(RecurrentPlan sizes,
                      RecurrentPlan::of(instruction, x[0], x[1], recurrent[1]));
  Plan plan{sizes};
  plan.inputs = x[2];
  const bool lstm = plan.isLstm();
  if (instruction.inputs.size() > (lstm ? 6U : 5U)) {
    return absl::UnimplementedError("gr.recurrent: panels are for no lengths or peepholes");
  }
  const Dims all = {plan.steps, plan.batch, plan.hidden};
  const Dims last = {plan.batch, plan.hidden};
  std::vector<Dims> inputs = {x,
                              {plan.gates * plan.hidden, plan.inputs},
                              {plan.gates * plan.hidden, plan.hidden},
                              {plan.parts() * plan.hidden},
                              last};
  std::vector<Dims> outputs = {all, last};
  if (lstm) {
    inputs.push_back(last);
    outputs.push_back(last);
  }
  outputs.push_back({plan.steps, plan.batch, plan.parts() * plan.hidden});
  if (plan.keepsInner()) {
    outputs.push_back(all);
  }
  if (!haveDims(instruction.inputs, inputs) || !haveDims(instruction.outputs, outputs)) {
    return invalidInstruction(instruction, "the operands do not fit the cell");
  }
  return plan;
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseRecurrentSums(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  return denseLayouts(instruction, plan.panels() * plan.panelFloats());
}

absl::StatusOr<std::unique_ptr<Kernel>> createRecurrentSums(const Instruction& instruction,
                                                            KernelContext&) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, chooseRecurrentSums(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, choice.scratchBytes));
  return std::make_unique<RecurrentSumsKernel>(instruction, plan, scratch);
}

}  // namespace graphrun::devices::cpu
