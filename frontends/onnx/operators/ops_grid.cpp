// Compositions over positions and dims: ranges, masks by position, blocks of space and depth.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/tensors.h"
#include "ir/builders.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;

mlir::Value unsqueezed(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> axes) {
  return node.emit("gr.unsqueeze", {value}, {node.integers("axes", axes)});
}

Values size(Node& node) {
  return {node.emit(
      "gr.reduce", {node.emit("gr.shape", {node.input(0)})},
      {node.text("kind", "prod"), node.integers("axes", {0}), node.boolean("keepdims", false)})};
}

Values range(Node& node) {
  // Elements are computed as start + i * delta in at least single precision in any case.
  node.attributes().ignore({"stash_type"});
  Values operands;
  for (mlir::Value input : node.inputs()) {
    operands.push_back(scalarOf(node, input));
  }
  return {node.emit("gr.range", operands)};
}

/// Row + k and column of each position in the last two dims of `value`, to be compared: N x 1 and
/// M.
std::pair<mlir::Value, mlir::Value> diagonals(Node& node, mlir::Value value, mlir::Value k,
                                              int64_t rank) {
  mlir::Value rows = unsqueezed(node, rangeTo(node, dimOf(node, value, rank - 2)), {1});
  mlir::Value columns = rangeTo(node, dimOf(node, value, rank - 1));
  return {k ? node.emit("gr.add", {rows, k}) : rows, columns};
}

Values trilu(Node& node) {
  bool upper = node.attributes().integer("upper", 1) != 0;
  mlir::Value x = node.input(0);
  std::optional<int64_t> rank = node.rankOf(x);
  if (!rank) {
    return {nullptr};
  }
  if (*rank < 2) {
    return {node.fail(absl::StrCat("input is of rank ", *rank, ", expected matrices"))};
  }
  mlir::Value k = node.input(1) ? scalarOf(node, node.input(1)) : mlir::Value();
  auto [rows, columns] = diagonals(node, x, k, *rank);
  mlir::Value keep = upper ? node.emit("gr.less_equal", {rows, columns})
                           : node.emit("gr.less_equal", {columns, rows});
  return {node.emit("gr.where", {keep, x, node.scalarLike(x, 0)})};
}

Values eyeLike(Node& node) {
  int64_t k = node.attributes().integer("k", 0);
  mlir::Type type = node.elementOf(node.input(0));
  if (node.attributes().has("dtype")) {
    auto given = static_cast<int32_t>(node.attributes().integer("dtype", 0));
    type = elementType(node.builder().getContext(), given);
    if (!type) {
      return {node.fail(absl::StrCat("attribute \"dtype\": ", unsupportedType(given)))};
    }
  }
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (rank && *rank != 2) {
    return {node.fail(absl::StrCat("input is of rank ", *rank, ", expected a matrix"))};
  }
  if (!rank) {
    return {nullptr};
  }
  auto [rows, columns] =
      diagonals(node, node.input(0), k == 0 ? mlir::Value() : intScalar(node, k), 2);
  return {castTo(node, node.emit("gr.equal", {rows, columns}), type)};
}

/// values[1] where a position along the new axis is the index, else values[0].
Values oneHot(Node& node) {
  int64_t given = node.attributes().integer("axis", -1);
  mlir::Type i64 = node.builder().getI64Type();
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<int64_t> axis = rank ? node.axisOf(given, *rank + 1) : std::nullopt;
  if (!axis) {
    return {nullptr};
  }
  mlir::Value indices = castTo(node, node.input(0), i64);
  mlir::Value depth = scalarOf(node, castTo(node, node.input(1), i64));
  mlir::Value negative = node.emit("gr.less", {indices, intScalar(node, 0)});
  mlir::Value fromEnd = node.emit("gr.add", {indices, depth});
  indices = unsqueezed(node, node.emit("gr.where", {negative, fromEnd, indices}), {*axis});
  mlir::Value positions = withTrailing(node, rangeTo(node, depth), *rank - *axis);
  mlir::Value hit = node.emit("gr.equal", {indices, positions});
  auto pick = [&](int64_t i) {
    return node.emit("gr.gather", {node.input(2), intScalar(node, i)}, {node.integer("axis", 0)});
  };
  return {node.emit("gr.where", {hit, pick(1), pick(0)})};
}

/// Each batch's first `length` steps backwards, the rest as it is: a gather of time steps.
Values reverseSequence(Node& node) {
  int64_t batch = node.attributes().integer("batch_axis", 1);
  int64_t time = node.attributes().integer("time_axis", 0);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (rank && (*rank < 2 || batch + time != 1 || batch * time != 0)) {
    return {node.fail(absl::StrCat("has batch_axis ", batch, ", time_axis ", time,
                                   " and an input of rank ", *rank,
                                   ", expected the axes 0 and 1 of at least 2"))};
  }
  if (!rank) {
    return {nullptr};
  }
  Ints order = llvm::to_vector(llvm::seq<int64_t>(0, *rank));
  std::swap(order[0], order[batch]);
  mlir::Value x = permuted(node, node.input(0), order);
  mlir::Value lengths =
      unsqueezed(node, castTo(node, node.input(1), node.builder().getI64Type()), {1});
  mlir::Value steps = rangeTo(node, dimOf(node, x, 1));
  mlir::Value last = node.emit("gr.sub", {lengths, intScalar(node, 1)});
  mlir::Value from = node.emit("gr.where", {node.emit("gr.less", {steps, lengths}),
                                            node.emit("gr.sub", {last, steps}), steps});
  mlir::Value y =
      node.emit("gr.gather_nd", {x, unsqueezed(node, from, {2})}, {node.integer("batch_dims", 1)});
  return {permuted(node, y, order)};
}

/// Blocks of space to depth or back: a reshape of N C H W to six dims, a transpose, a reshape.
struct Blocks {
  Node& node;
  mlir::Value x;
  int64_t size = 0;

  /// Checks rank, block size and mode; false when one is wrong, which is reported.
  bool read(std::string& mode) {
    node.attributes().require("blocksize");
    size = node.attributes().integer("blocksize", 1);
    mode = node.attributes().text("mode", "DCR");
    std::optional<int64_t> rank = node.rankOf(x);
    if (rank && (*rank != 4 || size < 1 || (mode != "DCR" && mode != "CRD"))) {
      node.fail(absl::StrCat("has blocksize ", size, ", mode ", inQuotes(mode),
                             " and an input of rank ", *rank,
                             ", expected at least 1, DCR or CRD, and N x C x H x W"));
    }
    return !node.failed();
  }
  mlir::Value dim(int64_t axis) { return dimOf(node, x, axis); }
  mlir::Value block() { return node.constant({size}); }
  mlir::Value over(int64_t axis, int64_t by) {
    return node.emit("gr.div", {dim(axis), node.constant({by})});
  }
  mlir::Value times(int64_t axis, int64_t by) {
    return node.emit("gr.mul", {dim(axis), node.constant({by})});
  }
};

Values spaceToDepth(Node& node) {
  Blocks b{node, node.input(0)};
  std::string mode;
  if (!b.read(mode)) {
    return {nullptr};
  }
  mlir::Value parts = reshapeTo(
      node, b.x, {b.dim(0), b.dim(1), b.over(2, b.size), b.block(), b.over(3, b.size), b.block()});
  Ints order = mode == "DCR" ? Ints{0, 3, 5, 1, 2, 4} : Ints{0, 1, 3, 5, 2, 4};
  return {reshapeTo(node, permuted(node, parts, order),
                    {b.dim(0), b.times(1, b.size * b.size), b.over(2, b.size), b.over(3, b.size)})};
}

Values depthToSpace(Node& node) {
  Blocks b{node, node.input(0)};
  std::string mode;
  if (!b.read(mode)) {
    return {nullptr};
  }
  bool depthFirst = mode == "DCR";
  mlir::Value depth = b.over(1, b.size * b.size);
  Values dims = {b.dim(0), b.block(), b.block(), b.dim(2), b.dim(3)};
  dims.insert(dims.begin() + (depthFirst ? 3 : 1), depth);
  Ints order = depthFirst ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3};
  mlir::Value moved = permuted(node, reshapeTo(node, b.x, dims), order);
  return {reshapeTo(node, moved, {b.dim(0), depth, b.times(2, b.size), b.times(3, b.size)})};
}

/// A pad whose amounts are half of what is missing at each side, rounded towards zero at the
/// beginning; where there is too much they are negative, and crop.
Values centerCropPad(Node& node) {
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (!rank) {
    return {nullptr};
  }
  Ints axes;
  for (int64_t axis : node.attributes().integers("axes")) {
    axes.push_back(node.axisOf(axis, *rank).value_or(0));
  }
  if (!node.attributes().has("axes")) {
    axes = llvm::to_vector(llvm::seq<int64_t>(0, *rank));
  }
  mlir::Value wanted = castTo(node, node.input(1), node.builder().getI64Type());
  mlir::Value dims =
      node.emit("gr.gather", {node.emit("gr.shape", {node.input(0)}), node.constant(axes)},
                {node.integer("axis", 0)});
  mlir::Value missing = node.emit("gr.sub", {wanted, dims});
  mlir::Value begin = node.emit("gr.div", {missing, node.constant({2})});
  mlir::Value end = node.emit("gr.sub", {missing, begin});
  auto none = [&](int64_t) { return node.constant({0}); };
  if (*rank == 0) {
    return {node.input(0)};
  }
  Values pads = {node.spread(begin, axes, *rank, none), node.spread(end, axes, *rank, none)};
  return {node.emit("gr.pad",
                    {node.input(0), node.emit("gr.concat", pads, {node.integer("axis", 0)}),
                     node.scalarLike(node.input(0), 0)},
                    {node.text("mode", "constant")})};
}

/// The first Tile repeats along one axis, both given as scalars.
Values tileOne(Node& node) {
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (!rank) {
    return {nullptr};
  }
  mlir::Type i64 = node.builder().getI64Type();
  mlir::Value tiles = scalarOf(node, castTo(node, node.input(1), i64));
  mlir::Value axis = scalarOf(node, castTo(node, node.input(2), i64));
  mlir::Value here = node.emit("gr.equal", {rangeTo(node, node.constant({*rank})), axis});
  mlir::Value repeats = node.emit("gr.where", {here, tiles, intScalar(node, 1)});
  return {node.emit("gr.tile", {node.input(0), repeats})};
}

const OpRow kGridOps[] = {
    {"Size", 1, kLast, 1, 1, 1, size},
    {"Range", 11, kLast, 3, 3, 1, range},
    {"Trilu", 14, kLast, 1, 2, 1, trilu},
    {"EyeLike", 9, kLast, 1, 1, 1, eyeLike},
    {"OneHot", 9, kLast, 3, 3, 1, oneHot},
    {"ReverseSequence", 10, kLast, 2, 2, 1, reverseSequence},
    {"SpaceToDepth", 1, kLast, 1, 1, 1, spaceToDepth},
    {"DepthToSpace", 1, kLast, 1, 1, 1, depthToSpace},
    {"CenterCropPad", 18, kLast, 2, 2, 1, centerCropPad},
    {"Tile", 1, 5, 3, 3, 1, tileOne},
};

}  // namespace

llvm::ArrayRef<OpRow> gridOps() { return kGridOps; }

}  // namespace graphrun::frontends
