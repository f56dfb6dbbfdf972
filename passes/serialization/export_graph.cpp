// gr dialect -> FlatBuffer graph.
#include <set>

#include "absl/strings/str_cat.h"
#include "ir/dialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"
#include "passes/device_hints.h"
#include "passes/passes.h"
#include "passes/serialization/model_io.h"
#include "passes/serialization/type_codec.h"
#include "runtime/base/status.h"

namespace graphrun::passes {
namespace {

using flatbuffers::Offset;

constexpr llvm::StringLiteral kSegmentsAttr = "operandSegmentSizes";
/// Longer labels are cut: they are for messages.
constexpr size_t kMaxLabel = 1024;

class GraphExporter {
 public:
  GraphExporter(flatbuffers::FlatBufferBuilder& builder, WeightTable& weights)
      : builder_(builder), weights_(weights) {}

  absl::StatusOr<Offset<format::Graph>> run(mlir::func::FuncOp func) {
    GR_ASSIGN_OR_RETURN(Offset<format::Region> body, exportRegion(func.getBody()));
    std::vector<std::string> inputs, outputs, symbols;
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      inputs.push_back(inputName(func, i));
    }
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      outputs.push_back(outputName(func, i));
    }
    if (auto names = func->getAttrOfType<mlir::ArrayAttr>(ir::kSymbolsAttr)) {
      for (mlir::Attribute name : names) {
        symbols.push_back(llvm::cast<mlir::StringAttr>(name).str());
      }
    }
    auto name = builder_.CreateString(func.getSymName().str());
    auto opNames = builder_.CreateVectorOfStrings(keysOf(opNames_));
    auto types = builder_.CreateVector(typeOffsets_);
    auto valueTypes = builder_.CreateVector(valueTypes_);
    auto symbolNames = builder_.CreateVectorOfStrings(symbols);
    auto inputNames = builder_.CreateVectorOfStrings(inputs);
    auto outputNames = builder_.CreateVectorOfStrings(outputs);
    std::set<std::string> folded;
    for (const std::string& node : foldedNames(func)) {
      folded.insert(node.substr(0, kMaxLabel));
    }
    auto foldedList = folded.empty() ? 0
                                     : builder_.CreateVectorOfStrings(
                                           std::vector<std::string>(folded.begin(), folded.end()));
    return format::CreateGraph(builder_, name, opNames, types, valueTypes, symbolNames, inputNames,
                               outputNames, body, foldedList);
  }

 private:
  static std::vector<std::string> keysOf(const llvm::MapVector<mlir::StringAttr, uint32_t>& names) {
    std::vector<std::string> keys;
    for (const auto& [name, index] : names) {
      keys.push_back(name.str());
    }
    return keys;
  }

  absl::StatusOr<uint32_t> typeIndex(mlir::Type type) {
    auto [entry, isNew] = types_.try_emplace(type, typeOffsets_.size());
    if (isNew) {
      GR_ASSIGN_OR_RETURN(Offset<format::TensorType> offset, exportType(type, builder_));
      typeOffsets_.push_back(offset);
    }
    return entry->second;
  }

  absl::StatusOr<Offset<flatbuffers::Vector<uint32_t>>> define(mlir::ValueRange values) {
    std::vector<uint32_t> ids;
    for (mlir::Value value : values) {
      GR_ASSIGN_OR_RETURN(uint32_t type, typeIndex(value.getType()));
      ids.push_back(static_cast<uint32_t>(valueTypes_.size()));
      valueIds_[value] = ids.back();
      valueTypes_.push_back(type);
    }
    return builder_.CreateVector(ids);
  }

  absl::StatusOr<Offset<format::Region>> exportRegion(mlir::Region& region) {
    if (!region.hasOneBlock()) {
      return absl::InvalidArgumentError("a region must be one block of operations");
    }
    GR_ASSIGN_OR_RETURN(auto arguments, define(region.getArguments()));
    std::vector<Offset<format::Operation>> operations;
    for (mlir::Operation& op : region.front()) {
      absl::StatusOr<Offset<format::Operation>> offset = exportOperation(&op);
      if (!offset.ok()) {
        return runtime::annotate(offset.status(), absl::StrCat(op.getName().getStringRef().str(),
                                                               " '", labelOf(op.getLoc()), "'"));
      }
      operations.push_back(*offset);
    }
    return format::CreateRegion(builder_, arguments, builder_.CreateVector(operations));
  }

  uint32_t opName(mlir::Operation* op) {
    llvm::StringRef name = llvm::isa<mlir::func::ReturnOp>(op) ? llvm::StringRef(kYieldName)
                                                               : op->getName().getStringRef();
    return opNames_.try_emplace(mlir::StringAttr::get(op->getContext(), name), opNames_.size())
        .first->second;
  }

  absl::StatusOr<Offset<format::Operation>> exportOperation(mlir::Operation* op) {
    if (!llvm::isa<mlir::func::ReturnOp>(op) && !llvm::isa<ir::GrOpInterface>(op)) {
      return absl::InvalidArgumentError("is no operation of the gr dialect");
    }
    std::vector<uint32_t> operands;
    for (mlir::Value operand : op->getOperands()) {
      operands.push_back(valueIds_.at(operand));
    }
    auto operandIds = builder_.CreateVector(operands);
    Offset<flatbuffers::Vector<uint32_t>> segments;
    std::vector<Offset<format::Attribute>> attributes;
    for (mlir::NamedAttribute attribute : op->getAttrDictionary()) {
      if (attribute.getName() == kSegmentsAttr) {
        auto sizes = llvm::cast<mlir::DenseI32ArrayAttr>(attribute.getValue()).asArrayRef();
        segments = builder_.CreateVector(std::vector<uint32_t>(sizes.begin(), sizes.end()));
        continue;
      }
      if (attribute.getName() == ir::kWeightAttr) {
        continue;  // an index into the table of the file that was read, not of the one written
      }
      GR_ASSIGN_OR_RETURN(auto offset, exportAttribute(attribute, op));
      attributes.push_back(offset);
    }
    std::vector<Offset<format::Region>> regions;
    for (mlir::Region& region : op->getRegions()) {
      GR_ASSIGN_OR_RETURN(auto offset, exportRegion(region));
      regions.push_back(offset);
    }
    GR_ASSIGN_OR_RETURN(auto results, define(op->getResults()));
    auto hints = exportDeviceHints(op);
    auto label = builder_.CreateString(labelOf(op->getLoc()).substr(0, kMaxLabel));
    auto attributeList = attributes.empty() ? 0 : builder_.CreateVector(attributes);
    auto regionList = regions.empty() ? 0 : builder_.CreateVector(regions);
    return format::CreateOperation(builder_, opName(op), label, operandIds, segments, results,
                                   attributeList, regionList, hints);
  }

  /// Null when there are none.
  Offset<flatbuffers::Vector<Offset<format::DeviceHint>>> exportDeviceHints(mlir::Operation* op) {
    llvm::SmallVector<DeviceHint> hints = deviceHintsOf(op->getLoc());
    if (hints.empty() || llvm::isa<ir::ConstantOp>(op)) {
      return 0;
    }
    std::vector<Offset<format::DeviceHint>> list;
    for (const DeviceHint& hint : hints) {
      auto configuration = builder_.CreateString(hint.configuration.str());
      auto name = builder_.CreateString(hint.name.str());
      auto problem = builder_.CreateString(hint.problem.str());
      list.push_back(format::CreateDeviceHint(builder_, configuration, name, problem));
    }
    return builder_.CreateVector(list);
  }

  /// A value of the union, with its kind.
  using Value = std::pair<format::AttributeValue, Offset<void>>;

  absl::StatusOr<Offset<format::Attribute>> exportAttribute(mlir::NamedAttribute attribute,
                                                            mlir::Operation* op) {
    absl::StatusOr<Value> value = exportValue(attribute.getValue(), op);
    std::string name = attribute.getName().str();
    if (!value.ok()) {
      return runtime::annotate(value.status(), absl::StrCat("attribute '", name, "'"));
    }
    auto nameOffset = builder_.CreateString(name);
    return format::CreateAttribute(builder_, nameOffset, value->first, value->second);
  }

  absl::StatusOr<Value> exportValue(mlir::Attribute value, mlir::Operation* op) {
    if (auto elements = llvm::dyn_cast<mlir::ElementsAttr>(value);
        elements && !llvm::isa<mlir::DenseArrayAttr>(value)) {
      GR_ASSIGN_OR_RETURN(uint32_t index, weights_.add(elements, labelOf(op->getLoc())));
      return Value(format::AttributeValue::Weight, format::CreateWeight(builder_, index).Union());
    }
    if (auto type = llvm::dyn_cast<mlir::TypeAttr>(value)) {
      bool isTensor = llvm::isa<mlir::TensorType>(type.getValue());
      GR_ASSIGN_OR_RETURN(auto offset, exportType(type.getValue(), builder_));
      return Value(format::AttributeValue::Type,
                   format::CreateType(builder_, offset, isTensor).Union());
    }
    Value simple = exportNumbers(value);
    if (simple.second.IsNull()) {
      simple = exportText(value);
    }
    if (simple.second.IsNull()) {
      std::string text;
      llvm::raw_string_ostream(text) << value;
      return absl::InvalidArgumentError(
          absl::StrCat("value ", text, " is of a kind that cannot be stored in a file"));
    }
    return simple;
  }

  /// Null for attributes of other kinds.
  Value exportNumbers(mlir::Attribute value) {
    using format::AttributeValue;
    if (auto flag = llvm::dyn_cast<mlir::BoolAttr>(value)) {
      return {AttributeValue::Bool, format::CreateBool(builder_, flag.getValue()).Union()};
    }
    if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(value);
        integer && integer.getType().isSignlessInteger(64)) {
      return {AttributeValue::Int, format::CreateInt(builder_, integer.getInt()).Union()};
    }
    if (auto number = llvm::dyn_cast<mlir::FloatAttr>(value); number && number.getType().isF64()) {
      return {AttributeValue::Float,
              format::CreateFloat(builder_, number.getValueAsDouble()).Union()};
    }
    if (auto ints = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(value)) {
      auto list = builder_.CreateVector(ints.asArrayRef().data(), ints.size());
      return {AttributeValue::Ints, format::CreateInts(builder_, list).Union()};
    }
    if (auto floats = llvm::dyn_cast<mlir::DenseF64ArrayAttr>(value)) {
      auto list = builder_.CreateVector(floats.asArrayRef().data(), floats.size());
      return {AttributeValue::Floats, format::CreateFloats(builder_, list).Union()};
    }
    if (auto bools = llvm::dyn_cast<mlir::DenseBoolArrayAttr>(value)) {
      std::vector<uint8_t> list(bools.asArrayRef().begin(), bools.asArrayRef().end());
      return {AttributeValue::Bools,
              format::CreateBools(builder_, builder_.CreateVector(list)).Union()};
    }
    return {};
  }

  /// Null for attributes of other kinds.
  Value exportText(mlir::Attribute value) {
    using format::AttributeValue;
    auto text = llvm::dyn_cast<mlir::StringAttr>(value);
    auto device = llvm::dyn_cast<ir::DeviceAttr>(value);
    if (text || device) {
      auto offset = builder_.CreateString((text ? text.getValue() : device.getName()).str());
      return {AttributeValue::String, format::CreateString(builder_, offset).Union()};
    }
    auto list = llvm::dyn_cast<mlir::ArrayAttr>(value);
    if (!list || !llvm::all_of(list, llvm::IsaPred<mlir::StringAttr>)) {
      return {};
    }
    std::vector<std::string> texts;
    for (mlir::Attribute item : list) {
      texts.push_back(llvm::cast<mlir::StringAttr>(item).str());
    }
    return {AttributeValue::Strings,
            format::CreateStrings(builder_, builder_.CreateVectorOfStrings(texts)).Union()};
  }

  flatbuffers::FlatBufferBuilder& builder_;
  WeightTable& weights_;
  llvm::MapVector<mlir::StringAttr, uint32_t> opNames_;
  llvm::DenseMap<mlir::Type, uint32_t> types_;
  std::vector<Offset<format::TensorType>> typeOffsets_;
  llvm::DenseMap<mlir::Value, uint32_t> valueIds_;
  std::vector<uint32_t> valueTypes_;
};

}  // namespace

absl::StatusOr<Offset<format::Graph>> exportGraph(mlir::func::FuncOp func,
                                                  flatbuffers::FlatBufferBuilder& builder,
                                                  WeightTable& weights) {
  return GraphExporter(builder, weights).run(func);
}

}  // namespace graphrun::passes
