#include "devices/cpu/backward/layer_norm_backward_kernel.h"

#include <algorithm>
#include <cmath>

#include "devices/cpu/backward/channel_sums.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// Rows are cut into at most so many parts, each of which has sums of the columns of its own.
constexpr int64_t kMostParts = 32;
/// A part has at least so many elements.
constexpr int64_t kLeastPart = 1 << 14;

struct Row {
  const float* x;
  const float* dy;
  const float* scale;
  float* dx;
};

/// Two sums over a row: `term(first, second, at, lanes)` adds what is of `lanes` elements there.
template <int kBits, typename Term>
[[gnu::always_inline]] inline std::pair<double, double> sumsOf(int64_t width, const Term& term) {
  LaneSums sums;
  sums.clear();
  addRows<kBits>(width / kVectorLanes, kVectorLanes, sums,
                 [&](auto& first, auto& second, int64_t row, int64_t lane, auto lanes)
                     __attribute__((always_inline)) {
                       term(first, second, row * kVectorLanes + lane, lanes);
                     });
  int64_t whole = width / kVectorLanes * kVectorLanes;
  addRows<kBits>(1, width - whole, sums,
                 [&](auto& first, auto& second, int64_t, int64_t lane, auto lanes)
                     __attribute__((always_inline)) { term(first, second, whole + lane, lanes); });
  std::pair<double, double> total = {0, 0};
  for (size_t i = 0; i < kVectorLanes; ++i) {
    total.first += sums.first[i];
    total.second += sums.second[i];
  }
  return total;
}

struct LayerNormBackward {
  int64_t rows, width;
  double epsilon;

  int64_t parts() const {
    return std::clamp<int64_t>(rows * width / kLeastPart, 1, std::min(rows, kMostParts));
  }
  uint64_t scratchBytes() const {
    return static_cast<uint64_t>(2 * parts() * width) * sizeof(double);
  }

  /// Adds to the sums of the columns, too.
  template <int kBits>
  [[gnu::always_inline]] void runRow(const Row& row, double* scaleSums, double* biasSums) const {
    const auto count = static_cast<double>(width);
    double shift = static_cast<double>(row.x[0]);
    shift = std::isfinite(shift) ? shift : 0;
    auto [sum, squares] = sumsOf<kBits>(width, [&](auto& first, auto& second, int64_t at,
                                                   auto lanes) __attribute__((always_inline)) {
      auto v = loadDoubles<lanes>(row.x + at) - shift;
      first += v;
      second += v * v;
    });
    const double mean = shift + sum / count;
    double variance = (squares - sum * (sum / count)) / count;
    variance = variance < 0 ? 0 : variance;
    const double inverse = 1 / std::sqrt(variance + epsilon);
    auto [scaled, product] = sumsOf<kBits>(width, [&](auto& first, auto& second, int64_t at,
                                                      auto lanes) __attribute__((always_inline)) {
      auto g = loadDoubles<lanes>(row.dy + at) * loadDoubles<lanes>(row.scale + at);
      first += g;
      second += g * (loadDoubles<lanes>(row.x + at) - mean);
    });
    const double slope = inverse * inverse * inverse * (product / count);
    const double offset = scaled / count;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) {
      auto g = static_cast<double>(row.dy[i]);
      double v = static_cast<double>(row.x[i]) - mean;
      double scaledGradient = g * static_cast<double>(row.scale[i]);
      row.dx[i] = static_cast<float>(inverse * (scaledGradient - offset) - v * slope);
      scaleSums[i] += g * (v * inverse);
      biasSums[i] += g;
    }
  }

  /// `scratch` has scratchBytes().
  void run(const Row& all, float* dScale, float* dBias, double* scratch) const {
    parallelFor(parts(), 4 * rows * width / parts(), [&](int64_t part) {
      double* sums = scratch + 2 * part * width;
      std::fill_n(sums, 2 * width, 0.0);
      runVectors([&](auto bits) {
        for (int64_t r = rows * part / parts(); r < rows * (part + 1) / parts(); ++r) {
          int64_t at = r * width;
          runRow<bits>({all.x + at, all.dy + at, all.scale, all.dx + at}, sums, sums + width);
        }
      });
    });
    parallelRanges(width, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double scale = 0, bias = 0;
        for (int64_t part = 0; part < parts(); ++part) {
          scale += scratch[2 * part * width + i];
          bias += scratch[(2 * part + 1) * width + i];
        }
        dScale[i] = static_cast<float>(scale);
        dBias[i] = static_cast<float>(bias);
      }
    });
  }
};

absl::StatusOr<LayerNormBackward> planOf(const Instruction& instruction) {
  auto isTaken = [](const Argument& a) {
    return a.desc.type == ElementType::kF32 && (a.desc.any || isDense(a.desc));
  };
  if (instruction.inputs.size() != 3 || instruction.outputs.size() != 3 ||
      !instruction.postOps.empty() || countOf(instruction.inputs[0].desc.dims) == 0 ||
      !std::all_of(instruction.inputs.begin(), instruction.inputs.end(), isTaken) ||
      !std::all_of(instruction.outputs.begin(), instruction.outputs.end(), isTaken)) {
    return absl::UnimplementedError(
        "gr.layer_norm_backward: takes dense tensors of f32 that are not empty");
  }
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
  return LayerNormBackward{countOf(in) / countOf(tail), countOf(tail), epsilon};
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseLayerNormBackward(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(LayerNormBackward plan, planOf(instruction));
  LayoutChoice choice = givenLayouts(instruction);
  for (const Argument& output : instruction.outputs) {
    choice.outputs.push_back(TensorDesc{output.desc.type, output.desc.dims, {}, false});
  }
  choice.scratchBytes = plan.scratchBytes();
  choice.implementation = "rows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createLayerNormBackward(const Instruction& instruction,
                                                                KernelContext&) {
  GR_ASSIGN_OR_RETURN(LayerNormBackward plan, planOf(instruction));
  GR_ASSIGN_OR_RETURN(uint32_t scratch, scratchBuffer(instruction, plan.scratchBytes()));
  return makeKernel([=, in = instruction.inputs, out = instruction.outputs](void* const* buffers) {
    auto operand = [&](size_t i) { return static_cast<const float*>(buffers[in[i].buffer]); };
    auto result = [&](size_t i) { return static_cast<float*>(buffers[out[i].buffer]); };
    plan.run({operand(0), operand(2), operand(1), result(0)}, result(1), result(2),
             static_cast<double*>(buffers[scratch]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
