// One ONNX node while it becomes gr operations: what the handlers of the operations work with.
#ifndef GRAPHRUN_FRONTENDS_ONNX_NODE_H_
#define GRAPHRUN_FRONTENDS_ONNX_NODE_H_

#include <functional>
#include <optional>
#include <string>

#include "frontends/onnx/attributes.h"
#include "frontends/onnx/problems.h"
#include "ir/dims.h"
#include "mlir/IR/Builders.h"

namespace graphrun::frontends {

class Node;
using Values = llvm::SmallVector<mlir::Value, 2>;
/// Creates the operations of a node and gives its outputs; a null one when it failed.
using Handler = Values (*)(Node&);

inline constexpr int kFirstOpset = 1;
inline constexpr int kLastOpset = 28;
inline constexpr int kMany = INT32_MAX;

/// An OpRow says how one ONNX operation is imported in a range of opsets.
struct OpRow {
  const char* name;
  /// Opsets of the model for which the handler is right, both inclusive.
  int first, last;
  int minInputs, maxInputs;
  int maxOutputs;
  Handler handler;
  /// The gr operation, for handlers that serve several.
  const char* target = "";
  /// True when inputs may be lists (sequences and optionals).
  bool takesLists = false;
  /// The handler only says why the operation is not supported.
  bool isRefusal = false;
  /// Attributes name values of the graph (Node::valueNamed): the node is imported with the graph or
  /// not at all.
  bool readsNames = false;
};

/// A failed call reports the problem, makes the node failed and gives a null value; every `emit`
/// with a null operand gives null too, so that handlers are written as plain expressions.
class Node {
 public:
  struct Context {
    mlir::OpBuilder& builder;
    Problems& problems;
    /// Tells whether anything reads the output of that name.
    std::function<bool(llvm::StringRef)> isUsed;
    /// Imports a subgraph into an empty block, with `inputs` as its inputs, and gives its outputs;
    /// null ones, reported, when it fails. Absent for a deferred node: it has no subgraph.
    std::function<Values(::onnx::GraphProto&, mlir::Block&, mlir::ValueRange inputs)> importBody;
    /// The value of a name in the graph; null, not reported, when there is none yet, or it failed.
    /// Absent for a deferred node.
    std::function<mlir::Value(llvm::StringRef)> valueOf = nullptr;
    /// The graph is to train: see ImportOptions::training.
    bool trains = false;
  };

  /// `inputs` has a null value for each optional input that is left out. Borrows everything.
  Node(Context context, ::onnx::NodeProto& proto, const OpRow& row, int64_t opset,
       llvm::StringRef label, mlir::Location loc, Values inputs);

  /// Runs the row's handler and reports what it leaves of the node: attributes that it did not
  /// read, inputs that it cannot take. Gives the outputs.
  Values import();

  /// The name of output `i`.
  llvm::StringRef outputName(size_t i) const { return proto_.output(static_cast<int>(i)); }
  int64_t opset() const { return opset_; }
  llvm::StringRef target() const { return row_.target; }
  /// The graph is to train, whatever the node says of itself.
  bool trains() const { return context_.trains; }
  bool failed() const { return failed_; }
  /// The node cannot be imported before more is known; nothing is reported, and what its handler
  /// has made is void. `needed` are the values whose elements it has to know.
  bool later() const { return later_; }
  llvm::ArrayRef<mlir::Value> needed() const { return needed_; }
  mlir::OpBuilder& builder() { return context_.builder; }
  Attributes& attributes() { return attributes_; }

  const Values& inputs() const { return inputs_; }
  /// Null when it is left out.
  mlir::Value input(size_t i) const { return i < inputs_.size() ? inputs_[i] : mlir::Value(); }
  size_t outputCount() const { return proto_.output_size(); }
  bool outputUsed(size_t i) const;
  /// Fails when output `i` is used: GraphRun does not compute it.
  void refuseOutput(size_t i, llvm::StringRef what);

  /// The value that attribute `what` names; null, reported, when there is none.
  mlir::Value valueNamed(llvm::StringRef name, llvm::StringRef what);

  /// Reports a problem of this node.
  std::nullptr_t fail(const std::string& what);

  /// Puts the node off until more is known: the elements of `value`, or types where it is null.
  std::nullptr_t putOff(mlir::Value value);

  /// Reports a problem that counts only when the node is reached: a node in a graph inside another
  /// may not be.
  std::nullptr_t failIfReached(const std::string& what);

  /// Imports the subgraph of attribute `name` into `block`; see Context::importBody.
  Values importBody(llvm::StringRef name, mlir::Block& block, mlir::ValueRange inputs);
  mlir::Location location() const { return loc_; }

  /// Creates `operation` at this node's location and gives its result. Operations on small integer
  /// tensors are folded, so that computed shapes and axes become constants.
  mlir::Value emit(llvm::StringRef operation, llvm::ArrayRef<mlir::Value> operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  Values emitMany(llvm::StringRef operation, llvm::ArrayRef<mlir::Value> operands,
                  llvm::ArrayRef<mlir::NamedAttribute> attributes, size_t results);

  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value);
  mlir::NamedAttribute integer(llvm::StringRef name, int64_t value);
  mlir::NamedAttribute integers(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  mlir::NamedAttribute real(llvm::StringRef name, double value);
  mlir::NamedAttribute boolean(llvm::StringRef name, bool value);
  mlir::NamedAttribute text(llvm::StringRef name, llvm::StringRef value);

  /// A 1-D int64 constant.
  mlir::Value constant(llvm::ArrayRef<int64_t> values);
  /// A scalar constant of the element type of `like`. Fails for one that no integer is,
  /// where they are integers.
  mlir::Value scalarLike(mlir::Value like, double value);

  /// A vector over `rank` dims: for each one in `axes` its element of the vector `values`, for each
  /// other one `other(dim)`, a vector of one element.
  mlir::Value spread(mlir::Value values, llvm::ArrayRef<int64_t> axes, int64_t rank,
                     llvm::function_ref<mlir::Value(int64_t)> other);

  mlir::Type elementOf(mlir::Value value) const;
  /// The rank; puts the node off when it is not known. Nothing for a null value.
  std::optional<int64_t> rankOf(mlir::Value value);
  /// `axis` in [0, rank); reports one out of range.
  std::optional<int64_t> axisOf(int64_t axis, int64_t rank);
  /// The axes in [0, rank), ascending; reports one out of range or named twice.
  std::optional<llvm::SmallVector<int64_t>> axesOf(llvm::ArrayRef<int64_t> axes, int64_t rank);
  /// The strings of `value`; puts the node off when they are not known, and reports other types.
  std::optional<llvm::SmallVector<llvm::StringRef>> knownStrings(mlir::Value value);
  /// A value that this node has computed itself: a constant on import, gr.evaluated in a plan.
  mlir::Value evaluated(mlir::ElementsAttr elements);
  /// The elements of input `what`; puts the node off when they are not known.
  std::optional<llvm::SmallVector<int64_t>> known(mlir::Value value, llvm::StringRef what);

 private:
  std::string operandText() const;
  bool plausible(mlir::Operation* op);

  Context context_;
  ::onnx::NodeProto& proto_;
  const OpRow& row_;
  int64_t opset_;
  std::string label_;
  mlir::Location loc_;
  Values inputs_;
  bool failed_ = false;
  bool later_ = false;
  llvm::SmallVector<mlir::Value> needed_;
  Attributes attributes_;
};

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_NODE_H_
