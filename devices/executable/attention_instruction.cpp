#include "devices/executable/attention_instruction.h"

#include <algorithm>

#include "devices/executable/broadcast_strides.h"

namespace graphrun::devices {
namespace {

using Dims = std::vector<int64_t>;

AttentionView denseView(const Dims& dims) {
  Dims strides = denseStrides(dims);
  return {0, {strides[0], strides[1], strides[2], strides[3]}};
}

/// Sizes and views from the operands' own dims.
absl::Status readDims(const Instruction& instruction, Attention& a) {
  const Dims &query = instruction.inputs[0].desc.dims, &key = instruction.inputs[1].desc.dims,
             &value = instruction.inputs[2].desc.dims, &output = instruction.outputs[0].desc.dims;
  if (query.size() != 4 || key.size() != 4 || value.size() != 4 || output.size() != 4) {
    return invalidInstruction(instruction, "query, key and value must be of rank 4");
  }
  a.batch = query[0], a.heads = query[1], a.rows = query[2], a.width = query[3];
  a.keyHeads = key[1], a.keys = key[2], a.valueWidth = value[3];
  if (key != Dims{a.batch, a.keyHeads, a.keys, a.width} ||
      value != Dims{a.batch, a.keyHeads, a.keys, a.valueWidth} ||
      output != Dims{a.batch, a.heads, a.rows, a.valueWidth}) {
    return invalidInstruction(instruction, "the shapes of the operands and the result do not fit");
  }
  a.query = denseView(query), a.key = denseView(key), a.value = denseView(value);
  a.output = denseView(output);
  return absl::OkStatus();
}

/// The view lies within a tensor of `desc` for all of its elements.
bool isInside(const AttentionView& view, const std::array<int64_t, 4>& dims,
              const TensorDesc& desc) {
  constexpr int64_t kFar = int64_t{1} << 40;
  int64_t last = view.offset;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] < 1 || dims[d] > kFar || view.strides[d] < 0 || view.strides[d] > kFar ||
        __builtin_add_overflow(last, (dims[d] - 1) * view.strides[d], &last)) {
      return false;
    }
  }
  return view.offset >= 0 && last < static_cast<int64_t>(desc.spec().elementCount());
}

/// Sizes and views from the attributes.
absl::Status readViews(const Instruction& instruction, Attention& a) {
  GR_ASSIGN_OR_RETURN(auto sizes, attribute<std::vector<int64_t>>(instruction, "sizes"));
  GR_ASSIGN_OR_RETURN(auto views, attribute<std::vector<int64_t>>(instruction, "views"));
  if (sizes.size() != 7 || views.size() != 20) {
    return invalidInstruction(instruction, "sizes or views are of another number");
  }
  a.batch = sizes[0], a.heads = sizes[1], a.keyHeads = sizes[2], a.rows = sizes[3];
  a.keys = sizes[4], a.width = sizes[5], a.valueWidth = sizes[6];
  size_t next = 0;
  for (AttentionView* view : {&a.query, &a.key, &a.value, &a.output}) {
    view->offset = views[next++];
    for (int64_t& stride : view->strides) {
      stride = views[next++];
    }
  }
  bool inside =
      isInside(a.query, {a.batch, a.heads, a.rows, a.width}, instruction.inputs[0].desc) &&
      isInside(a.key, {a.batch, a.keyHeads, a.keys, a.width}, instruction.inputs[1].desc) &&
      isInside(a.value, {a.batch, a.keyHeads, a.keys, a.valueWidth}, instruction.inputs[2].desc) &&
      isInside(a.output, {a.batch, a.heads, a.rows, a.valueWidth}, instruction.outputs[0].desc);
  return inside ? absl::OkStatus() : invalidInstruction(instruction, "a view leaves its tensor");
}

}  // namespace

absl::StatusOr<Attention> attentionOf(const Instruction& instruction) {
  if (instruction.inputs.size() < 3 || instruction.inputs.size() > 4 ||
      instruction.outputs.size() != 1) {
    return invalidInstruction(instruction,
                              "expected query, key, value, perhaps a mask, and one result");
  }
  Attention a;
  GR_RETURN_IF_ERROR(instruction.attributes.contains("views") ? readViews(instruction, a)
                                                              : readDims(instruction, a));
  if (a.keyHeads < 1 || a.heads % a.keyHeads != 0) {
    return invalidInstruction(instruction, "the query's heads are no multiple of the key's");
  }
  if (instruction.inputs.size() == 4) {
    GR_ASSIGN_OR_RETURN(Dims strides, broadcastStrides(instruction, instruction.inputs[3].desc.dims,
                                                       {a.batch, a.heads, a.rows, a.keys}));
    std::copy(strides.begin(), strides.end(), a.mask.begin());
    a.hasMask = true;
  }
  GR_ASSIGN_OR_RETURN(a.scale, attributeOr(instruction, "scale", 1.0));
  GR_ASSIGN_OR_RETURN(a.causal, attributeOr(instruction, "causal", false));
  return a;
}

}  // namespace graphrun::devices
