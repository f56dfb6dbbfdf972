// A Graph holds the module under construction, names, and the problems found. Internal.
#ifndef GRAPHRUN_FRONTENDS_BUILDER_GRAPH_IMPL_H_
#define GRAPHRUN_FRONTENDS_BUILDER_GRAPH_IMPL_H_

#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontends/builder/graph.h"
#include "frontends/builder/tensor.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace graphrun::builder {

class GraphImpl : public std::enable_shared_from_this<GraphImpl> {
 public:
  GraphImpl(std::string name, Mode mode);

  static GraphImpl& of(Graph& graph) { return *graph.impl_; }

  const std::string& name() const { return name_; }
  Mode mode() const { return mode_; }
  mlir::MLIRContext* context() { return &context_; }
  mlir::OpBuilder& builder() { return builder_; }

  // Tensors.
  static GraphImpl* graphOf(const Tensor& tensor) { return tensor.graph_.get(); }
  /// Null for an invalid tensor.
  static mlir::Value valueOf(const Tensor& tensor) {
    return mlir::Value::getFromOpaquePointer(tensor.value_);
  }
  /// The tensor of `value`; an invalid one for null.
  Tensor tensorOf(mlir::Value value) { return {shared_from_this(), value.getAsOpaquePointer()}; }
  Tensor failed() { return tensorOf(nullptr); }

  // Names.
  /// "encoder/conv_0", or "encoder/<name>", and notes it as used. A name that is taken already is
  /// reported.
  std::string label(const std::string& kind, const At& at);
  /// Returns whether an operation of the current scope has this name.
  bool isTaken(const std::string& name) const { return labels_.contains(prefixed(name)); }
  Scope scope(const std::string& name);
  /// A scope of exactly this name, wherever it is entered.
  Scope layerScope(const std::string& label);
  void endScope(size_t depth);
  mlir::Location locationOf(const std::string& label, const std::source_location& source);

  // Problems.
  void report(const std::source_location& source, const std::string& what,
              const std::string& message);
  void skip() { ++skipped_; }
  absl::Status status() const;
  /// Runs `action` and returns the text of the errors that MLIR gave meanwhile, in words of the
  /// user: names for symbols, no prefix with the operation.
  std::string errorsOf(const std::function<void()>& action);

  // Types.
  mlir::Type elementType(ElementType type);
  mlir::RankedTensorType tensorType(ElementType type, const std::vector<Dim>& dims);
  std::vector<Dim> dimsOf(mlir::Value value) const;
  std::string typeText(mlir::Value value) const;

  // Content.
  Tensor input(const std::string& name, ElementType type, const std::vector<Dim>& dims,
               const std::source_location& source);
  void output(const std::string& name, const Tensor& value, const std::source_location& source);
  /// A gr.constant of `value`, called `label`.
  mlir::Value constant(mlir::ElementsAttr value, const std::string& label,
                       const std::source_location& source);
  /// A gr.state of that name; `isParameter`: it is one of parameters().
  mlir::Value state(mlir::ElementsAttr first, const std::string& label,
                    const std::source_location& source, bool isParameter);
  llvm::ArrayRef<mlir::Value> parameters() const { return parameters_; }
  void update(const Tensor& state, const Tensor& value, const std::source_location& source);
  /// See Graph::setFirstValues.
  void setFirstValues(const std::map<std::string, HostTensor, std::less<>>& values,
                      const std::source_location& source);
  /// Moves the operations of a function of this context here, where nothing was made yet, with
  /// `parameters` among its states. Gives its results.
  std::vector<Tensor> adopt(mlir::func::FuncOp imported, mlir::ValueRange parameters);
  /// Checks the graph and hands its module, finished, to `write`.
  absl::Status save(const std::function<absl::Status(mlir::ModuleOp)>& write);

  // Bodies of control flow.
  /// What `build` gives while what is made goes into `block`, its names into the scope `scope`.
  std::vector<Tensor> inBody(mlir::Block& block, const std::string& scope,
                             const std::function<std::vector<Tensor>()>& build);
  /// Returns whether an operation that is made now may use the value: it was not made in a body
  /// that has ended. Else `why` says in which.
  bool isVisible(mlir::Value value, std::string& why) const;

 private:
  struct Output {
    std::string name;
    mlir::Value value;
  };

  std::string prefixed(const std::string& name) const;
  unsigned symbol(const std::string& name);
  std::string withSymbolNames(const std::string& text) const;
  std::string problemOfInput(const std::string& name, ElementType type,
                             const std::vector<Dim>& dims) const;
  std::string problemOfOutput(const std::string& name, const Tensor& value) const;
  std::string problemOfUpdate(const Tensor& state, const Tensor& value);
  absl::Status finishAndWrite(const std::function<absl::Status(mlir::ModuleOp)>& write);
  void nameArguments();

  const std::string name_;
  const Mode mode_;
  mlir::MLIRContext context_;
  mlir::OpBuilder builder_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  std::vector<std::string> inputs_;
  std::vector<Output> outputs_;
  std::vector<mlir::Value> parameters_;
  llvm::StringSet<> updated_;  ///< states
  std::vector<std::string> symbols_;
  std::vector<std::string> scopes_;  ///< whole prefixes, the innermost last
  llvm::StringSet<> labels_;
  llvm::StringMap<unsigned> counters_;
  std::vector<std::string> problems_;
  size_t skipped_ = 0;
};

}  // namespace graphrun::builder

#endif  // GRAPHRUN_FRONTENDS_BUILDER_GRAPH_IMPL_H_
