#include "devices/executable/attention_step.h"

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
absl::Status readDims(const Step& step, Attention& a) {
  const Dims &query = step.inputs[0].desc.dims, &key = step.inputs[1].desc.dims,
             &value = step.inputs[2].desc.dims, &output = step.outputs[0].desc.dims;
  if (query.size() != 4 || key.size() != 4 || value.size() != 4 || output.size() != 4) {
    return invalidStep(step, "query, key and value must be of rank 4");
  }
  a.batch = query[0], a.heads = query[1], a.rows = query[2], a.width = query[3];
  a.keyHeads = key[1], a.keys = key[2], a.valueWidth = value[3];
  if (key != Dims{a.batch, a.keyHeads, a.keys, a.width} ||
      value != Dims{a.batch, a.keyHeads, a.keys, a.valueWidth} ||
      output != Dims{a.batch, a.heads, a.rows, a.valueWidth}) {
    return invalidStep(step, "the shapes of the operands and the result do not fit");
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
absl::Status readViews(const Step& step, Attention& a) {
  GR_ASSIGN_OR_RETURN(auto sizes, attribute<std::vector<int64_t>>(step, "sizes"));
  GR_ASSIGN_OR_RETURN(auto views, attribute<std::vector<int64_t>>(step, "views"));
  if (sizes.size() != 7 || views.size() != 20) {
    return invalidStep(step, "sizes or views are of another number");
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
      isInside(a.query, {a.batch, a.heads, a.rows, a.width}, step.inputs[0].desc) &&
      isInside(a.key, {a.batch, a.keyHeads, a.keys, a.width}, step.inputs[1].desc) &&
      isInside(a.value, {a.batch, a.keyHeads, a.keys, a.valueWidth}, step.inputs[2].desc) &&
      isInside(a.output, {a.batch, a.heads, a.rows, a.valueWidth}, step.outputs[0].desc);
  return inside ? absl::OkStatus() : invalidStep(step, "a view leaves its tensor");
}

}  // namespace

absl::StatusOr<Attention> attentionOf(const Step& step) {
  if (step.inputs.size() < 3 || step.inputs.size() > 4 || step.outputs.size() != 1) {
    return invalidStep(step, "expected query, key, value, perhaps a mask, and one result");
  }
  Attention a;
  GR_RETURN_IF_ERROR(step.attributes.contains("views") ? readViews(step, a) : readDims(step, a));
  if (a.keyHeads < 1 || a.heads % a.keyHeads != 0) {
    return invalidStep(step, "the query's heads are no multiple of the key's");
  }
  if (step.inputs.size() == 4) {
    GR_ASSIGN_OR_RETURN(Dims strides, broadcastStrides(step, step.inputs[3].desc.dims,
                                                       {a.batch, a.heads, a.rows, a.keys}));
    std::copy(strides.begin(), strides.end(), a.mask.begin());
    a.hasMask = true;
  }
  GR_ASSIGN_OR_RETURN(a.scale, attributeOr(step, "scale", 1.0));
  GR_ASSIGN_OR_RETURN(a.causal, attributeOr(step, "causal", false));
  return a;
}

}  // namespace graphrun::devices
