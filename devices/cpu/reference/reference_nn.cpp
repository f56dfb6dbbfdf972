// Convolutions and pools.
#include <algorithm>

#include "devices/cpu/reference/reference_windows.h"

namespace graphrun::devices::cpu {

KernelOr createResize(const Instruction& instruction);      // reference_resize.cpp
KernelOr createDeformConv(const Instruction& instruction);  // reference_deform.cpp

namespace {

/// As `covered`, for a transposed convolution: the input position whose window has element `k` at
/// result position `o`, or -1.
int64_t coveredTransposed(const Spatial& s, const Position& o, const Position& k) {
  return windowOver(s, s.in, o, k);
}

/// Channels of a convolution.
struct Channels {
  int64_t batch, in, out, groups;
};

absl::StatusOr<Channels> channelsOf(const Instruction& instruction, bool transposed) {
  GR_RETURN_IF_ERROR(checkSpatialRank(instruction, instruction.outputs[0].desc.dims));
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& filter = instruction.inputs[1].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  Channels c{in[0], in[1], out[1], groups};
  bool fits = filter.size() == in.size() && groups >= 1 && out[0] == in[0] && c.in % groups == 0 &&
              c.out % groups == 0;
  if (fits && transposed) {
    fits = filter[0] == c.in && filter[1] == c.out / groups;
  } else if (fits) {
    fits = filter[0] == c.out && filter[1] == c.in / groups;
  }
  if (instruction.inputs.size() == 3) {
    fits = fits && instruction.inputs[2].desc.dims == Dims{c.out};
  }
  if (!fits) {
    return invalidInstruction(instruction,
                              "the shapes of input, filter, bias and result do not fit");
  }
  return c;
}

/// Buffers of a convolution.
struct ConvBuffers {
  uint32_t in, filter, bias, out;
  bool hasBias;
};

ConvBuffers convBuffers(const Instruction& instruction) {
  bool hasBias = instruction.inputs.size() == 3;
  return {instruction.inputs[0].buffer, instruction.inputs[1].buffer,
          hasBias ? instruction.inputs[2].buffer : 0, instruction.outputs[0].buffer, hasBias};
}

/// One element of a convolution's result: output channel `o`, position `at`. `offsetOf` is covered
/// or coveredTransposed; filter element (o, i, k) lies at filterBase + i * filterStride + k.
template <typename T, typename In, typename Filter, typename OffsetOf>
Sum<T> convolveAt(const Spatial& s, const In* in, int64_t channels, const Filter* filter,
                  int64_t filterStride, const Position& at, OffsetOf offsetOf) {
  Sum<T> sum = 0;
  for (int64_t k = 0; k < s.kernelCount; ++k) {
    int64_t from = offsetOf(s, at, unflatten(k, s.window.kernel, s.rank));
    for (int64_t i = 0; from >= 0 && i < channels; ++i) {
      sum += static_cast<Sum<T>>(load(in[i * s.inCount + from])) *
             static_cast<Sum<T>>(load(filter[i * filterStride + k]));
    }
  }
  return sum;
}

/// Calls `f.template operator()<T, In, Filter>()` for the types of a convolution: floating point,
/// i32, and u8 by i8 summed in i32.
template <typename F>
auto dispatchProduct(const Instruction& instruction, const F& f) {
  if (instruction.outputs[0].desc.type != ElementType::kI32) {
    return dispatchFloat(instruction.outputs[0].desc.type,
                         [&]<typename T>() { return f.template operator()<T, T, T>(); });
  }
  return instruction.inputs[0].desc.type == ElementType::kI32
             ? f.template operator()<int32_t, int32_t, int32_t>()
             : f.template operator()<int32_t, uint8_t, int8_t>();
}

template <bool kTransposed>
KernelOr createConvolution(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Channels c, channelsOf(instruction, kTransposed));
  absl::Span<const int64_t> in = instruction.inputs[0].desc.dims;
  absl::Span<const int64_t> kernel = instruction.inputs[1].desc.dims;
  absl::Span<const int64_t> out = instruction.outputs[0].desc.dims;
  auto window =
      kTransposed
          ? transposedWindowOf(instruction, in.subspan(2), kernel.subspan(2), out.subspan(2))
          : windowOf(instruction, in.subspan(2), kernel.subspan(2), out.subspan(2), false);
  GR_RETURN_IF_ERROR(window.status());
  Spatial s = spatialOf(instruction.inputs[0].desc.dims, instruction.outputs[0].desc.dims,
                        *std::move(window));
  ConvBuffers b = convBuffers(instruction);
  int64_t inGroup = c.in / c.groups;
  int64_t outGroup = c.out / c.groups;
  return dispatchProduct(instruction, [&]<typename T, typename In, typename Filter>() -> KernelOr {
    return makeKernel([=, s = std::move(s)](void* const* buffers) {
      parallelFor(c.batch * c.out, s.outCount * inGroup * s.kernelCount, [&](int64_t plane) {
        int64_t o = plane % c.out;
        int64_t group = o / outGroup;
        const In* from = static_cast<const In*>(buffers[b.in]) +
                         (plane / c.out * c.in + group * inGroup) * s.inCount;
        // O x I/G x K, or I x O/G x K when transposed.
        int64_t first = kTransposed ? (group * inGroup * outGroup + o % outGroup) : o * inGroup;
        int64_t stride = (kTransposed ? outGroup : 1) * s.kernelCount;
        const auto* filter = static_cast<const Filter*>(buffers[b.filter]) + first * s.kernelCount;
        Sum<T> bias = b.hasBias ? load(static_cast<const T*>(buffers[b.bias])[o]) : 0;
        T* to = static_cast<T*>(buffers[b.out]) + plane * s.outCount;
        for (int64_t i = 0; i < s.outCount; ++i) {
          Sum<T> sum = convolveAt<T>(s, from, inGroup, filter, stride, unflatten(i, s.out, s.rank),
                                     kTransposed ? coveredTransposed : covered);
          to[i] = store<T>(static_cast<Compute<T>>(sum + bias));
        }
      });
      return 0;
    });
  });
}

template <typename T>
Compute<T> poolMax(const Spatial& s, const T* in, const Position& o, double) {
  using Limits = std::numeric_limits<Compute<T>>;
  int64_t best = offsetOfMax(s, in, o);
  return best >= 0 ? load(in[best]) : Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
}

template <typename T>
Compute<T> poolMean(const Spatial& s, const T* in, const Position& o, double countPadding) {
  Sum<T> sum = 0;
  int64_t count = 0;
  for (int64_t k = 0; k < s.kernelCount; ++k) {
    int64_t from = covered(s, o, unflatten(k, s.window.kernel, s.rank));
    if (from >= 0) {
      sum += load(in[from]);
      ++count;
    }
  }
  count = countPadding != 0 ? countPadded(s, o) : count;
  return static_cast<Compute<T>>(count == 0 ? 0 : sum / static_cast<Sum<T>>(count));
}

template <typename T>
Compute<T> poolNorm(const Spatial& s, const T* in, const Position& o, double p) {
  double sum = 0;
  for (int64_t k = 0; k < s.kernelCount; ++k) {
    int64_t from = covered(s, o, unflatten(k, s.window.kernel, s.rank));
    if (from >= 0) {
      sum += std::pow(std::fabs(static_cast<double>(load(in[from]))), p);
    }
  }
  return static_cast<Compute<T>>(std::pow(sum, 1 / p));
}

/// The window of a pool, shapes and attributes checked.
absl::StatusOr<Spatial> poolSpatial(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkSpatialRank(instruction, instruction.outputs[0].desc.dims));
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims kernel, attribute<Dims>(instruction, "kernel"));
  GR_ASSIGN_OR_RETURN(bool ceilMode, attributeOr(instruction, "ceil_mode", false));
  if (in[0] != out[0] || in[1] != out[1]) {
    return invalidInstruction(instruction, "batch and channels of input and result differ");
  }
  GR_ASSIGN_OR_RETURN(Window window,
                      windowOf(instruction, absl::MakeConstSpan(in).subspan(2), kernel,
                               absl::MakeConstSpan(out).subspan(2), ceilMode));
  return spatialOf(in, out, std::move(window));
}

/// `pool(s, plane, position, parameter)` gives one element of the result.
template <typename T, typename Pool>
KernelOr makePool(const Instruction& instruction, Spatial s, double parameter, Pool pool) {
  uint32_t from = instruction.inputs[0].buffer;
  uint32_t to = instruction.outputs[0].buffer;
  int64_t planes = instruction.inputs[0].desc.dims[0] * instruction.inputs[0].desc.dims[1];
  return makeKernel([=, s = std::move(s)](void* const* buffers) {
    parallelFor(planes, s.outCount * s.kernelCount, [&](int64_t plane) {
      const T* x = static_cast<const T*>(buffers[from]) + plane * s.inCount;
      T* y = static_cast<T*>(buffers[to]) + plane * s.outCount;
      for (int64_t i = 0; i < s.outCount; ++i) {
        y[i] = store<T>(pool(s, x, unflatten(i, s.out, s.rank), parameter));
      }
    });
    return 0;
  });
}

KernelOr createMaxPool(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Spatial s, poolSpatial(instruction));
  return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makePool<T>(instruction, std::move(s), 0, poolMax<T>);
  });
}

KernelOr createAvgPool(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Spatial s, poolSpatial(instruction));
  GR_ASSIGN_OR_RETURN(bool countPadding, attributeOr(instruction, "count_include_pad", false));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makePool<T>(instruction, std::move(s), countPadding ? 1 : 0, poolMean<T>);
  });
}

KernelOr createLpPool(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Spatial s, poolSpatial(instruction));
  GR_ASSIGN_OR_RETURN(double p, attributeOr(instruction, "p", 2.0));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makePool<T>(instruction, std::move(s), p, poolNorm<T>);
  });
}

/// Index of offset `flat` in a plane when the spatial dims are counted in reverse order.
int64_t columnMajor(const Spatial& s, int64_t flat) {
  Position at = unflatten(flat, s.in, s.rank);
  int64_t index = 0;
  for (size_t d = s.rank; d > 0; --d) {
    index = index * s.in[d - 1] + at[d - 1];
  }
  return index;
}

KernelOr createMaxPoolWithIndices(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Spatial s, poolSpatial(instruction));
  GR_ASSIGN_OR_RETURN(bool reversed, attributeOr(instruction, "column_major", false));
  if (instruction.outputs[1].desc.dims != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction, "the results have different shapes");
  }
  uint32_t in = instruction.inputs[0].buffer;
  uint32_t out = instruction.outputs[0].buffer;
  uint32_t indices = instruction.outputs[1].buffer;
  int64_t planes = instruction.inputs[0].desc.dims[0] * instruction.inputs[0].desc.dims[1];
  return dispatchElement(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, s = std::move(s)](void* const* buffers) {
      parallelFor(planes, s.outCount * s.kernelCount, [&](int64_t plane) {
        const T* x = static_cast<const T*>(buffers[in]) + plane * s.inCount;
        T* y = static_cast<T*>(buffers[out]) + plane * s.outCount;
        int64_t* index = static_cast<int64_t*>(buffers[indices]) + plane * s.outCount;
        for (int64_t i = 0; i < s.outCount; ++i) {
          Position o = unflatten(i, s.out, s.rank);
          int64_t at = offsetOfMax(s, x, o);
          y[i] = store<T>(poolMax(s, x, o, 0));
          index[i] = plane * s.inCount + (reversed && at >= 0 ? columnMajor(s, at) : at);
        }
      });
      return 0;
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.conv", TypeRule::kProduct, createConvolution<false>, 2, 3},
    {"gr.conv_transpose", TypeRule::kFloat, createConvolution<true>, 2, 3},
    {"gr.deform_conv", TypeRule::kFloat, createDeformConv, 3, 5},
    {"gr.max_pool", TypeRule::kNumeric, createMaxPool},
    {"gr.max_pool_with_indices", TypeRule::kMoveIndices, createMaxPoolWithIndices, 1, 1, 2},
    {"gr.avg_pool", TypeRule::kFloat, createAvgPool},
    {"gr.lp_pool", TypeRule::kFloat, createLpPool},
    {"gr.resize", TypeRule::kResize, createResize, 1, 3},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceNn() { return kEntries; }

}  // namespace graphrun::devices::cpu
