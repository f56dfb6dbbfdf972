#include "devices/cpu/backward/pool_backward_kernel.h"

#include <algorithm>
#include <array>
#include <bit>

#include "devices/cpu/backward/channel_layout.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/vector.h"
#include "devices/cpu/vectors/wide.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

/// Windows along one dim.
struct WindowAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;

  /// Where the window at `o` begins, its first element that is no padding, and what follows the
  /// last such one.
  struct Range {
    int64_t start, first, end;
    int64_t count() const { return std::max<int64_t>(end - first, 0); }
  };
  Range at(int64_t o) const {
    int64_t start = o * stride - before;
    int64_t first = start >= 0 ? 0 : roundedUp(-start);
    int64_t end = start >= in ? 0 : roundedUp(in - start);
    return {start, first, std::min(end, kernel)};
  }
  int64_t roundedUp(int64_t distance) const {
    return dilation == 1 ? distance : (distance + dilation - 1) / dilation;
  }
  /// Elements that a mean with its padding divides by.
  int64_t padded(int64_t o) const {
    int64_t room = in + after - (o * stride - before);
    return room <= 0 ? 0 : std::min(roundedUp(room), kernel);
  }
  bool isPairs() const { return kernel == 2 && stride == 2 && dilation == 1 && before == 0; }
};

/// A pool of planes of up to three dims.
struct PoolPlane {
  std::array<WindowAxis, 3> axes;  ///< the first ones of one element where there are fewer

  int64_t inCount() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t outCount() const { return axes[0].out * axes[1].out * axes[2].out; }

  /// `body(offset)` for all elements of a window that are no padding.
  template <typename Body>
  [[gnu::always_inline]] void forElements(const std::array<WindowAxis::Range, 3>& r,
                                          const Body& body) const {
    for (int64_t d = r[0].first; d < r[0].end; ++d) {
      int64_t plane = (r[0].start + d * axes[0].dilation) * axes[1].in;
      for (int64_t h = r[1].first; h < r[1].end; ++h) {
        int64_t row = (plane + r[1].start + h * axes[1].dilation) * axes[2].in + r[2].start;
        for (int64_t w = r[2].first; w < r[2].end; ++w) {
          body(row + w * axes[2].dilation);
        }
      }
    }
  }

  /// `body(number, positions, ranges)` for all windows.
  template <typename Body>
  [[gnu::always_inline]] void forWindows(const Body& body) const {
    int64_t number = 0;
    for (int64_t d = 0; d < axes[0].out; ++d) {
      for (int64_t h = 0; h < axes[1].out; ++h) {
        for (int64_t w = 0; w < axes[2].out; ++w, ++number) {
          body(number, std::array{d, h, w},
               std::array{axes[0].at(d), axes[1].at(h), axes[2].at(w)});
        }
      }
    }
  }

  /// The mean of the window at `o` multiplies its sum by this.
  float share(const std::array<int64_t, 3>& o, const std::array<WindowAxis::Range, 3>& ranges,
              bool countPadding) const {
    int64_t count = 1;
    for (size_t i = 0; i < axes.size(); ++i) {
      count *= countPadding ? axes[i].padded(o[i]) : ranges[i].count();
    }
    return count == 0 ? 0 : 1 / static_cast<float>(count);
  }
};

/// Channels that lie side by side, so many elements from position to position.
struct Strip {
  int64_t width, step;
};

/// Channels whose elements fill cache lines.
constexpr int64_t kWidth = 64;

/// The bits of `yes` where all of `mask` are set, of `no` where none is: no branch.
[[gnu::always_inline]] inline float chosen(int32_t mask, float yes, float no) {
  return std::bit_cast<float>((std::bit_cast<int32_t>(yes) & mask) |
                              (std::bit_cast<int32_t>(no) & ~mask));
}
/// All bits where `x` is larger than `most`, or is NaN while that is none.
[[gnu::always_inline]] inline int32_t isMore(float most, float x) {
  return -static_cast<int32_t>((most == most) & !(most >= x));
}

/// Adds the gradient of the windows of a strip to where their largest elements are: of equal ones
/// the first, and NaN before all. `kCount` is the strip's width where that is not 0.
template <int64_t kCount>
[[gnu::always_inline]] inline void addToLargest(const PoolPlane& plane,
                                                const std::array<WindowAxis::Range, 3>& ranges,
                                                Strip strip, const float* x, const float* dy,
                                                float* dx) {
  const int64_t width = kCount == 0 ? strip.width : kCount;
  std::array<float, kWidth> mosts;
  std::array<int32_t, kWidth> winners;
  float* most = mosts.data();
  int32_t* winner = winners.data();
  int32_t number = 0;
  plane.forElements(ranges, [&](int64_t offset) __attribute__((always_inline)) {
    const float* from = x + offset * strip.step;
    if (number == 0) {
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) {
        most[c] = from[c];
        winner[c] = 0;
      }
    } else {
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) {
        float v = from[c];
        int32_t wins = isMore(most[c], v);
        most[c] = chosen(wins, v, most[c]);
        winner[c] = (number & wins) | (winner[c] & ~wins);
      }
    }
    ++number;
  });
  number = 0;
  plane.forElements(ranges, [&](int64_t offset) __attribute__((always_inline)) {
    float* to = dx + offset * strip.step;
#pragma omp simd
    for (int64_t c = 0; c < width; ++c) {
      to[c] += chosen(-static_cast<int32_t>(winner[c] == number), dy[c], 0);
    }
    ++number;
  });
}

template <int64_t kCount>
void maxBackward(const PoolPlane& plane, Strip strip, const float* x, const float* dy, float* dx) {
  runWide([&] {
    plane.forWindows(
        [&](int64_t number, const auto&, const auto& ranges) __attribute__((always_inline)) {
          addToLargest<kCount>(plane, ranges, strip, x, dy + number * strip.step, dx);
        });
  });
}

template <int64_t kCount>
void meanBackward(const PoolPlane& plane, Strip strip, bool countPadding, const float* dy,
                  float* dx) {
  const int64_t width = kCount == 0 ? strip.width : kCount;
  runWide([&] {
    plane.forWindows(
        [&](int64_t number, const auto& o, const auto& ranges) __attribute__((always_inline)) {
          const float share = plane.share(o, ranges, countPadding);
          const float* from = dy + number * strip.step;
          plane.forElements(ranges, [&](int64_t offset) __attribute__((always_inline)) {
            float* to = dx + offset * strip.step;
#pragma omp simd
            for (int64_t c = 0; c < width; ++c) {
              to[c] += from[c] * share;
            }
          });
        });
  });
}

/// Planes, row by row of the result, up to kWidth windows at a time.
template <int64_t kStride>
class RowWindows {
 public:
  explicit RowWindows(const PoolPlane& plane) : plane_(plane), last_(plane.axes[2]) {}

  void largest(const float* x, const float* dy, float* dx) const {
    forRuns([&](const Run& run) {
      std::array<float, kWidth> mosts;
      std::array<int32_t, kWidth> winners;
      winners.fill(-1);
      float* most = mosts.data();
      int32_t* winner = winners.data();  // offsets in the plane
      forTaps(run, [&](int64_t begin, int64_t end, int64_t offset) {
        const float* from = x + offset;
        const auto first = static_cast<int32_t>(offset);
        const auto step = static_cast<int32_t>(stride());
#pragma omp simd
        for (auto i = static_cast<int32_t>(begin); i < static_cast<int32_t>(end); ++i) {
          float v = from[static_cast<ptrdiff_t>(i * step)];
          int32_t wins = isMore(most[i], v) | -static_cast<int32_t>(winner[i] < 0);
          most[i] = chosen(wins, v, most[i]);
          winner[i] = ((first + i * step) & wins) | (winner[i] & ~wins);
        }
      });
      for (int64_t i = 0; i < run.count; ++i) {
        if (winner[i] >= 0) {
          dx[winner[i]] += dy[run.number + i];
        }
      }
    });
  }

  void mean(bool countPadding, const float* dy, float* dx) const {
    forRuns([&](const Run& run) {
      std::array<float, kWidth> shares;
      float* share = shares.data();
      const int64_t rows = countPadding
                               ? plane_.axes[0].padded(run.depth) * plane_.axes[1].padded(run.row)
                               : run.ranges[0].count() * run.ranges[1].count();
      for (int64_t i = 0; i < run.count; ++i) {
        int64_t o = run.first + i;
        int64_t count = rows * (countPadding ? last_.padded(o) : last_.at(o).count());
        share[i] = dy[run.number + i] / static_cast<float>(std::max<int64_t>(count, 1));
      }
      forTaps(run, [&](int64_t begin, int64_t end, int64_t offset) {
        for (int64_t i = begin; i < end; ++i) {
          dx[offset + i * stride()] += share[i];
        }
      });
    });
  }

 private:
  /// `count` windows of a row from `first` on, `number` of all.
  struct Run {
    int64_t depth, row, first, count, number;
    std::array<WindowAxis::Range, 2> ranges;
  };

  int64_t stride() const { return kStride == 0 ? last_.stride : kStride; }

  template <typename Body>
  void forRuns(const Body& body) const {
    int64_t number = 0;
    for (int64_t d = 0; d < plane_.axes[0].out; ++d) {
      for (int64_t h = 0; h < plane_.axes[1].out; ++h) {
        for (int64_t w = 0; w < last_.out; w += kWidth) {
          Run run{d,      h,
                  w,      std::min(kWidth, last_.out - w),
                  number, {plane_.axes[0].at(d), plane_.axes[1].at(h)}};
          runWide([&] { body(run); });
          number += run.count;
        }
      }
    }
  }

  /// `body(begin, end, offset)` for the taps of a run's windows: those of [begin, end) read element
  /// `offset + i * stride()` of the plane.
  template <typename Body>
  [[gnu::always_inline]] void forTaps(const Run& run, const Body& body) const {
    for (int64_t d = run.ranges[0].first; d < run.ranges[0].end; ++d) {
      int64_t plane = (run.ranges[0].start + d * plane_.axes[0].dilation) * plane_.axes[1].in;
      for (int64_t h = run.ranges[1].first; h < run.ranges[1].end; ++h) {
        int64_t row = (plane + run.ranges[1].start + h * plane_.axes[1].dilation) * last_.in;
        for (int64_t tap = 0; tap < last_.kernel; ++tap) {
          int64_t start = run.first * last_.stride - last_.before + tap * last_.dilation;
          int64_t begin = start >= 0 ? 0 : (-start + last_.stride - 1) / last_.stride;
          int64_t end =
              start >= last_.in ? 0 : (last_.in - start + last_.stride - 1) / last_.stride;
          body(begin, std::min(end, run.count), row + start);
        }
      }
    }
  }

  const PoolPlane& plane_;
  const WindowAxis& last_;
};

/// Planes whose windows are squares of 2 x 2 side by side, on vectors along the rows.
struct Squares {
  const PoolPlane& plane;

  /// Pairs of rows have no padding; elements behind the last squares are in none.
  static bool suits(const PoolPlane& plane) {
    auto isWhole = [](const WindowAxis& axis) { return axis.isPairs() && axis.out * 2 <= axis.in; };
    return plane.axes[0].in == 1 && plane.axes[0].kernel == 1 && plane.axes[0].out == 1 &&
           isWhole(plane.axes[1]) && isWhole(plane.axes[2]);
  }

  /// `change(first row of x, its row of dy, first row of dx, squares)` for all rows of squares.
  template <typename Change>
  void run(const float* x, const float* dy, float* dx, const Change& change) const {
    int64_t width = plane.axes[2].in, squares = plane.axes[2].out;
    for (int64_t row = 0; row < plane.axes[1].out; ++row) {
      float* to = dx + 2 * row * width;
      runWide([&] { change(x == nullptr ? x : x + 2 * row * width, dy + row * squares, to); });
      for (float* end : {to + width, to + 2 * width}) {
        std::fill(end - (width - 2 * squares), end, 0.0F);
      }
    }
    std::fill(dx + 2 * plane.axes[1].out * width, dx + plane.axes[1].in * width, 0.0F);
  }

  void largest(const float* x, const float* dy, float* dx) const {
    const int64_t width = plane.axes[2].in, squares = plane.axes[2].out;
    run(x, dy, dx, [=](const float* from, const float* gradient, float* to) {
      const float* below = from + width;
      float* toBelow = to + width;
#pragma omp simd
      for (int64_t i = 0; i < squares; ++i) {
        float a = from[2 * i], b = from[2 * i + 1], c = below[2 * i], d = below[2 * i + 1];
        // The first one that none before it is as large as: NaN wins, and stays.
        int32_t second = isMore(a, b);
        float most = chosen(second, b, a);
        int32_t third = isMore(most, c);
        most = chosen(third, c, most);
        int32_t fourth = isMore(most, d);
        float g = gradient[i];
        to[2 * i] = chosen(second | third | fourth, 0, g);
        to[2 * i + 1] = chosen(second & ~(third | fourth), g, 0);
        toBelow[2 * i] = chosen(third & ~fourth, g, 0);
        toBelow[2 * i + 1] = chosen(fourth, g, 0);
      }
    });
  }

  void mean(const float* dy, float* dx) const {
    const int64_t width = plane.axes[2].in, squares = plane.axes[2].out;
    run(nullptr, dy, dx, [=](const float*, const float* gradient, float* to) {
      float* toBelow = to + width;
#pragma omp simd
      for (int64_t i = 0; i < squares; ++i) {
        float g = gradient[i] * 0.25F;
        to[2 * i] = g;
        to[2 * i + 1] = g;
        toBelow[2 * i] = g;
        toBelow[2 * i + 1] = g;
      }
    });
  }
};

/// A whole instruction.
struct PoolBackward {
  PoolPlane plane;
  ChannelLayout in, out;
  bool isMax, countPadding;

  void run(const float* x, const float* dy, float* dx) const {
    int64_t width = in.isPlanes ? 1 : std::min(kWidth, in.block);
    int64_t strips = (in.padded + width - 1) / width;
    parallelFor(in.images * strips, 4 * plane.inCount() * width, [&](int64_t item) {
      int64_t image = item / strips;
      int64_t first = item % strips * width;
      Strip strip{std::min(width, in.padded - first), in.isPlanes ? 1 : in.block};
      const float* from = x == nullptr ? nullptr : x + in.offset(image, first);
      runStrip(strip, from, dy + out.offset(image, first), dx + in.offset(image, first));
    });
  }

 private:
  void runStrip(Strip strip, const float* x, const float* dy, float* dx) const {
    if (in.isPlanes && Squares::suits(plane)) {
      isMax ? Squares{plane}.largest(x, dy, dx) : Squares{plane}.mean(dy, dx);
      return;
    }
    for (int64_t i = 0; i < plane.inCount(); ++i) {
      std::fill_n(dx + i * strip.step, strip.width, 0.0F);
    }
    if (in.isPlanes) {
      plane.axes[2].stride == 1   ? runRows(RowWindows<1>(plane), x, dy, dx)
      : plane.axes[2].stride == 2 ? runRows(RowWindows<2>(plane), x, dy, dx)
                                  : runRows(RowWindows<0>(plane), x, dy, dx);
    } else {
      strip.width == kVectorLanes ? runLanes<kVectorLanes>(strip, x, dy, dx)
      : strip.width == kWidth     ? runLanes<kWidth>(strip, x, dy, dx)
                                  : runLanes<0>(strip, x, dy, dx);
    }
  }

  template <int64_t kCount>
  void runLanes(Strip strip, const float* x, const float* dy, float* dx) const {
    isMax ? maxBackward<kCount>(plane, strip, x, dy, dx)
          : meanBackward<kCount>(plane, strip, countPadding, dy, dx);
  }

  template <typename Rows>
  void runRows(const Rows& rows, const float* x, const float* dy, float* dx) const {
    isMax ? rows.largest(x, dy, dx) : rows.mean(countPadding, dy, dx);
  }
};

/// The operand that has an element a window.
const Argument& gradientOf(const Instruction& instruction) { return instruction.inputs.back(); }

absl::Status checkInstruction(const Instruction& instruction) {
  bool isMax = instruction.operation == "gr.max_pool_backward";
  auto isFloat = [](const Argument& a) { return a.desc.type == ElementType::kF32; };
  if (instruction.inputs.size() != (isMax ? 2U : 1U) || instruction.outputs.size() != 1 ||
      !instruction.postOps.empty() || !isFloat(instruction.outputs[0]) ||
      !std::all_of(instruction.inputs.begin(), instruction.inputs.end(), isFloat)) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": takes f32, and nothing is fused behind"));
  }
  const Dims& in = instruction.outputs[0].desc.dims;
  const Dims& gradient = gradientOf(instruction).desc.dims;
  if (in.size() < 3 || in.size() > 5) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": takes 1 to 3 spatial dims"));
  }
  if (gradient.size() != in.size() || gradient[0] != in[0] || gradient[1] != in[1] ||
      (isMax && instruction.inputs[0].desc.dims != in)) {
    return invalidInstruction(instruction, "the shapes of operands and result do not fit");
  }
  return absl::OkStatus();
}

absl::StatusOr<PoolPlane> planeOf(const Instruction& instruction) {
  absl::Span<const int64_t> in = instruction.outputs[0].desc.dims;
  absl::Span<const int64_t> gradient = gradientOf(instruction).desc.dims;
  GR_ASSIGN_OR_RETURN(Dims kernel, attribute<Dims>(instruction, "kernel"));
  GR_ASSIGN_OR_RETURN(Window w, windowOf(instruction, in.subspan(2), kernel, gradient.subspan(2),
                                         /*ceilMode=*/true));
  PoolPlane plane;
  size_t skipped = plane.axes.size() - kernel.size();
  for (size_t i = 0; i < kernel.size(); ++i) {
    plane.axes[skipped + i] = {in[2 + i],      gradient[2 + i], w.kernel[i], w.strides[i],
                               w.dilations[i], w.padsBegin[i],  w.padsEnd[i]};
  }
  return plane;
}

/// How the result lies for these operands: like the first one.
absl::StatusOr<TensorDesc> resultDesc(const Instruction& instruction) {
  TensorDesc first = instruction.inputs[0].desc;
  first.any = false;
  return channelsLike(first, instruction.outputs[0].desc.dims);
}

}  // namespace

absl::StatusOr<LayoutChoice> choosePoolBackward(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  GR_RETURN_IF_ERROR(planeOf(instruction).status());
  LayoutChoice choice = givenLayouts(instruction);
  GR_ASSIGN_OR_RETURN(TensorDesc result, resultDesc(instruction));
  GR_RETURN_IF_ERROR(channelLayoutOf(result).status());
  GR_ASSIGN_OR_RETURN(TensorDesc gradient, channelsLike(result, gradientOf(instruction).desc.dims));
  GR_RETURN_IF_ERROR(channelLayoutOf(gradient).status());
  if (gradientOf(instruction).desc.any) {
    choice.inputs.back() = gradient;
  }
  if (!mayLieAs(instruction, result) || !sameLayout(choice.inputs.back(), gradient)) {
    return absl::UnimplementedError(
        absl::StrCat(instruction.operation, ": operands and result are to lie alike"));
  }
  choice.outputs = {std::move(result)};
  choice.implementation = "windows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createPoolBackward(const Instruction& instruction,
                                                           KernelContext&) {
  GR_RETURN_IF_ERROR(choosePoolBackward(instruction).status());
  GR_ASSIGN_OR_RETURN(PoolPlane plane, planeOf(instruction));
  GR_ASSIGN_OR_RETURN(ChannelLayout in, channelLayoutOf(instruction.outputs[0].desc));
  GR_ASSIGN_OR_RETURN(ChannelLayout out, channelLayoutOf(gradientOf(instruction).desc));
  GR_ASSIGN_OR_RETURN(bool countPadding, attributeOr(instruction, "count_include_pad", false));
  PoolBackward pool{plane, in, out, instruction.inputs.size() == 2, countPadding};
  return makeKernel([=, x = instruction.inputs[0].buffer, dy = gradientOf(instruction).buffer,
                     dx = instruction.outputs[0].buffer](void* const* buffers) {
    pool.run(pool.isMax ? static_cast<const float*>(buffers[x]) : nullptr,
             static_cast<const float*>(buffers[dy]), static_cast<float*>(buffers[dx]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
