// An OpCall is one call of a builder function on its way to an operation. Internal; needs no MLIR
// header.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_OP_CALL_H_
#define GRAPHRUN_FRONTENDS_BUILDER_OP_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "frontends/builder/tensor.h"

namespace mlir {
class Value;
}

namespace graphrun::passes {
class Emitter;
}

namespace graphrun::builder {

enum class Reduction;
/// Returns how the dialect calls it.
const char* nameOf(Reduction kind);

/// An Argument is what a call was given for one operand of the operation.
class Argument {
 public:
  enum class Kind { kTensor, kOptional, kScalar, kInts, kFloats };

  Argument(Tensor tensor) : tensor_(std::move(tensor)) {}
  Argument(const Operand& operand)
      : kind_(operand.isScalar() ? Kind::kScalar : Kind::kTensor),
        tensor_(operand.tensor()),
        scalar_(operand.scalar()) {}
  /// `name` says what the list is; its constant is called so.
  Argument(const char* name, const Ints& list) : name_(name), tensor_(list.tensor()) {
    kind_ = list.isTensor() ? Kind::kTensor : Kind::kInts;
    ints_ = list.list();
  }
  Argument(const char* name, const Floats& list) : name_(name), tensor_(list.tensor()) {
    kind_ = list.isTensor() ? Kind::kTensor : Kind::kFloats;
    floats_ = list.list();
  }
  /// A default-constructed tensor stands for "not given".
  static Argument optional(const Tensor& tensor) {
    Argument argument(tensor);
    argument.kind_ = Kind::kOptional;
    return argument;
  }
  /// The same of a list that is not given.
  template <typename List>
  static Argument optional(const char* name, const List& list) {
    return list.given() ? Argument(name, list) : optional(Tensor());
  }

 private:
  friend class OpCall;
  Kind kind_ = Kind::kTensor;
  const char* name_ = "value";
  Tensor tensor_;
  Scalar scalar_ = 0;
  std::vector<int64_t> ints_;
  std::vector<double> floats_;
};

/// Checks the arguments, collects attributes, creates the operation. After the first problem, and
/// when an argument is invalid, nothing more happens and the results are invalid tensors.
class OpCall {
 public:
  /// The graph is that of the first tensor; numbers take the element type of the last one.
  OpCall(const char* op, const At& at, std::vector<Argument> arguments);
  OpCall(const OpCall&) = delete;
  OpCall& operator=(const OpCall&) = delete;
  ~OpCall();

  OpCall& ints(const char* attribute, absl::Span<const int64_t> values);
  OpCall& integer(const char* attribute, int64_t value);
  OpCall& number(const char* attribute, double value);
  OpCall& flag(const char* attribute, bool value);
  OpCall& numbers(const char* attribute, absl::Span<const double> values);
  OpCall& text(const char* attribute, const char* value);
  OpCall& texts(const char* attribute, absl::Span<const char* const> values);
  OpCall& type(const char* attribute, ElementType value);
  /// One element of `type` as a tensor of rank 0.
  OpCall& element(const char* attribute, Scalar value, ElementType type);
  /// Axes of a tensor of `like`'s rank plus `more`: made positive, `ints` also ascending.
  OpCall& axis(const char* attribute, int64_t axis, const Tensor& like);
  OpCall& axes(const char* attribute, std::vector<int64_t> axes, const Tensor& like,
               int64_t more = 0);
  /// For operations with several optional operands: how many of each are given.
  OpCall& segments();
  OpCall& segments(absl::Span<const int32_t> counts);

  void problem(const std::string& message);
  Tensor create();
  std::vector<Tensor> create(size_t results);

  /// A region of the operation.
  struct Body {
    const char* name;          ///< of the scope of what it makes, behind the operation's
    std::vector<Tensor> like;  ///< its arguments have the types of these,
    bool anyShape;             ///< or their element types alone
    std::function<std::vector<Tensor>(const std::vector<Tensor>& arguments)> build;
  };
  /// Creates an operation with regions. It has a result for each value that the first one yields
  /// but the first `hidden`; none after a problem.
  std::vector<Tensor> createWith(const std::vector<Body>& bodies, size_t hidden = 0);

  /// In place of one operation: what `lowering` makes. The call's operands are known to fit.
  Tensor lower(const std::function<mlir::Value(passes::Emitter& emitter)>& lowering);

  /// Returns the call's result after a problem.
  Tensor failed() const;

 private:
  struct State;

  bool checkTensors();
  std::string problemOf(const Tensor& tensor, bool optional) const;
  bool makeBody(const Body& body, void* region);
  void makeOperands();
  bool positiveAxis(int64_t& axis, const Tensor& like, int64_t more);
  std::string typesText() const;

  std::vector<Argument> arguments_;
  std::unique_ptr<State> state_;  // null: no argument has a graph
};

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_OP_CALL_H_
