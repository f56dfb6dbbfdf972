// Collectives.
#include "frontends/builder/op_call.h"
#include "frontends/builder/ops.h"

namespace graphrun::builder {
namespace {

std::vector<Argument> argumentsOf(const std::vector<Tensor>& inputs) {
  return {inputs.begin(), inputs.end()};
}

}  // namespace

std::vector<Tensor> allReduce(const std::vector<Tensor>& inputs, Reduction kind, const At& at) {
  return OpCall("all_reduce", at, argumentsOf(inputs))
      .text("kind", nameOf(kind))
      .create(inputs.size());
}

std::vector<Tensor> allGather(const std::vector<Tensor>& inputs, int64_t axis, const At& at) {
  return OpCall("all_gather", at, argumentsOf(inputs))
      .axis("axis", axis, inputs.empty() ? Tensor() : inputs[0])
      .create(inputs.size());
}

std::vector<Tensor> reduceScatter(const std::vector<Tensor>& inputs, int64_t axis, Reduction kind,
                                  const At& at) {
  return OpCall("reduce_scatter", at, argumentsOf(inputs))
      .text("kind", nameOf(kind))
      .axis("axis", axis, inputs.empty() ? Tensor() : inputs[0])
      .create(inputs.size());
}

}  // namespace graphrun::builder
