// Images: grids, regions, blocks, and the inverse of a pool.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "ir/builders.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;

/// `value` in the words of gr: the second of the pair whose first it is; reports another one.
std::string translated(Node& node, llvm::StringRef name, const std::string& value,
                       llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> words) {
  std::string expected;
  for (const auto& [onnx, gr] : words) {
    if (value == onnx) {
      return gr.str();
    }
    absl::StrAppend(&expected, expected.empty() ? "" : ", ", onnx.str());
  }
  node.fail(absl::StrCat(name.str(), " is ", inQuotes(value), ", expected one of ", expected));
  return "";
}

Values gridSample(Node& node) {
  bool first = node.opset() < 20;
  std::string mode = node.attributes().text("mode", first ? "bilinear" : "linear");
  mode = first ? translated(node, "mode", mode,
                            {{"bilinear", "linear"}, {"nearest", "nearest"}, {"bicubic", "cubic"}})
               : translated(node, "mode", mode,
                            {{"linear", "linear"}, {"nearest", "nearest"}, {"cubic", "cubic"}});
  std::string padding = node.attributes().text("padding_mode", "zeros");
  bool corners = node.attributes().integer("align_corners", 0) != 0;
  return {node.emit("gr.grid_sample", node.inputs(),
                    {node.text("mode", mode), node.text("padding", padding),
                     node.boolean("align_corners", corners)})};
}

/// The coordinates of a dim of `size` elements in [-1, 1], of f32 or f64.
mlir::Value coordinates(Node& node, mlir::Value size, mlir::Type type, bool corners) {
  mlir::Value positions = castTo(node, rangeTo(node, size), type);
  mlir::Value two = node.emit("gr.mul", {positions, node.scalarLike(positions, 2)});
  if (corners) {
    // One element lies at -1.
    mlir::Value steps =
        node.emit("gr.max", {node.emit("gr.sub", {size, node.constant({1})}), node.constant({1})});
    return node.emit("gr.sub", {node.emit("gr.div", {two, castTo(node, steps, type)}),
                                node.scalarLike(positions, 1)});
  }
  mlir::Value middle = node.emit("gr.add", {two, node.scalarLike(positions, 1)});
  return node.emit("gr.sub", {node.emit("gr.div", {middle, castTo(node, size, type)}),
                              node.scalarLike(positions, 1)});
}

/// Regular positions with a 1 behind each, times the matrices.
Values affineGrid(Node& node) {
  bool corners = node.attributes().integer("align_corners", 0) != 0;
  std::optional<ir::Dims> sizes = node.input(1) ? ir::dimsOf(node.input(1)) : std::nullopt;
  if (!sizes || sizes->size() != 1 || !(*sizes)[0].isStatic()) {
    return {node.failed() ? nullptr : node.putOff(nullptr)};
  }
  int64_t rank = (*sizes)[0].value() - 2;
  if (rank != 2 && rank != 3) {
    return {node.fail(absl::StrCat("size has ", rank + 2, " elements, expected 4 or 5"))};
  }
  mlir::Type given = node.elementOf(node.input(0));
  mlir::Type type = given.isF64() ? given : node.builder().getF32Type();
  mlir::Value theta = castTo(node, node.input(0), type);
  auto size = [&](int64_t i) {
    return node.emit("gr.gather", {node.input(1), node.constant({i})}, {node.integer("axis", 0)});
  };
  Values spatial;
  for (int64_t d = 0; d < rank; ++d) {
    spatial.push_back(size(2 + d));
  }
  mlir::Value shape = node.emit("gr.concat", spatial, {node.integer("axis", 0)});
  auto column = [&](mlir::Value values, int64_t trailing) {
    mlir::Value all = node.emit("gr.expand", {withTrailing(node, values, trailing), shape});
    return reshapeTo(node, all, {node.constant({-1, 1})});
  };
  Values columns;
  for (int64_t d = rank - 1; d >= 0; --d) {
    columns.push_back(column(coordinates(node, spatial[d], type, corners), rank - 1 - d));
  }
  columns.push_back(column(
      theta ? ir::createScalar(node.builder(), node.location(), type, 1) : mlir::Value(), 0));
  mlir::Value positions = node.emit("gr.concat", columns, {node.integer("axis", 1)});
  mlir::Value grid =
      node.emit("gr.matmul", {positions, theta}, {node.boolean("transpose_rhs", true)});
  Values parts = {dimOf(node, theta, 0), shape, node.constant({rank})};
  return {castTo(node, reshapeTo(node, grid, parts), given)};
}

Values roiAlign(Node& node) {
  Attributes& attributes = node.attributes();
  std::string kind =
      translated(node, "mode", attributes.text("mode", "avg"), {{"avg", "mean"}, {"max", "max"}});
  std::string coordinates = "output_half_pixel";
  if (node.opset() >= 16) {
    coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  }
  bool halfPixel = translated(node, "coordinate_transformation_mode", coordinates,
                              {{"half_pixel", "1"}, {"output_half_pixel", "0"}}) == "1";
  return {node.emit("gr.roi_align", node.inputs(),
                    {node.text("kind", kind), node.boolean("half_pixel", halfPixel),
                     node.integer("height", attributes.integer("output_height", 1)),
                     node.integer("width", attributes.integer("output_width", 1)),
                     node.integer("sampling", attributes.integer("sampling_ratio", 0)),
                     node.real("scale", attributes.real("spatial_scale", 1))})};
}

Values maxRoiPool(Node& node) {
  node.attributes().require("pooled_shape");
  Ints shape = node.attributes().integers("pooled_shape");
  double scale = node.attributes().real("spatial_scale", 1);
  if (shape.size() != 2) {
    return {node.fail(
        absl::StrCat("attribute \"pooled_shape\" has ", shape.size(), " values, expected 2"))};
  }
  return {node.emit("gr.roi_max_pool", node.inputs(),
                    {node.integer("height", shape[0]), node.integer("width", shape[1]),
                     node.real("scale", scale)})};
}

/// Number of elements of a vector; puts the node off when it is not known.
std::optional<int64_t> lengthOf(Node& node, mlir::Value vector) {
  std::optional<ir::Dims> dims = vector ? ir::dimsOf(vector) : std::nullopt;
  if (dims && dims->size() == 1 && (*dims)[0].isStatic()) {
    return (*dims)[0].value();
  }
  if (dims && dims->size() != 1) {
    node.fail(absl::StrCat("a shape is of rank ", dims->size(), ", expected a vector"));
  } else if (vector) {
    node.putOff(nullptr);
  }
  return std::nullopt;
}

/// An attribute of `size` values, `absent` each when it is left out.
Ints valuesOr(Node& node, llvm::StringRef name, int64_t size, int64_t absent) {
  Ints values = node.attributes().integers(name);
  return values.empty() ? Ints(size, absent) : values;
}

Values col2Im(Node& node) {
  std::optional<int64_t> known = lengthOf(node, node.input(1));
  int64_t rank = known.value_or(0);
  Ints strides = valuesOr(node, "strides", rank, 1);
  Ints dilations = valuesOr(node, "dilations", rank, 1);
  Ints pads = valuesOr(node, "pads", 2 * rank, 0);
  return {node.emit("gr.col2im", node.inputs(),
                    {node.integers("strides", strides), node.integers("dilations", dilations),
                     node.integers("pads", pads)})};
}

/// Zeros with the elements of the input at their indices in the shape that the pool had, padded at
/// the ends to the output's shape when that is given.
Values maxUnpool(Node& node) {
  node.attributes().require("kernel_shape");
  Ints kernel = node.attributes().integers("kernel_shape");
  auto spatial = static_cast<int64_t>(kernel.size());
  Ints strides = valuesOr(node, "strides", spatial, 1);
  Ints pads = valuesOr(node, "pads", 2 * spatial, 0);
  mlir::Value x = node.input(0);
  std::optional<int64_t> rank = node.rankOf(x);
  if (!rank || node.failed()) {
    return {nullptr};
  }
  if (*rank != spatial + 2 || strides.size() != kernel.size() || pads.size() != 2 * kernel.size()) {
    return {node.fail(absl::StrCat("has an input of rank ", *rank, " and ", spatial, ", ",
                                   strides.size(), " and ", pads.size(),
                                   " values of kernel_shape, strides and pads"))};
  }
  Ints rest;
  for (int64_t i = 0; i < spatial; ++i) {
    rest.push_back(kernel[i] - strides[i] - pads[i] - pads[spatial + i]);
  }
  auto dims = [&](int64_t start, int64_t end) {
    return node.emit("gr.shape", {x}, {node.integer("start", start), node.integer("end", end)});
  };
  mlir::Value side = node.emit(
      "gr.add",
      {node.emit("gr.mul", {dims(2, *rank), node.constant(strides)}), node.constant(rest)});
  mlir::Value shape = node.emit("gr.concat", {dims(0, 2), side}, {node.integer("axis", 0)});
  mlir::Value count = node.emit(
      "gr.reduce", {shape},
      {node.text("kind", "prod"), node.integers("axes", {0}), node.boolean("keepdims", true)});
  mlir::Type type = node.elementOf(x);
  auto zero = mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({1}, type),
                                           node.builder().getZeroAttr(type));
  auto flat = [&](mlir::Value value) { return reshapeTo(node, value, {node.constant({-1})}); };
  mlir::Value y = node.emit(
      "gr.scatter_elements",
      {node.emit("gr.fill", {count}, {node.named("value", zero)}), flat(node.input(1)), flat(x)},
      {node.integer("axis", 0)});
  y = reshapeTo(node, y, {shape});
  if (!node.input(2)) {
    return {y};
  }
  mlir::Value more = node.emit("gr.sub", {node.input(2), shape});
  mlir::Value around =
      node.emit("gr.concat", {node.constant(Ints(*rank, 0)), more}, {node.integer("axis", 0)});
  return {node.emit("gr.pad", {y, around, node.scalarLike(y, 0)}, {node.text("mode", "constant")})};
}

const OpRow kVisionOps[] = {
    {"GridSample", 16, kLast, 2, 2, 1, gridSample}, {"AffineGrid", 20, kLast, 2, 2, 1, affineGrid},
    {"RoiAlign", 10, kLast, 3, 3, 1, roiAlign},     {"MaxRoiPool", 1, kLast, 2, 2, 1, maxRoiPool},
    {"Col2Im", 18, kLast, 3, 3, 1, col2Im},         {"MaxUnpool", 9, kLast, 2, 3, 1, maxUnpool},
};

}  // namespace

llvm::ArrayRef<OpRow> visionOps() { return kVisionOps; }

}  // namespace graphrun::frontends
