#include "devices/cpu/kernels/plane_deconv_kernel.h"

#include <omp.h>

#include <algorithm>

#include "devices/cpu/kernels/deconv_kernel.h"
#include "devices/cpu/kernels/deconv_phases.h"
#include "devices/cpu/kernels/plane_instruction.h"
#include "devices/cpu/kernels/plane_strips.h"
#include "devices/cpu/kernels/plane_sums.h"
#include "devices/cpu/kernels/row_post_ops.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/vector.h"
#include "devices/cpu/vectors/wide.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

struct Plan {
  Extent strides, output;
  PhaseTaps rows, columns;
  PlaneShape shape;  ///< of the sums: a convolution whose results are those of one remainder
  Extent kernel;     ///< the window
};

absl::StatusOr<Plan> planOf(const Instruction& instruction) {
  constexpr int64_t kManyChannels = 32;
  GR_RETURN_IF_ERROR(checkPlaneInstruction(instruction));
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  GR_ASSIGN_OR_RETURN(Dims filter, packedDeconvDims(instruction, groups));
  GR_RETURN_IF_ERROR(checkPlaneFilter(instruction, filter, groups));
  if (!instruction.postOps.empty() && filter.back() > kManyChannels) {
    return declinedByPlanes(instruction, "with nothing fused behind many channels");
  }
  Dims window(filter.begin() + 2, filter.end() - 1);
  GR_ASSIGN_OR_RETURN(Window w,
                      transposedWindowOf(instruction, in.subspan(2), window, out.subspan(2)));
  PlaneShape whole = PlaneShape{in[0],
                                groups,
                                filter[1],
                                filter.back(),
                                Extent::of(in.subspan(2), 1),
                                Extent::of(out.subspan(2), 1),
                                Extent::of(window, 1),
                                Extent::of(w.strides, 1),
                                Extent::of(w.dilations, 1),
                                Extent::of(w.padsBegin, 0)}
                         .asRow();
  Extent strides = whole.strides, output = whole.output;
  PhaseTaps rows(whole.kernel.h, strides.h, whole.dilations.h, whole.pads.h);
  PhaseTaps columns(whole.kernel.w, strides.w, whole.dilations.w, whole.pads.w);
  PlaneShape shape = whole;
  shape.output = {(output.h + strides.h - 1) / strides.h, (output.w + strides.w - 1) / strides.w};
  shape.kernel = {rows.reach() + 1, columns.reach() + 1};
  shape.strides = shape.dilations = {1, 1};
  shape.pads = {-rows.least, -columns.least};
  return Plan{strides, output, std::move(rows), std::move(columns), shape, whole.kernel};
}

/// Returns the sums of one remainder of the strides.
PlaneSums sumsOf(const Plan& plan, const PlaneStrips& strips, int64_t y, int64_t x) {
  int64_t out = plan.shape.out;
  PlaneSums sums{plan.shape.in, plan.kernel.count() * out, {}};
  for (const PhaseTap& row : plan.rows.phases[static_cast<size_t>(y)]) {
    for (const PhaseTap& column : plan.columns.phases[static_cast<size_t>(x)]) {
      sums.taps.push_back(
          {(row.shift - plan.rows.least) * strips.width() + column.shift - plan.columns.least,
           (row.tap * plan.kernel.w + column.tap) * out});
    }
  }
  return sums;
}

/// Elements 0 of `count` rows, then elements 1 …, `width` of each and up to a vector more. The rows
/// are `stride` floats apart.
[[gnu::always_inline]] inline void interleave(const float* rows, int64_t count, int64_t stride,
                                              int64_t width, float* to) {
  if (count == 2) {
    for (int64_t i = 0; i < width; i += kVectorLanes) {
      Vector a, b;
      loadVector(rows + i, a);
      loadVector(rows + stride + i, b);
      storeVector(
          __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
          to + 2 * i);
      storeVector(__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                                          30, 15, 31),
                  to + 2 * i + kVectorLanes);
    }
    return;
  }
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t i = 0; i < width; ++i) {
      to[i * count + r] = rows[r * stride + i];
    }
  }
}

class PlaneDeconv : public Kernel {
 public:
  PlaneDeconv(const Instruction& instruction, const Plan& plan, RowPostOps postOps,
              uint32_t scratch)
      : shape_(plan.shape),
        strides_(plan.strides),
        output_(plan.output),
        taps_(plan.kernel.count()),
        strips_(plan.shape),
        postOps_(std::move(postOps)),
        x_(instruction.inputs[0].buffer),
        filter_(instruction.inputs[1].buffer),
        y_(instruction.outputs[0].buffer),
        scratch_(scratch),
        floats_(scratchFloats(plan.shape, plan.strides)),
        bias_(instruction) {
    for (int64_t y = 0; y < strides_.h; ++y) {
      for (int64_t x = 0; x < strides_.w; ++x) {
        phases_.push_back(sumsOf(plan, strips_, y, x));
      }
    }
  }

  /// Floats of a thread's scratch memory: planes, the sums of a row of remainders, a row of
  /// results.
  static int64_t scratchFloats(const PlaneShape& shape, Extent strides) {
    PlaneStrips strips(shape);
    return planeFloats(shape, strips) + strides.w * kSumRows * rowFloats(strips) +
           lineFloats(strides, strips);
  }

  int run(void* const* buffers) override {
    auto* scratch = static_cast<float*>(buffers[scratch_]);
    int64_t work = strips_.rows() * strips_.columns() * shape_.in * shape_.out * taps_;
    parallelFor(strips_.count(), work, [&](int64_t i) {
      makeStrip(strips_.strip(i), scratch + omp_get_thread_num() * floats_, buffers);
    });
    return 0;
  }

 private:
  static int64_t planeFloats(const PlaneShape& shape, const PlaneStrips& strips) {
    return shape.in * strips.channelFloats() + kSumPositions;
  }
  static int64_t rowFloats(const PlaneStrips& strips) {
    return (strips.rows() * strips.width() + 2 * kSumPositions - 1) / kSumPositions * kSumPositions;
  }
  static int64_t lineFloats(Extent strides, const PlaneStrips& strips) {
    return (strips.columns() + 2 * kVectorLanes) / kVectorLanes * kVectorLanes * strides.w;
  }

  void makeStrip(const Strip& strip, float* scratch, void* const* buffers) const {
    const auto* x = static_cast<const float*>(buffers[x_]);
    int64_t plane = shape_.input.count();
    const float* end = x + shape_.batch * shape_.groups * shape_.in * plane;
    x += (strip.image * shape_.groups + strip.group) * shape_.in * plane;
    for (int64_t c = 0; c < shape_.in; ++c) {
      strips_.layOut(strip, x + c * plane, end, scratch + c * strips_.channelFloats());
    }
    const auto* filter = static_cast<const float*>(buffers[filter_]);
    filter += strip.group * shape_.in * taps_ * shape_.out;
    const float* bias = bias_.in(buffers) + strip.group * shape_.out;
    float* rows = scratch + planeFloats(shape_, strips_);
    int64_t blocks = (shape_.out + kSumRows - 1) / kSumRows;
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t first = shape_.out * b / blocks;
      int64_t count = shape_.out * (b + 1) / blocks - first;
      for (int64_t phase = 0; phase < strides_.h; ++phase) {
        makeRows(strip, scratch, phase, filter + first, bias + first, count, rows);
        storeRows(strip, phase, first, count, rows, buffers);
      }
    }
  }

  /// The sums of one remainder of the rows and all of the columns.
  void makeRows(const Strip& strip, const float* planes, int64_t phase, const float* filter,
                const float* bias, int64_t count, float* rows) const {
    int64_t positions = strips_.positions(strip);
    for (int64_t x = 0; x < strides_.w; ++x) {
      phases_[static_cast<size_t>(phase * strides_.w + x)].make(
          planes, strips_.channelFloats(), filter, bias, count, positions,
          rows + x * kSumRows * rowFloats(strips_), rowFloats(strips_));
    }
  }

  void storeRows(const Strip& strip, int64_t phase, int64_t first, int64_t count, const float* rows,
                 void* const* buffers) const {
    float* line = const_cast<float*>(rows) + strides_.w * kSumRows * rowFloats(strips_);
    int64_t column = strip.column * strides_.w;
    int64_t width = std::min(strip.columns * strides_.w, output_.w - column);
    auto* y = static_cast<float*>(buffers[y_]);
    for (int64_t r = 0; r < count; ++r) {
      int64_t channel = strip.group * shape_.out + first + r;
      int64_t plane = strip.image * shape_.groups * shape_.out + channel;
      for (int64_t row = 0; row < strip.rows; ++row) {
        int64_t at = (strip.row + row) * strides_.h + phase;
        if (at >= output_.h) {
          break;
        }
        const float* sums = rows + r * rowFloats(strips_) + row * strips_.width();
        runWide([&] {
          interleave(sums, strides_.w, kSumRows * rowFloats(strips_), strip.columns, line);
        });
        int64_t offset = (plane * output_.h + at) * output_.w + column;
        postOps_.apply(buffers, y, channel, offset, width, line);
        std::copy_n(line, width, y + offset);
      }
    }
  }

  PlaneShape shape_;
  Extent strides_, output_;
  int64_t taps_;
  PlaneStrips strips_;
  std::vector<PlaneSums> phases_;
  RowPostOps postOps_;
  uint32_t x_, filter_, y_, scratch_;
  int64_t floats_;  ///< of a thread's scratch memory
  PlaneBias bias_;
};

}  // namespace

absl::StatusOr<LayoutChoice> choosePlaneDeconv(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  GR_ASSIGN_OR_RETURN(Dims packed, packedDeconvDims(instruction, plan.shape.groups));
  absl::StatusOr<TensorDesc> source = deconvFilterSource({ElementType::kF32, packed});
  return planeLayouts(instruction, std::move(packed), std::move(source),
                      omp_get_max_threads() * PlaneDeconv::scratchFloats(plan.shape, plan.strides),
                      "planes", plan.shape);
}

absl::StatusOr<std::unique_ptr<Kernel>> createPlaneDeconv(const Instruction& instruction,
                                                          KernelContext&) {
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, choosePlaneDeconv(instruction));
  GR_ASSIGN_OR_RETURN(Plan plan, planOf(instruction));
  GR_ASSIGN_OR_RETURN(RowPostOps postOps, RowPostOps::make(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, choice.scratchBytes));
  return std::make_unique<PlaneDeconv>(instruction, plan, std::move(postOps), scratch);
}

}  // namespace graphrun::devices::cpu
