// Normalisations that are composed of reductions, or of simpler normalisations.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"
#include "passes/passes.h"

namespace graphrun::frontends {
namespace {

using Axes = llvm::SmallVector<int64_t>;

struct Statistics {
  mlir::Value centred, mean, variance;
};

/// Mean and variance over `axes`, which stay as dims of 1.
Statistics statisticsOf(Node& node, mlir::Value x, llvm::ArrayRef<int64_t> axes) {
  mlir::Value mean = reduceTo(node, x, "mean", axes, true);
  mlir::Value centred = node.emit("gr.sub", {x, mean});
  mlir::Value squares = node.emit("gr.mul", {centred, centred});
  return {centred, mean, reduceTo(node, squares, "mean", axes, true)};
}

/// sqrt(variance + epsilon)
mlir::Value deviation(Node& node, mlir::Value variance, double epsilon) {
  return node.emit("gr.sqrt", {withScalar(node, "gr.add", variance, epsilon)});
}

/// The dims from the attribute `axis` on.
std::optional<Axes> trailingAxes(Node& node) {
  int64_t given = node.attributes().integer("axis", -1);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<int64_t> axis = rank ? node.axisOf(given, *rank) : std::nullopt;
  return axis ? std::optional(llvm::to_vector(llvm::seq<int64_t>(*axis, *rank))) : std::nullopt;
}

/// The statistics as results: all is computed in the type that stash_type names.
Values layerNormWithStatistics(Node& node, mlir::Type stash, double epsilon) {
  std::optional<Axes> axes = trailingAxes(node);
  mlir::Value x = node.input(0);
  if (!axes || !x) {
    return {nullptr, nullptr, nullptr};
  }
  Statistics statistics = statisticsOf(node, castTo(node, x, stash), *axes);
  mlir::Value inverse = node.emit("gr.reciprocal", {deviation(node, statistics.variance, epsilon)});
  mlir::Value normal = castLike(node, node.emit("gr.mul", {statistics.centred, inverse}), x);
  mlir::Value result = node.emit("gr.mul", {normal, node.input(1)});
  if (node.input(2)) {
    result = node.emit("gr.add", {result, node.input(2)});
  }
  return {result, statistics.mean, inverse};
}

Values layerNorm(Node& node) {
  mlir::Type stash = floatTypeAttribute(node, "stash_type", 1);
  double epsilon = node.attributes().real("epsilon", kDefaultEpsilon);
  int64_t axis = node.attributes().integer("axis", -1);
  if (!stash) {
    return {nullptr};
  }
  if (node.outputUsed(1) || node.outputUsed(2)) {
    return layerNormWithStatistics(node, stash, epsilon);
  }
  Values operands = {node.input(0), node.input(1)};
  if (node.input(2)) {
    operands.push_back(node.input(2));
  }
  return {node.emit("gr.layer_norm", operands,
                    {node.integer("axis", axis), node.real("epsilon", epsilon)})};
}

/// x / sqrt(mean(x^2) + epsilon) in the type of stash_type, then scaled in the type of the scale.
Values rmsNorm(Node& node) {
  mlir::Type stash = floatTypeAttribute(node, "stash_type", 1);
  double epsilon = node.attributes().real("epsilon", kDefaultEpsilon);
  std::optional<Axes> axes = trailingAxes(node);
  mlir::Value x = stash ? castTo(node, node.input(0), stash) : mlir::Value();
  if (!axes || !x) {
    return {nullptr};
  }
  mlir::Value mean = reduceTo(node, node.emit("gr.mul", {x, x}), "mean", *axes, true);
  mlir::Value normal = node.emit("gr.div", {x, deviation(node, mean, epsilon)});
  mlir::Value narrow = castLike(node, normal, node.input(0));
  return {node.emit("gr.mul", {castLike(node, narrow, node.input(1)), node.input(1)})};
}

/// A vector of `count` times the number `value`, of the element type of `like`.
mlir::Value filled(Node& node, mlir::Value like, int64_t count, double value) {
  auto one = mlir::RankedTensorType::get({1}, node.elementOf(like));
  auto attr = mlir::DenseElementsAttr::get(
      one, mlir::Attribute(node.builder().getFloatAttr(node.elementOf(like), value)));
  return node.emit("gr.fill", {node.constant({count})}, {node.named("value", attr)});
}

/// A vector of one value a channel, as it broadcasts to a tensor of this rank.
mlir::Value alongChannels(Node& node, mlir::Value vector, int64_t rank) {
  return unsqueeze(node, vector, llvm::to_vector(llvm::seq<int64_t>(1, rank - 1)));
}

/// Each group of channels is an instance's channel. Before opset 21 scale and bias belong to the
/// groups, since then to the channels.
Values groupNorm(Node& node) {
  Attributes& attributes = node.attributes();
  attributes.require("num_groups");
  int64_t groups = attributes.integer("num_groups", 1);
  double epsilon = attributes.real("epsilon", kDefaultEpsilon);
  mlir::Value x = node.input(0);
  std::optional<int64_t> rank = node.rankOf(x);
  if (!rank || (node.opset() >= 21 && !floatTypeAttribute(node, "stash_type", 1))) {
    return {nullptr};
  }
  if (groups < 1 || *rank < 2) {
    return {node.fail(absl::StrCat("num_groups is ", groups, " and the input of rank ", *rank,
                                   ", expected at least 1 and 2"))};
  }
  bool perGroup = node.opset() < 21;
  mlir::Value scale = perGroup ? node.input(1) : filled(node, x, groups, 1);
  mlir::Value bias = perGroup ? node.input(2) : filled(node, x, groups, 0);
  mlir::Value grouped = reshape(node, x, {0, groups, -1});
  mlir::Value normal =
      node.emit("gr.instance_norm", {grouped, scale, bias}, {node.real("epsilon", epsilon)});
  mlir::Value result = reshapeTo(node, normal, node.emit("gr.shape", {x}));
  if (perGroup) {
    return {result};
  }
  result = node.emit("gr.mul", {result, alongChannels(node, node.input(1), *rank)});
  return {node.emit("gr.add", {result, alongChannels(node, node.input(2), *rank)})};
}

/// x divided by its p-norm along the axis; 0 where that is 0.
Values lpNorm(Node& node) {
  auto p = static_cast<double>(node.attributes().integer("p", 2));
  int64_t given = node.attributes().integer("axis", -1);
  mlir::Value x = node.input(0);
  std::optional<int64_t> rank = node.rankOf(x);
  std::optional<int64_t> axis = rank ? node.axisOf(given, *rank) : std::nullopt;
  if (!axis) {
    return {nullptr};
  }
  if (p != 1 && p != 2) {
    return {node.fail(absl::StrCat("p is ", p, ", expected 1 or 2"))};
  }
  mlir::Value norm =
      rootOf(node, reduceTo(node, absolutePower(node, x, p), "sum", {*axis}, true), p);
  mlir::Value zero = node.scalarLike(x, 0);
  return {node.emit("gr.where",
                    {node.emit("gr.equal", {norm, zero}), zero, node.emit("gr.div", {x, norm})})};
}

/// (x - mean) / (sqrt(variance) + 1e-9)
Values meanVarianceNorm(Node& node) {
  bool given = node.attributes().has("axes");
  Axes axes = node.attributes().integers("axes");
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<Axes> reduced =
      rank ? node.axesOf(given ? axes : Axes{0, 2, 3}, *rank) : std::nullopt;
  if (!reduced) {
    return {nullptr};
  }
  Statistics statistics = statisticsOf(node, node.input(0), *reduced);
  mlir::Value size = withScalar(node, "gr.add", node.emit("gr.sqrt", {statistics.variance}), 1e-9F);
  return {node.emit("gr.div", {statistics.centred, size})};
}

/// A BatchLayout says how the parameters of a batch normalisation lie along its input: one a
/// channel, or (opset 1 to 8, spatial = 0) one for each element of a sample.
struct BatchLayout {
  int64_t rank;
  bool spatial;

  Axes reduced() const {
    Axes axes = {0};
    if (spatial) {
      axes.append(llvm::to_vector(llvm::seq<int64_t>(2, rank)));
    }
    return axes;
  }
};

mlir::Value broadcastParameter(Node& node, const BatchLayout& layout, mlir::Value parameter) {
  std::optional<int64_t> own = node.rankOf(parameter);
  return layout.spatial && own && layout.rank > 2 ? alongChannels(node, parameter, layout.rank)
                                                  : parameter;
}

/// (x - mean) / deviation * scale + bias, in the type of x.
mlir::Value normalise(Node& node, const BatchLayout& layout, mlir::Value centred,
                      mlir::Value variance, double epsilon) {
  mlir::Value scale = broadcastParameter(node, layout, castLike(node, node.input(1), centred));
  mlir::Value bias = broadcastParameter(node, layout, castLike(node, node.input(2), centred));
  mlir::Value normal = node.emit("gr.div", {centred, deviation(node, variance, epsilon)});
  return node.emit("gr.add", {node.emit("gr.mul", {normal, scale}), bias});
}

/// old * momentum + now * (1 - momentum), in the type of `old`.
mlir::Value running(Node& node, mlir::Value old, mlir::Value now, double momentum) {
  mlir::Value kept = withScalar(node, "gr.mul", old, momentum);
  return node.emit("gr.add",
                   {kept, withScalar(node, "gr.mul", castLike(node, now, old), 1 - momentum)});
}

/// By the statistics of this batch; 16-bit floats are computed in f32.
Values batchNormTraining(Node& node, const BatchLayout& layout, double epsilon, double momentum) {
  mlir::Value x = node.input(0);
  bool narrow = node.elementOf(x).getIntOrFloatBitWidth() < 32;
  mlir::Value wide = narrow ? castTo(node, x, node.builder().getF32Type()) : x;
  Axes axes = layout.reduced();
  Statistics statistics = statisticsOf(node, wide, axes);
  mlir::Value result =
      castLike(node, normalise(node, layout, statistics.centred, statistics.variance, epsilon), x);
  auto squeezed = [&](mlir::Value value) {
    return node.emit("gr.squeeze", {value}, {node.integers("axes", axes)});
  };
  mlir::Value mean = squeezed(statistics.mean);
  mlir::Value variance = squeezed(statistics.variance);
  Values outputs = {result, running(node, node.input(3), mean, momentum),
                    running(node, node.input(4), variance, momentum),
                    castLike(node, mean, node.input(3)), castLike(node, variance, node.input(4))};
  outputs.resize(std::min(outputs.size(), std::max<size_t>(node.outputCount(), 1)));
  return outputs;
}

/// The running statistic `input` as a state; null, reported, where it is no initializer.
mlir::Value statisticState(Node& node, size_t input, llvm::StringRef what) {
  auto constant = node.input(input).getDefiningOp<ir::ConstantOp>();
  std::string name = constant ? passes::labelOf(constant.getLoc()) : "";
  if (name.empty()) {
    return node.fail(absl::StrCat("input ", input, ", the ", what.str(),
                                  ", is computed, expected an initializer: training changes it"));
  }
  mlir::OpBuilder& builder = node.builder();
  return builder.create<ir::StateOp>(constant.getLoc(), constant.getType(),
                                     builder.getStringAttr(name), constant.getValue());
}

/// A step of training: by the statistics of this batch, which move the running ones.
Values batchNormStep(Node& node, const BatchLayout& layout, double epsilon, double momentum) {
  if (!layout.spatial) {
    return {node.fail("attribute \"spatial\" is 0, which is not trained: expected 1")};
  }
  for (size_t i = 1; i < node.outputCount(); ++i) {
    node.refuseOutput(i, "a statistic of a batch");
  }
  Values operands = {node.input(0), castLike(node, node.input(1), node.input(0)),
                     castLike(node, node.input(2), node.input(0))};
  Values made =
      node.emitMany("gr.batch_norm_training", operands, {node.real("epsilon", epsilon)}, 3);
  for (auto [input, what] : {std::pair(3, "running mean"), std::pair(4, "running variance")}) {
    mlir::Value state = statisticState(node, static_cast<size_t>(input), what);
    mlir::Value next = state ? running(node, state, made[input - 2], momentum) : nullptr;
    if (next) {
      node.builder().create<ir::UpdateOp>(node.location(), state, next);
    }
  }
  return {made[0]};
}

Values batchNormInference(Node& node, const BatchLayout& layout, double epsilon) {
  // Since opset 15 the parameters may have types of their own.
  Values operands = {node.input(0)};
  for (size_t i = 1; i < 5; ++i) {
    operands.push_back(castLike(node, node.input(i), node.input(0)));
  }
  if (layout.spatial) {
    return {node.emit("gr.batch_norm", operands, {node.real("epsilon", epsilon)})};
  }
  mlir::Value centred = node.emit("gr.sub", {operands[0], operands[3]});
  return {normalise(node, layout, centred, operands[4], epsilon)};
}

/// Since opset 14 an attribute says whether to train; before, the outputs that are asked for.
bool trains(Node& node) {
  if (node.opset() >= 14) {
    return node.attributes().integer("training_mode", 0) != 0;
  }
  for (size_t i = 1; i < node.outputCount(); ++i) {
    if (node.outputUsed(i)) {
      return true;
    }
  }
  return false;
}

Values batchNorm(Node& node) {
  Attributes& attributes = node.attributes();
  ignoreConsumed(node);
  attributes.ignore({"is_test"});
  double epsilon = attributes.real("epsilon", kDefaultEpsilon);
  double momentum = attributes.real("momentum", 0.9F);
  bool spatial = node.opset() >= 9 || attributes.integer("spatial", 1) != 0;
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  bool training = trains(node);
  if (!rank) {
    return {nullptr};
  }
  if (*rank < 2) {
    return {node.fail(absl::StrCat("input is of rank ", *rank, ", expected at least 2"))};
  }
  BatchLayout layout{*rank, spatial};
  if (node.trains()) {
    return batchNormStep(node, layout, epsilon, momentum);
  }
  if (training) {
    return batchNormTraining(node, layout, epsilon, momentum);
  }
  for (size_t i = 1; i < node.outputCount(); ++i) {
    node.refuseOutput(i, "a statistic of training, while training_mode is 0");
  }
  return batchNormInference(node, layout, epsilon);
}

const OpRow kStatisticOps[] = {
    {"BatchNormalization", 1, 13, 5, 5, 5, batchNorm},
    {"BatchNormalization", 14, kLast, 5, 5, 3, batchNorm},
    {"LayerNormalization", 17, kLast, 2, 3, 3, layerNorm},
    {"RMSNormalization", 23, kLast, 2, 2, 1, rmsNorm},
    {"GroupNormalization", 18, kLast, 3, 3, 1, groupNorm},
    {"LpNormalization", 1, kLast, 1, 1, 1, lpNorm},
    {"MeanVarianceNormalization", 9, kLast, 1, 1, 1, meanVarianceNorm},
};

}  // namespace

llvm::ArrayRef<OpRow> statisticOps() { return kStatisticOps; }

}  // namespace graphrun::frontends
