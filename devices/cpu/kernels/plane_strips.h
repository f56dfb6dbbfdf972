// Strips of the planes that a convolution reads, one plane a channel. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_STRIPS_H_
#define GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_STRIPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace graphrun::devices::cpu {

/// One spatial dim, or the two of an image; `h` is `missing` where there is but one.
struct Extent {
  int64_t h = 1, w = 1;

  bool operator==(const Extent&) const = default;
  int64_t count() const { return h * w; }
  static Extent of(absl::Span<const int64_t> dims, int64_t missing) {
    return dims.size() == 1 ? Extent{missing, dims[0]} : Extent{dims[0], dims[1]};
  }
};

/// Sizes of a convolution in groups.
struct PlaneShape {
  int64_t batch, groups, in, out;  ///< in, out: channels of a group
  Extent input, output, kernel, strides, dilations, pads;

  /// Each result is a sum over one position of the channels: an image is taken for one row.
  bool isPointwise() const {
    return kernel.count() == 1 && strides.count() == 1 && pads == Extent{0, 0} && input == output;
  }

  /// Images of one column as ones of one row, which is the same memory and has vectors; others as
  /// they are.
  PlaneShape asRow() const {
    if (input.w != 1 || output.w != 1 || kernel.w != 1 || pads.w != 0) {
      return *this;
    }
    PlaneShape row = *this;
    for (Extent* extent : {&row.input, &row.output, &row.kernel, &row.strides, &row.dilations}) {
      *extent = {1, extent->h};
    }
    row.pads = {0, pads.h};
    return row;
  }
};

/// A part of the results of one group.
struct Strip {
  int64_t image, group, row, column, rows, columns;
};

/// PlaneStrips lay out strips. A phase has the elements at every stride-th position, from one of
/// the remainders on: in it the window moves by one position from a result to the next, and each
/// tap is the same shift for all positions. The padding is laid out with the rest.
class PlaneStrips {
 public:
  explicit PlaneStrips(const PlaneShape& shape);

  int64_t rows() const { return rows_; }        ///< of results, at most
  int64_t columns() const { return columns_; }  ///< the same
  int64_t width() const { return width_; }      ///< of a phase's row
  /// Floats of a channel's phases.
  int64_t channelFloats() const { return static_cast<int64_t>(phases_.size()) * phaseFloats_; }
  /// For each tap how far it lies from the first position of the channel's phases.
  std::vector<int64_t> offsets() const;

  /// Strip `index` of `count()`.
  Strip strip(int64_t index) const;
  int64_t count() const { return shape_.batch * shape_.groups * down_ * across_; }
  /// Positions from the first result of a strip to its last one.
  int64_t positions(const Strip& strip) const { return (strip.rows - 1) * width_ + strip.columns; }

  /// Lays a channel's strip out, its `plane` lying in memory that ends at `end`. Writes up to a
  /// vector behind channelFloats(). One thread, with the machine's widest vectors.
  void layOut(const Strip& strip, const float* plane, const float* end, float* to) const;

 private:
  Extent phaseOf(Extent tap) const {
    return {tap.h * shape_.dilations.h % shape_.strides.h,
            tap.w * shape_.dilations.w % shape_.strides.w};
  }
  int64_t indexOf(Extent phase) const;

  PlaneShape shape_;
  std::vector<Extent> phases_;  ///< the remainders that the window meets
  Extent reach_;                ///< from the window's first tap to the last one, in a phase
  int64_t rows_, columns_, width_, phaseFloats_;
  int64_t down_, across_;  ///< strips of an image
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_KERNELS_PLANE_STRIPS_H_
