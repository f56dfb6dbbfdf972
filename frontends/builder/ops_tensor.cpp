// Shapes and movement of data.
#include <algorithm>
#include <numeric>

#include "frontends/builder/op_call.h"
#include "frontends/builder/ops.h"

namespace graphrun::builder {
namespace {

const char* nameOf(PadMode mode) {
  switch (mode) {
    case PadMode::kConstant:
      return "constant";
    case PadMode::kReflect:
      return "reflect";
    case PadMode::kEdge:
      return "edge";
    case PadMode::kWrap:
      return "wrap";
  }
  return "";
}

/// Entries of a list that is written down, or of a tensor whose size is known; nothing otherwise.
std::optional<size_t> sizeOf(const Ints& list) {
  if (!list.isTensor()) {
    return list.list().size();
  }
  std::vector<Dim> dims = list.tensor().dims();
  return dims.size() == 1 && dims[0].isStatic() ? std::optional<size_t>(dims[0].size())
                                                : std::nullopt;
}

}  // namespace

Tensor shape(const Tensor& x, int64_t start, std::optional<int64_t> end, const At& at) {
  OpCall call("shape", at, {x});
  call.integer("start", start);
  if (end) {
    call.integer("end", *end);
  }
  return call.create();
}

Tensor reshape(const Tensor& x, const Ints& shape, const Reshape& options, const At& at) {
  return OpCall("reshape", at, {x, {"shape", shape}})
      .flag("allow_zero", options.allowZero)
      .create();
}

Tensor squeeze(const Tensor& x, const std::vector<int64_t>& axes, const At& at) {
  return OpCall("squeeze", at, {x}).axes("axes", axes, x).create();
}

Tensor unsqueeze(const Tensor& x, const std::vector<int64_t>& axes, const At& at) {
  return OpCall("unsqueeze", at, {x})
      .axes("axes", axes, x, static_cast<int64_t>(axes.size()))
      .create();
}

Tensor transpose(const Tensor& x, const std::vector<int64_t>& permutation, const At& at) {
  return OpCall("transpose", at, {x}).ints("permutation", permutation).create();
}

Tensor concat(const std::vector<Tensor>& inputs, int64_t axis, const At& at) {
  OpCall call("concat", at, std::vector<Argument>(inputs.begin(), inputs.end()));
  return call.axis("axis", axis, inputs.empty() ? Tensor() : inputs[0]).create();
}

std::vector<Tensor> split(const Tensor& x, int64_t axis, const std::vector<int64_t>& sizes,
                          const At& at) {
  OpCall call("split", at, {x});
  bool negative = std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; });
  if (sizes.empty() || negative) {
    call.problem(sizes.empty() ? "sizes is empty, expected the size of each part"
                               : "sizes has a negative entry, expected sizes of at least 0");
  }
  return call.axis("axis", axis, x).ints("sizes", sizes).create(sizes.size());
}

std::vector<Tensor> splitEqually(const Tensor& x, int64_t axis, int64_t parts, const At& at) {
  OpCall call("split", at, {x});
  if (parts < 1) {
    call.problem("parts is " + std::to_string(parts) + ", expected at least 1");
  }
  return call.axis("axis", axis, x)
      .ints("sizes", {})
      .create(static_cast<size_t>(std::max<int64_t>(parts, 0)));
}

Tensor slice(const Tensor& x, const Slice& options, const At& at) {
  Ints axes = options.axes, steps = options.steps;
  std::optional<size_t> count = sizeOf(options.starts);
  if (!axes.given()) {
    std::vector<int64_t> all(count.value_or(0));
    std::iota(all.begin(), all.end(), 0);
    axes = all;
  }
  if (!steps.given()) {
    steps = std::vector<int64_t>(count.value_or(0), 1);
  }
  OpCall call(
      "slice", at,
      {x, {"starts", options.starts}, {"ends", options.ends}, {"axes", axes}, {"steps", steps}});
  auto is = [](const Ints& list, size_t size) { return sizeOf(list).value_or(size) == size; };
  if (!count && (!options.axes.given() || !options.steps.given())) {
    call.problem("the number of starts is not known yet; give axes and steps as well");
  } else if (count && !(is(options.ends, *count) && is(axes, *count) && is(steps, *count))) {
    call.problem("starts, ends, axes and steps differ in their number of entries, expected " +
                 std::to_string(*count) + " each, as starts has");
  }
  return call.create();
}

Tensor pad(const Tensor& x, const Ints& pads, const Pad& options, const At& at) {
  return OpCall("pad", at, {x, {"pads", pads}, options.value})
      .text("mode", nameOf(options.mode))
      .create();
}

Tensor gather(const Tensor& x, const Ints& indices, int64_t axis, const At& at) {
  return OpCall("gather", at, {x, {"indices", indices}}).axis("axis", axis, x).create();
}

Tensor expand(const Tensor& x, const Ints& shape, const At& at) {
  return OpCall("expand", at, {x, {"shape", shape}}).create();
}

Tensor tile(const Tensor& x, const Ints& repeats, const At& at) {
  return OpCall("tile", at, {x, {"repeats", repeats}}).create();
}

Tensor fill(const Tensor& shape, Scalar value, ElementType type, const At& at) {
  return OpCall("fill", at, {shape}).element("value", value, type).create();
}

Tensor random(const Tensor& shape, int64_t seed, const Random& options, const At& at) {
  return OpCall("random", at, {shape, Argument::optional(options.step)})
      .text("kind", options.kind == Distribution::kUniform ? "uniform" : "normal")
      .number("a", options.first)
      .number("b", options.second)
      .integer("seed", seed)
      .type("to", options.type)
      .create();
}

}  // namespace graphrun::builder
