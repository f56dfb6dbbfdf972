#include "devices/cpu/kernels/instance_norm_kernel.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.instance_norm: planes are normalised ", what));
}

/// So many elements are summed in f32; such sums are added in f64.
constexpr int64_t kPart = 512;
/// Channels that are treated together where they lie last.
constexpr int64_t kWidth = 64;

struct Statistics {
  double mean, inverse;  ///< inverse: 1 / sqrt(variance + epsilon)
};

/// Returns the sum of `each(x)` over a plane whose elements follow each other.
template <typename Each>
double sumPlane(const float* x, int64_t count, const Each& each) {
  double whole = 0;
  for (int64_t begin = 0; begin < count; begin += kPart) {
    int64_t end = std::min(begin + kPart, count);
    float part = 0;
#pragma omp simd reduction(+ : part)
    for (int64_t i = begin; i < end; ++i) {
      part += each(x[i]);
    }
    whole += static_cast<double>(part);
  }
  return whole;
}

struct Plan {
  int64_t images, channels, plane;
  double epsilon;

  /// Scale and shift of one channel from its statistics.
  std::pair<float, float> affine(Statistics s, float scale, float bias) const {
    double factor = static_cast<double>(scale) * s.inverse;
    return {static_cast<float>(factor), static_cast<float>(bias - s.mean * factor)};
  }

  void runPlane(const float* x, float scale, float bias, float* y) const {
    auto count = static_cast<double>(plane);
    double mean = sumPlane(x, plane, [](float v) { return v; }) / count;
    auto center = static_cast<float>(mean);
    double squares = sumPlane(x, plane, [=](float v) { return (v - center) * (v - center); });
    float a = 0;
    float b = 0;
    std::tie(a, b) = affine({mean, 1 / std::sqrt(squares / count + epsilon)}, scale, bias);
#pragma omp simd
    for (int64_t i = 0; i < plane; ++i) {
      y[i] = x[i] * a + b;
    }
  }

  /// Sums over the plane, for `width` channels that lie last, of (x - center)^power.
  void sumChannels(const float* x, int64_t width, const float* center, bool squared,
                   double* sums) const {
    std::array<float, kWidth> part;
    std::fill_n(sums, width, 0.0);
    for (int64_t begin = 0; begin < plane; begin += kPart) {
      part.fill(0);
      for (int64_t i = begin; i < std::min(begin + kPart, plane); ++i) {
        const float* row = x + i * channels;
#pragma omp simd
        for (int64_t c = 0; c < width; ++c) {
          float v = row[c] - center[c];
          part[static_cast<size_t>(c)] += squared ? v * v : v;
        }
      }
      for (int64_t c = 0; c < width; ++c) {
        sums[c] += static_cast<double>(part[static_cast<size_t>(c)]);
      }
    }
  }

  void runChannels(const float* x, int64_t width, const float* scale, const float* bias,
                   float* y) const {
    std::array<float, kWidth> center = {}, a, b;
    std::array<double, kWidth> mean, squares;
    auto count = static_cast<double>(plane);
    sumChannels(x, width, center.data(), false, mean.data());
    for (size_t c = 0; c < static_cast<size_t>(width); ++c) {
      mean[c] /= count;
      center[c] = static_cast<float>(mean[c]);
    }
    sumChannels(x, width, center.data(), true, squares.data());
    for (size_t c = 0; c < static_cast<size_t>(width); ++c) {
      double inverse = 1 / std::sqrt(squares[c] / count + epsilon);
      std::tie(a[c], b[c]) = affine({mean[c], inverse}, scale[c], bias[c]);
    }
    for (int64_t i = 0; i < plane; ++i) {
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) {
        auto at = static_cast<size_t>(c);
        y[i * channels + c] = x[i * channels + c] * a[at] + b[at];
      }
    }
  }

  void run(bool channelsLast, const float* x, const float* scale, const float* bias,
           float* y) const {
    if (!channelsLast) {
      parallelFor(images * channels, 4 * plane, [&](int64_t p) {
        runWide([&] {
          runPlane(x + p * plane, scale[p % channels], bias[p % channels], y + p * plane);
        });
      });
      return;
    }
    int64_t blocks = (channels + kWidth - 1) / kWidth;
    parallelFor(images * blocks, 4 * plane * std::min(channels, kWidth), [&](int64_t unit) {
      int64_t first = unit % blocks * kWidth;
      int64_t at = unit / blocks * channels * plane + first;
      runWide([&] {
        runChannels(x + at, std::min(kWidth, channels - first), scale + first, bias + first,
                    y + at);
      });
    });
  }
};

absl::Status checkInstruction(const Instruction& instruction) {
  bool fits = instruction.inputs.size() == 3 && instruction.outputs.size() == 1 &&
              instruction.postOps.empty() && instruction.inputs[0].desc.dims.size() >= 3 &&
              instruction.outputs[0].desc.dims == instruction.inputs[0].desc.dims &&
              countOf(instruction.inputs[0].desc.dims) > 0;
  auto isFloat = [](const Argument& a) { return a.desc.type == ElementType::kF32; };
  if (!fits || !isFloat(instruction.outputs[0]) ||
      !std::all_of(instruction.inputs.begin(), instruction.inputs.end(), isFloat)) {
    return declined("if they are of f32, and nothing is fused behind");
  }
  for (size_t i : {1, 2}) {
    const TensorDesc& channelwise = instruction.inputs[i].desc;
    if (channelwise.dims != Dims{instruction.inputs[0].desc.dims[1]} || !isDense(channelwise)) {
      return declined("with one scale and bias a channel");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> isChannelsLast(const TensorDesc& desc) {
  if (isDense(desc)) {
    return false;
  }
  GR_ASSIGN_OR_RETURN(TensorDesc last,
                      stridedDesc(desc.type, desc.dims, channelsLastStrides(desc.dims)));
  return sameLayout(last, desc) ? absl::StatusOr<bool>(true)
                                : declined("dense or with the channels last");
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseInstanceNorm(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkInstruction(instruction));
  LayoutChoice choice = givenLayouts(instruction);
  GR_RETURN_IF_ERROR(isChannelsLast(choice.inputs[0]).status());
  if (!mayLieAs(instruction, choice.inputs[0])) {
    return declined("where operand and result lie alike");
  }
  choice.outputs = {choice.inputs[0]};
  choice.implementation = "planes";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createInstanceNormRows(const Instruction& instruction,
                                                               KernelContext&) {
  GR_RETURN_IF_ERROR(chooseInstanceNorm(instruction).status());
  GR_ASSIGN_OR_RETURN(bool last, isChannelsLast(instruction.inputs[0].desc));
  GR_ASSIGN_OR_RETURN(double epsilon, attributeOr(instruction, "epsilon", 1e-5));
  const Dims& in = instruction.inputs[0].desc.dims;
  Plan plan{in[0], in[1], countOf(absl::MakeConstSpan(in).subspan(2)), epsilon};
  return makeKernel([=, x = instruction.inputs[0].buffer, scale = instruction.inputs[1].buffer,
                     bias = instruction.inputs[2].buffer,
                     y = instruction.outputs[0].buffer](void* const* buffers) {
    auto input = [&](uint32_t buffer) { return static_cast<const float*>(buffers[buffer]); };
    plan.run(last, input(x), input(scale), input(bias), static_cast<float*>(buffers[y]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
