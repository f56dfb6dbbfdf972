#include "frontends/builder/metrics.h"

#include "frontends/builder/index_ops.h"
#include "frontends/builder/ops.h"
#include "frontends/builder/target_call.h"

namespace graphrun::builder::metrics {
namespace {

Counts countsOf(const Tensor& isRight, const TargetCall& call) {
  return {reduce(cast(isRight, ElementType::kI64), Reduction::kSum, {.keepdims = false},
                 call.at("right")),
          reduce(shape(isRight), Reduction::kProd, {.keepdims = false}, call.at("total"))};
}

Tensor largest(const Tensor& x) { return argMax(x, -1, {.keepdims = false}); }

}  // namespace

Counts sparseCategoricalAccuracy(const Tensor& output, const Tensor& target, const At& at) {
  TargetCall call("sparseCategoricalAccuracy", output, target, at);
  call.requireClasses();
  if (!call.ready()) {
    return {call.failed(), call.failed()};
  }
  return countsOf(largest(output) == cast(target, ElementType::kI64), call);
}

Counts categoricalAccuracy(const Tensor& output, const Tensor& target, const At& at) {
  TargetCall call("categoricalAccuracy", output, target, at);
  call.requireMinimumRank(1);
  call.requireSameDims();
  if (!call.ready()) {
    return {call.failed(), call.failed()};
  }
  return countsOf(largest(output) == largest(target), call);
}

Counts binaryAccuracy(const Tensor& output, const Tensor& target, double threshold, const At& at) {
  TargetCall call("binaryAccuracy", output, target, at);
  call.requireSameDims();
  if (!call.ready()) {
    return {call.failed(), call.failed()};
  }
  const Tensor predicted = cast(output > threshold, output.elementType());
  return countsOf(predicted == call.numbers(), call);
}

}  // namespace graphrun::builder::metrics
