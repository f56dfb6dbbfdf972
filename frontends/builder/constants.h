// Constants of a graph, and states, are made from data, numbers and initialisers. Internal.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_CONSTANTS_H_
#define GRAPHRUN_FRONTENDS_BUILDER_CONSTANTS_H_

#include <memory>
#include <string>

#include "frontends/builder/graph_impl.h"

namespace graphrun::builder {

/// The element `value` of a tensor type; null, with the reason in `problem`, when the type does not
/// have it.
mlir::ElementsAttr splatOf(Scalar value, mlir::RankedTensorType type, std::string& problem);

/// A copy of a tensor's elements; bools are bytes of 0 and others. `label` names where large ones
/// are kept.
mlir::ElementsAttr elementsOf(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes,
                              const std::string& label);

/// Makes one constant, or a state that begins with it; problems go to the graph.
class ConstantMaker {
 public:
  enum class Kind { kConstant, kState, kParameter };
  /// Returns what a weight is in a graph of that mode.
  static Kind weightIn(Mode mode) {
    return mode == Mode::kInference ? Kind::kConstant : Kind::kParameter;
  }

  ConstantMaker(GraphImpl& graph, const At& at, Kind kind = Kind::kConstant);

  Tensor copy(const runtime::TensorSpec& spec, const void* data, size_t bytes);
  Tensor take(HostTensor&& value);
  /// `owner` keeps the bytes.
  Tensor view(const runtime::TensorSpec& spec, absl::Span<const uint8_t> bytes,
              std::shared_ptr<const void> owner);
  Tensor scalar(Scalar value, ElementType type);
  Tensor weight(const runtime::TensorSpec& spec, const Initializer& initializer);
  /// Reports why the constant cannot be made.
  Tensor problem(const std::string& message);

 private:
  /// Reports `spec` unless it is one of a tensor in a file.
  bool check(const runtime::TensorSpec& spec);
  bool checkSize(const runtime::TensorSpec& spec, size_t bytes);
  Tensor finish(mlir::ElementsAttr value);
  /// A constant that stays where it is; `alignment` is that of the bytes' address.
  template <typename Owner>
  Tensor keep(const runtime::TensorSpec& spec, llvm::ArrayRef<char> bytes, size_t alignment,
              Owner owner);
  mlir::RankedTensorType typeOf(const runtime::TensorSpec& spec);

  GraphImpl& graph_;
  Kind kind_;
  const char* what_;  ///< "constant", "state"
  std::string label_;
  std::source_location source_;
};

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_CONSTANTS_H_
