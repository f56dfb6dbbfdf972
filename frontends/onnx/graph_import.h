// A parsed ONNX model becomes a module.
#ifndef GRAPHRUN_FRONTENDS_ONNX_GRAPH_IMPORT_H_
#define GRAPHRUN_FRONTENDS_ONNX_GRAPH_IMPORT_H_

#include "frontends/onnx/device_annotations.h"
#include "frontends/onnx/external_data.h"
#include "frontends/onnx/functions.h"
#include "frontends/onnx/graph_types.h"
#include "frontends/onnx/importer.h"
#include "frontends/onnx/op_table.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace graphrun::frontends {

/// One import. Takes the weights out of `model`; reports to `problems`. Nodes that depend on a
/// value which could not be made are skipped without a word, so that each cause is reported once.
class GraphImport {
 public:
  /// `files` has the weights that lie beside the model.
  GraphImport(mlir::MLIRContext* context, ::onnx::ModelProto& model, ExternalData& files,
              Problems& problems, const ImportOptions& options);

  /// The module, or one that is not to be used when there are problems. Declared shapes of
  /// intermediate values and outputs that are not theirs are warned of (mlir::emitWarning), and not
  /// followed: other runtimes do the same, and published models need it.
  mlir::OwningOpRef<mlir::ModuleOp> run();

 private:
  /// An Entry is what a name stands for: a value, an initializer not used yet, or a value that
  /// failed (neither).
  struct Entry {
    mlir::Value value;
    ::onnx::TensorProto* initializer = nullptr;
  };

  /// A graph and its names. A subgraph sees the names of the graphs around it. `prefix` goes before
  /// the names of its nodes: the calls of functions that it is in.
  struct Scope {
    Scope(::onnx::GraphProto& graph, Scope* outer, const std::string& prefix);
    ::onnx::GraphProto& graph;
    Scope* outer;
    std::string prefix;
    std::vector<std::string> names;  // of the nodes
    llvm::StringMap<Entry> values;
    llvm::StringSet<> used;
    llvm::StringMap<const ::onnx::TypeProto*> declared;
  };

  void readVersions();
  /// Fills `versions_`; `where` begins the problems.
  void readOpsets(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& opsets,
                  const std::string& where);
  void readInitializers();
  void makeFunction();
  void importNodes();
  void importNode(int index);
  /// Reads what the node's attributes keep in other files. False, reported, when it cannot.
  bool inlineAttributes(::onnx::NodeProto& node, const std::string& where);
  void finish();
  /// Imports the body of a function of the model in place of `node`, which calls it.
  void importCall(::onnx::NodeProto& node, const ::onnx::FunctionProto& function,
                  const std::string& name, const std::string& where);
  /// False, reported, when `function` calls itself or the calls have become too many.
  bool mayCall(const ::onnx::FunctionProto& function, const std::string& where);
  /// The outputs of the function's body, at most `count`; null ones where it failed.
  Values importFunction(const ::onnx::FunctionProto& function, ::onnx::GraphProto& body,
                        const Values& inputs, size_t count, const std::string& prefix,
                        const std::string& where);
  /// Gives the node's outputs their values.
  void defineOutputs(const ::onnx::NodeProto& node, Values outputs, const std::string& where);
  /// See Node::Context.
  Values importBody(::onnx::GraphProto& graph, mlir::Block& block, mlir::ValueRange inputs);
  /// Leaves the node to the planner: `values` are its inputs.
  Values defer(const ::onnx::NodeProto& node, int64_t opset, const Values& inputs,
               mlir::Location loc);
  /// The entry of a name in this graph or one around it; null when there is none.
  Entry* find(llvm::StringRef name);

  void define(llvm::StringRef name, Entry entry, const std::string& where);
  void poisonOutputs(const ::onnx::NodeProto& node, const std::string& where);
  /// The inputs' values; nothing when one of them is missing or failed.
  std::optional<Values> inputsOf(const ::onnx::NodeProto& node, const std::string& label);
  /// The row for the node; null, with the problem reported, when there is none.
  const OpRow* rowOf(const ::onnx::NodeProto& node, const std::string& label, int64_t opset);
  bool checkCounts(const ::onnx::NodeProto& node, const std::string& label, const OpRow& row);
  /// The value of a defined name, making the constant of an initializer at its first use.
  mlir::Value valueOf(llvm::StringRef name, Entry& entry);
  /// Reports where the declared type of a value is not its own, and warns where its shape is not.
  void checkDeclared(llvm::StringRef name, const ::onnx::TypeProto& declared, mlir::Value value,
                     const std::string& where);
  /// Warns of what was noted, up to a bound.
  void emitWarnings();
  /// Makes each step draw other random numbers.
  void countSteps();
  const std::string& nodeName(int index) const { return scope_->names[static_cast<size_t>(index)]; }
  std::string label(int index) const;

  mlir::MLIRContext* context_;
  ::onnx::ModelProto& model_;
  ExternalData& files_;
  Problems& problems_;
  const ImportOptions& options_;
  OpTable table_;
  Functions functions_;
  DeviceAnnotations annotations_;
  // Of the node at hand, or the innermost one around it that has some.
  llvm::SmallVector<passes::DeviceHint> hints_;
  std::vector<const ::onnx::FunctionProto*> calls_;  // that are being imported, outermost first
  size_t calledNodes_ = 0;
  mlir::OpBuilder builder_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  llvm::StringSet<> nodes_;  // names of what was imported, calls of functions excepted
  llvm::StringMap<int64_t> versions_;
  std::vector<std::string> warnings_;
  llvm::SmallPtrSet<const ::onnx::TypeProto*, 4> contradicted_;  // declarations that were warned of
  Scope main_;
  Scope* scope_ = &main_;
};

}  // namespace graphrun::frontends

#endif  // GRAPHRUN_FRONTENDS_ONNX_GRAPH_IMPORT_H_
