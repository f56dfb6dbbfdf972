// Movement of data.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/tensors.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;

Values identity(Node& node) { return {node.input(0)}; }

Values transpose(Node& node) {
  Ints permutation = node.attributes().integers("perm");
  if (!node.attributes().has("perm")) {
    std::optional<int64_t> rank = node.rankOf(node.input(0));
    for (int64_t i = rank.value_or(0); i-- > 0;) {
      permutation.push_back(i);
    }
  }
  return {node.emit("gr.transpose", {node.input(0)}, {node.integers("permutation", permutation)})};
}

Values concat(Node& node) {
  if (node.opset() >= 4) {
    node.attributes().require("axis");
  }
  std::optional<int64_t> axis = axisOf(node, node.opset() >= 4 ? 0 : 1);
  return {axis ? node.emit("gr.concat", node.inputs(), {node.integer("axis", *axis)})
               : mlir::Value()};
}

Values gather(Node& node) {
  std::optional<int64_t> axis = axisOf(node, 0);
  return {axis ? node.emit("gr.gather", node.inputs(), {node.integer("axis", *axis)})
               : mlir::Value()};
}

/// The sizes that a Split states, empty for equal parts; nothing when they are data, or wrong.
std::optional<Ints> splitSizes(Node& node) {
  Ints sizes = node.attributes().integers("split");
  if (node.input(1)) {
    std::optional<Ints> known = ir::constantInts(node.input(1));
    if (!known) {
      return std::nullopt;
    }
    sizes = *known;
  }
  for (int64_t size : sizes) {
    if (size < 0) {
      node.fail(absl::StrCat("has the negative part size ", size));
      return std::nullopt;
    }
  }
  return sizes;
}

/// A split whose sizes are data: one slice for each part.
Values splitBySlices(Node& node, int64_t axis, int64_t parts) {
  Values outputs;
  mlir::Value start = node.constant({0});
  for (int64_t i = 0; i < parts; ++i) {
    mlir::Value size =
        node.emit("gr.gather", {node.input(1), node.constant({i})}, {node.integer("axis", 0)});
    mlir::Value end = node.emit("gr.add", {start, size});
    outputs.push_back(node.emit(
        "gr.slice", {node.input(0), start, end, node.constant({axis}), node.constant({1})}));
    start = end;
  }
  return outputs;
}

Values split(Node& node) {
  auto parts = static_cast<int64_t>(node.outputCount());
  int64_t stated = node.attributes().integer("num_outputs", parts);
  std::optional<int64_t> axis = axisOf(node, 0);
  std::optional<Ints> sizes = splitSizes(node);
  if (stated != parts) {
    node.fail(absl::StrCat("num_outputs is ", stated, ", but the node has ", parts, " outputs"));
  }
  if (!axis || node.failed()) {
    return Values(parts);
  }
  if (!sizes) {
    return splitBySlices(node, *axis, parts);
  }
  ir::Dim dim = (*ir::dimsOf(node.input(0)))[*axis];
  if (sizes->empty() && node.opset() < 18 && dim.isStatic() && dim.value() % parts != 0) {
    node.fail(absl::StrCat("dim ", *axis, " of ", dim.value(), " does not divide into ", parts,
                           " equal parts"));
  }
  int64_t part = dim.isStatic() ? (dim.value() + parts - 1) / parts : 0;
  if (sizes->empty() && part * (parts - 1) > (dim.isStatic() ? dim.value() : 0)) {
    node.failIfReached(
        absl::StrCat("dim ", *axis, " of ", dim.value(), " makes no ", parts, " parts of ", part));
    return Values(parts);
  }
  return node.emitMany("gr.split", {node.input(0)},
                       {node.integer("axis", *axis), node.integers("sizes", *sizes)}, parts);
}

/// Length of the 1-D tensor `like`, on which the default of `what` depends.
std::optional<int64_t> lengthOf(Node& node, mlir::Value like, llvm::StringRef what) {
  std::optional<ir::Dims> dims = like ? ir::dimsOf(like) : std::nullopt;
  if (dims && dims->size() == 1 && (*dims)[0].isStatic() && (*dims)[0].value() <= kMaxRank) {
    return (*dims)[0].value();
  }
  if (like && (!dims || (dims->size() == 1 && !(*dims)[0].isStatic()))) {
    node.putOff(nullptr);
  } else if (like) {
    node.fail(absl::StrCat("leaves out ", what.str(),
                           ", so starts must be a 1-D tensor of at most ", kMaxRank, " elements"));
  }
  return std::nullopt;
}

/// The axes 0, 1 … for as many starts as there are.
mlir::Value defaultAxes(Node& node, mlir::Value starts) {
  std::optional<int64_t> length = lengthOf(node, starts, "axes");
  return length ? node.constant(llvm::to_vector(llvm::seq<int64_t>(0, *length))) : mlir::Value();
}

mlir::Value defaultSteps(Node& node, mlir::Value starts) {
  std::optional<int64_t> length = lengthOf(node, starts, "steps");
  return length ? node.constant(Ints(*length, 1)) : mlir::Value();
}

Values slice(Node& node) {
  mlir::Value starts, ends, axes, steps;
  if (node.opset() < 10) {
    node.attributes().require("starts");
    node.attributes().require("ends");
    starts = node.constant(node.attributes().integers("starts"));
    ends = node.constant(node.attributes().integers("ends"));
    Ints given = node.attributes().integers("axes");
    axes = given.empty() ? nullptr : node.constant(given);
  } else {
    starts = node.input(1);
    ends = node.input(2);
    axes = node.input(3);
    steps = node.input(4);
  }
  axes = axes ? axes : defaultAxes(node, starts);
  steps = steps || !axes ? steps : defaultSteps(node, starts);
  return {node.emit("gr.slice", {node.input(0), starts, ends, axes, steps})};
}

/// Pads of the axes of input 3 as pads of all dims.
mlir::Value padsOfAllDims(Node& node) {
  std::optional<Ints> axes = node.known(node.input(3), "axes");
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (!axes || !rank) {
    return nullptr;
  }
  Ints indices;  // in the pads of all dims: begins, then ends
  for (int64_t side : {int64_t{0}, *rank}) {
    for (int64_t axis : *axes) {
      indices.push_back(side + node.axisOf(axis, *rank).value_or(0));
    }
  }
  return node.spread(node.input(1), indices, 2 * *rank,
                     [&](int64_t) { return node.constant({0}); });
}

Values pad(Node& node) {
  std::string mode = node.attributes().text("mode", "constant");
  mlir::Value pads, value;
  if (node.opset() < 11) {
    llvm::StringRef name = node.opset() < 2 ? "paddings" : "pads";
    node.attributes().require(name);
    pads = node.constant(node.attributes().integers(name));
    value = node.scalarLike(node.input(0), node.attributes().real("value", 0));
  } else {
    pads = node.input(3) ? padsOfAllDims(node) : node.input(1);
    value = node.input(2) ? node.input(2) : node.scalarLike(node.input(0), 0);
  }
  return {node.emit("gr.pad", {node.input(0), pads, value}, {node.text("mode", mode)})};
}

Values withSecond(Node& node) { return {node.emit(node.target(), {node.input(0), node.input(1)})}; }

const OpRow kTensorOps[] = {
    {"Identity", 1, kLast, 1, 1, 1, identity, "", /*takesLists=*/true},
    {"Transpose", 1, kLast, 1, 1, 1, transpose},
    {"Concat", 1, kLast, 1, kMany, 1, concat},
    {"Split", 1, 1, 1, 2, kMany, split},
    {"Split", 2, 12, 1, 1, kMany, split},
    {"Split", 13, kLast, 1, 2, kMany, split},
    {"Slice", 1, 9, 1, 1, 1, slice},
    {"Slice", 10, kLast, 3, 5, 1, slice},
    {"Pad", 1, 10, 1, 1, 1, pad},
    {"Pad", 11, 17, 2, 3, 1, pad},
    {"Pad", 18, kLast, 2, 4, 1, pad},
    {"Gather", 1, kLast, 2, 2, 1, gather},
    {"Expand", 8, kLast, 2, 2, 1, withSecond, "gr.expand"},
    {"Tile", 6, kLast, 2, 2, 1, withSecond, "gr.tile"},
};

}  // namespace

llvm::ArrayRef<OpRow> tensorOps() { return kTensorOps; }

}  // namespace graphrun::frontends
