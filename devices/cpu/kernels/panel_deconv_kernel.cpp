#include "devices/cpu/kernels/panel_deconv_kernel.h"

#include <omp.h>

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/deconv_kernel.h"
#include "devices/cpu/kernels/deconv_phases.h"
#include "devices/cpu/kernels/plane_instruction.h"
#include "devices/cpu/kernels/plane_strips.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/instructions.h"
#include "devices/cpu/vectors/panel_product.h"
#include "devices/cpu/vectors/vector_epilogue.h"
#include "devices/cpu/vectors/wide.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

/// Results whose sums stay in a first-level cache with a panel's part.
constexpr int64_t kStripPixels = 128;

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.conv_transpose: panels are multiplied ", what));
}

struct Plan {
  int64_t batch, groups, in, out;  ///< in, out: channels of a group
  Extent input, output, kernel, strides;
  PhaseTaps rows, columns;
  int64_t panels, width;  ///< of a group's filter, and their columns
  std::vector<VectorPostOp> postOps;

  /// Results of one remainder of the strides, at most.
  Extent positions() const {
    return {(output.h + strides.h - 1) / strides.h, (output.w + strides.w - 1) / strides.w};
  }
  /// Returns the part of these that is summed at once.
  Extent strip() const {
    Extent all = positions();
    int64_t across = (all.w + 2 * kStripPixels - 1) / (2 * kStripPixels);
    int64_t columns = (all.w + across - 1) / across;
    return {std::clamp<int64_t>(kStripPixels / columns, 1, all.h), columns};
  }
  Extent strips() const {
    Extent all = positions(), part = strip();
    return {(all.h + part.h - 1) / part.h, (all.w + part.w - 1) / part.w};
  }
  int64_t phases() const { return strides.count(); }
  int64_t panelFloats() const { return in * width; }
  int64_t sumFloats() const { return strip().count() * width; }
  /// Parts that threads share.
  int64_t parts() const { return batch * groups * panels * phases() * strips().count(); }
};

/// Returns how much of the panels is filter.
double fillOf(const Plan& plan) {
  return static_cast<double>(plan.out) / static_cast<double>(plan.panels * plan.width);
}

/// Declines where panels were not faster than all else: their sums are read and written once a tap,
/// and of few columns the machine waits for each.
absl::Status checkChannels(const Plan& plan) {
  constexpr int64_t kFewestIn = 40, kFewestOut = 32;
  constexpr double kFilled = 0.8;
  return plan.in >= kFewestIn && plan.out >= kFewestOut && fillOf(plan) >= kFilled
             ? absl::OkStatus()
             : declined("for many channels, in whole vectors");
}

absl::StatusOr<Plan> planOf(const Instruction& instruction) {
  if (loopInstructions() != InstructionSet::kAvx512) {
    return declined("in vectors of 16 floats");
  }
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  GR_RETURN_IF_ERROR(checkFloatImages(instruction));
  GR_ASSIGN_OR_RETURN(Dims filter, packedDeconvDims(instruction, groups));
  GR_RETURN_IF_ERROR(checkPlaneFilter(instruction, filter, groups));
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  Dims kernel(filter.begin() + 2, filter.end() - 1);
  GR_ASSIGN_OR_RETURN(Window w,
                      transposedWindowOf(instruction, in.subspan(2), kernel, out.subspan(2)));
  Extent window = Extent::of(kernel, 1), strides = Extent::of(w.strides, 1);
  Extent dilations = Extent::of(w.dilations, 1), pads = Extent::of(w.padsBegin, 0);
  const int64_t panels = (filter.back() + kPanel - 1) / kPanel;
  const int64_t vectors = (filter.back() + panels * kVectorLanes - 1) / (panels * kVectorLanes);
  Plan plan{in[0],
            groups,
            filter[1],
            filter.back(),
            Extent::of(in.subspan(2), 1),
            Extent::of(out.subspan(2), 1),
            window,
            strides,
            PhaseTaps(window.h, strides.h, dilations.h, pads.h),
            PhaseTaps(window.w, strides.w, dilations.w, pads.w),
            panels,
            vectors * kVectorLanes,
            {}};
  GR_RETURN_IF_ERROR(checkChannels(plan));
  GR_ASSIGN_OR_RETURN(plan.postOps, vectorPostOps(instruction));
  return plan;
}

/// G x I/G x kernel x O/G in panels: for each tap one of I/G rows.
absl::StatusOr<TensorDesc> panelsDesc(const Plan& plan, const Dims& dims) {
  Blocking blocking{
      dims, dims, Dims(dims.size()), {plan.width}, {static_cast<int>(dims.size()) - 1}};
  blocking.paddedDims.back() = plan.panels * plan.width;
  blocking.strides[1] = plan.width;
  int64_t floats = plan.panelFloats();
  for (size_t d = dims.size() - 2; d > 1; --d) {
    blocking.strides[d] = floats;
    floats *= dims[d];
  }
  blocking.strides.back() = floats;
  blocking.strides[0] = floats * plan.panels;
  return blockedDesc(ElementType::kF32, blocking);
}

/// Results of one remainder of the strides: rows and columns of those at every stride-th position.
struct Strip {
  int64_t image, group, panel;
  Extent phase;
  int64_t row, column, rows, columns;
};

class PanelDeconv : public Kernel {
 public:
  PanelDeconv(const Instruction& instruction, Plan plan, uint32_t scratch)
      : plan_(std::move(plan)),
        x_(instruction.inputs[0].buffer),
        filter_(instruction.inputs[1].buffer),
        y_(instruction.outputs[0].buffer),
        scratch_(scratch),
        bias_(instruction) {}

  int run(void* const* buffers) override {
    auto* scratch = static_cast<float*>(buffers[scratch_]);
    for (VectorPostOp& op : plan_.postOps) {
      op.address = op.call ? nullptr : static_cast<const float*>(buffers[op.operand]);
    }
    int64_t taps = plan_.kernel.count() / plan_.phases();
    int64_t work = plan_.strip().count() * plan_.in * plan_.width * std::max<int64_t>(1, taps);
    parallelFor(plan_.parts(), work, [&](int64_t i) {
      makeStrip(strip(i), buffers, scratch + omp_get_thread_num() * plan_.sumFloats());
    });
    return 0;
  }

 private:
  /// Those that read the same part of the filter follow each other.
  Strip strip(int64_t index) const {
    const Extent all = plan_.positions(), part = plan_.strip(), strips = plan_.strips();
    auto take = [&](int64_t count) {
      int64_t position = index % count;
      index /= count;
      return position;
    };
    Strip strip{};
    strip.column = take(strips.w) * part.w;
    strip.row = take(strips.h) * part.h;
    strip.image = take(plan_.batch);
    strip.phase.w = take(plan_.strides.w);
    strip.phase.h = take(plan_.strides.h);
    strip.panel = take(plan_.panels);
    strip.group = index;
    // Some remainders have one result less than others.
    Extent end = {(plan_.output.h - strip.phase.h + plan_.strides.h - 1) / plan_.strides.h,
                  (plan_.output.w - strip.phase.w + plan_.strides.w - 1) / plan_.strides.w};
    strip.rows = std::min({part.h, all.h - strip.row, end.h - strip.row});
    strip.columns = std::min({part.w, all.w - strip.column, end.w - strip.column});
    return strip;
  }

  void makeStrip(const Strip& strip, void* const* buffers, float* sums) const {
    if (strip.rows < 1 || strip.columns < 1) {
      return;
    }
    startSums(strip, bias_.in(buffers), sums);
    const auto* filter = static_cast<const float*>(buffers[filter_]);
    filter +=
        (strip.group * plan_.panels + strip.panel) * plan_.kernel.count() * plan_.panelFloats();
    const auto* x = static_cast<const float*>(buffers[x_]);
    x += (strip.image * plan_.input.count() * plan_.groups + strip.group) * plan_.in;
    for (const PhaseTap& row : plan_.rows.phases[static_cast<size_t>(strip.phase.h)]) {
      for (const PhaseTap& column : plan_.columns.phases[static_cast<size_t>(strip.phase.w)]) {
        const float* panel = filter + (row.tap * plan_.kernel.w + column.tap) * plan_.panelFloats();
        addTap(strip, {row.shift, column.shift}, x, panel, sums);
      }
    }
    auto* y = static_cast<float*>(buffers[y_]);
    runWide([&] {
      applyPostOps(strip, sums);
      storeSums(strip, sums, y);
    });
  }

  void startSums(const Strip& strip, const float* bias, float* sums) const {
    std::array<float, kPanel> start = {};
    std::copy_n(bias + firstChannel(strip), channels(strip), start.begin());
    for (int64_t i = 0; i < strip.rows * strip.columns; ++i) {
      std::copy_n(start.begin(), plan_.width, sums + i * plan_.width);
    }
  }

  /// Adds the products of one tap to the results that have them: those whose element, `shift` away,
  /// is one of the image.
  void addTap(const Strip& strip, Extent shift, const float* x, const float* panel,
              float* sums) const {
    const Extent in = plan_.input;
    const int64_t pixel = plan_.groups * plan_.in;
    const int64_t top = std::max(strip.row, -shift.h);
    const int64_t bottom = std::min(strip.row + strip.rows, in.h - shift.h);
    const int64_t left = std::max(strip.column, -shift.w);
    const int64_t right = std::min(strip.column + strip.columns, in.w - shift.w);
    if (top >= bottom || left >= right) {
      return;
    }
    // Rows that are whole in image and result follow each other in both.
    const bool whole = right - left == strip.columns && right - left == in.w;
    const int64_t step = whole ? bottom - top : 1;
    for (int64_t row = top; row < bottom; row += step) {
      const float* from = x + ((row + shift.h) * in.w + left + shift.w) * pixel;
      float* to = sums + ((row - strip.row) * strip.columns + left - strip.column) * plan_.width;
      addPanelProduct({{from, pixel}, step * (right - left), plan_.in, panel, plan_.width}, to);
    }
  }

  [[gnu::always_inline]] void applyPostOps(const Strip& strip, float* sums) const {
    const int64_t floats = strip.rows * strip.columns * plan_.width;
    for (const VectorPostOp& op : plan_.postOps) {
      if (op.call) {
        applyCall(*op.call, sums, floats);
        continue;
      }
      forPixels(strip, [&](int64_t i, int64_t offset) {
#pragma omp simd
        for (int64_t c = 0; c < channels(strip); ++c) {
          sums[i * plan_.width + c] += op.address[offset + c];
        }
      });
    }
  }

  [[gnu::always_inline]] void storeSums(const Strip& strip, const float* sums, float* y) const {
    forPixels(strip, [&](int64_t i, int64_t offset) {
      std::copy_n(sums + i * plan_.width, channels(strip), y + offset);
    });
  }

  /// `body(number of the pixel in the strip, its offset in the result)`.
  template <typename Body>
  [[gnu::always_inline]] void forPixels(const Strip& strip, const Body& body) const {
    const Extent strides = plan_.strides;
    for (int64_t row = 0; row < strip.rows; ++row) {
      int64_t line =
          (strip.image * plan_.output.h + (strip.row + row) * strides.h + strip.phase.h) *
          plan_.output.w;
      for (int64_t column = 0; column < strip.columns; ++column) {
        int64_t at = line + (strip.column + column) * strides.w + strip.phase.w;
        body(row * strip.columns + column, at * plan_.groups * plan_.out + firstChannel(strip));
      }
    }
  }

  int64_t firstChannel(const Strip& strip) const {
    return strip.group * plan_.out + strip.panel * plan_.width;
  }
  int64_t channels(const Strip& strip) const {
    return std::min(plan_.width, plan_.out - strip.panel * plan_.width);
  }

  Plan plan_;
  uint32_t x_, filter_, y_, scratch_;
  PlaneBias bias_;
};

uint64_t scratchBytes(const Plan& plan) {
  return static_cast<uint64_t>(omp_get_max_threads() * plan.sumFloats()) * sizeof(float);
}

bool takes(const TensorDesc& given, const TensorDesc& wanted) {
  return given.any || sameLayout(given, wanted);
}

absl::StatusOr<TensorDesc> channelsLast(const TensorDesc& desc) {
  return stridedDesc(desc.type, desc.dims, channelsLastStrides(desc.dims));
}

}  // namespace

absl::StatusOr<LayoutChoice> choosePanelDeconv(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  GR_ASSIGN_OR_RETURN(Dims packed, packedDeconvDims(instruction, plan.groups));
  LayoutChoice choice;
  for (const Argument& input : instruction.inputs) {
    choice.inputs.push_back(TensorDesc{ElementType::kF32, input.desc.dims});
  }
  choice.sources = choice.inputs;
  GR_ASSIGN_OR_RETURN(choice.inputs[0], channelsLast(instruction.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(choice.inputs[1], panelsDesc(plan, packed));
  GR_ASSIGN_OR_RETURN(choice.sources[1], deconvFilterSource({ElementType::kF32, packed}));
  GR_ASSIGN_OR_RETURN(TensorDesc result, channelsLast(instruction.outputs[0].desc));
  choice.outputs = {result};
  bool fits = takes(instruction.inputs[0].desc, choice.inputs[0]) &&
              takes(instruction.inputs[1].desc, choice.inputs[1]) &&
              takes(instruction.outputs[0].desc, result);
  for (const PostOp& op : instruction.postOps) {
    fits = fits && (!op.operand || takes(op.operand->desc, result));
    choice.postOps.push_back(op.operand ? result : TensorDesc());
  }
  if (!fits) {
    return declined("with the channels last, and from a filter of its own layout");
  }
  choice.scratchBytes = scratchBytes(plan);
  choice.implementation = "panels";
  choice.parts = plan.parts();
  choice.share = fillOf(plan);  // products reach the peak
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createPanelDeconv(const Instruction& instruction,
                                                          KernelContext&) {
  GR_RETURN_IF_ERROR(choosePanelDeconv(instruction).status());
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, scratchBytes(plan)));
  return std::make_unique<PanelDeconv>(instruction, std::move(plan), scratch);
}

}  // namespace graphrun::devices::cpu
