// Calls of the model's functions, subgraphs, and nodes that are left to the planner.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/graph_import.h"
#include "ir/dialect.h"
#include "llvm/Support/SaveAndRestore.h"

namespace graphrun::frontends {
namespace {

/// Bounds on what calls of functions may expand to, for files that are made to exhaust memory.
constexpr size_t kMaxCallDepth = 64;
constexpr size_t kMaxCalledNodes = size_t{1} << 18;

}  // namespace

bool GraphImport::mayCall(const ::onnx::FunctionProto& function, const std::string& where) {
  if (llvm::is_contained(calls_, &function)) {
    std::string chain;
    for (const ::onnx::FunctionProto* call : calls_) {
      absl::StrAppend(&chain, inQuotes(call->name()), " -> ");
    }
    problems_.add(absl::StrCat(where, ": a function of the model calls itself: ", chain,
                               inQuotes(function.name())));
    return false;
  }
  calledNodes_ += static_cast<size_t>(function.node_size());
  if (calls_.size() >= kMaxCallDepth || calledNodes_ > kMaxCalledNodes) {
    problems_.add(absl::StrCat(where, ": calls of the model's functions are nested ", calls_.size(),
                               " deep and come to ", calledNodes_, " nodes, expected at most ",
                               kMaxCallDepth, " and ", kMaxCalledNodes));
    return false;
  }
  return true;
}

void GraphImport::importCall(::onnx::NodeProto& node, const ::onnx::FunctionProto& function,
                             const std::string& name, const std::string& where) {
  std::optional<Values> inputs = inputsOf(node, where);
  if (!inputs || !mayCall(function, where)) {
    return poisonOutputs(node, where);
  }
  std::vector<std::string> problems;
  ::onnx::GraphProto body = bodyFor(function, node, problems);
  for (const std::string& problem : problems) {
    problems_.add(absl::StrCat(where, ": ", problem));
  }
  if (!problems.empty()) {
    return poisonOutputs(node, where);
  }
  defineOutputs(node,
                importFunction(function, body, *inputs, static_cast<size_t>(node.output_size()),
                               absl::StrCat(name, "/"), where),
                where);
}

Values GraphImport::importFunction(const ::onnx::FunctionProto& function, ::onnx::GraphProto& body,
                                   const Values& inputs, size_t count, const std::string& prefix,
                                   const std::string& where) {
  Scope scope(body, nullptr, prefix);
  llvm::SaveAndRestore inside(scope_, &scope);
  llvm::SaveAndRestore versions(versions_, {});
  readOpsets(function.opset_import(), absl::StrCat(where, ": "));
  calls_.push_back(&function);
  for (auto [i, value] : llvm::enumerate(inputs)) {
    if (value) {
      define(function.input(static_cast<int>(i)), {value, nullptr}, where);
    }
  }
  importNodes();
  calls_.pop_back();
  Values outputs;
  for (size_t i = 0; i < count; ++i) {
    const std::string& name = function.output(static_cast<int>(i));
    Entry* entry = find(name);
    if (entry == nullptr) {
      problems_.add(
          absl::StrCat(where, ": no node of the function defines its output ", inQuotes(name)));
    }
    outputs.push_back(entry == nullptr ? nullptr : entry->value);
  }
  return outputs;
}

Values GraphImport::defer(const ::onnx::NodeProto& node, int64_t opset, const Values& inputs,
                          mlir::Location loc) {
  llvm::SmallVector<int64_t> indices;
  llvm::SmallVector<mlir::Value> operands;
  for (auto [index, value] : llvm::enumerate(inputs)) {
    if (value) {
      indices.push_back(static_cast<int64_t>(index));
      operands.push_back(value);
    }
  }
  llvm::SmallVector<mlir::Type> types;
  for (const std::string& output : node.output()) {
    auto declared = scope_->declared.find(output);
    types.push_back(declared == scope_->declared.end() ? ir::placeholderType(context_)
                                                       : declaredType(context_, *declared->second));
  }
  auto op = builder_.create<ir::DeferredOp>(loc, types, operands,
                                            builder_.getStringAttr(node.SerializeAsString()), opset,
                                            indices, llvm::ArrayRef<int64_t>());
  return Values(op->result_begin(), op->result_end());
}

Values GraphImport::importBody(::onnx::GraphProto& graph, mlir::Block& block,
                               mlir::ValueRange inputs) {
  Scope scope(graph, scope_, scope_->prefix);
  llvm::SaveAndRestore inside(scope_, &scope);
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToEnd(&block);
  readInitializers();
  size_t next = 0;
  for (const ::onnx::ValueInfoProto& input : graph.input()) {
    if (next < inputs.size()) {
      define(input.name(), {inputs[next], nullptr}, absl::StrCat("input ", inQuotes(input.name())));
    }
    ++next;
  }
  if (next != inputs.size()) {
    problems_.add(absl::StrCat("subgraph ", inQuotes(graph.name()), ": has ", next,
                               " inputs, expected ", inputs.size()));
    return {nullptr};
  }
  importNodes();
  Values outputs;
  for (const ::onnx::ValueInfoProto& output : graph.output()) {
    Entry* entry = find(output.name());
    if (entry == nullptr) {
      problems_.add(absl::StrCat("subgraph ", inQuotes(graph.name()), ": output ",
                                 inQuotes(output.name()),
                                 ": no node, input or initializer defines it"));
    }
    outputs.push_back(entry == nullptr ? nullptr : valueOf(output.name(), *entry));
  }
  return outputs;
}

}  // namespace graphrun::frontends
