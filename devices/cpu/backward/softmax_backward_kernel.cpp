#include "devices/cpu/backward/softmax_backward_kernel.h"

#include <algorithm>

#include "devices/cpu/backward/channel_sums.h"
#include "devices/cpu/base/dim_order.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/row_functions.h"
#include "devices/cpu/vectors/wide.h"

namespace graphrun::devices::cpu {
namespace {

/// Rows of one instruction. Short ones are worth a call together.
struct Rows {
  int64_t count, width;
  RowFunction exponential;  ///< of the logarithm's gradient; else none

  bool isLog() const { return exponential.run != nullptr; }

  /// The sum of the gradient, or of its products with the output.
  template <int kBits, bool kLog>
  [[gnu::always_inline]] double sumOf(const float* y, const float* dy) const {
    LaneSums sums;
    sums.clear();
    auto term = [&](auto& first, [[maybe_unused]] auto& second, int64_t row, int64_t lane,
                    auto lanes) __attribute__((always_inline)) {
      int64_t at = row * kVectorLanes + lane;
      auto g = loadDoubles<lanes>(dy + at);
      if constexpr (kLog) {
        first += g;
      } else {
        first += g * loadDoubles<lanes>(y + at);
      }
    };
    addRows<kBits>(width / kVectorLanes, kVectorLanes, sums, term);
    int64_t left = width % kVectorLanes;
    y += width - left;
    dy += width - left;
    addRows<kBits>(1, left, sums, term);
    double sum = 0;
    for (double each : sums.first) {
      sum += each;
    }
    return sum;
  }

  void runRow(const float* y, const float* dy, float* dx) const {
    if (isLog()) {
      exponential(y, dx, width);
    }
    runVectors([&](auto bits) {
      if (isLog()) {
        auto sum = static_cast<float>(sumOf<bits, true>(y, dy));
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
          dx[i] = dy[i] - dx[i] * sum;
        }
      } else {
        auto sum = static_cast<float>(sumOf<bits, false>(y, dy));
#pragma omp simd
        for (int64_t i = 0; i < width; ++i) {
          dx[i] = y[i] * (dy[i] - sum);
        }
      }
    });
  }

  void run(const float* y, const float* dy, float* dx) const {
    int64_t height = std::max<int64_t>(1, 4096 / width);
    parallelFor((count + height - 1) / height, 4 * height * width, [&](int64_t part) {
      for (int64_t r = part * height; r < std::min((part + 1) * height, count); ++r) {
        runRow(y + r * width, dy + r * width, dx + r * width);
      }
    });
  }
};

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.softmax_backward: rows are ", what));
}

/// How all tensors are to lie, dense with the axis last; Unimplemented where they cannot.
absl::StatusOr<TensorDesc> rowsOf(const Instruction& instruction, int64_t axis) {
  TensorDesc desc = instruction.inputs[0].desc;
  desc.any = false;
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, dimOrder(desc));
  auto found = std::find(order.begin(), order.end(), static_cast<size_t>(axis));
  if (found + 1 != order.end()) {
    if (!isDense(desc)) {
      return declined("along the axis whose elements follow each other");
    }
    std::rotate(found, found + 1, order.end());
    GR_ASSIGN_OR_RETURN(desc, inDimOrder(desc, order));
  }
  return desc;
}

/// The axis, or why the instruction is not taken.
absl::StatusOr<int64_t> axisOf(const Instruction& instruction) {
  auto isFloat = [](const Argument& a) { return a.desc.type == ElementType::kF32; };
  const Dims& dims = instruction.inputs[0].desc.dims;
  if (instruction.inputs.size() != 2 || instruction.outputs.size() != 1 ||
      !instruction.postOps.empty() || !isFloat(instruction.inputs[0]) ||
      !isFloat(instruction.inputs[1]) || !isFloat(instruction.outputs[0]) || dims.empty() ||
      countOf(dims) == 0) {
    return declined("taken of f32, not empty, and with nothing fused behind");
  }
  if (instruction.inputs[1].desc.dims != dims || instruction.outputs[0].desc.dims != dims) {
    return invalidInstruction(instruction, "operands and result have different shapes");
  }
  GR_ASSIGN_OR_RETURN(int64_t axis, attributeOr<int64_t>(instruction, "axis", -1));
  return normalizeAxis(instruction, axis, dims.size());
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseSoftmaxBackward(const Instruction& instruction) {
  GR_ASSIGN_OR_RETURN(int64_t axis, axisOf(instruction));
  GR_ASSIGN_OR_RETURN(TensorDesc desc, rowsOf(instruction, axis));
  if (!mayLieAs(instruction, desc)) {
    return declined("where operands and result lie alike");
  }
  LayoutChoice choice;
  choice.inputs = {desc, desc};
  choice.sources.assign(2, TensorDesc{desc.type, desc.dims, {}, false});
  choice.outputs = {std::move(desc)};
  choice.implementation = "rows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createSoftmaxBackwardRows(const Instruction& instruction,
                                                                  KernelContext&) {
  GR_ASSIGN_OR_RETURN(int64_t axis, axisOf(instruction));
  GR_ASSIGN_OR_RETURN(TensorDesc desc, rowsOf(instruction, axis));
  for (const Argument* argument :
       {&instruction.inputs[0], &instruction.inputs[1], &instruction.outputs[0]}) {
    if (!sameLayout(desc, argument->desc)) {
      return absl::InvalidArgumentError("gr.softmax_backward: an operand is not laid out as rows");
    }
  }
  GR_ASSIGN_OR_RETURN(bool log, attributeOr(instruction, "log", false));
  int64_t width = desc.dims[static_cast<size_t>(axis)];
  Rows rows{countOf(desc.dims) / width, width, {}};
  if (log) {
    std::optional<RowFunction> exponential = rowFunction("gr.exp", ElementType::kF32);
    if (!exponential) {
      return declined("taken of logarithms where there are exponentials");
    }
    rows.exponential = *exponential;
  }
  return makeKernel([=, y = instruction.inputs[0].buffer, dy = instruction.inputs[1].buffer,
                     dx = instruction.outputs[0].buffer](void* const* buffers) {
    rows.run(static_cast<const float*>(buffers[y]), static_cast<const float*>(buffers[dy]),
             static_cast<float*>(buffers[dx]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
