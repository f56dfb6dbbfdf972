#include "frontends/builder/op_call.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontends/builder/constants.h"
#include "frontends/builder/graph_impl.h"
#include "ir/builders.h"
#include "ir/folding.h"
#include "mlir/IR/Verifier.h"
#include "passes/einsum.h"

namespace graphrun::builder {

struct OpCall::State {
  GraphImpl& graph;
  std::string op;
  std::string label;
  std::source_location source;
  llvm::SmallVector<mlir::Value> operands;
  llvm::SmallVector<int32_t> given;  ///< one an argument: 1, or 0 for an optional one left out
  llvm::SmallVector<mlir::NamedAttribute> attributes;
  bool failed = false;

  void add(const char* name, mlir::Attribute value) {
    attributes.push_back(graph.builder().getNamedAttr(name, value));
  }
  bool ready() const { return !failed; }
};

OpCall::OpCall(const char* op, const At& at, std::vector<Argument> arguments)
    : arguments_(std::move(arguments)) {
  for (const Argument& argument : arguments_) {
    if (GraphImpl* graph = GraphImpl::graphOf(argument.tensor_)) {
      state_.reset(new State{*graph, op, graph->label(op, at), at.location});
      break;
    }
  }
  if (state_ && checkTensors()) {
    makeOperands();
  }
}

OpCall::~OpCall() = default;

void OpCall::problem(const std::string& message) {
  if (state_ && state_->ready()) {
    state_->failed = true;
    state_->graph.report(state_->source, absl::StrCat(state_->op, " '", state_->label, "'"),
                         message);
  }
}

Tensor OpCall::failed() const { return state_ ? state_->graph.failed() : Tensor(); }

/// Why the operation cannot use a tensor; "" if it can, or the tensor's own problem was reported.
std::string OpCall::problemOf(const Tensor& tensor, bool optional) const {
  GraphImpl* graph = GraphImpl::graphOf(tensor);
  if (graph == nullptr) {
    return optional ? ""
                    : absl::StrCat(
                          "is a default-constructed tensor, or the result of one; expected "
                          "a tensor of graph '",
                          state_->graph.name(), "'");
  }
  if (graph != &state_->graph) {
    return absl::StrCat("is a tensor of graph '", graph->name(), "', expected one of graph '",
                        state_->graph.name(), "'");
  }
  std::string body;
  if (tensor.valid() && !graph->isVisible(GraphImpl::valueOf(tensor), body)) {
    return absl::StrCat("was made in a body of ", body,
                        "; outside of that it is used only as one of that operation's results");
  }
  return "";
}

bool OpCall::checkTensors() {
  bool invalid = false;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& argument = arguments_[i];
    if (argument.kind_ == Argument::Kind::kTensor || GraphImpl::graphOf(argument.tensor_)) {
      std::string why = problemOf(argument.tensor_, argument.kind_ == Argument::Kind::kOptional);
      if (!why.empty()) {
        problem(absl::StrCat("operand ", i, " ", why));
      }
    }
    invalid |= GraphImpl::graphOf(argument.tensor_) != nullptr && !argument.tensor_.valid();
  }
  if (invalid && state_->ready()) {
    state_->failed = true;
    state_->graph.skip();
  }
  return state_->ready();
}

void OpCall::makeOperands() {
  GraphImpl& graph = state_->graph;
  mlir::Type element;
  for (const Argument& argument : arguments_) {
    if (argument.tensor_.valid()) {
      element = graph.elementType(argument.tensor_.elementType());
    }
  }
  auto add = [&](const char* name, mlir::ElementsAttr value) {
    std::string label = absl::StrCat(state_->label, "/", name);
    state_->operands.push_back(graph.constant(value, label, state_->source));
  };
  auto vectorOf = [](size_t size, mlir::Type type) {
    return mlir::RankedTensorType::get({static_cast<int64_t>(size)}, type);
  };
  for (const Argument& argument : arguments_) {
    state_->given.push_back(1);
    switch (argument.kind_) {
      case Argument::Kind::kTensor:
      case Argument::Kind::kOptional:
        state_->given.back() = argument.tensor_.valid() ? 1 : 0;
        if (argument.tensor_.valid()) {
          state_->operands.push_back(GraphImpl::valueOf(argument.tensor_));
        }
        break;
      case Argument::Kind::kScalar: {
        std::string why;
        mlir::ElementsAttr value =
            splatOf(argument.scalar_, mlir::RankedTensorType::get({}, element), why);
        if (!value) {
          problem(why);
          return;
        }
        add(argument.name_, value);
        break;
      }
      case Argument::Kind::kInts:
        add(argument.name_,
            ir::makeInts(vectorOf(argument.ints_.size(), graph.builder().getI64Type()),
                         argument.ints_));
        break;
      case Argument::Kind::kFloats:
        add(argument.name_,
            ir::makeFloats(vectorOf(argument.floats_.size(), graph.builder().getF32Type()),
                           argument.floats_));
        break;
    }
  }
}

OpCall& OpCall::ints(const char* attribute, absl::Span<const int64_t> values) {
  if (state_) {
    state_->add(attribute, state_->graph.builder().getDenseI64ArrayAttr(
                               llvm::ArrayRef<int64_t>(values.data(), values.size())));
  }
  return *this;
}

OpCall& OpCall::integer(const char* attribute, int64_t value) {
  if (state_) {
    state_->add(attribute, state_->graph.builder().getI64IntegerAttr(value));
  }
  return *this;
}

OpCall& OpCall::number(const char* attribute, double value) {
  if (state_) {
    state_->add(attribute, state_->graph.builder().getF64FloatAttr(value));
  }
  return *this;
}

OpCall& OpCall::flag(const char* attribute, bool value) {
  if (state_) {
    state_->add(attribute, state_->graph.builder().getBoolAttr(value));
  }
  return *this;
}

OpCall& OpCall::numbers(const char* attribute, absl::Span<const double> values) {
  if (state_) {
    state_->add(attribute, state_->graph.builder().getDenseF64ArrayAttr(
                               llvm::ArrayRef<double>(values.data(), values.size())));
  }
  return *this;
}

OpCall& OpCall::texts(const char* attribute, absl::Span<const char* const> values) {
  if (state_) {
    llvm::SmallVector<llvm::StringRef> texts(values.begin(), values.end());
    state_->add(attribute, state_->graph.builder().getStrArrayAttr(texts));
  }
  return *this;
}

OpCall& OpCall::text(const char* attribute, const char* value) {
  if (state_) {
    state_->add(attribute, state_->graph.builder().getStringAttr(value));
  }
  return *this;
}

OpCall& OpCall::type(const char* attribute, ElementType value) {
  mlir::Type type = state_ ? state_->graph.elementType(value) : nullptr;
  if (type) {
    state_->add(attribute, mlir::TypeAttr::get(type));
  } else {
    problem(absl::StrCat("element type ", static_cast<int>(value), " is none of GraphRun's"));
  }
  return *this;
}

OpCall& OpCall::element(const char* attribute, Scalar value, ElementType type) {
  mlir::Type element = state_ ? state_->graph.elementType(type) : nullptr;
  if (!element) {
    problem(absl::StrCat("element type ", static_cast<int>(type), " is none of GraphRun's"));
    return *this;
  }
  std::string why;
  if (mlir::ElementsAttr splat = splatOf(value, mlir::RankedTensorType::get({}, element), why)) {
    state_->add(attribute, splat);
  } else {
    problem(why);
  }
  return *this;
}

bool OpCall::positiveAxis(int64_t& axis, const Tensor& like, int64_t more) {
  if (axis >= 0) {
    return true;
  }
  if (!like.ranked()) {
    problem(absl::StrCat("axis ", axis,
                         " counts from the end, but the operand's rank is not "
                         "known; give a positive axis"));
    return false;
  }
  int64_t rank = static_cast<int64_t>(like.dims().size()) + more;
  if (axis + rank < 0) {
    problem(absl::StrCat("axis ", axis, " is out of range for rank ", rank, "; operand ",
                         like.toString()));
    return false;
  }
  axis += rank;
  return true;
}

OpCall& OpCall::axis(const char* attribute, int64_t axis, const Tensor& like) {
  if (state_ && state_->ready() && positiveAxis(axis, like, 0)) {
    integer(attribute, axis);
  }
  return *this;
}

OpCall& OpCall::axes(const char* attribute, std::vector<int64_t> axes, const Tensor& like,
                     int64_t more) {
  for (int64_t& axis : axes) {
    if (!state_ || !state_->ready() || !positiveAxis(axis, like, more)) {
      return *this;
    }
  }
  std::sort(axes.begin(), axes.end());
  return ints(attribute, axes);
}

OpCall& OpCall::segments() {
  if (state_) {
    state_->add("operandSegmentSizes", state_->graph.builder().getDenseI32ArrayAttr(state_->given));
  }
  return *this;
}

OpCall& OpCall::segments(absl::Span<const int32_t> counts) {
  if (state_) {
    state_->add("operandSegmentSizes", state_->graph.builder().getDenseI32ArrayAttr(
                                           llvm::ArrayRef<int32_t>(counts.data(), counts.size())));
  }
  return *this;
}

std::string OpCall::typesText() const {
  return absl::StrJoin(state_->operands, ", ", [&](std::string* out, mlir::Value value) {
    out->append(state_->graph.typeText(value));
  });
}

Tensor OpCall::create() { return create(1)[0]; }

std::vector<Tensor> OpCall::create(size_t results) {
  if (!state_) {
    return std::vector<Tensor>(results);
  }
  GraphImpl& graph = state_->graph;
  std::vector<Tensor> tensors(results, graph.failed());
  if (!state_->ready()) {
    return tensors;
  }
  mlir::FailureOr<mlir::Operation*> created = mlir::failure();
  std::string errors = graph.errorsOf([&] {
    created = ir::createOp(graph.builder(), graph.locationOf(state_->label, state_->source),
                           absl::StrCat("gr.", state_->op), state_->operands, state_->attributes,
                           static_cast<unsigned>(results));
  });
  if (mlir::failed(created)) {
    problem(absl::StrCat(errors, state_->operands.empty() ? "" : "; operands ", typesText()));
    return tensors;
  }
  for (size_t i = 0; i < results; ++i) {
    tensors[i] = graph.tensorOf((*created)->getResult(i));
  }
  return tensors;
}

/// Fills a region; false after a problem.
bool OpCall::makeBody(const Body& body, void* region) {
  GraphImpl& graph = state_->graph;
  mlir::Location loc = graph.locationOf(state_->label, state_->source);
  mlir::Block& block = static_cast<mlir::Region*>(region)->emplaceBlock();
  std::vector<Tensor> arguments;
  for (const Tensor& like : body.like) {
    mlir::Type type = GraphImpl::valueOf(like).getType();
    if (body.anyShape) {
      type = mlir::UnrankedTensorType::get(llvm::cast<mlir::TensorType>(type).getElementType());
    }
    arguments.push_back(graph.tensorOf(block.addArgument(type, loc)));
  }
  bool complete = true;
  graph.inBody(block, absl::StrCat(state_->label, "/", body.name), [&] {
    llvm::SmallVector<mlir::Value> values;
    for (const Tensor& result : body.build(arguments)) {
      std::string why = problemOf(result, /*optional=*/false);
      if (!why.empty()) {
        problem(absl::StrCat("result ", values.size(), " of its body '", body.name, "' ", why));
      }
      complete = complete && why.empty() && result.valid();
      values.push_back(GraphImpl::valueOf(result));
    }
    if (complete) {
      graph.builder().create<ir::YieldOp>(loc, values);
    }
    return std::vector<Tensor>();
  });
  if (!complete && state_->ready()) {  // on the result of another problem
    state_->failed = true;
    graph.skip();
  }
  return state_->ready();
}

std::vector<Tensor> OpCall::createWith(const std::vector<Body>& bodies, size_t hidden) {
  if (!state_ || !state_->ready()) {
    return {};
  }
  GraphImpl& graph = state_->graph;
  auto makeOp = [&](size_t results) {
    mlir::OperationState made(graph.locationOf(state_->label, state_->source),
                              absl::StrCat("gr.", state_->op), state_->operands, {},
                              state_->attributes);
    made.types.assign(results, ir::placeholderType(graph.context()));
    for (size_t i = 0; i < bodies.size(); ++i) {
      made.addRegion();
    }
    return graph.builder().create(made);
  };
  // How many results it has is known when the bodies are: until then another holds them. It stays
  // after a problem, since the user may hold what is in it; such a graph is never written.
  mlir::Operation* holder = makeOp(0);
  for (size_t i = 0; i < bodies.size(); ++i) {
    if (!makeBody(bodies[i], &holder->getRegion(static_cast<unsigned>(i)))) {
      return {};
    }
  }
  const size_t yielded = holder->getRegion(0).front().getTerminator()->getNumOperands();
  mlir::Operation* op = makeOp(yielded - std::min(hidden, yielded));
  for (unsigned i = 0; i < bodies.size(); ++i) {
    op->getRegion(i).takeBody(holder->getRegion(i));
  }
  holder->erase();
  bool fits = false;
  std::string errors = graph.errorsOf([&] {
    fits = mlir::succeeded(ir::updateResultTypes(op)) && mlir::succeeded(mlir::verify(op));
  });
  if (!fits) {
    problem(absl::StrCat(errors, "; operands ", typesText()));
    return std::vector<Tensor>(op->getNumResults(), graph.failed());
  }
  std::vector<Tensor> results;
  for (mlir::Value result : op->getResults()) {
    results.push_back(graph.tensorOf(result));
  }
  return results;
}

namespace {

/// Operations of one call, named after it.
class CallEmitter : public passes::Emitter {
 public:
  CallEmitter(GraphImpl& graph, std::string label, std::source_location source)
      : graph_(graph), label_(std::move(label)), source_(source) {}

  mlir::OpBuilder& builder() override { return graph_.builder(); }
  mlir::Value emit(llvm::StringRef name, llvm::ArrayRef<mlir::Value> operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes) override {
    if (llvm::is_contained(operands, mlir::Value())) {
      return nullptr;
    }
    mlir::FailureOr<mlir::Operation*> made =
        ir::createOp(builder(), locationOf(name.drop_front(3).str()), name, operands, attributes);
    return mlir::failed(made) ? mlir::Value() : (*made)->getResult(0);
  }
  mlir::Value constant(llvm::ArrayRef<int64_t> values) override {
    return ir::createInts(builder(), locationOf("value"), values);
  }
  mlir::Value zeroLike(mlir::Value like) override {
    mlir::Type element = llvm::cast<mlir::TensorType>(like.getType()).getElementType();
    return ir::createScalar(builder(), locationOf("zero"), element, 0);
  }
  void fail(const std::string& what) override { problem = what; }

  std::string problem;

 private:
  mlir::Location locationOf(const std::string& part) {
    return graph_.locationOf(absl::StrCat(label_, "/", part), source_);
  }

  GraphImpl& graph_;
  std::string label_;
  std::source_location source_;
};

}  // namespace

Tensor OpCall::lower(const std::function<mlir::Value(passes::Emitter& emitter)>& lowering) {
  if (!state_ || !state_->ready()) {
    return failed();
  }
  CallEmitter emitter(state_->graph, state_->label, state_->source);
  mlir::Value result;
  std::string errors = state_->graph.errorsOf([&] { result = lowering(emitter); });
  if (!result) {
    problem(absl::StrCat(emitter.problem, errors, "; operands ", typesText()));
    return failed();
  }
  return state_->graph.tensorOf(result);
}

}  // namespace graphrun::builder
