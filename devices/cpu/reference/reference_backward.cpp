// The operations that gradients are made of.
#include "devices/cpu/reference/reference_windows.h"

namespace graphrun::devices::cpu {
namespace {

template <typename T>
const T* operandOf(void* const* buffers, const Argument& argument) {
  return static_cast<const T*>(buffers[argument.buffer]);
}
template <typename T>
T* resultOf(void* const* buffers, const Argument& argument) {
  return static_cast<T*>(buffers[argument.buffer]);
}

/// A number that is computed in f64, as an element of T.
template <typename T>
T rounded(double value) {
  return store<T>(static_cast<Compute<T>>(value));
}
template <typename T>
double number(T x) {
  return static_cast<double>(load(x));
}

/// Channels of which filter elements are summed together.
constexpr int64_t kTogether = 16;

/// The gradient of a convolution's filter.
struct FilterGradient {
  Spatial s;
  int64_t batch, in, out, groups;

  static absl::StatusOr<FilterGradient> make(const Instruction& instruction) {
    const Dims& in = instruction.inputs[0].desc.dims;
    const Dims& gradient = instruction.inputs[1].desc.dims;
    GR_RETURN_IF_ERROR(checkSpatialRank(instruction, gradient));
    GR_ASSIGN_OR_RETURN(Dims kernel, attribute<Dims>(instruction, "kernel"));
    GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
    if (groups < 1 || gradient[0] != in[0] || in[1] % groups != 0 || gradient[1] % groups != 0) {
      return invalidInstruction(instruction, "the shapes of input and gradient do not fit");
    }
    Dims filter = {gradient[1], in[1] / groups};
    filter.insert(filter.end(), kernel.begin(), kernel.end());
    if (instruction.outputs[0].desc.dims != filter) {
      return invalidInstruction(instruction, "the result has not the shape of the filter");
    }
    GR_ASSIGN_OR_RETURN(Window window,
                        windowOf(instruction, absl::MakeConstSpan(in).subspan(2), kernel,
                                 absl::MakeConstSpan(gradient).subspan(2), /*ceilMode=*/true));
    return FilterGradient{spatialOf(in, gradient, std::move(window)), in[0], in[1], gradient[1],
                          groups};
  }

  /// Element `k` of the filter between output channel `o` and `count` channels from `first` on.
  template <typename T>
  void sum(const T* x, const T* dy, int64_t o, int64_t first, int64_t count, int64_t k,
           double* sums) const {
    std::fill_n(sums, count, 0.0);
    Position tap = unflatten(k, s.window.kernel, s.rank);
    for (int64_t r = 0; r < s.outCount; ++r) {
      int64_t from = covered(s, unflatten(r, s.out, s.rank), tap);
      for (int64_t n = 0; from >= 0 && n < batch; ++n) {
        double factor = number(dy[(n * out + o) * s.outCount + r]);
        for (int64_t c = 0; c < count; ++c) {
          sums[c] += factor * number(x[(n * in + first + c) * s.inCount + from]);
        }
      }
    }
  }

  template <typename T>
  void run(const T* x, const T* dy, T* filter) const {
    int64_t inGroup = in / groups;
    parallelFor(out * s.kernelCount, batch * s.outCount * inGroup, [&](int64_t item) {
      int64_t o = item / s.kernelCount;
      int64_t k = item % s.kernelCount;
      int64_t group = o / (out / groups);
      std::array<double, kTogether> sums;
      for (int64_t first = 0; first < inGroup; first += kTogether) {
        int64_t count = std::min(kTogether, inGroup - first);
        sum(x, dy, o, group * inGroup + first, count, k, sums.data());
        for (int64_t c = 0; c < count; ++c) {
          filter[(o * inGroup + first + c) * s.kernelCount + k] =
              rounded<T>(sums[static_cast<size_t>(c)]);
        }
      }
    });
  }
};

KernelOr createConvBackwardFilter(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(FilterGradient gradient, FilterGradient::make(instruction));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, gradient = std::move(gradient), x = instruction.inputs[0],
                       dy = instruction.inputs[1],
                       filter = instruction.outputs[0]](void* const* buffers) {
      gradient.run(operandOf<T>(buffers, x), operandOf<T>(buffers, dy),
                   resultOf<T>(buffers, filter));
      return 0;
    });
  });
}

/// The window of a pool whose input has `in` and whose gradient has `gradient` as dims.
absl::StatusOr<Spatial> poolSpatial(const Instruction& instruction, const Dims& in,
                                    const Dims& gradient) {
  GR_RETURN_IF_ERROR(checkSpatialRank(instruction, gradient));
  GR_ASSIGN_OR_RETURN(Dims kernel, attribute<Dims>(instruction, "kernel"));
  if (instruction.outputs[0].desc.dims != in || in.size() != gradient.size() ||
      in[0] != gradient[0] || in[1] != gradient[1]) {
    return invalidInstruction(instruction, "the shapes of input, gradient and result do not fit");
  }
  GR_ASSIGN_OR_RETURN(Window window,
                      windowOf(instruction, absl::MakeConstSpan(in).subspan(2), kernel,
                               absl::MakeConstSpan(gradient).subspan(2), /*ceilMode=*/true));
  return spatialOf(in, gradient, std::move(window));
}

/// Elements of the window at `o` that a mean divides by.
int64_t divisorAt(const Spatial& s, const Position& o, bool countPadding) {
  if (countPadding) {
    return countPadded(s, o);
  }
  int64_t count = 0;
  for (int64_t k = 0; k < s.kernelCount; ++k) {
    count += covered(s, o, unflatten(k, s.window.kernel, s.rank)) >= 0 ? 1 : 0;
  }
  return count;
}

/// The gradient of a pool's input: each element is the sum of `shareOf(plane, window, element)`
/// over the windows that it is in.
template <typename T, typename ShareOf>
KernelOr makePoolBackward(const Instruction& instruction, Spatial s, ShareOf shareOf) {
  int64_t planes = countOf(instruction.outputs[0].desc.dims) / std::max<int64_t>(s.inCount, 1);
  return makeKernel([=, s = std::move(s), dx = instruction.outputs[0]](void* const* buffers) {
    parallelFor(planes, s.inCount * s.kernelCount * s.kernelCount, [&](int64_t plane) {
      T* to = resultOf<T>(buffers, dx) + plane * s.inCount;
      for (int64_t i = 0; i < s.inCount; ++i) {
        Position at = unflatten(i, s.in, s.rank);
        double sum = 0;
        for (int64_t k = 0; k < s.kernelCount; ++k) {
          int64_t window = windowOver(s, s.out, at, unflatten(k, s.window.kernel, s.rank));
          sum += window >= 0 ? shareOf(buffers, s, plane, window, i) : 0;
        }
        to[i] = rounded<T>(sum);
      }
    });
    return 0;
  });
}

KernelOr createMaxPoolBackward(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(Spatial s, poolSpatial(instruction, instruction.inputs[0].desc.dims,
                                             instruction.inputs[1].desc.dims));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makePoolBackward<T>(
        instruction, std::move(s),
        [x = instruction.inputs[0], dy = instruction.inputs[1]](
            void* const* buffers, const Spatial& s, int64_t plane, int64_t window, int64_t i) {
          const T* from = operandOf<T>(buffers, x) + plane * s.inCount;
          bool isMax = offsetOfMax(s, from, unflatten(window, s.out, s.rank)) == i;
          return isMax ? number(operandOf<T>(buffers, dy)[plane * s.outCount + window]) : 0;
        });
  });
}

KernelOr createAvgPoolBackward(const Instruction& instruction) {
  const Dims& gradient = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims in, attribute<Dims>(instruction, "dims"));
  GR_ASSIGN_OR_RETURN(bool countPadding, attributeOr(instruction, "count_include_pad", false));
  if (gradient.size() >= 2) {
    in.insert(in.begin(), gradient.begin(), gradient.begin() + 2);
  }
  GR_ASSIGN_OR_RETURN(Spatial s, poolSpatial(instruction, in, gradient));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makePoolBackward<T>(
        instruction, std::move(s),
        [countPadding, dy = instruction.inputs[0]](void* const* buffers, const Spatial& s,
                                                   int64_t plane, int64_t window, int64_t) {
          int64_t divisor = divisorAt(s, unflatten(window, s.out, s.rank), countPadding);
          return number(operandOf<T>(buffers, dy)[plane * s.outCount + window]) /
                 static_cast<double>(divisor);
        });
  });
}

template <typename T>
void softmaxBackward(const T* y, const T* dy, int64_t count, int64_t stride, bool log, T* dx) {
  double sum = 0;
  for (int64_t i = 0; i < count * stride; i += stride) {
    sum += log ? number(dy[i]) : number(dy[i]) * number(y[i]);
  }
  for (int64_t i = 0; i < count * stride; i += stride) {
    dx[i] = rounded<T>(log ? number(dy[i]) - std::exp(number(y[i])) * sum
                           : number(y[i]) * (number(dy[i]) - sum));
  }
}

KernelOr createSoftmaxBackward(const Instruction& instruction) {
  const Dims& given = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t axis, attributeOr<int64_t>(instruction, "axis", -1));
  GR_ASSIGN_OR_RETURN(bool log, attributeOr(instruction, "log", false));
  // A scalar is one element along its only axis.
  Dims dims = given.empty() ? Dims{1} : given;
  GR_ASSIGN_OR_RETURN(axis, normalizeAxis(instruction, axis, dims.size()));
  if (instruction.inputs[1].desc.dims != given || instruction.outputs[0].desc.dims != given) {
    return invalidInstruction(instruction, "operands and result have different shapes");
  }
  Lines lines(dims, axis);
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, y = instruction.inputs[0], dy = instruction.inputs[1],
                       dx = instruction.outputs[0]](void* const* buffers) {
      parallelFor(lines.count(), lines.dim, [&](int64_t line) {
        int64_t start = lines.start(line);
        softmaxBackward(operandOf<T>(buffers, y) + start, operandOf<T>(buffers, dy) + start,
                        lines.dim, lines.inner, log, resultOf<T>(buffers, dx) + start);
      });
      return 0;
    });
  });
}

/// Elements that are normalised together: `repeats` runs of `run` elements, `stride` apart.
struct NormalSet {
  int64_t repeats, run, stride;

  int64_t count() const { return repeats * run; }
  template <typename Body>
  void forEach(const Body& body) const {
    for (int64_t n = 0; n < repeats; ++n) {
      for (int64_t i = 0; i < run; ++i) {
        body(n * stride + i);
      }
    }
  }
};

/// Mean and 1 / sqrt(variance + epsilon).
struct Statistics {
  double mean, inverse;
};

template <typename T>
Statistics statisticsOf(const T* x, int64_t count, double epsilon) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += number(x[i]);
  }
  double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    squares += (number(x[i]) - mean) * (number(x[i]) - mean);
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

/// The gradient of a set's elements by that of the normalised ones, which `gradientAt` gives.
template <typename T, typename GradientAt>
void normalizeBackward(const T* x, const NormalSet& set, Statistics statistics,
                       const GradientAt& gradientAt, T* dx) {
  double sum = 0, product = 0;
  auto normal = [&](int64_t i) { return (number(x[i]) - statistics.mean) * statistics.inverse; };
  set.forEach([&](int64_t i) {
    sum += gradientAt(i);
    product += gradientAt(i) * normal(i);
  });
  auto count = static_cast<double>(set.count());
  set.forEach([&](int64_t i) {
    dx[i] = rounded<T>(statistics.inverse *
                       (gradientAt(i) - sum / count - normal(i) * (product / count)));
  });
}

KernelOr createLayerNormBackward(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t axis, attributeOr<int64_t>(instruction, "axis", -1));
  GR_ASSIGN_OR_RETURN(axis, normalizeAxis(instruction, axis, in.size()));
  GR_ASSIGN_OR_RETURN(double epsilon, attributeOr(instruction, "epsilon", 1e-5));
  Dims tail(in.begin() + axis, in.end());
  if (instruction.inputs[1].desc.dims != tail || instruction.inputs[2].desc.dims != in ||
      instruction.outputs[0].desc.dims != in || instruction.outputs[1].desc.dims != tail ||
      instruction.outputs[2].desc.dims != tail) {
    return invalidInstruction(instruction, "the shapes of operands and results do not fit");
  }
  int64_t width = countOf(tail);
  int64_t rows = countOf(absl::MakeConstSpan(in).subspan(0, static_cast<size_t>(axis)));
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel(
        [=, inputs = instruction.inputs, outputs = instruction.outputs](void* const* buffers) {
          const T* x = operandOf<T>(buffers, inputs[0]);
          const T* scale = operandOf<T>(buffers, inputs[1]);
          const T* dy = operandOf<T>(buffers, inputs[2]);
          T* dx = resultOf<T>(buffers, outputs[0]);
          parallelFor(width == 0 ? 0 : rows, width, [&](int64_t r) {
            int64_t at = r * width;
            normalizeBackward(
                x + at, NormalSet{1, width, width}, statisticsOf(x + at, width, epsilon),
                [&](int64_t i) { return number(dy[at + i]) * number(scale[i]); }, dx + at);
          });
          T* dScale = resultOf<T>(buffers, outputs[1]);
          T* dBias = resultOf<T>(buffers, outputs[2]);
          // Each part of the columns computes the statistics of all rows anew: there is no memory
          // for them.
          constexpr int64_t kColumns = 512;
          parallelFor((width + kColumns - 1) / kColumns, rows * width, [&](int64_t part) {
            std::array<double, kColumns> scaleSums = {}, biasSums = {};
            int64_t first = part * kColumns;
            int64_t count = std::min(kColumns, width - first);
            for (int64_t r = 0; r < rows; ++r) {
              Statistics row = statisticsOf(x + r * width, width, epsilon);
              for (int64_t i = 0; i < count; ++i) {
                int64_t at = r * width + first + i;
                scaleSums[static_cast<size_t>(i)] +=
                    number(dy[at]) * (number(x[at]) - row.mean) * row.inverse;
                biasSums[static_cast<size_t>(i)] += number(dy[at]);
              }
            }
            for (int64_t i = 0; i < count; ++i) {
              dScale[first + i] = rounded<T>(scaleSums[static_cast<size_t>(i)]);
              dBias[first + i] = rounded<T>(biasSums[static_cast<size_t>(i)]);
            }
          });
          return 0;
        });
  });
}

KernelOr createBatchNormBackward(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(double epsilon, attributeOr(instruction, "epsilon", 1e-5));
  bool fits = in.size() >= 2 && instruction.inputs[4].desc.dims == in &&
              instruction.outputs[0].desc.dims == in;
  for (const Argument* vector :
       {&instruction.inputs[1], &instruction.inputs[2], &instruction.inputs[3],
        &instruction.outputs[1], &instruction.outputs[2]}) {
    fits = fits && vector->desc.dims == Dims{in[1]};
  }
  if (!fits) {
    return invalidInstruction(instruction, "the shapes of operands and results do not fit");
  }
  int64_t channels = in[1];
  int64_t plane = countOf(absl::MakeConstSpan(in).subspan(2));
  NormalSet set{in[0], plane, channels * plane};
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel(
        [=, inputs = instruction.inputs, outputs = instruction.outputs](void* const* buffers) {
          parallelFor(channels, set.count(), [&](int64_t c) {
            auto vector = [&](size_t i) { return number(operandOf<T>(buffers, inputs[i])[c]); };
            const T* x = operandOf<T>(buffers, inputs[0]) + c * plane;
            const T* dy = operandOf<T>(buffers, inputs[4]) + c * plane;
            Statistics statistics{vector(2), 1 / std::sqrt(vector(3) + epsilon)};
            double scale = vector(1);
            normalizeBackward(
                x, set, statistics, [&](int64_t i) { return number(dy[i]) * scale; },
                resultOf<T>(buffers, outputs[0]) + c * plane);
            double scaleSum = 0, biasSum = 0;
            set.forEach([&](int64_t i) {
              scaleSum += number(dy[i]) * (number(x[i]) - statistics.mean) * statistics.inverse;
              biasSum += number(dy[i]);
            });
            resultOf<T>(buffers, outputs[1])[c] = rounded<T>(scaleSum);
            resultOf<T>(buffers, outputs[2])[c] = rounded<T>(biasSum);
          });
          return 0;
        });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.conv_backward_filter", TypeRule::kFloat, createConvBackwardFilter, 2},
    {"gr.max_pool_backward", TypeRule::kFloat, createMaxPoolBackward, 2},
    {"gr.avg_pool_backward", TypeRule::kFloat, createAvgPoolBackward},
    {"gr.softmax_backward", TypeRule::kFloat, createSoftmaxBackward, 2},
    {"gr.layer_norm_backward", TypeRule::kFloat, createLayerNormBackward, 3, 3, 3},
    {"gr.batch_norm_backward", TypeRule::kFloat, createBatchNormBackward, 5, 5, 3},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceBackward() { return kEntries; }

}  // namespace graphrun::devices::cpu
