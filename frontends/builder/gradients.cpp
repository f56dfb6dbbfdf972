#include "frontends/builder/gradients.h"

#include "frontends/builder/graph_impl.h"
#include "frontends/builder/op_call.h"
#include "ir/gradients/watch.h"

namespace graphrun::builder {

std::vector<Tensor> gradients(const Tensor& loss, const std::vector<Tensor>& wrt, const At& at) {
  std::vector<Argument> arguments = {loss};
  for (const Tensor& tensor : wrt) {
    mlir::Value value = GraphImpl::valueOf(tensor);
    GraphImpl* graph = GraphImpl::graphOf(tensor);
    arguments.emplace_back(value && graph != nullptr ? graph->tensorOf(ir::watch(value)) : tensor);
  }
  return OpCall("gradient", at, std::move(arguments)).create(wrt.size());
}

}  // namespace graphrun::builder
