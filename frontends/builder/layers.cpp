#include "frontends/builder/layers.h"

#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "frontends/builder/composite.h"
#include "llvm/Support/xxhash.h"

namespace graphrun::builder::layers {
namespace {

/// One call of a layer, with the weights that it makes.
class Layer : public Composite {
 public:
  using Composite::Composite;

  void requireFloat() {
    if (ready() && !runtime::isFloat(input().elementType())) {
      problem(absl::StrCat("input is ", input().toString(), ", expected a floating-point type"));
    }
  }

  /// The size of a dim that sizes a weight; reports one that is not static, and an input of a type
  /// that weights do not have.
  int64_t sizeOfDim(size_t i) {
    requireFloat();
    if (!ready()) {
      return 0;
    }
    Dim dim = input().dims()[i];
    if (!dim.isStatic()) {
      problem(absl::StrCat("dim ", i, " of the input ", input().toString(), " is ", dim.toString(),
                           ", expected a number: it is the size of a weight"));
    }
    return dim.isStatic() ? dim.size() : 0;
  }

  Tensor weight(const char* name, const std::vector<int64_t>& dims, const Initializer& init) {
    return weightMaker(name).weight({input().elementType(), dims}, init);
  }
  /// A statistic of the data, which no gradient changes.
  Tensor statistic(const char* name, int64_t channels, const Initializer& init) {
    return stateMaker(name).weight({input().elementType(), {channels}}, init);
  }

  /// The number of the step, from 0.
  Tensor step() {
    const Tensor step = stateMaker("step").scalar(0, ElementType::kI64);
    graph().update(step, step + 1, source());
    return step;
  }
  /// A seed of this layer alone, the same wherever it is made.
  int64_t seed(int64_t given) const {
    return given ^ static_cast<int64_t>(llvm::xxh3_64bits(label()));
  }

  /// Moves a statistic towards that of the batch: `momentum` is the part of it that stays.
  void follow(const Tensor& statistic, const Tensor& batch, double momentum) {
    graph().update(statistic, statistic * momentum + batch * (1 - momentum), source());
  }
};

}  // namespace

Tensor dense(const Tensor& x, int64_t units, const Dense& options, const At& at) {
  Layer layer("dense", x, at);
  layer.requireMinimumRank(1);
  layer.requirePositive("units", units);
  int64_t in = layer.ready() ? layer.sizeOfDim(x.dims().size() - 1) : 0;
  if (!layer.ready()) {
    return layer.failed();
  }
  Tensor weight = layer.weight("weight", {in, units}, options.weights);
  Tensor y = matmul(x, weight, {}, layer.at("matmul"));
  if (options.bias) {
    y = add(y, layer.weight("bias", {units}, init::zeros()), layer.at("add"));
  }
  return y;
}

Tensor conv2d(const Tensor& x, int64_t channels, const std::vector<int64_t>& kernel,
              const Conv2d& options, const At& at) {
  Layer layer("conv2d", x, at);
  layer.requireRank(4, "4 dims, N x C x H x W");
  layer.requirePositive("channels", channels);
  layer.requirePositive("groups", options.groups);
  int64_t in = layer.sizeOfDim(1);
  if (layer.ready() && kernel.size() != 2) {
    layer.problem(
        absl::StrCat("kernel has ", kernel.size(), " entries, expected height and width"));
  }
  for (int64_t size : kernel) {
    layer.requirePositive("kernel", size);
  }
  if (layer.ready() && (in % options.groups != 0 || channels % options.groups != 0)) {
    layer.problem(absl::StrCat("input has ", in, " channels and the result ", channels,
                               ", expected multiples of groups, ", options.groups));
  }
  if (!layer.ready()) {
    return layer.failed();
  }
  Tensor filter = layer.weight("weight", {channels, in / options.groups, kernel[0], kernel[1]},
                               options.weights);
  Conv conv{.strides = options.strides,
            .dilations = options.dilations,
            .pads = options.pads,
            .padding = options.padding,
            .groups = options.groups};
  if (options.bias) {
    conv.bias = layer.weight("bias", {channels}, init::zeros());
  }
  return builder::conv(x, filter, conv, layer.at("conv"));
}

Tensor batchNorm(const Tensor& x, const BatchNorm& options, const At& at) {
  Layer layer("batchNorm", x, at);
  layer.requireMinimumRank(2);
  int64_t channels = layer.sizeOfDim(1);
  if (!layer.ready()) {
    return layer.failed();
  }
  Tensor scale = layer.weight("scale", {channels}, init::ones());
  Tensor bias = layer.weight("bias", {channels}, init::zeros());
  Tensor mean = layer.statistic("mean", channels, init::zeros());
  Tensor variance = layer.statistic("variance", channels, init::ones());
  if (layer.graph().mode() != Mode::kTraining) {
    return builder::batchNorm(x, scale, bias, mean, variance, options.epsilon,
                              layer.at("batch_norm"));
  }
  BatchNormTraining y = batchNormTraining(x, scale, bias, options.epsilon, layer.at("batch_norm"));
  layer.follow(mean, y.mean, options.momentum);
  layer.follow(variance, y.variance, options.momentum);
  return y.output;
}

Tensor layerNorm(const Tensor& x, double epsilon, const At& at) {
  Layer layer("layerNorm", x, at);
  layer.requireMinimumRank(1);
  int64_t size = layer.ready() ? layer.sizeOfDim(x.dims().size() - 1) : 0;
  if (!layer.ready()) {
    return layer.failed();
  }
  Tensor scale = layer.weight("scale", {size}, init::ones());
  Tensor bias = layer.weight("bias", {size}, init::zeros());
  return builder::layerNorm(x, scale, {.bias = bias, .epsilon = epsilon}, layer.at("layer_norm"));
}

Tensor recurrent(const Tensor& x, Cell cell, int64_t units, const Recurrent& options,
                 const At& at) {
  Layer layer("recurrent", x, at);
  layer.requireRank(3, "3 dims, N x T x C");
  layer.requirePositive("units", units);
  const int64_t in = layer.ready() ? layer.sizeOfDim(2) : 0;
  if (!layer.ready()) {
    return layer.failed();
  }
  const double bound = 1 / std::sqrt(static_cast<double>(units));
  const Initializer init = options.weights.value_or(init::uniform(-bound, bound));
  const int64_t gates = (cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1) * units;
  const RecurrentWeights weights{.input = layer.weight("weight", {gates, in}, init),
                                 .hidden = layer.weight("recurrent", {gates, units}, init),
                                 .bias = layer.weight("bias", {gates}, init::zeros())};
  const Tensor width = layer.constant("units").take(*HostTensor::from({units}, {1}));
  const Tensor batch = concat({shape(x, 0, 1, layer.at("batch")), width}, 0, layer.at("dims"));
  const Tensor zeros = fill(batch, 0, x.elementType(), layer.at("zeros"));
  const Tensor hidden =
      builder::recurrent(transpose(x, {1, 0, 2}, layer.at("steps")), cell, weights, zeros,
                         cell == Cell::kLstm ? zeros : Tensor(), layer.at("cell"));
  return options.sequences ? transpose(hidden, {1, 0, 2}, layer.at("sequences")) : hidden[-1];
}

Tensor dropout(const Tensor& x, double rate, int64_t seed, const At& at) {
  Layer layer("dropout", x, at);
  layer.requireFloat();
  if (layer.ready() && !(rate >= 0 && rate < 1)) {
    layer.problem(absl::StrCat("rate is ", rate, ", expected at least 0 and below 1"));
  }
  if (!layer.ready()) {
    return layer.failed();
  }
  if (layer.graph().mode() != Mode::kTraining || rate == 0) {
    return x;
  }
  const Tensor step = layer.step();
  const Tensor u = builder::random(shape(x, 0, {}, layer.at("shape")), layer.seed(seed),
                                   {.step = step}, layer.at("random"));
  return where(less(u, rate, layer.at("dropped")), 0, x / (1 - rate), layer.at("where"));
}

Tensor globalAveragePool(const Tensor& x, const At& at) {
  Layer layer("globalAveragePool", x, at);
  layer.requireMinimumRank(3);
  if (!layer.ready()) {
    return layer.failed();
  }
  std::vector<int64_t> axes(x.dims().size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return reduce(x, Reduction::kMean, {.axes = axes, .keepdims = false}, layer.at("reduce"));
}

Tensor flatten(const Tensor& x, const At& at) {
  Layer layer("flatten", x, at);
  layer.requireMinimumRank(1);
  if (!layer.ready()) {
    return layer.failed();
  }
  return reshape(x, {0, -1}, {}, layer.at("reshape"));
}

}  // namespace graphrun::builder::layers
