#include "devices/cpu/kernels/plane_windows.h"

#include <algorithm>
#include <array>

#include "devices/cpu/vectors/vector.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

using Sums = std::array<Vector, kWindowRows>;

using Mask [[gnu::vector_size(kVectorLanes * sizeof(int32_t))]] = int32_t;

/// A vector of set lanes between two of cleared ones.
constexpr auto kLanes = [] {
  std::array<int32_t, 3 * kVectorLanes> lanes{};
  std::fill_n(lanes.begin() + kVectorLanes, kVectorLanes, -1);
  return lanes;
}();

/// Lanes [begin, end). From memory: compilers take comparisons of vectors apart.
[[gnu::always_inline]] inline void makeMask(int64_t begin, int64_t end, Mask& mask) {
  Mask upper, lower;
  std::memcpy(&upper, &kLanes[kVectorLanes - std::clamp<int64_t>(begin, 0, kVectorLanes)],
              sizeof(upper));
  std::memcpy(&lower, &kLanes[2 * kVectorLanes - std::clamp<int64_t>(end, 0, kVectorLanes)],
              sizeof(lower));
  mask = upper & lower;
}

[[gnu::always_inline]] inline void loadMasked(const float* from, const Mask& mask, Vector& to) {
  loadVector(from, to);
  to = __builtin_bit_cast(Vector, __builtin_bit_cast(Mask, to) & mask);
}

/// A View is what a tile of results is made of: rows of an image, `stride` floats apart, from the
/// first tap's on. Those outside of [top, bottom) and columns outside of [left, right) are padding.
struct View {
  const float* from;
  int64_t stride;
  int64_t top, bottom, left, right;
};

/// A tile of results: kWindowRows rows of one vector.
struct Tile {
  const float* weights;
  int64_t step;   ///< from one to the next
  int64_t width;  ///< of the window
  View view;

  /// Adds column `tap` of a window of `taps` rows.
  template <int64_t taps, int64_t stride>
  [[gnu::always_inline]] void addColumn(int64_t tap, Sums& sums) const {
    std::array<Vector, taps> factors;
    unrolled<taps>([&](auto t) __attribute__((always_inline)) {
      factors[t] = Vector{} + weights[(t * width + tap) * step];
    });
    std::array<Mask, stride> masks;
    unrolled<stride>([&](auto i) __attribute__((always_inline)) {
      int64_t first = tap + i * kVectorLanes;
      makeMask(view.left - first, view.right - first, masks[i]);
    });
    unrolled<(kWindowRows - 1) * stride + taps>([&](auto j) __attribute__((always_inline)) {
      if (j < view.top || j >= view.bottom) {
        return;
      }
      const float* from = view.from + j * view.stride + tap;
      Vector elements;
      loadMasked(from, masks[0], elements);
      if constexpr (stride == 2) {
        Vector rest;
        loadMasked(from + kVectorLanes, masks[1], rest);
        elements = __builtin_shufflevector(elements, rest, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                           22, 24, 26, 28, 30);
      }
      unrolled<taps>([&](auto t) __attribute__((always_inline)) {
        constexpr int64_t kAt = j - t;
        if constexpr (kAt >= 0 && kAt % stride == 0 && kAt / stride < kWindowRows) {
          sums[kAt / stride] += factors[t] * elements;
        }
      });
    });
  }

  template <int64_t taps, int64_t stride>
  [[gnu::always_inline]] void make(float bias, Sums& sums) const {
    unrolled<kWindowRows>([&](auto r)
                              __attribute__((always_inline)) { sums[r] = Vector{} + bias; });
    for (int64_t tap = 0; tap < width; ++tap) {
      addColumn<taps, stride>(tap, sums);
    }
  }
};

constexpr int64_t kMostStride = 2, kMostTaps = 7;
/// A tile reads at most so many rows and columns.
constexpr int64_t kViewRows = (kWindowRows - 1) * kMostStride + kMostTaps;
constexpr int64_t kViewColumns = kVectorLanes * kMostStride + kMostTaps - 1;
using Copy = std::array<float, kViewRows * kViewColumns>;

/// The view of a copy, in which all lies within its memory.
[[gnu::noinline]] View copied(const View& view, Copy& copy) {
  copy.fill(0);
  for (int64_t row = std::max<int64_t>(view.top, 0); row < std::min(view.bottom, kViewRows);
       ++row) {
    for (int64_t x = std::max<int64_t>(view.left, 0); x < std::min(view.right, kViewColumns); ++x) {
      copy[static_cast<size_t>(row * kViewColumns + x)] = view.from[row * view.stride + x];
    }
  }
  return {copy.data(), kViewColumns, 0, kViewRows, 0, kViewColumns};
}

/// The view of the tile whose first result is at (row, column). Whole vectors are read: at the ends
/// of `input` from a copy.
[[gnu::always_inline]] inline View viewOf(const PlaneShape& shape, absl::Span<const float> input,
                                          const float* plane, int64_t row, int64_t column,
                                          Copy& copy) {
  int64_t y = row * shape.strides.h - shape.pads.h;
  int64_t x = column * shape.strides.w - shape.pads.w;
  View view{
      plane + y * shape.input.w + x, shape.input.w, -y, shape.input.h - y, -x, shape.input.w - x};
  int64_t first = plane - input.data() + std::max<int64_t>(y, 0) * shape.input.w + x;
  int64_t last = plane - input.data() + std::min(y + kViewRows, shape.input.h - 1) * shape.input.w +
                 x + kViewColumns;
  bool inside = first >= 0 && last <= static_cast<int64_t>(input.size());
  return inside ? view : copied(view, copy);
}

/// Stores the first `count` rows of a tile. A row of few lanes runs over into the next one.
[[gnu::always_inline]] inline void store(const Sums& sums, int64_t count, int64_t lanes,
                                         int64_t stride, float* to) {
  unrolled<kWindowRows>([&](auto r) __attribute__((always_inline)) {
    if (r + 1 < count || (r < count && lanes == kVectorLanes)) {
      storeVector(sums[r], to + r * stride);
    } else if (r < count) {
      std::array<float, kVectorLanes> row;
      storeVector(sums[r], row.data());
      std::copy_n(row.begin(), lanes, to + r * stride);
    }
  });
}

template <int64_t taps, int64_t stride>
void sumRows(const PlaneShape& shape, absl::Span<const float> input, const float* plane,
             const float* weights, int64_t step, float bias, int64_t row, int64_t count,
             float* results) {
  int64_t width = shape.output.w;
  Copy copy;
  runWide([&] {
    for (int64_t done = 0; done < count; done += kWindowRows) {
      for (int64_t i = 0; i < width; i += kVectorLanes) {
        // The last tile of a row ends with it.
        int64_t column = std::max<int64_t>(0, std::min(i, width - kVectorLanes));
        Sums sums;
        View view = viewOf(shape, input, plane, row + done, column, copy);
        Tile{weights, step, shape.kernel.w, view}.make<taps, stride>(bias, sums);
        store(sums, count - done, std::min(width, kVectorLanes), width,
              results + done * width + column);
      }
    }
  });
}

using Function = void (*)(const PlaneShape&, absl::Span<const float>, const float*, const float*,
                          int64_t, float, int64_t, int64_t, float*);

/// The function for windows of `taps` rows; null: there is none.
Function functionFor(int64_t taps, int64_t stride) {
  switch (taps) {
    case 3:
      return stride == 1 ? sumRows<3, 1> : sumRows<3, 2>;
    case 5:
      return stride == 1 ? sumRows<5, 1> : sumRows<5, 2>;
    case 7:
      return stride == 1 ? sumRows<7, 1> : sumRows<7, 2>;
    default:
      return nullptr;
  }
}

}  // namespace

bool sumsWindowsInPlace(const PlaneShape& shape) {
  constexpr int64_t kNarrow = 12;
  return shape.in == 1 && shape.dilations.count() == 1 && shape.output.w >= kNarrow &&
         shape.strides.h == shape.strides.w && shape.strides.h <= 2 &&
         functionFor(shape.kernel.h, 1) != nullptr;
}

void sumWindows(const PlaneShape& shape, absl::Span<const float> input, const float* plane,
                const float* weights, int64_t step, float bias, int64_t row, int64_t count,
                float* results) {
  functionFor(shape.kernel.h, shape.strides.h)(shape, input, plane, weights, step, bias, row, count,
                                               results);
}

}  // namespace graphrun::devices::cpu
