// FlatBuffer graph -> gr dialect. The file is not trusted.
#include "absl/strings/str_cat.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "llvm/Support/JSON.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Verifier.h"
#include "passes/device_hints.h"
#include "passes/passes.h"
#include "passes/serialization/model_io.h"
#include "passes/serialization/type_codec.h"
#include "runtime/base/status.h"

namespace graphrun::passes {
namespace {

constexpr size_t kMaxRegionDepth = 32;
constexpr size_t kWeightAlignment = 64;

template <typename... Parts>
absl::Status invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::string textOf(const flatbuffers::String* text) { return text == nullptr ? "" : text->str(); }

llvm::StringRef refOf(const flatbuffers::String* text) {
  return text == nullptr ? llvm::StringRef() : llvm::StringRef(text->c_str(), text->size());
}

template <typename List>
uint32_t countOf(const List* list) {
  return list == nullptr ? 0 : list->size();
}

/// Collects the errors that MLIR reports while it lives.
class Diagnostics {
 public:
  explicit Diagnostics(mlir::MLIRContext* context)
      : handler_(context, [this](mlir::Diagnostic& diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
            absl::StrAppend(&text_, text_.empty() ? "" : "; ", diagnostic.str());
          }
          return mlir::success();
        }) {}

  absl::Status status(absl::string_view otherwise) const {
    return invalid(text_.empty() ? otherwise : absl::string_view(text_));
  }

 private:
  std::string text_;
  mlir::ScopedDiagnosticHandler handler_;
};

class GraphImporter {
 public:
  GraphImporter(const format::Graph& graph, const WeightSourceView& weights,
                mlir::MLIRContext& context)
      : graph_(graph), weights_(weights), context_(&context), builder_(&context) {}

  absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> run() {
    GR_RETURN_IF_ERROR(importTables());
    if (graph_.body() == nullptr) {
      return invalid("graph has no body");
    }
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder_.getUnknownLoc());
    builder_.setInsertionPointToEnd(module->getBody());
    std::string name = textOf(graph_.name());
    auto func = builder_.create<mlir::func::FuncOp>(
        builder_.getUnknownLoc(), name.empty() ? "main" : name, builder_.getFunctionType({}, {}));
    GR_RETURN_IF_ERROR(importRegion(*graph_.body(), func.getBody(), /*depth=*/0));
    GR_RETURN_IF_ERROR(setInterface(func));
    Diagnostics diagnostics(context_);
    if (mlir::failed(mlir::verify(*module))) {
      return diagnostics.status("graph does not pass the verifier");
    }
    return module;
  }

 private:
  absl::Status importTables() {
    size_t symbols = countOf(graph_.symbols());
    for (uint32_t i = 0; i < countOf(graph_.types()); ++i) {
      absl::StatusOr<mlir::TensorType> type =
          importType(*graph_.types()->Get(i), symbols, context_);
      if (!type.ok()) {
        return runtime::annotate(type.status(), absl::StrCat("type ", i));
      }
      types_.push_back(*type);
    }
    values_.resize(countOf(graph_.value_types()));
    return absl::OkStatus();
  }

  absl::StatusOr<mlir::Type> typeOfValue(uint32_t id) const {
    if (id >= values_.size() || graph_.value_types()->Get(id) >= types_.size()) {
      return invalid("value ", id, " has no type");
    }
    return mlir::Type(types_[graph_.value_types()->Get(id)]);
  }

  absl::Status define(uint32_t id, mlir::Value value) {
    if (values_[id]) {
      return invalid("value ", id, " is defined twice");
    }
    values_[id] = value;
    return absl::OkStatus();
  }

  absl::Status importRegion(const format::Region& region, mlir::Region& body, size_t depth) {
    if (depth > kMaxRegionDepth) {
      return invalid("regions are nested deeper than ", kMaxRegionDepth);
    }
    mlir::OpBuilder::InsertionGuard guard(builder_);
    mlir::Block& block = body.emplaceBlock();
    builder_.setInsertionPointToEnd(&block);
    for (uint32_t i = 0; i < countOf(region.arguments()); ++i) {
      uint32_t id = region.arguments()->Get(i);
      GR_ASSIGN_OR_RETURN(mlir::Type type, typeOfValue(id));
      GR_RETURN_IF_ERROR(define(id, block.addArgument(type, builder_.getUnknownLoc())));
    }
    size_t count = countOf(region.operations());
    for (uint32_t i = 0; i < count; ++i) {
      const format::Operation& operation = *region.operations()->Get(i);
      bool isReturn = depth == 0 && i + 1 == count;
      absl::Status status = isReturn ? importReturn(operation) : importOperation(operation, depth);
      if (!status.ok()) {
        return runtime::annotate(
            status, absl::StrCat("node '", textOf(operation.label()), "' (operation ", i, ")"));
      }
    }
    return count > 0 ? absl::OkStatus() : invalid("region has no operations");
  }

  absl::StatusOr<std::string> nameOf(const format::Operation& operation) const {
    if (operation.name() >= countOf(graph_.op_names())) {
      return invalid("operation name ", operation.name(), " is out of range");
    }
    return graph_.op_names()->Get(operation.name())->str();
  }

  absl::Status importOperands(const format::Operation& operation,
                              llvm::SmallVectorImpl<mlir::Value>& operands) const {
    for (uint32_t i = 0; i < countOf(operation.operands()); ++i) {
      uint32_t id = operation.operands()->Get(i);
      if (id >= values_.size() || !values_[id]) {
        return invalid("operand ", i, " is value ", id, ", expected one that is defined before it");
      }
      operands.push_back(values_[id]);
    }
    return absl::OkStatus();
  }

  /// The body's last operation: func.return.
  absl::Status importReturn(const format::Operation& operation) {
    GR_ASSIGN_OR_RETURN(std::string name, nameOf(operation));
    bool isPlain = countOf(operation.results()) + countOf(operation.regions()) +
                       countOf(operation.attributes()) ==
                   0;
    if (name != kYieldName || !isPlain) {
      return invalid("the graph ends in '", name, "', expected a plain ", kYieldName.str());
    }
    llvm::SmallVector<mlir::Value> operands;
    GR_RETURN_IF_ERROR(importOperands(operation, operands));
    builder_.create<mlir::func::ReturnOp>(locationOf(operation), operands);
    return absl::OkStatus();
  }

  mlir::Location locationOf(const format::Operation& operation) {
    std::string label = textOf(operation.label());
    mlir::Location name = label.empty() ? mlir::Location(builder_.getUnknownLoc())
                                        : mlir::NameLoc::get(builder_.getStringAttr(label));
    llvm::SmallVector<DeviceHint> hints;
    for (uint32_t i = 0; i < countOf(operation.hints()); ++i) {
      const format::DeviceHint& hint = *operation.hints()->Get(i);
      hints.push_back({refOf(hint.configuration()), refOf(hint.name()), refOf(hint.problem())});
    }
    return withDeviceHints(name, hints);
  }

  absl::Status importOperation(const format::Operation& operation, size_t depth) {
    GR_ASSIGN_OR_RETURN(std::string name, nameOf(operation));
    std::optional<mlir::RegisteredOperationName> registered =
        mlir::RegisteredOperationName::lookup(name, context_);
    if (!registered || registered->getDialectNamespace() != ir::GRDialect::getDialectNamespace()) {
      return invalid("operation '", name, "' is not known to this program: the file is newer, or ",
                     "not a model");
    }
    mlir::OperationState state(locationOf(operation), *registered);
    GR_RETURN_IF_ERROR(importOperands(operation, state.operands));
    uint32_t results = countOf(operation.results());
    for (uint32_t i = 0; i < results; ++i) {
      GR_ASSIGN_OR_RETURN(mlir::Type type, typeOfValue(operation.results()->Get(i)));
      state.types.push_back(type);
    }
    GR_RETURN_IF_ERROR(importAttributes(operation, *registered, state));
    uint32_t regions = countOf(operation.regions());
    for (uint32_t i = 0; i < regions; ++i) {
      state.addRegion();
    }
    mlir::Operation* op = builder_.create(state);
    for (uint32_t i = 0; i < regions; ++i) {
      GR_RETURN_IF_ERROR(importRegion(*operation.regions()->Get(i), op->getRegion(i), depth + 1));
    }
    for (uint32_t i = 0; i < results; ++i) {
      GR_RETURN_IF_ERROR(define(operation.results()->Get(i), op->getResult(i)));
    }
    // Each operation before anything that comes later can ask it for its attributes.
    Diagnostics diagnostics(context_);
    if (mlir::failed(mlir::verify(op, /*verifyRecursively=*/true))) {
      return diagnostics.status("operation does not pass the verifier");
    }
    return absl::OkStatus();
  }

  absl::Status importAttributes(const format::Operation& operation,
                                mlir::RegisteredOperationName registered,
                                mlir::OperationState& state) {
    for (uint32_t i = 0; i < countOf(operation.attributes()); ++i) {
      const format::Attribute& attribute = *operation.attributes()->Get(i);
      std::string name = textOf(attribute.name());
      bool isInherent = llvm::any_of(registered.getAttributeNames(), [&](mlir::StringAttr known) {
        return known.getValue() == name;
      });
      if (!isInherent && !llvm::StringRef(name).starts_with("gr.")) {
        return invalid("attribute '", name, "' is not one of ", registered.getStringRef().str());
      }
      if (state.attributes.get(name)) {
        return invalid("attribute '", name, "' is given twice");
      }
      absl::StatusOr<mlir::Attribute> value = importValue(attribute, name);
      if (!value.ok()) {
        return runtime::annotate(value.status(), absl::StrCat("attribute '", name, "'"));
      }
      state.addAttribute(name, *value);
      if (attribute.value_type() == format::AttributeValue::Weight) {
        state.addAttribute(ir::kWeightAttr,
                           builder_.getI64IntegerAttr(attribute.value_as_Weight()->index()));
      }
    }
    GR_RETURN_IF_ERROR(importSegments(operation, registered, state));
    // A value of the wrong kind would be dropped in silence when the operation is made.
    Diagnostics diagnostics(context_);
    auto emitError = [&] { return mlir::emitError(state.location); };
    if (mlir::failed(registered.verifyInherentAttrs(state.attributes, emitError))) {
      return diagnostics.status("attributes do not fit");
    }
    return absl::OkStatus();
  }

  absl::Status importSegments(const format::Operation& operation,
                              mlir::RegisteredOperationName registered,
                              mlir::OperationState& state) {
    bool wanted = registered.hasTrait<mlir::OpTrait::AttrSizedOperandSegments>();
    bool given = operation.operand_segments() != nullptr;
    if (wanted != given) {
      return invalid(registered.getStringRef().str(), wanted ? " needs" : " has no",
                     " operand segments");
    }
    if (!given) {
      return absl::OkStatus();
    }
    llvm::SmallVector<int32_t> sizes;
    uint64_t sum = 0;
    for (uint32_t size : *operation.operand_segments()) {
      sum += size;
      sizes.push_back(static_cast<int32_t>(size));
    }
    if (registered.getStringRef() == "gr.resize" && sizes.size() == 3) {
      sizes.push_back(0);  // files of version 1 may be older than the operand roi
    }
    if (sum != state.operands.size()) {
      return invalid("operand segments add up to ", sum, ", expected ", state.operands.size());
    }
    state.addAttribute("operandSegmentSizes", builder_.getDenseI32ArrayAttr(sizes));
    return absl::OkStatus();
  }

  absl::StatusOr<mlir::Attribute> importValue(const format::Attribute& attribute,
                                              const std::string& name) {
    using format::AttributeValue;
    switch (attribute.value_type()) {
      case AttributeValue::Int:
        return mlir::Attribute(builder_.getI64IntegerAttr(attribute.value_as_Int()->value()));
      case AttributeValue::Float:
        return mlir::Attribute(builder_.getF64FloatAttr(attribute.value_as_Float()->value()));
      case AttributeValue::Bool:
        return mlir::Attribute(builder_.getBoolAttr(attribute.value_as_Bool()->value()));
      case AttributeValue::String:
        return importText(textOf(attribute.value_as_String()->value()), name);
      case AttributeValue::Ints:
      case AttributeValue::Floats:
      case AttributeValue::Bools:
      case AttributeValue::Strings:
        return importList(attribute);
      case AttributeValue::Type:
        return importTypeValue(*attribute.value_as_Type());
      case AttributeValue::Weight:
        return importWeight(attribute.value_as_Weight()->index());
      default:
        return invalid("value is of kind ", static_cast<int>(attribute.value_type()),
                       ", which this program does not know");
    }
  }

  absl::StatusOr<mlir::Attribute> importText(const std::string& text, const std::string& name) {
    if (name == ir::kDeviceAttr) {
      return mlir::Attribute(ir::DeviceAttr::get(context_, text));
    }
    return mlir::Attribute(builder_.getStringAttr(text));
  }

  absl::StatusOr<mlir::Attribute> importList(const format::Attribute& attribute) {
    llvm::SmallVector<int64_t> ints;
    llvm::SmallVector<double> floats;
    llvm::SmallVector<bool> bools;
    llvm::SmallVector<mlir::Attribute> texts;
    if (const auto* list = attribute.value_as_Ints()) {
      append(list->value(), ints);
      return mlir::Attribute(builder_.getDenseI64ArrayAttr(ints));
    }
    if (const auto* list = attribute.value_as_Floats()) {
      append(list->value(), floats);
      return mlir::Attribute(builder_.getDenseF64ArrayAttr(floats));
    }
    if (const auto* list = attribute.value_as_Bools()) {
      append(list->value(), bools);
      return mlir::Attribute(builder_.getDenseBoolArrayAttr(bools));
    }
    const auto* list = attribute.value_as_Strings()->value();
    for (uint32_t i = 0; i < countOf(list); ++i) {
      texts.push_back(builder_.getStringAttr(list->Get(i)->str()));
    }
    return mlir::Attribute(builder_.getArrayAttr(texts));
  }

  template <typename List, typename T>
  static void append(const List* from, llvm::SmallVectorImpl<T>& to) {
    for (uint32_t i = 0; i < countOf(from); ++i) {
      to.push_back(static_cast<T>(from->Get(i)));
    }
  }

  absl::StatusOr<mlir::Attribute> importTypeValue(const format::Type& type) {
    if (type.value() == nullptr) {
      return invalid("has no type");
    }
    size_t symbols = countOf(graph_.symbols());
    GR_ASSIGN_OR_RETURN(mlir::TensorType tensor, importType(*type.value(), symbols, context_));
    return mlir::Attribute(
        mlir::TypeAttr::get(type.tensor() ? mlir::Type(tensor) : tensor.getElementType()));
  }

  absl::StatusOr<mlir::Attribute> importWeight(uint32_t index) {
    if (index >= weights_.count) {
      return invalid("weight ", index, " is out of range: there are ", weights_.count);
    }
    if (auto found = constants_.find(index); found != constants_.end()) {
      return found->second;
    }
    GR_ASSIGN_OR_RETURN(WeightSourceView::Weight weight, weights_.get(index));
    mlir::Type element = elementTypeOf(weight.spec.type, context_);
    GR_ASSIGN_OR_RETURN(size_t bytes, runtime::checkedByteSize(weight.spec.type, weight.spec.dims));
    size_t expected = weight.splat ? runtime::elementSize(weight.spec.type) : bytes;
    if (!element || weight.data.size() != expected) {
      return invalid("weight '", weight.name, "' has ", weight.data.size(), " bytes, expected ",
                     expected, " for ", weight.spec.toString());
    }
    auto type = mlir::RankedTensorType::get(weight.spec.dims, element);
    mlir::Attribute constant;
    if (ir::isStrings(element)) {
      GR_ASSIGN_OR_RETURN(constant, makeStrings(type, weight));
    } else {
      constant = makeConstant(type, weight);
    }
    constants_[index] = constant;
    return constant;
  }

  /// The elements are indices into the table of strings; of a splat one stands for all, however
  /// many.
  absl::StatusOr<mlir::Attribute> makeStrings(mlir::RankedTensorType type,
                                              const WeightSourceView::Weight& weight) const {
    const int64_t count = type.getNumElements();
    llvm::SmallVector<llvm::StringRef> texts(weight.splat ? std::min<int64_t>(count, 1) : count);
    for (size_t i = 0; i < texts.size(); ++i) {
      uint64_t number = 0;
      std::memcpy(&number, weight.data.data() + i * sizeof(number), sizeof(number));
      if (number >= countOf(weights_.strings)) {
        return invalid("weight '", weight.name, "': element ", i, " is string ", number,
                       " of a table of ", countOf(weights_.strings));
      }
      const flatbuffers::String& text = *weights_.strings->Get(static_cast<uint32_t>(number));
      texts[i] = llvm::StringRef(text.c_str(), text.size());
      if (!llvm::json::isUTF8(texts[i])) {
        return invalid("string ", number, " of the table is not valid UTF-8");
      }
    }
    return mlir::Attribute(ir::makeStrings(type, texts));
  }

  mlir::Attribute makeConstant(mlir::RankedTensorType type,
                               const WeightSourceView::Weight& weight) const {
    llvm::ArrayRef<char> raw(reinterpret_cast<const char*>(weight.data.data()), weight.data.size());
    if (weight.splat || type.getNumElements() <= kMaxInlineElements ||
        type.getElementType().isInteger(1)) {
      return elementsFrom(type, raw);
    }
    mlir::AsmResourceBlob blob = mlir::UnmanagedAsmResourceBlob::allocateWithAlign(
        raw, kWeightAlignment, [owner = weights_.owner](void*, size_t, size_t) {},
        /*dataIsMutable=*/false);
    return mlir::DenseResourceElementsAttr::get(type, weight.name, std::move(blob));
  }

  absl::Status setInterface(mlir::func::FuncOp func) {
    mlir::Block& body = func.getBody().front();
    func.setType(
        builder_.getFunctionType(body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
    if (countOf(graph_.input_names()) != func.getNumArguments() ||
        countOf(graph_.output_names()) != func.getNumResults()) {
      return invalid("graph names ", countOf(graph_.input_names()), " inputs and ",
                     countOf(graph_.output_names()), " outputs, expected ", func.getNumArguments(),
                     " and ", func.getNumResults());
    }
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      func.setArgAttr(i, ir::kNameAttr,
                      builder_.getStringAttr(graph_.input_names()->Get(i)->str()));
    }
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      func.setResultAttr(i, ir::kNameAttr,
                         builder_.getStringAttr(graph_.output_names()->Get(i)->str()));
    }
    llvm::SmallVector<mlir::Attribute> symbols;
    for (uint32_t i = 0; i < countOf(graph_.symbols()); ++i) {
      symbols.push_back(builder_.getStringAttr(graph_.symbols()->Get(i)->str()));
    }
    if (!symbols.empty()) {
      func->setAttr(ir::kSymbolsAttr, builder_.getArrayAttr(symbols));
    }
    llvm::SmallVector<llvm::StringRef> folded;
    for (uint32_t i = 0; i < countOf(graph_.folded_names()); ++i) {
      folded.push_back(refOf(graph_.folded_names()->Get(i)));
    }
    if (!folded.empty()) {
      func->setAttr(kFoldedAttr, builder_.getStrArrayAttr(folded));
    }
    return absl::OkStatus();
  }

  const format::Graph& graph_;
  const WeightSourceView& weights_;
  mlir::MLIRContext* context_;
  mlir::OpBuilder builder_;
  std::vector<mlir::TensorType> types_;
  std::vector<mlir::Value> values_;
  llvm::DenseMap<uint32_t, mlir::Attribute> constants_;
};

}  // namespace

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> importGraph(const format::Graph& graph,
                                                              const WeightSourceView& weights,
                                                              mlir::MLIRContext& context) {
  context.loadDialect<ir::GRDialect, mlir::func::FuncDialect>();
  return GraphImporter(graph, weights, context).run();
}

}  // namespace graphrun::passes
