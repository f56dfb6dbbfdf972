#include "devices/cpu/backward/plane_filter_kernel.h"

#include <algorithm>
#include <array>

#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/reference/reference_support.h"
#include "devices/cpu/vectors/wide.h"
#include "devices/executable/window.h"

namespace graphrun::devices::cpu {
namespace {

/// Products of more channels are faster as matrices.
constexpr int64_t kMostChannels = 8;
/// Elements of a filter whose sums a thread keeps.
constexpr int64_t kMostTaps = 128;

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat("gr.conv_backward_filter: rows are multiplied ", what));
}

/// A window along one dim.
struct FilterAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, before = 0;

  /// Where tap `k` of window 0 lies, and for which windows it is in no padding.
  struct Range {
    int64_t start, begin, end;
  };
  Range of(int64_t k) const {
    int64_t start = k * dilation - before;
    int64_t begin = start >= 0 ? 0 : (-start + stride - 1) / stride;
    int64_t end = start >= in ? 0 : (in - start + stride - 1) / stride;
    return {start, begin, std::min(end, out)};
  }
};

/// The sum of `count` products.
template <int64_t kStride>
[[gnu::always_inline]] inline float sumOfProducts(const float* x, const float* dy, int64_t count,
                                                  int64_t stride) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    sum += x[i * (kStride == 0 ? stride : kStride)] * dy[i];
  }
  return sum;
}

struct PlaneFilter {
  int64_t images, in, out, groups;
  FilterAxis rows, columns;

  int64_t taps() const { return rows.kernel * columns.kernel; }

  /// Adds the products of a plane of the input and one of the gradient to the taps' sums.
  template <int64_t kStride>
  [[gnu::always_inline]] void addPlane(const float* x, const float* dy, double* sums) const {
    for (int64_t kh = 0; kh < rows.kernel; ++kh) {
      FilterAxis::Range row = rows.of(kh);
      for (int64_t kw = 0; kw < columns.kernel; ++kw) {
        FilterAxis::Range column = columns.of(kw);
        int64_t count = column.end - column.begin;
        double sum = 0;
        for (int64_t h = row.begin; h < row.end && count > 0; ++h) {
          const float* from = x + (row.start + h * rows.stride) * columns.in + column.start +
                              column.begin * columns.stride;
          sum += static_cast<double>(sumOfProducts<kStride>(
              from, dy + h * columns.out + column.begin, count, columns.stride));
        }
        sums[kh * columns.kernel + kw] += sum;
      }
    }
  }

  void addPlane(const float* x, const float* dy, double* sums) const {
    runWide([&] {
      columns.stride == 1   ? addPlane<1>(x, dy, sums)
      : columns.stride == 2 ? addPlane<2>(x, dy, sums)
                            : addPlane<0>(x, dy, sums);
    });
  }

  void run(const float* x, const float* dy, float* filter) const {
    const int64_t perGroup = in / groups;
    const int64_t from = rows.in * columns.in, to = rows.out * columns.out;
    parallelFor(out * perGroup, images * to * taps(), [&](int64_t item) {
      int64_t o = item / perGroup;
      int64_t channel = o / (out / groups) * perGroup + item % perGroup;
      std::array<double, kMostTaps> sums;
      std::fill_n(sums.data(), taps(), 0.0);
      for (int64_t n = 0; n < images; ++n) {
        addPlane(x + (n * in + channel) * from, dy + (n * out + o) * to, sums.data());
      }
      std::copy_n(sums.data(), taps(), filter + item * taps());
    });
  }
};

absl::StatusOr<PlaneFilter> planOf(const Instruction& instruction) {
  auto isTaken = [](const Argument& a) { return a.desc.any || isDense(a.desc); };
  if (!isFloatProduct(instruction) || instruction.inputs.size() != 2 ||
      !instruction.postOps.empty() || !isTaken(instruction.inputs[0]) ||
      !isTaken(instruction.inputs[1]) || !isTaken(instruction.outputs[0])) {
    return declined("if they are dense and of f32");
  }
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& gradient = instruction.inputs[1].desc.dims;
  const Dims& filter = instruction.outputs[0].desc.dims;
  GR_ASSIGN_OR_RETURN(Dims kernel, attribute<Dims>(instruction, "kernel"));
  GR_ASSIGN_OR_RETURN(int64_t groups, attributeOr<int64_t>(instruction, "groups", 1));
  if (in.size() < 3 || in.size() > 4) {
    return declined("along one or two dims");
  }
  if (gradient.size() != in.size() || filter.size() != in.size() || in[0] != gradient[0] ||
      groups < 1 || filter[0] != gradient[1] || filter[1] * groups != in[1] ||
      gradient[1] % groups != 0) {
    return invalidInstruction(instruction, "the shapes of input, gradient and filter do not fit");
  }
  GR_ASSIGN_OR_RETURN(Window w, windowOf(instruction, absl::MakeConstSpan(in).subspan(2), kernel,
                                         absl::MakeConstSpan(gradient).subspan(2),
                                         /*ceilMode=*/true));
  if (groups == 1 || filter[1] > kMostChannels || gradient[1] / groups > kMostChannels ||
      countOf(w.kernel) > kMostTaps) {
    return declined("in groups of few channels");
  }
  PlaneFilter plan{in[0], in[1], gradient[1], groups, {}, {}};
  for (size_t i = 0; i < kernel.size(); ++i) {
    FilterAxis& axis = i + 1 == kernel.size() ? plan.columns : plan.rows;
    axis = {in[2 + i], gradient[2 + i], w.kernel[i], w.strides[i], w.dilations[i], w.padsBegin[i]};
  }
  return plan;
}

}  // namespace

absl::StatusOr<LayoutChoice> choosePlaneFilter(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(planOf(instruction).status());
  LayoutChoice choice = givenLayouts(instruction);
  const TensorDesc& filter = instruction.outputs[0].desc;
  choice.outputs = {TensorDesc{filter.type, filter.dims, {}, false}};
  choice.implementation = "rows";
  choice.share = 0.05;
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createPlaneFilter(const Instruction& instruction,
                                                          KernelContext&) {
  GR_ASSIGN_OR_RETURN(PlaneFilter plan, planOf(instruction));
  return makeKernel([=, x = instruction.inputs[0].buffer, dy = instruction.inputs[1].buffer,
                     filter = instruction.outputs[0].buffer](void* const* buffers) {
    plan.run(static_cast<const float*>(buffers[x]), static_cast<const float*>(buffers[dy]),
             static_cast<float*>(buffers[filter]));
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
