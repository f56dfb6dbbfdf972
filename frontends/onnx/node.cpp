#include "frontends/onnx/node.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontends/onnx/tensors.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "mlir/IR/Diagnostics.h"

namespace graphrun::frontends {
namespace {

constexpr int64_t kMaxFoldedElements = 64;

std::string print(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  std::optional<ir::Dims> dims = ir::dimsOf(type);
  stream << llvm::cast<mlir::TensorType>(type).getElementType() << "["
         << (dims ? ir::toString(*dims) : "of unknown rank") << "]";
  return text;
}

/// "'gr.conv' op input has …" becomes "input has …".
std::string withoutPrefix(llvm::StringRef diagnostic) {
  size_t at = diagnostic.find("' op ");
  return diagnostic.starts_with("'gr.") && at != llvm::StringRef::npos
             ? diagnostic.drop_front(at + 5).str()
             : diagnostic.str();
}

/// Shape arithmetic and fills: cheap to fold, and worth it because shapes follow from them.
bool worthFolding(mlir::Operation* op) {
  if (llvm::isa<ir::FillOp>(op)) {
    return true;
  }
  auto type = op->getNumResults() == 1
                  ? llvm::dyn_cast<mlir::RankedTensorType>(op->getResult(0).getType())
                  : nullptr;
  return type && type.getElementType().isInteger() && type.getRank() <= 1 &&
         type.hasStaticShape() && type.getNumElements() <= kMaxFoldedElements;
}

}  // namespace

Node::Node(Context context, ::onnx::NodeProto& proto, const OpRow& row, int64_t opset,
           llvm::StringRef label, mlir::Location loc, Values inputs)
    : context_(std::move(context)),
      proto_(proto),
      row_(row),
      opset_(opset),
      label_(label),
      loc_(loc),
      inputs_(std::move(inputs)),
      attributes_(proto, [this](const std::string& what) { fail(what); }) {}

Values Node::import() {
  for (auto [i, value] : llvm::enumerate(inputs_)) {
    if (value && ir::isSequence(value.getType()) && !row_.takesLists) {
      fail(absl::StrCat("input ", i, " ", inQuotes(proto_.input(static_cast<int>(i))),
                        " is a sequence or optional, expected a tensor; take an element with "
                        "SequenceAt or OptionalGetElement"));
    }
  }
  if (failed_) {
    return Values(outputCount());
  }
  Values outputs = row_.handler(*this);
  // What is put off is imported again when more is known, and then reads and reports the rest.
  if (!later_) {
    attributes_.reportUnread();
  }
  return outputs;
}

bool Node::outputUsed(size_t i) const {
  return i < outputCount() && context_.isUsed(proto_.output(static_cast<int>(i)));
}

void Node::refuseOutput(size_t i, llvm::StringRef what) {
  if (outputUsed(i)) {
    fail(absl::StrCat("output ", i, " (", what.str(),
                      ") is used, but GraphRun does not compute it; export for inference"));
  }
}

mlir::Value Node::valueNamed(llvm::StringRef name, llvm::StringRef what) {
  mlir::Value value = context_.valueOf ? context_.valueOf(name) : mlir::Value();
  if (!value) {
    fail(absl::StrCat("attribute ", inQuotes(what), " names ", inQuotes(name),
                      ", expected a value of the graph that can be computed before"));
  }
  return value;
}

std::nullptr_t Node::fail(const std::string& what) {
  failed_ = true;
  if (!later_) {
    context_.problems.add(absl::StrCat(label_, ": ", what));
  }
  return nullptr;
}

std::nullptr_t Node::failIfReached(const std::string& what) {
  return context_.importBody ? putOff(nullptr) : fail(what);
}

std::nullptr_t Node::putOff(mlir::Value value) {
  failed_ = true;
  later_ = true;
  if (value) {
    needed_.push_back(value);
  }
  return nullptr;
}

Values Node::importBody(llvm::StringRef name, mlir::Block& block, mlir::ValueRange inputs) {
  ::onnx::GraphProto* graph = attributes_.require(name) ? attributes_.graph(name) : nullptr;
  if (graph == nullptr) {
    failed_ = true;
    return {};
  }
  if (!context_.importBody) {
    fail("has a subgraph, which cannot be imported apart from the graph around it");
    return {};
  }
  Values outputs = context_.importBody(*graph, block, inputs);
  failed_ |= llvm::is_contained(outputs, mlir::Value());
  return outputs;
}

std::string Node::operandText() const {
  std::vector<std::string> texts;
  for (auto [i, value] : llvm::enumerate(inputs_)) {
    if (value && texts.size() < 8) {
      texts.push_back(
          absl::StrCat(inQuotes(proto_.input(static_cast<int>(i))), " ", print(value.getType())));
    }
  }
  return texts.empty() ? "" : absl::StrCat(" (inputs: ", absl::StrJoin(texts, ", "), ")");
}

bool Node::plausible(mlir::Operation* op) {
  for (mlir::Type type : op->getResultTypes()) {
    llvm::SmallVector<int64_t> known;
    for (const ir::Dim& dim : ir::dimsOf(type).value_or(ir::Dims())) {
      known.push_back(dim.isStatic() ? dim.value() : 1);
    }
    if (elementCount(known) < 0) {
      fail(absl::StrCat("its result would be ", print(type), ", expected at most ", kMaxRank,
                        " dims >= 0 of together at most ", kMaxElements, " elements",
                        operandText()));
      return false;
    }
  }
  return true;
}

Values Node::emitMany(llvm::StringRef operation, llvm::ArrayRef<mlir::Value> operands,
                      llvm::ArrayRef<mlir::NamedAttribute> attributes, size_t results) {
  if (failed_ || llvm::is_contained(operands, mlir::Value())) {
    return Values(results);
  }
  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(loc_.getContext(), [&](mlir::Diagnostic& diagnostic) {
    absl::StrAppend(&diagnostics, diagnostics.empty() ? "" : "; ", withoutPrefix(diagnostic.str()));
  });
  mlir::FailureOr<mlir::Operation*> op =
      ir::createOp(builder(), loc_, operation, operands, attributes, results);
  if (mlir::failed(op)) {
    fail(absl::StrCat(diagnostics, operandText()));
    return Values(results);
  }
  if (!plausible(*op)) {
    (*op)->erase();
    return Values(results);
  }
  llvm::SmallVector<mlir::Value> folded;
  if (worthFolding(*op) && mlir::succeeded(builder().tryFold(*op, folded)) &&
      folded.size() == (*op)->getNumResults()) {
    (*op)->erase();
    return Values(folded.begin(), folded.end());
  }
  return Values((*op)->result_begin(), (*op)->result_end());
}

mlir::Value Node::emit(llvm::StringRef operation, llvm::ArrayRef<mlir::Value> operands,
                       llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  return emitMany(operation, operands, attributes, 1)[0];
}

mlir::NamedAttribute Node::named(llvm::StringRef name, mlir::Attribute value) {
  return builder().getNamedAttr(name, value);
}
mlir::NamedAttribute Node::integer(llvm::StringRef name, int64_t value) {
  return named(name, builder().getI64IntegerAttr(value));
}
mlir::NamedAttribute Node::integers(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
  return named(name, builder().getDenseI64ArrayAttr(values));
}
mlir::NamedAttribute Node::real(llvm::StringRef name, double value) {
  return named(name, builder().getF64FloatAttr(value));
}
mlir::NamedAttribute Node::boolean(llvm::StringRef name, bool value) {
  return named(name, builder().getBoolAttr(value));
}
mlir::NamedAttribute Node::text(llvm::StringRef name, llvm::StringRef value) {
  return named(name, builder().getStringAttr(value));
}

mlir::Value Node::constant(llvm::ArrayRef<int64_t> values) {
  return ir::createInts(builder(), loc_, values);
}

mlir::Value Node::scalarLike(mlir::Value like, double value) {
  const bool fitsInteger = value >= -0x1p63 && value < 0x1p63;
  if (like && !fitsInteger && llvm::isa<mlir::IntegerType>(elementOf(like))) {
    return fail(absl::StrCat("an operand is ", print(like.getType()), ", whose elements are never ",
                             value, "; expected floats", operandText()));
  }
  if (!like || elementOf(like).isIntOrFloat() || ir::isStrings(like.getType())) {
    return like ? ir::createScalar(builder(), loc_, elementOf(like), value) : mlir::Value();
  }
  // No dense attribute holds the type: the constant is converted at run time.
  mlir::Value wide = ir::createScalar(builder(), loc_, builder().getF32Type(), value);
  return emit("gr.cast", {wide}, {named("to", mlir::TypeAttr::get(elementOf(like)))});
}

mlir::Value Node::spread(mlir::Value values, llvm::ArrayRef<int64_t> axes, int64_t rank,
                         llvm::function_ref<mlir::Value(int64_t)> other) {
  Values parts;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t* found = llvm::find(axes, i);
    parts.push_back(
        found == axes.end()
            ? other(i)
            : emit("gr.gather", {values, constant({found - axes.begin()})}, {integer("axis", 0)}));
  }
  return emit("gr.concat", parts, {integer("axis", 0)});
}

mlir::Type Node::elementOf(mlir::Value value) const {
  return llvm::cast<mlir::TensorType>(value.getType()).getElementType();
}

std::optional<int64_t> Node::rankOf(mlir::Value value) {
  if (!value) {
    return std::nullopt;
  }
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type) {
    putOff(nullptr);
    return std::nullopt;
  }
  return type.getRank();
}

std::optional<int64_t> Node::axisOf(int64_t axis, int64_t rank) {
  int64_t normalized = axis < 0 ? axis + rank : axis;
  if (axis < -rank || normalized >= rank) {
    fail(absl::StrCat("axis ", axis, " is out of range, expected ", -rank, " to ", rank - 1,
                      operandText()));
    return std::nullopt;
  }
  return normalized;
}

std::optional<llvm::SmallVector<int64_t>> Node::axesOf(llvm::ArrayRef<int64_t> axes, int64_t rank) {
  llvm::SmallVector<int64_t> all;
  for (int64_t axis : axes) {
    std::optional<int64_t> normalized = axisOf(axis, rank);
    if (!normalized) {
      return std::nullopt;
    }
    if (llvm::is_contained(all, *normalized)) {
      fail(absl::StrCat("names axis ", *normalized, " twice"));
      return std::nullopt;
    }
    all.push_back(*normalized);
  }
  llvm::sort(all);
  return all;
}

std::optional<llvm::SmallVector<llvm::StringRef>> Node::knownStrings(mlir::Value value) {
  if (!value) {
    return std::nullopt;
  }
  if (!ir::isStrings(value.getType())) {
    fail(absl::StrCat("an input is ", print(value.getType()), ", expected strings", operandText()));
    return std::nullopt;
  }
  auto strings = ir::stringsOf(value);
  if (!strings) {
    putOff(value);
  }
  return strings;
}

mlir::Value Node::evaluated(mlir::ElementsAttr elements) {
  mlir::Type type = elements.getShapedType();
  if (context_.importBody) {
    return builder().create<ir::ConstantOp>(loc_, type, elements);
  }
  return builder().create<ir::EvaluatedOp>(loc_, type, elements);
}

std::optional<llvm::SmallVector<int64_t>> Node::known(mlir::Value value, llvm::StringRef what) {
  if (!value) {
    return std::nullopt;
  }
  if (!elementOf(value).isInteger()) {
    fail(absl::StrCat("its ", what.str(), " are ", print(value.getType()),
                      ", expected an integer tensor"));
    return std::nullopt;
  }
  if (auto values = ir::constantInts(value)) {
    return values;
  }
  std::optional<ir::Dims> dims = ir::elementsOf(value);
  llvm::SmallVector<int64_t> values;
  for (const ir::Dim& dim : dims.value_or(ir::Dims())) {
    if (!dim.isStatic()) {
      dims.reset();
      break;
    }
    values.push_back(dim.value());
  }
  if (!dims) {
    putOff(value);
    return std::nullopt;
  }
  return values;
}

}  // namespace graphrun::frontends
