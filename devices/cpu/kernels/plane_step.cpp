#include "devices/cpu/kernels/plane_step.h"

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/plane_sums.h"
#include "devices/cpu/kernels/row_post_ops.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {

absl::Status declinedByPlanes(const Step& step, absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat(step.operation, ": planes are summed ", what));
}

absl::Status checkFloatImages(const Step& step) {
  auto isFloat = [](const Argument& a) { return a.desc.type == ElementType::kF32; };
  if (step.inputs.size() < 2 || step.inputs.size() > 3 || step.outputs.size() != 1 ||
      !isFloat(step.outputs[0]) || !std::all_of(step.inputs.begin(), step.inputs.end(), isFloat)) {
    return declinedByPlanes(step, "of f32");
  }
  size_t rank = step.inputs[0].desc.dims.size();
  if (rank < 3 || rank > 4 || step.outputs[0].desc.dims.size() != rank ||
      countOf(step.inputs[0].desc.dims) == 0 || countOf(step.outputs[0].desc.dims) == 0) {
    return declinedByPlanes(step, "over one or two spatial dims, not empty");
  }
  return absl::OkStatus();
}

absl::Status checkPlaneStep(const Step& step) {
  GR_RETURN_IF_ERROR(checkFloatImages(step));
  auto isPlain = [](const Argument& a) { return !a.desc.any && isDense(a.desc); };
  return isPlain(step.inputs[0]) && isPlain(step.outputs[0])
             ? absl::OkStatus()
             : declinedByPlanes(step, "of dense f32");
}

absl::Status checkPlaneFilter(const Step& step, const Dims& filter, int64_t groups) {
  const Dims& in = step.inputs[0].desc.dims;
  const Dims& out = step.outputs[0].desc.dims;
  bool fits = in[0] == out[0] && filter[0] == groups && groups * filter[1] == in[1] &&
              groups * filter.back() == out[1] &&
              countOf(absl::MakeConstSpan(filter).subspan(2)) > 0 &&
              (step.inputs.size() == 2 || step.inputs[2].desc.dims == Dims{out[1]});
  return fits ? absl::OkStatus()
              : invalidStep(step, "the shapes of input, filter, bias and result do not fit");
}

absl::StatusOr<LayoutChoice> planeLayouts(const Step& step, Dims packed,
                                          absl::StatusOr<TensorDesc> source, int64_t scratchFloats,
                                          absl::string_view implementation,
                                          const PlaneShape& shape) {
  GR_RETURN_IF_ERROR(RowPostOps::make(step).status());
  GR_RETURN_IF_ERROR(source.status());
  TensorDesc filter{ElementType::kF32, std::move(packed)};
  const TensorDesc& given = step.inputs[1].desc;
  if (!given.any && !sameLayout(given, filter)) {
    return declinedByPlanes(step, "from a filter of its own layout");
  }
  LayoutChoice choice;
  for (const Argument& input : step.inputs) {
    choice.inputs.push_back(TensorDesc{ElementType::kF32, input.desc.dims});
  }
  choice.sources = choice.inputs;
  choice.sources[1] = *std::move(source);
  choice.inputs[1] = std::move(filter);
  choice.outputs = {TensorDesc{ElementType::kF32, step.outputs[0].desc.dims}};
  choice.postOps = RowPostOps::layouts(step);
  choice.scratchBytes = static_cast<uint64_t>(scratchFloats) * sizeof(float);
  choice.implementation = std::string(implementation);
  PlaneStrips strips(shape);
  Strip strip = strips.strip(0);
  choice.parts = strips.count();
  if (shape.in > 1) {
    choice.share = PlaneSums::share(strip.rows * strip.columns, strips.places(strip), shape.out);
  }
  return choice;
}

PlaneBias::PlaneBias(const Step& step) {
  if (step.inputs.size() == 3) {
    buffer_ = step.inputs[2].buffer;
  } else {
    zeros_.resize(static_cast<size_t>(step.outputs[0].desc.dims[1]));
  }
}

}  // namespace graphrun::devices::cpu
