// Resampling.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "ir/builders.h"
#include "ir/dialect.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;

/// Sampling says how to resample, in gr.resize's words.
struct Sampling {
  std::string mode, coordinates, rounding;
  double cubicCoeff = -0.75;
  bool excludeOutside = false;
  bool antialias = false;
  double extrapolation = 0;
  std::string policy = "stretch";
  Ints axes;        ///< that share a scale
  mlir::Value roi;  ///< null without one
};

mlir::Value resizeBy(Node& node, mlir::Value scales, mlir::Value sizes, const Sampling& sampling) {
  Values operands = {node.input(0), scales ? scales : sizes};
  if (sampling.roi) {
    operands.push_back(sampling.roi);
  }
  llvm::SmallVector<mlir::NamedAttribute> attributes = {
      node.text("mode", sampling.mode),
      node.text("coordinates", sampling.coordinates),
      node.text("rounding", sampling.rounding),
      node.real("cubic_coeff", sampling.cubicCoeff),
      node.boolean("exclude_outside", sampling.excludeOutside),
      node.boolean("antialias", sampling.antialias),
      node.real("extrapolation", sampling.extrapolation),
      node.text("policy", sampling.policy),
      node.integers("axes", sampling.axes),
      node.named("operandSegmentSizes",
                 node.builder().getDenseI32ArrayAttr(
                     {1, scales ? 1 : 0, scales ? 0 : 1, sampling.roi ? 1 : 0}))};
  return node.emit("gr.resize", operands, attributes);
}

/// Upsample and the first Resize say little: asymmetric coordinates, rounded down.
Sampling oldSampling(Node& node) {
  return {node.attributes().text("mode", "nearest"), "asymmetric", "floor"};
}

Values upsampleByAttribute(Node& node) {
  Sampling sampling = oldSampling(node);
  node.attributes().require("scales");
  llvm::SmallVector<double> given = node.attributes().reals("scales");
  llvm::SmallVector<float> scales(given.begin(), given.end());
  auto type = mlir::RankedTensorType::get({static_cast<int64_t>(scales.size())},
                                          node.builder().getF32Type());
  auto value = mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(scales));
  return {resizeBy(node, node.emit("gr.constant", {}, {node.named("value", value)}), nullptr,
                   sampling)};
}

/// The first Upsample scales the height and width of N x C x H x W.
Values upsampleImage(Node& node) {
  Sampling sampling = oldSampling(node);
  if (sampling.mode == "bilinear") {
    sampling.mode = "linear";
  }
  node.attributes().require("height_scale");
  node.attributes().require("width_scale");
  float scales[] = {1, 1, static_cast<float>(node.attributes().real("height_scale", 1)),
                    static_cast<float>(node.attributes().real("width_scale", 1))};
  auto type = mlir::RankedTensorType::get({4}, node.builder().getF32Type());
  auto value = mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(scales));
  return {resizeBy(node, node.emit("gr.constant", {}, {node.named("value", value)}), nullptr,
                   sampling)};
}

Values resizeByScales(Node& node) {
  return {resizeBy(node, node.input(1), nullptr, oldSampling(node))};
}

/// Returns how the attributes say to resample.
Sampling samplingOf(Node& node) {
  Attributes& attributes = node.attributes();
  Sampling sampling;
  sampling.extrapolation = attributes.real("extrapolation_value", 0);
  sampling.mode = attributes.text("mode", "nearest");
  sampling.coordinates = attributes.text("coordinate_transformation_mode", "half_pixel");
  sampling.rounding = attributes.text("nearest_mode", "round_prefer_floor");
  sampling.cubicCoeff = attributes.real("cubic_coeff_a", -0.75);
  sampling.excludeOutside = attributes.integer("exclude_outside", 0) != 0;
  sampling.antialias = attributes.integer("antialias", 0) != 0;
  sampling.policy = attributes.text("keep_aspect_ratio_policy", "stretch");
  return sampling;
}

/// True for an optional tensor that is left out, or given without elements.
bool isAbsent(mlir::Value value) {
  auto type = value ? llvm::dyn_cast<mlir::RankedTensorType>(value.getType()) : nullptr;
  return !value || (type && llvm::is_contained(type.getShape(), 0));
}

/// The attribute "axes", in the order of scales or sizes; empty for all dims.
std::optional<Ints> axesOf(Node& node, int64_t rank) {
  Ints found;
  for (int64_t axis : node.attributes().integers("axes")) {
    std::optional<int64_t> normalized = node.axisOf(axis, rank);
    if (!normalized) {
      return std::nullopt;
    }
    found.push_back(*normalized);
  }
  return found;
}

/// The region of a crop for all dims; those without a part of `roi` are taken whole.
mlir::Value cropOf(Node& node, mlir::Value roi, const Ints& axes, int64_t rank) {
  if (isAbsent(roi)) {
    return node.fail("coordinate_transformation_mode is tf_crop_and_resize, but roi is left out");
  }
  if (axes.empty()) {
    return roi;
  }
  auto named = static_cast<int64_t>(axes.size());
  Values halves;
  for (int64_t half : {0, 1}) {
    mlir::Value values = node.emit(
        "gr.slice", {roi, node.constant({half * named}), node.constant({(half + 1) * named}),
                     node.constant({0}), node.constant({1})});
    halves.push_back(node.spread(values, axes, rank, [&](int64_t) {
      return node.emit("gr.unsqueeze", {node.scalarLike(roi, static_cast<double>(half))},
                       {node.integers("axes", {0})});
    }));
  }
  return node.emit("gr.concat", halves, {node.integer("axis", 0)});
}

/// Completes `sampling` by what depends on rank and inputs.
void readInputs(Node& node, bool scaled, const Ints& axes, int64_t rank, Sampling& sampling) {
  if (sampling.coordinates == "tf_crop_and_resize") {
    sampling.roi = cropOf(node, node.input(1), axes, rank);
  }
  if (scaled || sampling.policy == "stretch") {
    sampling.policy = "stretch";  // scales are taken as they are
    return;
  }
  sampling.axes = axes.empty() ? Ints(llvm::to_vector(llvm::seq<int64_t>(0, rank))) : axes;
  llvm::sort(sampling.axes);
}

Values resize(Node& node) {
  Sampling sampling = samplingOf(node);
  mlir::Value scales = isAbsent(node.input(2)) ? nullptr : node.input(2);
  mlir::Value sizes = isAbsent(node.input(3)) ? nullptr : node.input(3);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<Ints> axes = rank ? axesOf(node, *rank) : std::nullopt;
  if (!axes) {
    return {nullptr};
  }
  if (!scales == !sizes) {
    return {node.fail(absl::StrCat("has ",
                                   scales ? "both scales and sizes" : "neither scales nor sizes",
                                   ", expected one of them"))};
  }
  readInputs(node, static_cast<bool>(scales), *axes, *rank, sampling);
  if (!axes->empty() && scales) {
    scales = node.spread(scales, *axes, *rank, [&](int64_t) {
      return node.emit("gr.unsqueeze", {node.scalarLike(scales, 1)}, {node.integers("axes", {0})});
    });
  } else if (!axes->empty()) {
    sizes = node.spread(sizes, *axes, *rank, [&](int64_t i) {
      return node.emit("gr.shape", {node.input(0)},
                       {node.integer("start", i), node.integer("end", i + 1)});
    });
  }
  return {scales || sizes ? resizeBy(node, scales, sizes, sampling) : mlir::Value()};
}

const OpRow kResizeOps[] = {
    {"Upsample", 1, 6, 1, 1, 1, upsampleImage},  {"Upsample", 7, 8, 1, 1, 1, upsampleByAttribute},
    {"Upsample", 9, 9, 2, 2, 1, resizeByScales}, {"Resize", 10, 10, 2, 2, 1, resizeByScales},
    {"Resize", 11, kLast, 1, 4, 1, resize},
};

}  // namespace

llvm::ArrayRef<OpRow> resizeOps() { return kResizeOps; }

}  // namespace graphrun::frontends
