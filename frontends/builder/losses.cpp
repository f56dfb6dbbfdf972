#include "frontends/builder/losses.h"

#include "frontends/builder/index_ops.h"
#include "frontends/builder/ops.h"
#include "frontends/builder/target_call.h"

namespace graphrun::builder::losses {
namespace {

constexpr double kEpsilon = 1e-7;  // Keras's

Tensor meanOf(const Tensor& x, const TargetCall& call) {
  return reduce(x, Reduction::kMean, {.keepdims = false}, call.at("mean"));
}

Tensor lastSum(const Tensor& x, bool keepdims) {
  const auto last = static_cast<int64_t>(x.dims().size()) - 1;
  return reduce(x, Reduction::kSum, {.axes = {last}, .keepdims = keepdims});
}

/// Logarithms of the classes' probabilities.
Tensor logProbabilities(const Tensor& output, bool fromLogits) {
  return fromLogits ? logSoftmax(output)
                    : log(clip(output / lastSum(output, true), kEpsilon, 1 - kEpsilon));
}

}  // namespace

Tensor sparseCategoricalCrossentropy(const Tensor& output, const Tensor& target,
                                     const Crossentropy& options, const At& at) {
  TargetCall call("sparseCategoricalCrossentropy", output, target, at);
  call.requireClasses();
  if (!call.ready()) {
    return call.failed();
  }
  const Tensor classes = unsqueeze(cast(target, ElementType::kI64), {-1});
  return meanOf(-gatherElements(logProbabilities(output, options.fromLogits), classes, -1), call);
}

Tensor categoricalCrossentropy(const Tensor& output, const Tensor& target,
                               const Crossentropy& options, const At& at) {
  TargetCall call("categoricalCrossentropy", output, target, at);
  call.requireMinimumRank(1);
  call.requireSameDims();
  if (!call.ready()) {
    return call.failed();
  }
  const Tensor products = call.numbers() * logProbabilities(output, options.fromLogits);
  return meanOf(products.valid() ? -lastSum(products, false) : products, call);
}

Tensor meanSquaredError(const Tensor& output, const Tensor& target, const At& at) {
  TargetCall call("meanSquaredError", output, target, at);
  call.requireSameDims();
  if (!call.ready()) {
    return call.failed();
  }
  const Tensor difference = output - call.numbers();
  return meanOf(difference * difference, call);
}

Tensor binaryCrossentropy(const Tensor& output, const Tensor& target, const Crossentropy& options,
                          const At& at) {
  TargetCall call("binaryCrossentropy", output, target, at);
  call.requireSameDims();
  if (!call.ready()) {
    return call.failed();
  }
  const Tensor yes = call.numbers();
  const Tensor no = 1 - yes;
  if (options.fromLogits) {
    // softplus(x) is -log(1 - sigmoid(x)). Nothing cancels, and the gradient is right at 0, too.
    return meanOf(yes * softplus(-output) + no * softplus(output), call);
  }
  const Tensor p = clip(output, kEpsilon, 1 - kEpsilon);
  return meanOf(-(yes * log(p) + no * log(1 - p)), call);
}

}  // namespace graphrun::builder::losses
