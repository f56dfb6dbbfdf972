#include "devices/cpu/kernels/plane_strips.h"

#include <algorithm>

#include "devices/cpu/kernels/plane_sums.h"
#include "devices/cpu/vectors/vector.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// Positions that keep the sums' registers busy, however many channels there are.
constexpr int64_t kFewest = 2 * kSumPositions;

/// Floats that a strip's planes may have: they stay in a cache while they are read.
int64_t budgetOf(const PlaneShape& shape) {
  constexpr int64_t kFirstLevel = 8192, kSecondLevel = 32768;
  return shape.in == 1 || shape.kernel.count() == 1 ? kFirstLevel : kSecondLevel;
}

/// `total` in equal parts of at most `most`, or of `unit`; multiples of it where there are several.
int64_t partOf(int64_t total, int64_t most, int64_t unit) {
  most = std::max(most, unit);
  if (total <= most) {
    return total;
  }
  int64_t parts = (total + most - 1) / most;
  int64_t part = (total + parts - 1) / parts;
  return std::min(total, (part + unit - 1) / unit * unit);
}

[[gnu::always_inline]] inline void copyVector(const float* from, float* to) {
  Vector lanes;
  loadVector(from, lanes);
  storeVector(lanes, to);
}

/// Writes up to a vector behind the end.
[[gnu::always_inline]] inline void fillZeros(float* to, int64_t count) {
  // Mostly one: a call of memset would cost more.
  Vector zeros{};
  for (int64_t i = 0; i < count; i += kVectorLanes) {
    storeVector(zeros, to + i);
    asm volatile("" : : : "memory");
  }
}

/// Every stride-th of the elements at `from`, whose memory ends at `end`. Writes up to a vector
/// behind the end.
[[gnu::always_inline]] inline void copyRow(const float* from, int64_t stride, int64_t count,
                                           const float* end, float* to) {
  int64_t i = 0;
  if (stride == 1) {
    for (; i < count && from + i + kVectorLanes <= end; i += kVectorLanes) {
      copyVector(from + i, to + i);
    }
  } else if (stride == 2) {
    for (; i < count && from + 2 * (i + kVectorLanes) <= end; i += kVectorLanes) {
      Vector a, b;
      loadVector(from + 2 * i, a);
      loadVector(from + 2 * i + kVectorLanes, b);
      storeVector(
          __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30),
          to + i);
    }
  }
  for (; i < count; ++i) {
    to[i] = from[i * stride];
  }
}

/// Every stride-th element of a row of `length` from `x` on; no row: zeros.
struct RowPart {
  const float* row;
  int64_t x, length, stride;

  /// `width` elements, with zeros for those outside of the row, whose memory ends at `memoryEnd`.
  /// Writes up to a vector behind the end.
  [[gnu::always_inline]] void layOut(const float* memoryEnd, int64_t width, float* to) const {
    // The first element at `limit` or behind it.
    auto reach = [&](int64_t limit) {
      int64_t distance = limit - x + stride - 1;
      return std::clamp<int64_t>(stride == 1 ? distance : distance / stride, 0, width);
    };
    int64_t begin = row == nullptr ? width : x < 0 ? reach(0) : 0;
    int64_t end = x < length ? std::max(begin, reach(length)) : begin;
    fillZeros(to, begin);
    if (begin < end) {
      copyRow(row + x + begin * stride, stride, end - begin, memoryEnd, to + begin);
    }
    fillZeros(to + end, width - end);
  }
};

}  // namespace

PlaneStrips::PlaneStrips(const PlaneShape& shape) : shape_(shape) {
  for (int64_t y = 0; y < shape.kernel.h; ++y) {
    for (int64_t x = 0; x < shape.kernel.w; ++x) {
      Extent phase = phaseOf({y, x});
      if (indexOf(phase) == static_cast<int64_t>(phases_.size())) {
        phases_.push_back(phase);
      }
    }
  }
  reach_ = {(shape.kernel.h - 1) * shape.dilations.h / shape.strides.h,
            (shape.kernel.w - 1) * shape.dilations.w / shape.strides.w};
  int64_t floats =
      std::max(kFewest, budgetOf(shape) / (shape.in * static_cast<int64_t>(phases_.size())));
  columns_ = shape.output.h > 1 ? shape.output.w : partOf(shape.output.w, floats, kSumPositions);
  width_ = columns_ + reach_.w;
  rows_ = partOf(shape.output.h, floats / width_ - reach_.h, 1);
  phaseFloats_ = ((rows_ + reach_.h) * width_ + kVectorLanes - 1) / kVectorLanes * kVectorLanes;
  down_ = (shape.output.h + rows_ - 1) / rows_;
  across_ = (shape.output.w + columns_ - 1) / columns_;
}

int64_t PlaneStrips::indexOf(Extent phase) const {
  return std::find(phases_.begin(), phases_.end(), phase) - phases_.begin();
}

std::vector<int64_t> PlaneStrips::offsets() const {
  std::vector<int64_t> offsets;
  for (int64_t y = 0; y < shape_.kernel.h; ++y) {
    for (int64_t x = 0; x < shape_.kernel.w; ++x) {
      offsets.push_back(indexOf(phaseOf({y, x})) * phaseFloats_ +
                        y * shape_.dilations.h / shape_.strides.h * width_ +
                        x * shape_.dilations.w / shape_.strides.w);
    }
  }
  return offsets;
}

Strip PlaneStrips::strip(int64_t index) const {
  int64_t column = index % across_ * columns_;
  int64_t row = index / across_ % down_ * rows_;
  int64_t group = index / (across_ * down_);
  return {group / shape_.groups,
          group % shape_.groups,
          row,
          column,
          std::min(rows_, shape_.output.h - row),
          std::min(columns_, shape_.output.w - column)};
}

void PlaneStrips::layOut(const Strip& strip, const float* plane, const float* end,
                         float* to) const {
  runWide([&] {
    int64_t x = strip.column * shape_.strides.w - shape_.pads.w;
    for (const Extent& phase : phases_) {
      for (int64_t row = 0; row < strip.rows + reach_.h; ++row) {
        int64_t y = (strip.row + row) * shape_.strides.h + phase.h - shape_.pads.h;
        bool inside = y >= 0 && y < shape_.input.h;
        RowPart part{inside ? plane + y * shape_.input.w : nullptr, x + phase.w, shape_.input.w,
                     shape_.strides.w};
        part.layOut(end, width_, to + row * width_);
      }
      to += phaseFloats_;
    }
  });
}

}  // namespace graphrun::devices::cpu
