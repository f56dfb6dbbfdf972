// Normalisations: of channels, of rows, across channels, softmax.
#include <algorithm>

#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {
namespace {

/// Input and result have one shape; operands from 1 on have one value a channel (dim 1).
absl::Status checkChannelwise(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  bool fits = in.size() >= 2 && in == instruction.outputs[0].desc.dims;
  for (size_t i = 1; fits && i < instruction.inputs.size(); ++i) {
    fits = instruction.inputs[i].desc.dims == Dims{in[1]};
  }
  return fits ? absl::OkStatus()
              : invalidInstruction(instruction,
                                   "the shapes of input, parameters and result do not fit");
}

/// Buffers of an instruction, inputs then output.
std::vector<uint32_t> buffersOf(const Instruction& instruction) {
  std::vector<uint32_t> list;
  list.reserve(instruction.inputs.size());
  for (const Argument& input : instruction.inputs) {
    list.push_back(input.buffer);
  }
  list.push_back(instruction.outputs[0].buffer);
  return list;
}

template <typename T>
Sum<T> valueAt(void* const* buffers, uint32_t buffer, int64_t i) {
  return load(static_cast<const T*>(buffers[buffer])[i]);
}

/// The elements of one channel of one image, and the parameters of the channel.
template <typename T>
struct Plane {
  const T* x;
  int64_t size;
  int64_t channel;
  void* const* buffers;
  const std::vector<uint32_t>& list;  ///< of the instruction

  Sum<T> parameter(size_t operand) const { return valueAt<T>(buffers, list[operand], channel); }
};

/// y = x * factor + shift, where `lineOf(plane, epsilon)` gives the two for each plane.
template <typename LineOf>
KernelOr createChannelwise(const Instruction& instruction, LineOf lineOf) {
  GR_RETURN_IF_ERROR(checkChannelwise(instruction));
  GR_ASSIGN_OR_RETURN(double epsilon, attributeOr(instruction, "epsilon", 1e-5));
  const Dims& in = instruction.inputs[0].desc.dims;
  int64_t channels = in[1];
  int64_t size = countOf(absl::MakeConstSpan(in).subspan(2));
  int64_t planes = in[0] * channels;
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, list = buffersOf(instruction)](void* const* buffers) {
      parallelFor(planes, size, [&](int64_t p) {
        const T* x = static_cast<const T*>(buffers[list[0]]) + p * size;
        T* y = static_cast<T*>(buffers[list.back()]) + p * size;
        auto [factor, shift] = lineOf(Plane<T>{x, size, p % channels, buffers, list}, epsilon);
        for (int64_t i = 0; i < size; ++i) {
          y[i] = store<T>(static_cast<Compute<T>>(load(x[i]) * factor + shift));
        }
      });
      return 0;
    });
  });
}

KernelOr createBatchNorm(const Instruction& instruction) {
  return createChannelwise(instruction, []<typename T>(const Plane<T>& plane, double epsilon) {
    Sum<T> factor = plane.parameter(1) / std::sqrt(plane.parameter(4) + epsilon);
    return std::pair<Sum<T>, Sum<T>>(factor, plane.parameter(2) - plane.parameter(3) * factor);
  });
}

/// Mean and 1 / sqrt(variance + epsilon) of `count` elements.
template <typename T>
std::pair<double, double> statistics(const T* x, int64_t count, double epsilon) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += static_cast<double>(load(x[i]));
  }
  double mean = sum / static_cast<double>(count);
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    double difference = static_cast<double>(load(x[i])) - mean;
    squares += difference * difference;
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

KernelOr createInstanceNorm(const Instruction& instruction) {
  return createChannelwise(instruction, []<typename T>(const Plane<T>& plane, double epsilon) {
    auto [mean, inverse] = statistics(plane.x, plane.size, epsilon);
    double factor = plane.parameter(1) * inverse;
    return std::pair<double, double>(factor, plane.parameter(2) - mean * factor);
  });
}

/// Mean and variance of the channel at `x`: of `images` planes, `stride` apart.
template <typename T>
std::pair<double, double> channelMoments(const T* x, int64_t images, int64_t plane,
                                         int64_t stride) {
  auto sumOf = [&](auto term) {
    double sum = 0;
    for (int64_t n = 0; n < images; ++n) {
      for (int64_t i = 0; i < plane; ++i) {
        sum += term(static_cast<double>(load(x[n * stride + i])));
      }
    }
    return sum;
  };
  auto count = static_cast<double>(images * plane);
  double mean = sumOf([](double v) { return v; }) / count;
  return {mean, sumOf([=](double v) { return (v - mean) * (v - mean); }) / count};
}

KernelOr createBatchNormTraining(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkChannelwise(instruction));
  GR_ASSIGN_OR_RETURN(double epsilon, attributeOr(instruction, "epsilon", 1e-5));
  const Dims& in = instruction.inputs[0].desc.dims;
  int64_t channels = in[1];
  int64_t plane = countOf(absl::MakeConstSpan(in).subspan(2));
  if (instruction.outputs[1].desc.dims != Dims{channels} ||
      instruction.outputs[2].desc.dims != Dims{channels}) {
    return invalidInstruction(instruction, "mean and variance have not an element a channel");
  }
  std::vector<uint32_t> list = buffersOf(instruction);
  list.push_back(instruction.outputs[1].buffer);
  list.push_back(instruction.outputs[2].buffer);
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, images = in[0], b = std::move(list)](void* const* buffers) {
      parallelFor(channels, images * plane, [&](int64_t c) {
        const T* x = static_cast<const T*>(buffers[b[0]]) + c * plane;
        T* y = static_cast<T*>(buffers[b[3]]) + c * plane;
        auto [mean, variance] = channelMoments(x, images, plane, channels * plane);
        double factor = valueAt<T>(buffers, b[1], c) / std::sqrt(variance + epsilon);
        double bias = valueAt<T>(buffers, b[2], c);
        for (int64_t n = 0; n < images; ++n) {
          for (int64_t i = n * channels * plane; i < n * channels * plane + plane; ++i) {
            double value = (static_cast<double>(load(x[i])) - mean) * factor + bias;
            y[i] = store<T>(static_cast<Compute<T>>(value));
          }
        }
        static_cast<T*>(buffers[b[4]])[c] = store<T>(static_cast<Compute<T>>(mean));
        static_cast<T*>(buffers[b[5]])[c] = store<T>(static_cast<Compute<T>>(variance));
      });
      return 0;
    });
  });
}

KernelOr createLayerNorm(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t given, attributeOr<int64_t>(instruction, "axis", -1));
  GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(instruction, given, in.size()));
  GR_ASSIGN_OR_RETURN(double epsilon, attributeOr(instruction, "epsilon", 1e-5));
  if (in != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction, "input and result have different shapes");
  }
  Dims tail(in.begin() + axis, in.end());
  std::vector<Dims> parameters;
  for (size_t i = 1; i < instruction.inputs.size(); ++i) {
    parameters.push_back(instruction.inputs[i].desc.dims);
  }
  GR_ASSIGN_OR_RETURN(Broadcast plan, Broadcast::make(instruction, tail, parameters));
  int64_t row = countOf(tail);
  int64_t rows = row == 0 ? 0 : countOf(in) / row;
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, b = buffersOf(instruction)](void* const* buffers) {
      bool hasBias = b.size() == 4;
      parallelFor(rows, row, [&](int64_t r) {
        const T* x = static_cast<const T*>(buffers[b[0]]) + r * row;
        T* y = static_cast<T*>(buffers[b.back()]) + r * row;
        auto [mean, inverse] = statistics(x, row, epsilon);
        for (int64_t i = 0; i < row; ++i) {
          int64_t outer = i / plan.inner();
          int64_t inner = i % plan.inner();
          double scale =
              valueAt<T>(buffers, b[1], plan.offset(outer, 0) + inner * plan.innerStride(0));
          double bias = hasBias ? valueAt<T>(buffers, b[2],
                                             plan.offset(outer, 1) + inner * plan.innerStride(1))
                                : 0;
          double normal = (static_cast<double>(load(x[i])) - mean) * inverse;
          y[i] = store<T>(static_cast<Compute<T>>(normal * scale + bias));
        }
      });
      return 0;
    });
  });
}

KernelOr createLrn(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkChannelwise(instruction));
  GR_ASSIGN_OR_RETURN(int64_t size, attribute<int64_t>(instruction, "size"));
  GR_ASSIGN_OR_RETURN(double alpha, attributeOr(instruction, "alpha", 1e-4));
  GR_ASSIGN_OR_RETURN(double beta, attributeOr(instruction, "beta", 0.75));
  GR_ASSIGN_OR_RETURN(double bias, attributeOr(instruction, "bias", 1.0));
  const Dims& in = instruction.inputs[0].desc.dims;
  int64_t channels = in[1];
  if (size < 1 || size > (int64_t{1} << 31)) {
    return invalidInstruction(instruction, "size must be at least 1");
  }
  int64_t plane = countOf(absl::MakeConstSpan(in).subspan(2));
  int64_t planes = in[0] * channels;
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=, b = buffersOf(instruction)](void* const* buffers) {
      parallelFor(planes, plane * size, [&](int64_t p) {
        int64_t c = p % channels;
        // An even size reaches further to the end, as ONNX defines.
        int64_t first = std::max<int64_t>(0, c - (size - 1) / 2);
        int64_t last = std::min(channels - 1, c + size / 2);
        const T* x = static_cast<const T*>(buffers[b[0]]) + p * plane;
        T* y = static_cast<T*>(buffers[b[1]]) + p * plane;
        for (int64_t i = 0; i < plane; ++i) {
          double squares = 0;
          for (int64_t other = first; other <= last; ++other) {
            auto v = static_cast<double>(load(x[(other - c) * plane + i]));
            squares += v * v;
          }
          double norm = std::pow(bias + alpha / static_cast<double>(size) * squares, beta);
          y[i] = store<T>(static_cast<Compute<T>>(load(x[i]) / norm));
        }
      });
      return 0;
    });
  });
}

/// As rounded to T when that has 16 bits, as each step of ONNX's body of Softmax is: a model gives
/// the same whether or not the body stands in its place.
template <typename T>
double stepOf(double value) {
  return sizeof(T) == 2 ? static_cast<double>(load(store<T>(static_cast<Compute<T>>(value))))
                        : value;
}

/// Softmax of `count` elements that lie `stride` apart.
template <typename T>
void softmaxRow(const T* x, T* y, int64_t count, int64_t stride, bool log) {
  double highest = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < count; ++i) {
    highest = std::max(highest, static_cast<double>(load(x[i * stride])));
  }
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += stepOf<T>(std::exp(stepOf<T>(static_cast<double>(load(x[i * stride])) - highest)));
  }
  sum = stepOf<T>(sum);
  double logSum = stepOf<T>(std::log(sum));
  for (int64_t i = 0; i < count; ++i) {
    double shifted = stepOf<T>(static_cast<double>(load(x[i * stride])) - highest);
    double value = log ? shifted - logSum : stepOf<T>(std::exp(shifted)) / sum;
    y[i * stride] = store<T>(static_cast<Compute<T>>(value));
  }
}

KernelOr createSoftmax(const Instruction& instruction) {
  const Dims& in = instruction.inputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(int64_t given, attributeOr<int64_t>(instruction, "axis", -1));
  // A scalar is one element along its only axis.
  Dims dims = in.empty() ? Dims{1} : in;
  GR_ASSIGN_OR_RETURN(int64_t axis, normalizeAxis(instruction, given, dims.size()));
  GR_ASSIGN_OR_RETURN(bool log, attributeOr(instruction, "log", false));
  if (in != instruction.outputs[0].desc.dims) {
    return invalidInstruction(instruction, "input and result have different shapes");
  }
  int64_t count = dims[static_cast<size_t>(axis)];
  int64_t stride = countOf(absl::MakeConstSpan(dims).subspan(static_cast<size_t>(axis) + 1));
  int64_t rows = count == 0 ? 0 : countOf(dims) / count;
  uint32_t from = instruction.inputs[0].buffer;
  uint32_t to = instruction.outputs[0].buffer;
  return dispatchFloat(instruction.outputs[0].desc.type, [&]<typename T>() -> KernelOr {
    return makeKernel([=](void* const* buffers) {
      parallelFor(rows, count, [&](int64_t row) {
        int64_t start = row / stride * count * stride + row % stride;
        softmaxRow(static_cast<const T*>(buffers[from]) + start,
                   static_cast<T*>(buffers[to]) + start, count, stride, log);
      });
      return 0;
    });
  });
}

constexpr ReferenceEntry kEntries[] = {
    {"gr.batch_norm", TypeRule::kFloat, createBatchNorm, 5},
    {"gr.batch_norm_training", TypeRule::kFloat, createBatchNormTraining, 3, 3, 3},
    {"gr.instance_norm", TypeRule::kFloat, createInstanceNorm, 3},
    {"gr.layer_norm", TypeRule::kFloat, createLayerNorm, 2, 3},
    {"gr.lrn", TypeRule::kFloat, createLrn},
    {"gr.softmax", TypeRule::kFloat, createSoftmax},
};

}  // namespace

absl::Span<const ReferenceEntry> referenceNorm() { return kEntries; }

}  // namespace graphrun::devices::cpu
