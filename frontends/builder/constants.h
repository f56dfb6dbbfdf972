// Constants of a graph from data, numbers and initialisers. Internal.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_CONSTANTS_H_
#define GRAPHRUN_FRONTENDS_BUILDER_CONSTANTS_H_

#include <string>

#include "frontends/builder/graph_impl.h"

namespace graphrun::builder {

/// The element `value` of a tensor type; null, with the reason in `problem`, when the type does not
/// have it.
mlir::ElementsAttr splatOf(Scalar value, mlir::RankedTensorType type, std::string& problem);

/// Makes one constant; problems go to the graph.
class ConstantMaker {
 public:
  ConstantMaker(GraphImpl& graph, const At& at);

  Tensor copy(const runtime::TensorSpec& spec, const void* data, size_t bytes);
  Tensor take(HostTensor&& value);
  Tensor scalar(Scalar value, ElementType type);
  Tensor weight(const runtime::TensorSpec& spec, const Initializer& initializer);

 private:
  /// Reports `spec` unless it is one of a tensor in a file.
  bool check(const runtime::TensorSpec& spec);
  bool checkSize(const runtime::TensorSpec& spec, size_t bytes);
  Tensor problem(const std::string& message);
  Tensor finish(mlir::ElementsAttr value);
  mlir::RankedTensorType typeOf(const runtime::TensorSpec& spec);

  GraphImpl& graph_;
  std::string label_;
  std::source_location source_;
};

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_CONSTANTS_H_
