#include "frontends/builder/graph_impl.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "frontends/builder/constants.h"
#include "ir/dialect.h"
#include "ir/dims.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Verifier.h"
#include "passes/passes.h"
#include "passes/serialization/type_codec.h"

namespace graphrun::builder {
namespace {

bool isDimName(const std::string& name) {
  return !absl::ascii_isdigit(name[0]) && llvm::all_of(name, [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("_.-:", c);
  });
}

/// "'gr.conv' op input has …" -> "input has …".
std::string withoutPrefix(const std::string& text) {
  absl::string_view rest = text;
  size_t end = rest.find("' op ");
  return std::string(absl::StartsWith(rest, "'gr.") && end != absl::string_view::npos
                         ? rest.substr(end + 5)
                         : rest);
}

/// "loop 'loop_0'": the operation in whose body the value was made.
std::string labelOfBody(mlir::Value value) {
  mlir::Operation* op = value.getParentRegion()->getParentOp();
  return absl::StrCat(absl::StripPrefix(op->getName().getStringRef().str(), "gr."), " '",
                      passes::labelOf(op->getLoc()), "'");
}

}  // namespace

GraphImpl::GraphImpl(std::string name, Mode mode)
    : name_(std::move(name)),
      mode_(mode),
      context_(mlir::MLIRContext::Threading::DISABLED),
      builder_(&context_) {
  context_.loadDialect<mlir::func::FuncDialect, ir::GRDialect>();
  mlir::Location loc = mlir::NameLoc::get(builder_.getStringAttr(name_));
  module_ = mlir::ModuleOp::create(loc);
  builder_.setInsertionPointToStart(module_->getBody());
  function_ = builder_.create<mlir::func::FuncOp>(loc, "main", builder_.getFunctionType({}, {}));
  builder_.setInsertionPointToStart(function_.addEntryBlock());
}

// --- Names ---------------------------------------------------------------------------------------

std::string GraphImpl::prefixed(const std::string& name) const {
  return scopes_.empty() ? name : absl::StrCat(scopes_.back(), "/", name);
}

std::string GraphImpl::label(const std::string& kind, const At& at) {
  std::string base = prefixed(at.name.empty() ? kind : at.name);
  if (!at.name.empty() && labels_.insert(base).second) {
    return base;
  }
  if (!at.name.empty()) {
    report(at.location, absl::StrCat(kind, " '", base, "'"),
           "has a name that is taken in this graph; choose another, or use a scope");
  }
  std::string label;
  do {
    label = absl::StrCat(base, "_", counters_[base]++);
  } while (!labels_.insert(label).second);
  return label;
}

Scope GraphImpl::scope(const std::string& name) { return layerScope(prefixed(name)); }

Scope GraphImpl::layerScope(const std::string& label) {
  scopes_.push_back(label);
  return {shared_from_this(), scopes_.size()};
}

void GraphImpl::endScope(size_t depth) {
  if (scopes_.size() >= depth) {
    scopes_.resize(depth - 1);
  }
}

mlir::Location GraphImpl::locationOf(const std::string& label, const std::source_location& source) {
  return mlir::NameLoc::get(
      builder_.getStringAttr(label),
      mlir::FileLineColLoc::get(&context_, source.file_name(), source.line(), source.column()));
}

// --- Problems ------------------------------------------------------------------------------------

void GraphImpl::report(const std::source_location& source, const std::string& what,
                       const std::string& message) {
  problems_.push_back(
      absl::StrCat(source.file_name(), ":", source.line(), ": ", what, ": ", message));
}

absl::Status GraphImpl::status() const {
  if (problems_.empty()) {
    return absl::OkStatus();
  }
  std::string text = absl::StrCat("graph '", name_, "' has ", problems_.size(),
                                  problems_.size() == 1 ? " problem:" : " problems:", "\n  ",
                                  absl::StrJoin(problems_, "\n  "));
  if (skipped_ > 0) {
    absl::StrAppend(&text, "\n  (", skipped_, skipped_ == 1 ? " call" : " calls",
                    " on the results of these skipped)");
  }
  return absl::InvalidArgumentError(text);
}

std::string GraphImpl::errorsOf(const std::function<void()>& action) {
  std::vector<std::string> errors;
  mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic& diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
      errors.push_back(withSymbolNames(withoutPrefix(diagnostic.str())));
    }
    return mlir::success();
  });
  action();
  return absl::StrJoin(errors, "; ");
}

// --- Types ---------------------------------------------------------------------------------------

mlir::Type GraphImpl::elementType(ElementType type) {
  return passes::elementTypeOf(type, &context_);
}

unsigned GraphImpl::symbol(const std::string& name) {
  auto found = llvm::find(symbols_, name);
  if (found == symbols_.end()) {
    found = symbols_.insert(found, name);
  }
  return static_cast<unsigned>(found - symbols_.begin());
}

mlir::RankedTensorType GraphImpl::tensorType(ElementType type, const std::vector<Dim>& dims) {
  ir::Dims result;
  for (const Dim& dim : dims) {
    if (dim.isStatic()) {
      result.push_back(ir::Dim(dim.size()));
    } else {
      result.push_back(dim.isUnknown() ? ir::Dim()
                                       : ir::Dim::symbolic(mlir::getAffineSymbolExpr(
                                             symbol(dim.name()), &context_)));
    }
  }
  return ir::tensorType(result, elementType(type));
}

/// "(s0)x(s1 floordiv 2)" -> "Nx(H floordiv 2)".
std::string GraphImpl::withSymbolNames(const std::string& text) const {
  auto isWord = [](char c) { return absl::ascii_isalnum(c) || c == '_'; };
  std::string result;
  for (size_t i = 0; i < text.size();) {
    // Dims stand beside the "x" that joins them: s0xs1.
    bool starts = i == 0 || !isWord(text[i - 1]) || text[i - 1] == 'x';
    size_t end = i + 1;
    while (end < text.size() && absl::ascii_isdigit(text[end])) {
      ++end;
    }
    size_t index = symbols_.size();
    if (starts && text[i] == 's' && end > i + 1 &&
        (end == text.size() || !isWord(text[end]) || text[end] == 'x')) {
      static_cast<void>(absl::SimpleAtoi(text.substr(i + 1, end - i - 1), &index));
    }
    if (index >= symbols_.size()) {
      result += text[i++];
      continue;
    }
    bool alone = !result.empty() && result.back() == '(' && end < text.size() && text[end] == ')';
    if (alone) {
      result.pop_back();
    }
    result += symbols_[index];
    i = end + (alone ? 1 : 0);
  }
  return result;
}

std::vector<Dim> GraphImpl::dimsOf(mlir::Value value) const {
  std::vector<Dim> dims;
  for (const ir::Dim& dim : ir::dimsOf(value).value_or(ir::Dims())) {
    if (dim.isStatic() || dim.isUnknown()) {
      dims.push_back(dim.isStatic() ? Dim(dim.value()) : Dim::unknown());
      continue;
    }
    std::string text;
    llvm::raw_string_ostream(text) << dim.expr(nullptr);
    dims.push_back(Dim(withSymbolNames(text)));
  }
  return dims;
}

std::string GraphImpl::typeText(mlir::Value value) const {
  auto type = llvm::cast<mlir::TensorType>(value.getType());
  std::string text = type.hasRank() ? "" : "*x";
  for (const Dim& dim : dimsOf(value)) {
    bool simple = dim.isStatic() || dim.isUnknown() || isDimName(dim.name());
    absl::StrAppend(&text, simple ? dim.toString() : absl::StrCat("(", dim.name(), ")"), "x");
  }
  return absl::StrCat(text, runtime::elementTypeName(passes::elementTypeOf(type.getElementType())));
}

// --- Content -------------------------------------------------------------------------------------

std::string GraphImpl::problemOfInput(const std::string& name, ElementType type,
                                      const std::vector<Dim>& dims) const {
  if (name.empty() || llvm::is_contained(inputs_, name)) {
    return name.empty() ? "has no name" : "has the name of another input; choose another";
  }
  if (runtime::elementSize(type) == 0) {
    return absl::StrCat("has no element type of GraphRun (", static_cast<int>(type), ")");
  }
  if (dims.size() > passes::kMaxRank) {
    return absl::StrCat("is of rank ", dims.size(), ", expected at most ", passes::kMaxRank);
  }
  for (const Dim& dim : dims) {
    if (dim.name().empty() && dim.size() < 0 && !dim.isUnknown()) {
      return absl::StrCat("has the dim ", dim.size(), ", expected at least 0");
    }
    if (!dim.name().empty() && !isDimName(dim.name())) {
      return absl::StrCat("has the dim '", dim.name(),
                          "', expected a name of letters, digits and _.-: without a digit first");
    }
  }
  return "";
}

Tensor GraphImpl::input(const std::string& name, ElementType type, const std::vector<Dim>& dims,
                        const std::source_location& source) {
  std::string problem = problemOfInput(name, type, dims);
  if (!problem.empty()) {
    report(source, absl::StrCat("input '", name, "'"), problem);
    return failed();
  }
  inputs_.push_back(name);
  return tensorOf(
      function_.getBody().front().addArgument(tensorType(type, dims), locationOf(name, source)));
}

std::string GraphImpl::problemOfOutput(const std::string& name, const Tensor& value) const {
  GraphImpl* other = graphOf(value);
  if (other == nullptr) {
    return "is a default-constructed tensor, or the result of one; expected a tensor of this graph";
  }
  if (other != this) {
    return absl::StrCat("is a tensor of graph '", other->name(), "', expected one of graph '",
                        name_, "'");
  }
  mlir::func::FuncOp function = function_;
  if (value.valid() && valueOf(value).getParentRegion() != &function.getBody()) {
    return absl::StrCat("was made in a body of ", labelOfBody(valueOf(value)),
                        "; make it one of that operation's results");
  }
  bool taken = llvm::any_of(outputs_, [&](const Output& output) { return output.name == name; });
  if (name.empty() || taken) {
    return name.empty() ? "has no name" : "has the name of another output; choose another";
  }
  return "";
}

void GraphImpl::output(const std::string& name, const Tensor& value,
                       const std::source_location& source) {
  std::string problem = problemOfOutput(name, value);
  if (!problem.empty()) {
    report(source, absl::StrCat("output '", name, "'"), problem);
  } else if (value.valid()) {
    outputs_.push_back({name, valueOf(value)});
  } else {
    skip();
  }
}

mlir::Value GraphImpl::constant(mlir::ElementsAttr value, const std::string& label,
                                const std::source_location& source) {
  return builder_.create<ir::ConstantOp>(locationOf(label, source), value.getShapedType(), value);
}

mlir::Value GraphImpl::state(mlir::ElementsAttr first, const std::string& label,
                             const std::source_location& source, bool isParameter) {
  auto state = builder_.create<ir::StateOp>(locationOf(label, source), first.getShapedType(),
                                            builder_.getStringAttr(label), first);
  if (isParameter) {
    parameters_.push_back(state);
  }
  return state;
}

std::string GraphImpl::problemOfUpdate(const Tensor& state, const Tensor& value) {
  auto op = state.valid() ? valueOf(state).getDefiningOp<ir::StateOp>() : nullptr;
  if (!op || graphOf(state) != this || graphOf(value) != this) {
    return "expected a state of this graph (Graph::state, Graph::parameter) and a tensor of it";
  }
  if (value.valid() && valueOf(value).getType() != op.getType()) {
    return absl::StrCat("is ", value.toString(), ", expected the type of the state, ",
                        state.toString());
  }
  return updated_.insert(op.getName()).second ? "" : "is its second one; a state has one a run";
}

void GraphImpl::update(const Tensor& state, const Tensor& value,
                       const std::source_location& source) {
  std::string problem = problemOfUpdate(state, value);
  if (!problem.empty()) {
    report(source, absl::StrCat("update of '", state.name(), "'"), problem);
  } else if (value.valid()) {
    llvm::StringRef name = valueOf(state).getDefiningOp<ir::StateOp>().getName();
    builder_.create<ir::UpdateOp>(locationOf((name + "/update").str(), source), valueOf(state),
                                  valueOf(value));
  } else {
    skip();
  }
}

void GraphImpl::setFirstValues(const std::map<std::string, HostTensor, std::less<>>& values,
                               const std::source_location& source) {
  function_.walk([&](ir::StateOp state) {
    const auto found = values.find(state.getName().str());
    if (found == values.end()) {
      return;
    }
    const HostTensor& value = found->second;
    const runtime::TensorSpec& spec = value.spec();
    auto type = llvm::cast<mlir::RankedTensorType>(state.getType());
    if (llvm::ArrayRef(spec.dims) != type.getShape() ||
        elementType(spec.type) != type.getElementType()) {
      report(source, absl::StrCat("state '", found->first, "'"),
             absl::StrCat("is of ", typeText(state), ", got the first value ", spec.toString()));
      return;
    }
    state.setInitAttr(
        elementsOf(type, {static_cast<const char*>(value.data()), value.byteSize()}, found->first));
  });
}

std::vector<Tensor> GraphImpl::adopt(mlir::func::FuncOp imported, mlir::ValueRange parameters) {
  mlir::Block& from = imported.getBody().front();
  mlir::Block& to = function_.getBody().front();
  if (auto names = imported->getAttrOfType<mlir::ArrayAttr>(ir::kSymbolsAttr)) {
    for (mlir::Attribute name : names) {
      symbols_.push_back(llvm::cast<mlir::StringAttr>(name).str());
    }
  }
  for (mlir::BlockArgument argument : from.getArguments()) {
    inputs_.push_back(passes::inputName(imported, argument.getArgNumber()));
    argument.replaceAllUsesWith(to.addArgument(argument.getType(), argument.getLoc()));
  }
  for (mlir::Operation& op : from.without_terminator()) {
    labels_.insert(passes::labelOf(op.getLoc()));
  }
  imported.walk([&](ir::UpdateOp update) {
    updated_.insert(update.getState().getDefiningOp<ir::StateOp>().getName());
  });
  std::vector<Tensor> results;
  for (mlir::Value result : from.getTerminator()->getOperands()) {
    results.push_back(tensorOf(result));
  }
  from.getTerminator()->erase();
  to.getOperations().splice(to.end(), from.getOperations());
  parameters_.assign(parameters.begin(), parameters.end());
  return results;
}

void GraphImpl::nameArguments() {
  llvm::SmallVector<mlir::Type> results;
  for (const Output& output : outputs_) {
    results.push_back(output.value.getType());
  }
  function_.setType(
      builder_.getFunctionType(function_.getBody().front().getArgumentTypes(), results));
  for (auto [i, name] : llvm::enumerate(inputs_)) {
    function_.setArgAttr(i, ir::kNameAttr, builder_.getStringAttr(name));
  }
  for (auto [i, output] : llvm::enumerate(outputs_)) {
    function_.setResultAttr(i, ir::kNameAttr, builder_.getStringAttr(output.name));
  }
  llvm::SmallVector<llvm::StringRef> symbols(symbols_.begin(), symbols_.end());
  function_->setAttr(ir::kSymbolsAttr, builder_.getStrArrayAttr(symbols));
}

absl::Status GraphImpl::finishAndWrite(const std::function<absl::Status(mlir::ModuleOp)>& write) {
  bool correct = false;
  std::string errors = errorsOf([&] { correct = mlir::succeeded(mlir::verify(*module_)); });
  if (!correct) {
    return absl::InternalError(absl::StrCat("graph '", name_, "' does not verify: ", errors));
  }
  return write(*module_);
}

absl::Status GraphImpl::save(const std::function<absl::Status(mlir::ModuleOp)>& write) {
  absl::Status status = this->status();
  if (status.ok() && builder_.getInsertionBlock() != &function_.getBody().front()) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph '", name_, "' is saved inside a body; save it when that has ended"));
  }
  if (status.ok() && outputs_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph '", name_, "' has no output; name one with Graph::output"));
  }
  if (!status.ok()) {
    return status;
  }
  nameArguments();
  llvm::SmallVector<mlir::Value> results;
  for (const Output& output : outputs_) {
    results.push_back(output.value);
  }
  // The block stays open otherwise, so that the graph can go on growing.
  auto end = builder_.create<mlir::func::ReturnOp>(function_.getLoc(), results);
  status = finishAndWrite(write);
  end->erase();
  return status;
}

// --- Bodies --------------------------------------------------------------------------------------

std::vector<Tensor> GraphImpl::inBody(mlir::Block& block, const std::string& scope,
                                      const std::function<std::vector<Tensor>()>& build) {
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToEnd(&block);
  Scope names = layerScope(scope);
  return build();
}

bool GraphImpl::isVisible(mlir::Value value, std::string& why) const {
  mlir::Region* here = builder_.getInsertionBlock()->getParent();
  if (value.getParentRegion()->isAncestor(here)) {
    return true;
  }
  why = labelOfBody(value);
  return false;
}

}  // namespace graphrun::builder
