#include "devices/cpu/kernels/plane_conv_kernel.h"

#include <omp.h>

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/plane_instruction.h"
#include "devices/cpu/kernels/plane_strips.h"
#include "devices/cpu/kernels/plane_sums.h"
#include "devices/cpu/kernels/plane_windows.h"
#include "devices/cpu/kernels/row_post_ops.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

/// Dims of the filter as it is packed: G x I/G x kernel x O/G, from the operation's O x I/G x
/// kernel or from themselves.
absl::StatusOr<Dims> packedDims(const Instruction& instruction, int64_t groups) {
  const Dims& filter = instruction.inputs[1].desc.dims;
  size_t rank = instruction.inputs[0].desc.dims.size();
  if (filter.size() == rank + 1) {
    return filter;
  }
  if (filter.size() != rank || filter[0] % groups != 0) {
    return invalidInstruction(instruction, "the filter does not fit the input");
  }
  Dims packed = {groups};
  packed.insert(packed.end(), filter.begin() + 1, filter.end());
  packed.push_back(filter[0] / groups);
  return packed;
}

/// Where there is but one tap or one column, an image is a row.
PlaneShape flattened(PlaneShape s) {
  if (s.isPointwise()) {
    s.input = s.output = Extent{1, s.input.count()};
  }
  return s.asRow();
}

absl::StatusOr<PlaneShape> shapeOf(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkPlaneInstruction(instruction));
  if (instruction.attributes.contains("algorithm")) {
    return declinedByPlanes(instruction, "by no other algorithm");
  }
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  constexpr int64_t kFewChannels = 4;
  if (groups < 1 || (groups == 1 && in[1] > kFewChannels)) {
    return declinedByPlanes(instruction, "in groups, or of few channels");
  }
  GR_ASSIGN_OR_RETURN(Dims filter, packedDims(instruction, groups));
  GR_RETURN_IF_ERROR(checkPlaneFilter(instruction, filter, groups));
  Dims kernel(filter.begin() + 2, filter.end() - 1);
  GR_ASSIGN_OR_RETURN(Window w,
                      windowOf(instruction, in.subspan(2), kernel, out.subspan(2), false));
  return flattened(PlaneShape{in[0], groups, filter[1], filter.back(), Extent::of(in.subspan(2), 1),
                              Extent::of(out.subspan(2), 1), Extent::of(kernel, 1),
                              Extent::of(w.strides, 1), Extent::of(w.dilations, 1),
                              Extent::of(w.padsBegin, 0)});
}

/// StripSums makes the results of a strip from its planes.
class StripSums {
 public:
  explicit StripSums(const PlaneShape& shape)
      : shape_(shape), strips_(shape), sums_{shape.in, shape.kernel.count() * shape.out, {}} {
    int64_t weight = 0;
    for (int64_t offset : strips_.offsets()) {
      sums_.taps.push_back({offset, weight});
      weight += shape.out;
    }
  }

  const PlaneStrips& strips() const { return strips_; }
  /// Floats of the planes of a strip, and of a row of results.
  int64_t planeFloats() const { return shape_.in * strips_.channelFloats() + kSumPositions; }
  int64_t rowFloats() const {
    return (strips_.rows() * strips_.width() + kSumPositions - 1) / kSumPositions * kSumPositions;
  }

  /// `count` channels' results, from the group's `first` on, rowFloats() apart. `scratch` has room
  /// for one more.
  void make(const Strip& strip, const float* planes, int64_t planeStride, const float* weights,
            const float* bias, int64_t count, float* rows, float* scratch) const {
    sums_.make(planes, planeStride, weights, bias, count, strips_.positions(strip), rows,
               rowFloats());
    for (int64_t r = 0; r < count && strips_.width() != strip.columns && strip.rows > 1; ++r) {
      close(strip, rows + r * rowFloats(), scratch);
    }
  }

 private:
  /// Leaves out what was made in vain between the rows.
  void close(const Strip& strip, float* results, float* scratch) const {
    for (int64_t row = 0; row < strip.rows; ++row) {
      std::copy_n(results + row * strips_.width(), strip.columns, scratch + row * strip.columns);
    }
    std::copy_n(scratch, strip.rows * strip.columns, results);
  }

  PlaneShape shape_;
  PlaneStrips strips_;
  PlaneSums sums_;
};

class PlaneConv : public Kernel {
 public:
  PlaneConv(const Instruction& instruction, const PlaneShape& shape, RowPostOps postOps,
            uint32_t scratch)
      : shape_(shape),
        sums_(shape),
        windows_(sumsWindowsInPlace(shape)),
        postOps_(std::move(postOps)),
        sumsInPlace_(postOps_.readsResult()),
        x_(instruction.inputs[0].buffer),
        filter_(instruction.inputs[1].buffer),
        y_(instruction.outputs[0].buffer),
        scratch_(scratch),
        floats_(scratchFloats(shape)),
        bias_(instruction) {}

  /// Floats of a thread's scratch memory.
  static int64_t scratchFloats(const PlaneShape& shape) {
    StripSums sums(shape);
    return sums.planeFloats() + (kSumRows + 1) * sums.rowFloats();
  }

  int run(void* const* buffers) override {
    auto* scratch = static_cast<float*>(buffers[scratch_]);
    const PlaneStrips& strips = sums_.strips();
    int64_t work =
        strips.rows() * strips.columns() * shape_.in * shape_.out * shape_.kernel.count();
    parallelFor(strips.count(), work, [&](int64_t i) {
      makeStrip(strips.strip(i), scratch + omp_get_thread_num() * floats_, buffers);
    });
    return 0;
  }

 private:
  void makeStrip(const Strip& strip, float* scratch, void* const* buffers) const {
    const auto* x = static_cast<const float*>(buffers[x_]);
    int64_t plane = shape_.input.count();
    int64_t inputFloats = shape_.batch * shape_.groups * shape_.in * plane;
    const float* end = x + inputFloats;
    x += (strip.image * shape_.groups + strip.group) * shape_.in * plane;
    float* rows = scratch + sums_.planeFloats();
    if (windows_) {
      makeWindows(strip, {end - inputFloats, static_cast<size_t>(inputFloats)}, x, rows, buffers);
      return;
    }
    if (readsInPlace(x + strip.column, strip.columns, end)) {
      makeResults(strip, x + strip.column, plane, rows, buffers);
      return;
    }
    const PlaneStrips& strips = sums_.strips();
    for (int64_t c = 0; c < shape_.in; ++c) {
      strips.layOut(strip, x + c * plane, end, scratch + c * strips.channelFloats());
    }
    makeResults(strip, scratch, strips.channelFloats(), rows, buffers);
  }

  /// Planes that are read as they are must not end within a vector, nor meet in the cache.
  bool readsInPlace(const float* x, int64_t columns, const float* end) const {
    constexpr int64_t kCacheWay = 512;  // floats, half of what an address counts in
    int64_t plane = shape_.input.count();
    int64_t last =
        (shape_.in - 1) * plane + (columns + kSumPositions - 1) / kSumPositions * kSumPositions;
    return shape_.isPointwise() && plane % kCacheWay != 0 && last <= end - x;
  }

  void makeWindows(const Strip& strip, absl::Span<const float> input, const float* plane,
                   float* scratch, void* const* buffers) const {
    auto* y = static_cast<float*>(buffers[y_]);
    for (int64_t c = 0; c < shape_.out; ++c) {
      // Where nothing is to be added to what is there, the results are made in their place.
      float* row = sumsInPlace_ ? scratch : y + offsetOf(strip, c);
      sumWindows(shape_, input, plane, filterOf(strip, buffers) + c, shape_.out,
                 biasOf(strip, buffers)[c], strip.row, strip.rows, row);
      store(strip, c, row, buffers);
    }
  }

  /// Those of the strip's group.
  const float* filterOf(const Strip& strip, void* const* buffers) const {
    return static_cast<const float*>(buffers[filter_]) +
           strip.group * shape_.in * shape_.kernel.count() * shape_.out;
  }
  const float* biasOf(const Strip& strip, void* const* buffers) const {
    return bias_.in(buffers) + strip.group * shape_.out;
  }

  void makeResults(const Strip& strip, const float* planes, int64_t planeStride, float* rows,
                   void* const* buffers) const {
    const float* filter = filterOf(strip, buffers);
    const float* bias = biasOf(strip, buffers);
    float* scratch = rows + kSumRows * sums_.rowFloats();
    int64_t blocks = (shape_.out + kSumRows - 1) / kSumRows;
    for (int64_t b = 0; b < blocks; ++b) {
      int64_t first = shape_.out * b / blocks;
      int64_t count = shape_.out * (b + 1) / blocks - first;
      sums_.make(strip, planes, planeStride, filter + first, bias + first, count, rows, scratch);
      for (int64_t r = 0; r < count; ++r) {
        store(strip, first + r, rows + r * sums_.rowFloats(), buffers);
      }
    }
  }

  /// Returns where channel `channel` of the group begins in the result.
  int64_t offsetOf(const Strip& strip, int64_t channel) const {
    int64_t plane = (strip.image * shape_.groups + strip.group) * shape_.out + channel;
    return plane * shape_.output.count() + strip.row * shape_.output.w + strip.column;
  }

  void store(const Strip& strip, int64_t channel, float* row, void* const* buffers) const {
    int64_t offset = offsetOf(strip, channel);
    int64_t count = strip.rows * strip.columns;
    auto* y = static_cast<float*>(buffers[y_]);
    postOps_.apply(buffers, y, strip.group * shape_.out + channel, offset, count, row);
    if (row != y + offset) {
      std::copy_n(row, count, y + offset);
    }
  }

  PlaneShape shape_;
  StripSums sums_;
  bool windows_;  ///< are summed where a plane lies
  RowPostOps postOps_;
  bool sumsInPlace_;  ///< adds to what the result's memory holds
  uint32_t x_, filter_, y_, scratch_;
  int64_t floats_;  ///< of a thread's scratch memory
  PlaneBias bias_;
};

}  // namespace

absl::StatusOr<LayoutChoice> choosePlaneConv(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(PlaneShape shape, shapeOf(instruction));
  GR_ASSIGN_OR_RETURN(Dims packed, packedDims(instruction, shape.groups));
  absl::StatusOr<TensorDesc> source = movedLastDesc(ElementType::kF32, packed, 1);
  return planeLayouts(instruction, std::move(packed), std::move(source),
                      omp_get_max_threads() * PlaneConv::scratchFloats(shape),
                      shape.in == 1 ? "planes_dw" : "planes", shape);
}

absl::StatusOr<std::unique_ptr<Kernel>> createPlaneConv(const Instruction& instruction,
                                                        KernelContext&) {
  GR_ASSIGN_OR_RETURN(LayoutChoice choice, choosePlaneConv(instruction));
  GR_ASSIGN_OR_RETURN(PlaneShape shape, shapeOf(instruction));
  GR_ASSIGN_OR_RETURN(RowPostOps postOps, RowPostOps::make(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, choice.scratchBytes));
  return std::make_unique<PlaneConv>(instruction, shape, std::move(postOps), scratch);
}

}  // namespace graphrun::devices::cpu
