#include "devices/cpu/softmax_kernel.h"

#include <algorithm>

#include "devices/cpu/dim_order.h"
#include "devices/cpu/reference_support.h"
#include "devices/cpu/softmax_rows.h"

namespace graphrun::devices::cpu {
namespace {

absl::Status declined(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("gr.softmax: rows are ", what));
}

/// The dense tensor of `desc` with the elements along `axis` behind each other.
absl::StatusOr<TensorDesc> withLast(const TensorDesc& desc, std::vector<size_t> order,
                                    size_t axis) {
  std::rotate(std::find(order.begin(), order.end(), axis),
              std::find(order.begin(), order.end(), axis) + 1, order.end());
  return inDimOrder(desc, order);
}

/// How the step's tensors are to lie, dense with the axis last; Unimplemented where they cannot.
absl::StatusOr<TensorDesc> rowsOf(const Step& step) {
  auto isFloat = [](const Argument& a) { return a.desc.type == ElementType::kF32; };
  if (step.inputs.size() != 1 || step.outputs.size() != 1 || !step.postOps.empty() ||
      !isFloat(step.inputs[0]) || !isFloat(step.outputs[0]) ||
      step.inputs[0].desc.dims != step.outputs[0].desc.dims ||
      countOf(step.inputs[0].desc.dims) == 0) {
    return declined("of f32, not empty, with nothing fused behind");
  }
  TensorDesc in = step.inputs[0].desc;
  in.any = false;
  GR_ASSIGN_OR_RETURN(int64_t axis, attributeOr<int64_t>(step, "axis", -1));
  GR_ASSIGN_OR_RETURN(axis, normalizeAxis(step, axis, in.dims.size()));
  GR_ASSIGN_OR_RETURN(std::vector<size_t> order, dimOrder(in));
  if (order.back() != static_cast<size_t>(axis) && !isDense(in)) {
    return declined("along the axis whose elements follow each other");
  }
  if (order.back() != static_cast<size_t>(axis)) {
    GR_ASSIGN_OR_RETURN(in, withLast(in, order, static_cast<size_t>(axis)));
  }
  if (!step.outputs[0].desc.any && !sameLayout(in, step.outputs[0].desc)) {
    return declined("where operand and result lie alike");
  }
  return in;
}

}  // namespace

absl::StatusOr<LayoutChoice> chooseSoftmax(const Step& step) {
  GR_ASSIGN_OR_RETURN(TensorDesc rows, rowsOf(step));
  LayoutChoice choice;
  choice.inputs = {rows};
  choice.sources = {TensorDesc{rows.type, rows.dims}};
  choice.outputs = {std::move(rows)};
  choice.implementation = "rows";
  return choice;
}

absl::StatusOr<std::unique_ptr<Kernel>> createSoftmaxRows(const Step& step, KernelContext&) {
  GR_ASSIGN_OR_RETURN(TensorDesc rows, rowsOf(step));
  if (!sameLayout(rows, step.inputs[0].desc) || !sameLayout(rows, step.outputs[0].desc)) {
    return absl::InvalidArgumentError("gr.softmax: an operand is not laid out as rows");
  }
  GR_ASSIGN_OR_RETURN(bool log, attributeOr(step, "log", false));
  GR_ASSIGN_OR_RETURN(int64_t axis, attributeOr<int64_t>(step, "axis", -1));
  GR_ASSIGN_OR_RETURN(axis, normalizeAxis(step, axis, rows.dims.size()));
  int64_t width = rows.dims[static_cast<size_t>(axis)];
  return makeKernel([=, count = countOf(rows.dims) / width, in = step.inputs[0].buffer,
                     out = step.outputs[0].buffer](void* const* buffers) {
    const auto* x = static_cast<const float*>(buffers[in]);
    auto* y = static_cast<float*>(buffers[out]);
    // Short rows are worth a call together.
    constexpr int64_t kTogether = 4096;
    int64_t height = std::max<int64_t>(1, kTogether / width);
    parallelFor((count + height - 1) / height, 4 * height * width, [&](int64_t part) {
      int64_t first = part * height;
      softmaxRows(x + first * width, std::min(height, count - first), width, log,
                  y + first * width);
    });
    return 0;
  });
}

}  // namespace graphrun::devices::cpu
