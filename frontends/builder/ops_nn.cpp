// Operations of neural networks.
#include <array>
#include <cmath>

#include "frontends/builder/op_call.h"
#include "frontends/builder/ops.h"

namespace graphrun::builder {
namespace {

const char* nameOf(Padding padding) {
  return padding == Padding::kExplicit    ? "explicit"
         : padding == Padding::kSameUpper ? "same_upper"
                                          : "same_lower";
}

const char* nameOf(ResizeMode mode) {
  return mode == ResizeMode::kNearest  ? "nearest"
         : mode == ResizeMode::kLinear ? "linear"
                                       : "cubic";
}

const char* nameOf(Coordinates coordinates) {
  switch (coordinates) {
    case Coordinates::kHalfPixel:
      return "half_pixel";
    case Coordinates::kPytorchHalfPixel:
      return "pytorch_half_pixel";
    case Coordinates::kHalfPixelSymmetric:
      return "half_pixel_symmetric";
    case Coordinates::kAlignCorners:
      return "align_corners";
    case Coordinates::kAsymmetric:
      return "asymmetric";
  }
  return "";
}

const char* nameOf(Rounding rounding) {
  switch (rounding) {
    case Rounding::kPreferFloor:
      return "round_prefer_floor";
    case Rounding::kPreferCeil:
      return "round_prefer_ceil";
    case Rounding::kFloor:
      return "floor";
    case Rounding::kCeil:
      return "ceil";
  }
  return "";
}

std::vector<int64_t> orElse(const std::vector<int64_t>& given, size_t count, int64_t value) {
  return given.empty() ? std::vector<int64_t>(count, value) : given;
}

/// The window's attributes, with defaults for what is not given.
template <typename Options>
void addWindow(OpCall& call, const Options& options, size_t spatial) {
  call.ints("strides", orElse(options.strides, spatial, 1))
      .ints("dilations", orElse(options.dilations, spatial, 1))
      .ints("pads", orElse(options.pads, 2 * spatial, 0))
      .text("padding", nameOf(options.padding));
}

size_t spatialDims(const Tensor& input, const Tensor& filter) {
  size_t rank = input.ranked() ? input.dims().size() : filter.dims().size();
  return rank < 2 ? 0 : rank - 2;
}

}  // namespace

Tensor conv(const Tensor& input, const Tensor& filter, const Conv& options, const At& at) {
  OpCall call("conv", at, {input, filter, Argument::optional(options.bias)});
  addWindow(call, options, spatialDims(input, filter));
  return call.integer("groups", options.groups).create();
}

Tensor convTranspose(const Tensor& input, const Tensor& filter, const ConvTranspose& options,
                     const At& at) {
  OpCall call("conv_transpose", at, {input, filter, Argument::optional(options.bias)});
  size_t spatial = spatialDims(input, filter);
  addWindow(call, options, spatial);
  return call.ints("output_padding", orElse(options.outputPadding, spatial, 0))
      .ints("output_shape", options.outputShape)
      .integer("groups", options.groups)
      .create();
}

Tensor deformConv(const Tensor& input, const Tensor& filter, const Tensor& offsets,
                  const DeformConv& options, const At& at) {
  OpCall call(
      "deform_conv", at,
      {input, filter, offsets, Argument::optional(options.bias), Argument::optional(options.mask)});
  call.segments();
  addWindow(call, options, spatialDims(input, filter));
  return call.integer("groups", options.groups)
      .integer("offset_groups", options.offsetGroups)
      .create();
}

namespace {

/// Adds what the pools other than a mean share.
OpCall& addPool(OpCall& call, const std::vector<int64_t>& kernel, const Pool& options) {
  if (options.countIncludePad) {
    call.problem("countIncludePad is set, which only avgPool knows");
  }
  addWindow(call, options, kernel.size());
  return call.ints("kernel", kernel).flag("ceil_mode", options.ceilMode);
}

}  // namespace

Tensor maxPool(const Tensor& x, const std::vector<int64_t>& kernel, const Pool& options,
               const At& at) {
  OpCall call("max_pool", at, {x});
  return addPool(call, kernel, options).create();
}

std::vector<Tensor> maxPoolWithIndices(const Tensor& x, const std::vector<int64_t>& kernel,
                                       const Pool& options, bool columnMajor, const At& at) {
  OpCall call("max_pool_with_indices", at, {x});
  return addPool(call, kernel, options).flag("column_major", columnMajor).create(2);
}

Tensor lpPool(const Tensor& x, const std::vector<int64_t>& kernel, double p, const Pool& options,
              const At& at) {
  OpCall call("lp_pool", at, {x});
  return addPool(call, kernel, options).number("p", p).create();
}

Tensor avgPool(const Tensor& x, const std::vector<int64_t>& kernel, const Pool& options,
               const At& at) {
  OpCall call("avg_pool", at, {x});
  addWindow(call, options, kernel.size());
  return call.ints("kernel", kernel)
      .flag("ceil_mode", options.ceilMode)
      .flag("count_include_pad", options.countIncludePad)
      .create();
}

Tensor batchNorm(const Tensor& x, const Tensor& scale, const Tensor& bias, const Tensor& mean,
                 const Tensor& variance, double epsilon, const At& at) {
  return OpCall("batch_norm", at, {x, scale, bias, mean, variance})
      .number("epsilon", epsilon)
      .create();
}

BatchNormTraining batchNormTraining(const Tensor& x, const Tensor& scale, const Tensor& bias,
                                    double epsilon, const At& at) {
  std::vector<Tensor> results =
      OpCall("batch_norm_training", at, {x, scale, bias}).number("epsilon", epsilon).create(3);
  return {results[0], results[1], results[2]};
}

Tensor instanceNorm(const Tensor& x, const Tensor& scale, const Tensor& bias, double epsilon,
                    const At& at) {
  return OpCall("instance_norm", at, {x, scale, bias}).number("epsilon", epsilon).create();
}

Tensor layerNorm(const Tensor& x, const Tensor& scale, const LayerNorm& options, const At& at) {
  return OpCall("layer_norm", at, {x, scale, Argument::optional(options.bias)})
      .integer("axis", options.axis)
      .number("epsilon", options.epsilon)
      .create();
}

Tensor lrn(const Tensor& x, int64_t size, const Lrn& options, const At& at) {
  return OpCall("lrn", at, {x})
      .integer("size", size)
      .number("alpha", options.alpha)
      .number("beta", options.beta)
      .number("bias", options.bias)
      .create();
}

Tensor recurrent(const Tensor& input, Cell cell, const RecurrentWeights& weights,
                 const Tensor& hidden, const Tensor& state, const At& at) {
  static constexpr std::array<const char*, 3> kCells = {"rnn", "lstm", "gru"};
  static constexpr std::array<const char*, 3> kLstm = {"sigmoid", "tanh", "tanh"};
  absl::Span<const char* const> activations = kLstm;
  activations = cell == Cell::kRnn   ? activations.subspan(1, 1)
                : cell == Cell::kGru ? activations.subspan(0, 2)
                                     : activations;
  const std::vector<double> none(activations.size(), 0);
  return OpCall(
             "recurrent", at,
             {input, weights.input, weights.hidden, weights.bias, hidden, Argument::optional(state),
              Argument::optional(Tensor()), Argument::optional(Tensor())})
      .segments()
      .text("cell", kCells[static_cast<size_t>(cell)])
      .texts("activations", activations)
      .numbers("alphas", none)
      .numbers("betas", none)
      .create(cell == Cell::kLstm ? 3 : 2)[0];
}

Tensor softmax(const Tensor& x, int64_t axis, const At& at) {
  return OpCall("softmax", at, {x}).integer("axis", axis).flag("log", false).create();
}

Tensor logSoftmax(const Tensor& x, int64_t axis, const At& at) {
  return OpCall("softmax", at, {x}).integer("axis", axis).flag("log", true).create();
}

Tensor resize(const Tensor& x, const Resize& options, const At& at) {
  return OpCall("resize", at,
                {x, Argument::optional("scales", options.scales),
                 Argument::optional("sizes", options.sizes), Argument::optional(Tensor())})
      .segments()
      .text("mode", nameOf(options.mode))
      .text("coordinates", nameOf(options.coordinates))
      .text("rounding", nameOf(options.rounding))
      .number("cubic_coeff", options.cubicCoeff)
      .flag("exclude_outside", options.excludeOutside)
      .create();
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const Attention& options, const At& at) {
  OpCall call("attention", at, {query, key, value, Argument::optional(options.mask)});
  std::optional<double> scale = options.scale;
  if (!scale && query.valid()) {
    const std::vector<Dim> dims = query.dims();
    if (dims.empty() || !dims.back().isStatic() || dims.back().size() < 1) {
      call.problem("the query is " + query.toString() +
                   ", whose last dim is no number; give a scale");
    } else {
      scale = 1 / std::sqrt(static_cast<double>(dims.back().size()));
    }
  }
  return call.number("scale", scale.value_or(1)).flag("causal", options.causal).create();
}

}  // namespace graphrun::builder
