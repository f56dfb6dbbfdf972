#include "frontends/onnx/graph_import.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontends/onnx/node_names.h"
#include "frontends/onnx/node_order.h"
#include "frontends/onnx/tensors.h"
#include "ir/dialect.h"
#include "ir/folding.h"
#include "llvm/Support/SaveAndRestore.h"
#include "passes/device_hints.h"
#include "passes/passes.h"

namespace graphrun::frontends {
namespace {

/// More values than this are only counted.
constexpr size_t kMaxWarnings = 16;

llvm::StringRef domainOf(llvm::StringRef domain) { return domain == "ai.onnx" ? "" : domain; }

std::string domainText(llvm::StringRef domain) { return domain.empty() ? "ai.onnx" : domain.str(); }

mlir::Location named(mlir::MLIRContext* context, llvm::StringRef name) {
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name));
}

}  // namespace

GraphImport::Scope::Scope(::onnx::GraphProto& graph, Scope* outer, const std::string& prefix)
    : graph(graph), outer(outer), prefix(prefix), names(nodeNames(graph.node(), prefix)) {
  for (const ::onnx::NodeProto& node : graph.node()) {
    forEachRead(node, [&](const std::string& name) { used.insert(name); });
  }
  for (const ::onnx::ValueInfoProto& output : graph.output()) {
    used.insert(output.name());
    declared.try_emplace(output.name(), &output.type());
  }
  for (const ::onnx::ValueInfoProto& info : graph.value_info()) {
    declared.try_emplace(info.name(), &info.type());
  }
}

GraphImport::GraphImport(mlir::MLIRContext* context, ::onnx::ModelProto& model, ExternalData& files,
                         Problems& problems, const ImportOptions& options)
    : context_(context),
      model_(model),
      files_(files),
      problems_(problems),
      options_(options),
      functions_(model, problems),
      annotations_(context, model),
      builder_(context),
      main_(*model.mutable_graph(), nullptr, "") {}

mlir::OwningOpRef<mlir::ModuleOp> GraphImport::run() {
  readVersions();
  readInitializers();
  makeFunction();
  importNodes();
  finish();
  if (options_.training) {
    countSteps();
  }
  emitWarnings();
  return std::move(module_);
}

void GraphImport::readVersions() {
  if (!model_.has_ir_version() || model_.ir_version() < 1) {
    problems_.add("the model states no IR version; write it with onnx.helper.make_model");
  } else if (model_.ir_version() > ::onnx::Version_MAX) {
    problems_.add(absl::StrCat("IR version ", model_.ir_version(), " is newer than ",
                               static_cast<int>(::onnx::Version_MAX),
                               ", the newest known; export for an older one"));
  }
  readOpsets(model_.opset_import(), "");
}

void GraphImport::readOpsets(
    const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& opsets,
    const std::string& where) {
  for (const ::onnx::OperatorSetIdProto& opset : opsets) {
    llvm::StringRef domain = domainOf(opset.domain());
    if (!versions_.try_emplace(domain, opset.version()).second) {
      problems_.add(absl::StrCat(where, "the opset of domain ", inQuotes(domainText(domain)),
                                 " is imported twice"));
    }
    if (domain.empty() && (opset.version() < kFirstOpset || opset.version() > kLastOpset)) {
      problems_.add(absl::StrCat(where, "opset ", opset.version(),
                                 " of ai.onnx is not supported, expected ", kFirstOpset, " to ",
                                 kLastOpset, "; convert the model with onnx.version_converter"));
    }
  }
}

void GraphImport::define(llvm::StringRef name, Entry entry, const std::string& where) {
  if (!scope_->values.try_emplace(name, entry).second) {
    problems_.add(absl::StrCat(where, ": defines value ", inQuotes(name),
                               ", which exists already; every value needs a name of its own"));
  }
}

void GraphImport::readInitializers() {
  for (::onnx::TensorProto& tensor : *scope_->graph.mutable_initializer()) {
    define(tensor.name(), {nullptr, &tensor},
           absl::StrCat("initializer ", inQuotes(tensor.name())));
  }
  for (const ::onnx::SparseTensorProto& tensor : scope_->graph.sparse_initializer()) {
    problems_.add(absl::StrCat("initializer ", inQuotes(tensor.values().name()),
                               ": is a sparse tensor, which is not supported; save it as dense"));
    scope_->values.try_emplace(tensor.values().name());
  }
}

void GraphImport::makeFunction() {
  Symbols symbols(context_);
  llvm::SmallVector<mlir::Type> types;
  std::vector<std::string> names;
  for (const ::onnx::ValueInfoProto& input : scope_->graph.input()) {
    auto entry = scope_->values.find(input.name());
    if (entry != scope_->values.end() && entry->second.initializer != nullptr) {
      continue;  // The initializer is the input's default value.
    }
    std::string problem;
    mlir::Type type = inputType(context_, input, symbols, problem);
    if (!type) {
      problems_.add(absl::StrCat("input ", inQuotes(input.name()), ": ", problem));
      scope_->values.try_emplace(input.name());
      continue;
    }
    types.push_back(type);
    names.push_back(input.name());
  }
  mlir::Location loc =
      named(context_, scope_->graph.name().empty() ? "graph" : scope_->graph.name());
  module_ = mlir::ModuleOp::create(loc);
  builder_.setInsertionPointToStart(module_->getBody());
  function_ = builder_.create<mlir::func::FuncOp>(loc, "main", builder_.getFunctionType(types, {}));
  llvm::SmallVector<llvm::StringRef> symbolNames(symbols.names().begin(), symbols.names().end());
  function_->setAttr(ir::kSymbolsAttr, builder_.getStrArrayAttr(symbolNames));
  mlir::Block* block = function_.addEntryBlock();
  builder_.setInsertionPointToStart(block);
  for (auto [i, name] : llvm::enumerate(names)) {
    function_.setArgAttr(i, ir::kNameAttr, builder_.getStringAttr(name));
    define(name, {block->getArgument(i), nullptr}, absl::StrCat("input ", inQuotes(name)));
  }
}

std::string GraphImport::label(int index) const {
  const ::onnx::NodeProto& node = scope_->graph.node(index);
  auto version = versions_.find(domainOf(node.domain()));
  std::string opset = version == versions_.end() ? "" : absl::StrCat(", opset ", version->second);
  return absl::StrCat("node ", inQuotes(nodeName(index)), " (",
                      node.domain().empty() ? "" : absl::StrCat(node.domain(), "."), node.op_type(),
                      opset, ")");
}

void GraphImport::importNodes() {
  NodeOrder order = orderNodes(scope_->graph);
  for (int index : order.order) {
    importNode(index);
  }
  if (order.cycle.empty()) {
    return;
  }
  std::vector<std::string> names;
  for (int index : order.cycle) {
    names.push_back(inQuotes(nodeName(index)));
    if (names.size() == 16) {
      names.push_back("…");
      break;
    }
  }
  problems_.add(absl::StrCat("nodes form a cycle: ", absl::StrJoin(names, " -> "), " -> ", names[0],
                             "; ", scope_->graph.node_size() - static_cast<int>(order.order.size()),
                             " nodes cannot run"));
  for (const ::onnx::NodeProto& node : scope_->graph.node()) {
    for (const std::string& name : node.output()) {
      scope_->values.try_emplace(name);
    }
  }
}

void GraphImport::poisonOutputs(const ::onnx::NodeProto& node, const std::string& where) {
  for (const std::string& name : node.output()) {
    if (!name.empty()) {
      define(name, {}, where);
    }
  }
}

mlir::Value GraphImport::valueOf(llvm::StringRef name, Entry& entry) {
  if (::onnx::TensorProto* tensor = std::exchange(entry.initializer, nullptr)) {
    std::string problem;
    mlir::ElementsAttr value = importTensor(context_, *tensor, name, problem, &files_);
    if (!value) {
      problems_.add(absl::StrCat("initializer ", inQuotes(name), ": ", problem));
      return nullptr;
    }
    // In the function's own block: any graph inside may be the first to use it.
    mlir::OpBuilder::InsertionGuard guard(builder_);
    mlir::Block& body = function_.getBody().front();
    if (builder_.getInsertionBlock() != &body) {
      builder_.setInsertionPoint(
          body.findAncestorOpInBlock(*builder_.getInsertionBlock()->getParentOp()));
    }
    entry.value =
        builder_.create<ir::ConstantOp>(named(context_, name), value.getShapedType(), value);
  }
  return entry.value;
}

GraphImport::Entry* GraphImport::find(llvm::StringRef name) {
  for (Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
    if (auto entry = scope->values.find(name); entry != scope->values.end()) {
      return &entry->second;
    }
  }
  return nullptr;
}

std::optional<Values> GraphImport::inputsOf(const ::onnx::NodeProto& node,
                                            const std::string& label) {
  Values inputs;
  bool complete = true;
  for (const std::string& name : node.input()) {
    if (name.empty()) {
      inputs.push_back(nullptr);
      continue;
    }
    Entry* entry = find(name);
    if (entry == nullptr) {
      problems_.add(absl::StrCat(label, ": input ", inputs.size(), " is ", inQuotes(name),
                                 ", which no node, input or initializer defines"));
    }
    inputs.push_back(entry == nullptr ? nullptr : valueOf(name, *entry));
    complete &= inputs.back() != nullptr;
  }
  return complete ? std::optional(inputs) : std::nullopt;
}

const OpRow* GraphImport::rowOf(const ::onnx::NodeProto& node, const std::string& label,
                                int64_t opset) {
  llvm::StringRef domain = domainOf(node.domain());
  std::string name = OpTable::nameOf(node);
  if (!domain.empty() && !table_.hasDomain(domain)) {
    problems_.add(absl::StrCat(
        label, ": operations of domain ", inQuotes(domain),
        " are not supported, expected ai.onnx, ai.onnx.ml or a function of the model"));
    return nullptr;
  }
  const OpRow* row = table_.find(name, opset);
  if (row == nullptr) {
    std::string opsets = table_.opsets(name);
    problems_.add(absl::StrCat(
        label, opsets.empty()
                   ? absl::StrCat(": operation ", inQuotes(node.op_type()), " is not supported")
                   : absl::StrCat(": is supported for ", opsets,
                                  "; convert the model with onnx.version_converter")));
  }
  return row;
}

bool GraphImport::checkCounts(const ::onnx::NodeProto& node, const std::string& label,
                              const OpRow& row) {
  bool ok = true;
  auto given = [&](int i) { return i < node.input_size() && !node.input(i).empty(); };
  for (int i = 0; i < row.minInputs; ++i) {
    if (!given(i)) {
      problems_.add(absl::StrCat(label, ": misses the required input ", i));
      ok = false;
    }
  }
  if (node.input_size() > row.maxInputs) {
    problems_.add(absl::StrCat(label, ": has ", node.input_size(), " inputs, expected at most ",
                               row.maxInputs));
    ok = false;
  }
  if (node.output_size() < 1 || node.output_size() > row.maxOutputs) {
    problems_.add(absl::StrCat(label, ": has ", node.output_size(), " outputs, expected 1",
                               row.maxOutputs == kMany ? " or more"
                               : row.maxOutputs > 1    ? absl::StrCat(" to ", row.maxOutputs)
                                                       : ""));
    ok = false;
  }
  return ok;
}

void GraphImport::checkDeclared(llvm::StringRef name, const ::onnx::TypeProto& declared,
                                mlir::Value value, const std::string& where) {
  std::string what = absl::StrCat(where, ": value ", inQuotes(name), " ");
  std::string problem = typeContradiction(declared, value.getType());
  if (!problem.empty()) {
    problems_.add(absl::StrCat(what, problem));
    return;
  }
  problem = shapeContradiction(declared, value.getType());
  if (!problem.empty() && contradicted_.insert(&declared).second) {
    warnings_.push_back(absl::StrCat(what, problem, ", which is used"));
  }
}

void GraphImport::emitWarnings() {
  mlir::Location loc = mlir::UnknownLoc::get(context_);
  for (size_t i = 0; i < std::min(warnings_.size(), kMaxWarnings); ++i) {
    mlir::emitWarning(loc) << warnings_[i];
  }
  if (warnings_.size() > kMaxWarnings) {
    mlir::emitWarning(loc) << warnings_.size() - kMaxWarnings
                           << " more values have other shapes than the file declares";
  }
}

bool GraphImport::inlineAttributes(::onnx::NodeProto& node, const std::string& where) {
  bool ok = true;
  for (::onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    std::string problem;
    if (attribute.t().data_location() == ::onnx::TensorProto::EXTERNAL &&
        !files_.inlineInto(*attribute.mutable_t(), problem)) {
      problems_.add(absl::StrCat(where, ": attribute ", inQuotes(attribute.name()), " ", problem));
      ok = false;
    }
  }
  return ok;
}

void GraphImport::importNode(int index) {
  ::onnx::NodeProto& node = *scope_->graph.mutable_node(index);
  std::string where = label(index);
  // What calls a function, or has graphs inside, speaks for the nodes in it that say nothing.
  llvm::SmallVector<passes::DeviceHint> own = annotations_.of(node);
  llvm::SaveAndRestore hints(hints_, own.empty() ? hints_ : own);
  if (const ::onnx::FunctionProto* function = functions_.calledBy(node)) {
    return importCall(node, *function, nodeName(index), where);
  }
  auto version = versions_.find(domainOf(node.domain()));
  if (version == versions_.end()) {
    problems_.add(absl::StrCat(where, ": the model imports no opset of domain ",
                               inQuotes(domainText(domainOf(node.domain())))));
    return poisonOutputs(node, where);
  }
  const OpRow* row = rowOf(node, where, version->second);
  bool ok = row != nullptr && checkCounts(node, where, *row);
  std::optional<Values> inputs = inputsOf(node, where);
  if (!ok || !inputs) {
    return poisonOutputs(node, where);
  }
  mlir::Location loc = passes::withDeviceHints(named(context_, nodeName(index)), hints_);
  nodes_.insert(nodeName(index));
  if (!inlineAttributes(node, where)) {
    return poisonOutputs(node, where);
  }
  bool hasBody =
      row->readsNames || llvm::any_of(node.attribute(), [](const auto& a) { return a.has_g(); });
  bool untyped = llvm::any_of(*inputs, [&](mlir::Value value) {
    return value && value.getType() == ir::placeholderType(context_);
  });
  Values outputs;
  if (untyped && !hasBody) {
    outputs = defer(node, version->second, *inputs, loc);
  } else {
    Node::Context context{builder_,
                          problems_,
                          [&](llvm::StringRef name) { return scope_->used.contains(name); },
                          [&](::onnx::GraphProto& graph, mlir::Block& block,
                              mlir::ValueRange values) { return importBody(graph, block, values); },
                          [&](llvm::StringRef name) {
                            Entry* entry = find(name);
                            return entry == nullptr ? mlir::Value() : valueOf(name, *entry);
                          },
                          options_.training};
    mlir::Block* block = builder_.getInsertionBlock();
    mlir::Operation* before = block->empty() ? nullptr : &block->back();
    Node imported(context, node, *row, version->second, where, loc, *inputs);
    outputs = imported.import();
    if (imported.later() && hasBody) {
      problems_.add(absl::StrCat(where,
                                 ": has a subgraph, and cannot be imported before types that "
                                 "depend on the inputs are known; run onnx.shape_inference on the "
                                 "model, or give its inputs fixed shapes"));
      return poisonOutputs(node, where);
    }
    if (imported.later()) {
      while (!block->empty() && &block->back() != before) {
        block->back().erase();
      }
      outputs = defer(node, version->second, *inputs, loc);
    } else if (imported.failed()) {
      return poisonOutputs(node, where);
    }
  }
  defineOutputs(node, std::move(outputs), where);
}

void GraphImport::defineOutputs(const ::onnx::NodeProto& node, Values outputs,
                                const std::string& where) {
  outputs.resize(node.output_size());
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) {
      continue;
    }
    define(node.output(i), {outputs[i], nullptr}, where);
    auto declared = scope_->declared.find(node.output(i));
    if (outputs[i] && declared != scope_->declared.end()) {
      checkDeclared(node.output(i), *declared->second, outputs[i], where);
    }
  }
}

void GraphImport::countSteps() {
  llvm::SmallVector<ir::RandomOp> draws;
  function_.walk([&](ir::RandomOp op) {
    if (!op.getStep() && op.getGenerator() == ir::RandomGenerator::kPhilox) {
      draws.push_back(op);
    }
  });
  if (draws.empty()) {
    return;
  }
  mlir::OpBuilder::InsertionGuard guard(builder_);
  mlir::Block& body = function_.getBody().front();
  builder_.setInsertionPointToStart(&body);
  mlir::Location loc = named(context_, kStepState);
  auto type = mlir::RankedTensorType::get({}, builder_.getI64Type());
  auto step = builder_.create<ir::StateOp>(loc, type, builder_.getStringAttr(kStepState),
                                           ir::makeInts(type, {0}));
  for (ir::RandomOp draw : draws) {
    draw.getStepMutable().assign(step);
  }
  builder_.setInsertionPoint(body.getTerminator());
  mlir::Value one = builder_.create<ir::ConstantOp>(loc, type, ir::makeInts(type, {1}));
  mlir::Value next = builder_.create<ir::AddOp>(loc, type, step, one);
  builder_.create<ir::UpdateOp>(loc, step, next);
}

void GraphImport::finish() {
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<mlir::DictionaryAttr> attributes;
  llvm::StringSet<> seen;
  if (scope_->graph.output().empty()) {
    problems_.add("the graph has no output, expected at least one");
  }
  for (const ::onnx::ValueInfoProto& output : scope_->graph.output()) {
    std::string where = absl::StrCat("output ", inQuotes(output.name()));
    auto entry = scope_->values.find(output.name());
    if (entry == scope_->values.end()) {
      problems_.add(absl::StrCat(where, ": no node, input or initializer defines it"));
      continue;
    }
    if (!seen.insert(output.name()).second) {
      problems_.add(absl::StrCat(where, ": is listed twice"));
    }
    mlir::Value value = valueOf(output.name(), entry->second);
    if (!value) {
      continue;
    }
    if (value.getDefiningOp<ir::ConstantOp>() || llvm::isa<mlir::BlockArgument>(value)) {
      checkDeclared(output.name(), output.type(), value, where);  // others have been, at their node
    }
    mlir::Type declared = declaredType(context_, output.type());
    if (value.getType() == ir::placeholderType(context_) && ir::isSequence(declared)) {
      value.setType(declared);  // who runs the model wants to know
    }
    results.push_back(value);
    attributes.push_back(builder_.getDictionaryAttr(
        builder_.getNamedAttr(ir::kNameAttr, builder_.getStringAttr(output.name()))));
  }
  builder_.create<mlir::func::ReturnOp>(function_.getLoc(), results);
  function_.setFunctionType(builder_.getFunctionType(
      function_.getArgumentTypes(), llvm::to_vector(mlir::ValueRange(results).getTypes())));
  mlir::function_interface_impl::setAllResultAttrDicts(
      llvm::cast<mlir::FunctionOpInterface>(function_.getOperation()), attributes);
  passes::noteFolded(function_, nodes_);
}

}  // namespace graphrun::frontends
