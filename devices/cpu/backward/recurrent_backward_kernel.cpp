#include "devices/cpu/backward/recurrent_backward_kernel.h"

#include <algorithm>

#include "devices/cpu/backward/recurrent_cells.h"
#include "devices/cpu/kernels/recurrent_panels.h"
#include "devices/cpu/vectors/panel_product.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

struct Plan : RecurrentPlan {
  int64_t panels() const { return (hidden + kPanel - 1) / kPanel; }
  /// Floats of scratch for a panel: its recurrent weights, the gradients of its hidden values, and
  /// those of r h.
  int64_t panelFloats() const { return (gates * hidden + (resetsFirst ? 2 : 1) * batch) * kPanel; }
  /// Multiplications of one step.
  int64_t work() const { return batch * gates * hidden * hidden; }
};

/// Where operands and results are.
struct Tensors {
  const float *sums, *recurrent, *carried, *initial, *outputGradient, *lastGradient,
      *lastStateGradient;
  float *sumsGradient, *hiddenGradient, *stateGradient;
};

template <typename Cell>
class Run {
 public:
  Run(const Plan& plan, const Tensors& tensors, float* scratch)
      : plan_(plan), t_(tensors), scratch_(scratch) {}

  /// All steps of the panels [begin, end). The threads of a team wait for each other at each step,
  /// when the gradients of all its sums are there.
  void runPanels(int64_t begin, int64_t end) const {
    for (int64_t p = begin; p < end; ++p) {
      pack(p);
      start(p);
    }
    for (int64_t done = plan_.steps; done-- > 0;) {
      for (int64_t p = begin; p < end; ++p) {
        makeSums(p, done);
      }
#pragma omp barrier
      if constexpr (Cell::kResetsFirst) {
        for (int64_t p = begin; p < end; ++p) {
          goThroughReset(p, done);
        }
#pragma omp barrier
      }
      for (int64_t i = begin; i < end; ++i) {
        multiply(done % 2 == 0 ? i : begin + end - 1 - i, done);
      }
    }
    for (int64_t p = begin; p < end; ++p) {
      copyRows(hidden(p), lanesOf(p), t_.hiddenGradient + p * kPanel, plan_.hidden, widthOf(p));
    }
  }

 private:
  float* recurrent(int64_t panel) const { return scratch_ + panel * plan_.panelFloats(); }
  /// Rows of lanesOf(panel) values; those beyond the hidden values are zeros.
  float* hidden(int64_t panel) const {
    return recurrent(panel) + plan_.gates * plan_.hidden * kPanel;
  }
  /// The same of r h, which only a cell whose reset comes first has.
  float* inner(int64_t panel) const {
    return hidden(panel) + (Cell::kResetsFirst ? plan_.batch * kPanel : 0);
  }
  int64_t widthOf(int64_t panel) const { return std::min(kPanel, plan_.hidden - panel * kPanel); }
  /// The columns of the panel: whole vectors.
  int64_t lanesOf(int64_t panel) const {
    return (widthOf(panel) + kVectorLanes - 1) / kVectorLanes * kVectorLanes;
  }

  void copyRows(const float* from, int64_t fromStride, float* to, int64_t toStride,
                int64_t width) const {
    for (int64_t b = 0; b < plan_.batch; ++b) {
      std::copy_n(from + b * fromStride, width, to + b * toStride);
    }
  }

  void pack(int64_t panel) const {
    const int64_t width = widthOf(panel);
    const int64_t lanes = lanesOf(panel);
    for (int64_t row = 0; row < plan_.gates * plan_.hidden; ++row) {
      float* to = recurrent(panel) + row * lanes;
      std::copy_n(t_.recurrent + row * plan_.hidden + panel * kPanel, width, to);
      std::fill(to + width, to + lanes, 0.0F);
    }
  }

  /// The gradients behind the last step.
  void start(int64_t panel) const {
    const int64_t lanes = lanesOf(panel);
    std::fill_n(hidden(panel), plan_.batch * lanes, 0.0F);
    copyRows(t_.lastGradient + panel * kPanel, plan_.hidden, hidden(panel), lanes, widthOf(panel));
    if (plan_.isLstm()) {
      copyRows(t_.lastStateGradient + panel * kPanel, plan_.hidden,
               t_.stateGradient + panel * kPanel, plan_.hidden, widthOf(panel));
    }
  }

  /// Calls `body` for each sequence's hidden values of one panel, at the step done as number
  /// `done`.
  template <typename Body>
  void forSequences(int64_t panel, int64_t done, const Body& body) const {
    const int64_t size = plan_.batch * plan_.hidden;
    const int64_t t = plan_.stepAt(done);
    const float* carried = done == 0 ? t_.initial : t_.carried + plan_.stepAt(done - 1) * size;
    runWide([&] {
      for (int64_t b = 0; b < plan_.batch; ++b) {
        const int64_t column = panel * kPanel;
        const int64_t at = b * plan_.hidden + column;
        const int64_t row = (t * plan_.batch + b) * Cell::kParts * plan_.hidden + column;
        body({t_.sums + row, t_.sumsGradient + row, plan_.hidden, carried + at,
              t_.carried + t * size + at, t_.outputGradient + t * size + at,
              hidden(panel) + b * lanesOf(panel), t_.stateGradient + at,
              inner(panel) + b * lanesOf(panel), widthOf(panel)});
      }
    });
  }

  /// The gradients of the sums of one panel's hidden values, but for a reset that comes first.
  void makeSums(int64_t panel, int64_t done) const {
    forSequences(panel, done, [](const CellStepBack& step) { Cell::goBack(step); });
  }

  /// Those of the reset, by way of r h.
  void goThroughReset(int64_t panel, int64_t done) const {
    makePanelProduct(productOf(Cell::kInner, panel, done), inner(panel));
    forSequences(panel, done, [](const CellStepBack& step) { Cell::goBackThroughReset(step); });
  }

  /// Adds the product of the gradients of all sums and the recurrent weights to what of the hidden
  /// values' goes on: these are the gradients of those before the step.
  void multiply(int64_t panel, int64_t done) const {
    for (const cells::Parts& run : Cell::kRecurrent) {
      addPanelProduct(productOf(run, panel, done), hidden(panel));
    }
  }

  /// The product of the gradients of some parts and their gates' recurrent weights.
  PanelProduct productOf(const cells::Parts& run, int64_t panel, int64_t done) const {
    const int64_t width = Cell::kParts * plan_.hidden;
    const float* rows = t_.sumsGradient + plan_.stepAt(done) * plan_.batch * width;
    return {{rows + run.first * plan_.hidden, width},
            plan_.batch,
            run.count * plan_.hidden,
            recurrent(panel) + run.gate * plan_.hidden * lanesOf(panel),
            lanesOf(panel)};
  }

  const Plan& plan_;
  const Tensors& t_;
  float* scratch_;
};

class RecurrentBackwardKernel : public RecurrentPanelKernel {
 public:
  RecurrentBackwardKernel(const Instruction& instruction, const Plan& plan, uint32_t scratch)
      : RecurrentPanelKernel(instruction, plan.panels(), plan.work(), scratch), plan_(plan) {}

  int run(void* const* buffers) override {
    auto in = [&](size_t i) { return input(buffers, i); };
    auto out = [&](size_t i) { return output(buffers, i); };
    dispatchCell(plan_, [&]<typename Cell>() {
      constexpr size_t kFirst = Cell::kCarries ? 4 : 2;  // of the results' gradients
      const bool lstm = plan_.isLstm();
      // What a cell neither reads nor writes is another tensor of that shape.
      Tensors tensors{in(0),
                      in(1),
                      in(2),
                      in(3),
                      in(kFirst),
                      in(kFirst + 1),
                      in(kFirst + (lstm ? 2 : 1)),
                      out(0),
                      out(1),
                      out(lstm ? 2 : 1)};
      runAll(Run<Cell>(plan_, tensors, scratch(buffers)));
    });
    return 0;
  }

 private:
  Plan plan_;
};

absl::StatusOr<Plan> planOf(const Instruction& instruction) {
  const Dims& sums = instruction.inputs[0].desc.dims;
  const Dims& recurrent = instruction.inputs[1].desc.dims;
  if (sums.size() != 3 || recurrent.size() != 2) {
    return invalidInstruction(instruction, "sums must be of rank 3, and recurrent weights of 2");
  }
  GR_ASSIGN_OR_RETURN(RecurrentPlan sizes,
                      RecurrentPlan::of(instruction, sums[0], sums[1], recurrent[1]));
  Plan plan{sizes};
  const Dims all = {plan.steps, plan.batch, plan.hidden};
  const Dims last = {plan.batch, plan.hidden};
  std::vector<Dims> inputs = {{plan.steps, plan.batch, plan.parts() * plan.hidden},
                              {plan.gates * plan.hidden, plan.hidden}};
  if (plan.kind != functions::activations::CellKind::kRnn) {
    inputs.insert(inputs.end(), {all, last});
  }
  inputs.insert(inputs.end(), {all, last});
  std::vector<Dims> outputs = {inputs[0], last};
  if (plan.isLstm()) {
    inputs.push_back(last);
    outputs.push_back(last);
  }
  if (instruction.inputs.size() > inputs.size()) {
    return absl::UnimplementedError(
        "gr.recurrent_backward: panels are for no lengths or peepholes");
  }
  if (!haveDims(instruction.inputs, inputs) || !haveDims(instruction.outputs, outputs)) {
    return invalidInstruction(instruction, "the operands do not fit the cell");
  }
  return plan;
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseRecurrentBackward(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  return denseLayouts(instruction, plan.panels() * plan.panelFloats());
}

absl::StatusOr<std::unique_ptr<Kernel>> createRecurrentBackward(const Instruction& instruction,
                                                                KernelContext&) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, chooseRecurrentBackward(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, choice.scratchBytes));
  return std::make_unique<RecurrentBackwardKernel>(instruction, plan, scratch);
}

}  // namespace graphrun::devices::cpu
