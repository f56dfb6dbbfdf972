#include "devices/cpu/kernels/plane_instruction.h"

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/kernels/given_layouts.h"
#include "devices/cpu/kernels/plane_sums.h"
#include "devices/cpu/kernels/row_post_ops.h"
#include "devices/cpu/reference/reference_support.h"

namespace graphrun::devices::cpu {

absl::Status declinedByPlanes(const Instruction& instruction, absl::string_view what) {
  return absl::UnimplementedError(
      absl::StrCat(instruction.operation, ": planes are summed ", what));
}

absl::Status checkFloatImages(const Instruction& instruction) {
  if (!isFloatProduct(instruction)) {
    return declinedByPlanes(instruction, "if they are of f32");
  }
  size_t rank = instruction.inputs[0].desc.dims.size();
  if (rank < 3 || rank > 4 || instruction.outputs[0].desc.dims.size() != rank ||
      countOf(instruction.inputs[0].desc.dims) == 0 ||
      countOf(instruction.outputs[0].desc.dims) == 0) {
    return declinedByPlanes(instruction, "over one or two spatial dims, not empty");
  }
  return absl::OkStatus();
}

absl::Status checkPlaneInstruction(const Instruction& instruction) {
  GR_RETURN_IF_ERROR(checkFloatImages(instruction));
  auto isPlain = [](const Argument& a) { return !a.desc.any && isDense(a.desc); };
  return isPlain(instruction.inputs[0]) && isPlain(instruction.outputs[0])
             ? absl::OkStatus()
             : declinedByPlanes(instruction, "if they are dense, of f32");
}

absl::Status checkPlaneFilter(const Instruction& instruction, const Dims& filter, int64_t groups) {
  const Dims& in = instruction.inputs[0].desc.dims;
  const Dims& out = instruction.outputs[0].desc.dims;
  bool fits = in[0] == out[0] && filter[0] == groups && groups * filter[1] == in[1] &&
              groups * filter.back() == out[1] &&
              countOf(absl::MakeConstSpan(filter).subspan(2)) > 0 &&
              (instruction.inputs.size() == 2 || instruction.inputs[2].desc.dims == Dims{out[1]});
  return fits ? absl::OkStatus()
              : invalidInstruction(instruction,
                                   "the shapes of input, filter, bias and result do not fit");
}

absl::StatusOr<LayoutChoice> planeLayouts(const Instruction& instruction, Dims packed,
                                          absl::StatusOr<TensorDesc> source, int64_t scratchFloats,
                                          absl::string_view implementation,
                                          const PlaneShape& shape) {
  GR_RETURN_IF_ERROR(RowPostOps::make(instruction).status());
  GR_RETURN_IF_ERROR(source.status());
  TensorDesc filter{ElementType::kF32, std::move(packed)};
  const TensorDesc& given = instruction.inputs[1].desc;
  if (!given.any && !sameLayout(given, filter)) {
    return declinedByPlanes(instruction, "from a filter of its own layout");
  }
  LayoutChoice choice;
  for (const Argument& input : instruction.inputs) {
    choice.inputs.push_back(TensorDesc{ElementType::kF32, input.desc.dims});
  }
  choice.sources = choice.inputs;
  choice.sources[1] = *std::move(source);
  choice.inputs[1] = std::move(filter);
  choice.outputs = {TensorDesc{ElementType::kF32, instruction.outputs[0].desc.dims}};
  choice.postOps = RowPostOps::layouts(instruction);
  choice.scratchBytes = static_cast<uint64_t>(scratchFloats) * sizeof(float);
  choice.implementation = std::string(implementation);
  PlaneStrips strips(shape);
  Strip strip = strips.strip(0);
  choice.parts = strips.count();
  if (shape.in > 1) {
    choice.share = PlaneSums::share(strip.rows * strip.columns, strips.positions(strip), shape.out);
  }
  return choice;
}

PlaneBias::PlaneBias(const Instruction& instruction) {
  if (instruction.inputs.size() == 3) {
    buffer_ = instruction.inputs[2].buffer;
  } else {
    zeros_.resize(static_cast<size_t>(instruction.outputs[0].desc.dims[1]));
  }
}

}  // namespace graphrun::devices::cpu
