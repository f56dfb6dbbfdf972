// If, Loop and Scan. Their regions see the values around them as ONNX's subgraphs do.
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "ir/builders.h"
#include "ir/dialect.h"

namespace graphrun::frontends {
namespace {

/// `op` with the result types that its regions give; its results, or null ones.
Values typed(Node& node, mlir::Operation* op) {
  if (node.failed() || mlir::failed(ir::updateResultTypes(op))) {
    node.fail("its subgraphs do not fit it");
    return Values(op->getNumResults());
  }
  return Values(op->result_begin(), op->result_end());
}

void yield(Node& node, mlir::Block& block, mlir::ValueRange values) {
  mlir::OpBuilder::InsertionGuard guard(node.builder());
  node.builder().setInsertionPointToEnd(&block);
  node.builder().create<ir::YieldOp>(node.location(), values);
}

llvm::SmallVector<mlir::Type> unknownTypes(Node& node, size_t count) {
  return llvm::SmallVector<mlir::Type>(count, ir::placeholderType(node.builder().getContext()));
}

Values branch(Node& node) {
  auto op = node.builder().create<ir::IfOp>(node.location(), unknownTypes(node, node.outputCount()),
                                            node.input(0));
  for (auto [name, region] :
       {std::pair<llvm::StringRef, mlir::Region*>{"then_branch", &op.getThen()},
        {"else_branch", &op.getOtherwise()}}) {
    mlir::Block& block = region->emplaceBlock();
    Values outputs = node.importBody(name, block, {});
    if (!node.failed() && outputs.size() != node.outputCount()) {
      node.fail(absl::StrCat(inQuotes(name), " has ", outputs.size(), " outputs, expected ",
                             node.outputCount()));
    }
    if (node.failed()) {
      return Values(node.outputCount());
    }
    yield(node, block, outputs);
  }
  return typed(node, op);
}

/// Returns the type of a carried value in any iteration: its element type is certain, its dims are
/// not.
mlir::Type carriedType(mlir::Value initial) {
  mlir::Type type = initial.getType();
  mlir::Type element = llvm::cast<mlir::TensorType>(type).getElementType();
  return type == ir::placeholderType(type.getContext()) ? type
                                                        : mlir::UnrankedTensorType::get(element);
}

/// A node of another operation that waits until its inputs are known: what a node with a subgraph
/// makes where it would have to be put off itself. `attributes` are of the newest opset.
mlir::Value later(Node& node, const char* operation, llvm::ArrayRef<mlir::Value> inputs,
                  mlir::Type type, llvm::ArrayRef<::onnx::AttributeProto> attributes = {}) {
  ::onnx::NodeProto proto;
  proto.set_op_type(operation);
  for (const ::onnx::AttributeProto& attribute : attributes) {
    *proto.add_attribute() = attribute;
  }
  proto.add_output("output");
  for (size_t i = 0; i < inputs.size(); ++i) {
    proto.add_input(absl::StrCat("input ", i));
  }
  mlir::OpBuilder& builder = node.builder();
  auto op = builder.create<ir::DeferredOp>(
      node.location(), type, inputs, builder.getStringAttr(proto.SerializeAsString()), kLastOpset,
      llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(inputs.size()))),
      llvm::ArrayRef<int64_t>());
  return op->getResult(0);
}

::onnx::AttributeProto integerAttribute(const char* name, int64_t value) {
  ::onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::INT);
  attribute.set_i(value);
  return attribute;
}

::onnx::AttributeProto textAttribute(const char* name, std::string value) {
  ::onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(::onnx::AttributeProto::STRING);
  attribute.set_s(std::move(value));
  return attribute;
}

/// LoopParts are common to Loop and Scan: a gr.loop whose body imports the subgraph "body".
struct LoopParts {
  mlir::Value condition;
  mlir::Value limit;  // null: none
  Values carried;
};

mlir::Value isBelow(Node& node, mlir::Value number, mlir::Value limit) {
  mlir::MLIRContext* context = node.builder().getContext();
  return limit.getType() == ir::placeholderType(context)
             ? later(node, "Less", {number, limit},
                     mlir::UnrankedTensorType::get(node.builder().getI1Type()))
             : node.emit("gr.less", {number, limit});
}

/// `inputsOf` gives the subgraph's inputs from the block's arguments; `hasCondition`: the subgraph
/// yields the condition first. `finish`, if any, changes what the subgraph yields.
Values makeLoop(Node& node, const LoopParts& parts, bool hasCondition,
                llvm::function_ref<Values(mlir::Block&)> inputsOf,
                llvm::function_ref<void(mlir::Block&, Values&)> finish = nullptr) {
  mlir::OpBuilder& builder = node.builder();
  mlir::Value zero = ir::createScalar(builder, node.location(), builder.getI64Type(), 0);
  mlir::Value below = parts.limit ? isBelow(node, zero, parts.limit) : nullptr;
  if (node.failed() || llvm::is_contained(parts.carried, mlir::Value())) {
    return Values(node.outputCount());
  }
  auto op = builder.create<ir::LoopOp>(node.location(), unknownTypes(node, node.outputCount()),
                                       parts.condition, zero, below, parts.limit, parts.carried,
                                       mlir::ValueRange(), mlir::ValueRange());
  mlir::Block& block = op.getBody().emplaceBlock();
  block.addArgument(zero.getType(), node.location());
  block.addArgument(carriedType(parts.condition), node.location());
  for (mlir::Value value : parts.carried) {
    block.addArgument(carriedType(value), node.location());
  }
  Values inputs;
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&block);
    inputs = inputsOf(block);
  }
  if (node.failed() || llvm::is_contained(inputs, mlir::Value())) {
    return Values(node.outputCount());
  }
  Values outputs = node.importBody("body", block, inputs);
  size_t expected = node.outputCount() + (hasCondition ? 1 : 0);
  if (!node.failed() && outputs.size() != expected) {
    node.fail(absl::StrCat("its body has ", outputs.size(), " outputs, expected ", expected));
  }
  if (node.failed()) {
    return Values(node.outputCount());
  }
  if (finish) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&block);
    finish(block, outputs);
  }
  if (!hasCondition) {
    outputs.insert(outputs.begin(), block.getArgument(1));
  }
  yield(node, block, outputs);
  return typed(node, op);
}

mlir::Value always(Node& node) {
  return ir::createScalar(node.builder(), node.location(), node.builder().getI1Type(), 1);
}

Values loop(Node& node) {
  LoopParts parts{node.input(1) ? node.input(1) : always(node), node.input(0), {}};
  for (size_t i = 2; i < node.inputs().size(); ++i) {
    parts.carried.push_back(node.input(i));
  }
  if (node.outputCount() < parts.carried.size()) {
    node.fail(absl::StrCat("carries ", parts.carried.size(), " values, but has ",
                           node.outputCount(), " outputs"));
    return Values(node.outputCount());
  }
  return makeLoop(node, parts, /*hasCondition=*/true,
                  [](mlir::Block& block) { return Values(block.args_begin(), block.args_end()); });
}

/// Attribute `name`, one number for each of `count`; all 0 when it is absent.
llvm::SmallVector<int64_t> perValue(Node& node, llvm::StringRef name, size_t count) {
  llvm::SmallVector<int64_t> values = node.attributes().integers(name);
  if (values.empty()) {
    values.assign(count, 0);
  }
  if (values.size() != count) {
    node.fail(absl::StrCat("attribute ", inQuotes(name), " has ", values.size(),
                           " values, expected ", count));
    values.resize(count);
  }
  return values;
}

/// The equation of an Einsum that moves the first dim to `axis`, whatever the rank.
std::string movingFirstTo(int64_t axis) {
  std::string others;
  for (int64_t i = 0; i < (axis < 0 ? -axis - 1 : axis); ++i) {
    others += static_cast<char>('b' + i);
  }
  return axis < 0 ? absl::StrCat("a...", others, "->...a", others)
                  : absl::StrCat("a", others, "...->", others, "a...");
}

/// `value` with its first dim moved to `axis`.
mlir::Value withFirstAt(Node& node, mlir::Value value, int64_t axis) {
  std::optional<ir::Dims> dims = ir::dimsOf(value);
  if (!dims) {
    return later(node, "Einsum", {value}, carriedType(value),
                 {textAttribute("equation", movingFirstTo(axis))});
  }
  auto rank = static_cast<int64_t>(dims->size());
  std::optional<int64_t> dim = node.axisOf(axis, rank);
  if (!dim) {
    return nullptr;
  }
  auto order = llvm::to_vector(llvm::seq<int64_t>(1, rank));
  order.insert(order.begin() + *dim, 0);
  return node.emit("gr.transpose", {value}, {node.integers("permutation", order)});
}

/// A scan output as ONNX wants it: collected along `axis`, or backwards.
mlir::Value arrange(Node& node, mlir::Value value, int64_t axis, bool backwards) {
  constexpr int64_t kLetters = 24;
  if (axis > kLetters || axis < -kLetters) {
    return node.fail(absl::StrCat("scan output axis ", axis, " is out of range"));
  }
  if (value && backwards) {
    value = node.emit("gr.slice", {value, node.constant({-1}), node.constant({INT64_MIN}),
                                   node.constant({0}), node.constant({-1})});
  }
  return value && axis != 0 ? withFirstAt(node, value, axis) : value;
}

/// Dim `axis` of `value`, a scalar.
mlir::Value lengthAlong(Node& node, mlir::Value value, int64_t axis) {
  llvm::SmallVector<::onnx::AttributeProto> range = {integerAttribute("start", axis)};
  if (axis != -1) {
    range.push_back(integerAttribute("end", axis + 1));
  }
  mlir::Type one = mlir::RankedTensorType::get({1}, node.builder().getI64Type());
  mlir::Value length =
      axis < 0 ? later(node, "Shape", {value}, one, range)
               : node.emit("gr.shape", {value},
                           {node.integer("start", axis), node.integer("end", axis + 1)});
  return node.emit("gr.squeeze", {length}, {node.integers("axes", {0})});
}

/// The slice of `value` at `index` of `axis`.
mlir::Value sliceAt(Node& node, mlir::Value value, mlir::Value index, int64_t axis) {
  return axis < 0 ? later(node, "Gather", {value, index}, carriedType(value),
                          {integerAttribute("axis", axis)})
                  : node.emit("gr.gather", {value, index}, {node.integer("axis", axis)});
}

/// Runs the body over slices of `scanned` along `axes` (a negative one: of a tensor whose rank is
/// not known), from the end where `backwards` is not 0; gives the states at the end and what was
/// collected.
Values scanAlong(Node& node, const Values& states, const Values& scanned,
                 llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<int64_t> backwards) {
  mlir::Value length = lengthAlong(node, scanned[0], axes[0]);
  LoopParts parts{always(node), length, states};
  return makeLoop(node, parts, /*hasCondition=*/false, [&](mlir::Block& block) {
    Values values(block.args_begin() + 2, block.args_end());
    for (auto [i, value] : llvm::enumerate(scanned)) {
      mlir::Value index = block.getArgument(0);
      if (backwards[i] != 0) {
        index = node.emit("gr.sub", {length, index});
        index = node.emit("gr.sub", {index, node.scalarLike(index, 1)});
      }
      values.push_back(sliceAt(node, value, index, axes[i]));
    }
    return values;
  });
}

/// The first Scan: a scan for each entry of a batch. A loop over the batch collects their results.
Values scanBatch(Node& node) {
  node.attributes().require("num_scan_inputs");
  int64_t scans = node.attributes().integer("num_scan_inputs", 1);
  int64_t states = static_cast<int64_t>(node.inputs().size()) - 1 - scans;
  if (scans < 1 || states < 0 || static_cast<int64_t>(node.outputCount()) < states) {
    node.fail(absl::StrCat("scans ", scans, " of ", states + scans, " inputs into ",
                           node.outputCount(), " outputs"));
    return Values(node.outputCount());
  }
  auto backwards = perValue(node, "directions", scans);
  if (node.input(0)) {
    node.fail("has sequence_lens (input 0), which is not supported; export for opset 9 or later");
    return Values(node.outputCount());
  }
  mlir::OpBuilder& builder = node.builder();
  mlir::Value zero = ir::createScalar(builder, node.location(), builder.getI64Type(), 0);
  mlir::Value batch =
      node.emit("gr.shape", {node.input(1)}, {node.integer("start", 0), node.integer("end", 1)});
  batch = node.emit("gr.squeeze", {batch}, {node.integers("axes", {0})});
  mlir::Value below = node.emit("gr.less", {zero, batch});
  mlir::Value condition = always(node);
  if (node.failed()) {
    return Values(node.outputCount());
  }
  auto op = builder.create<ir::LoopOp>(node.location(), unknownTypes(node, node.outputCount()),
                                       condition, zero, below, batch, mlir::ValueRange(),
                                       mlir::ValueRange(), mlir::ValueRange());
  mlir::Block& block = op.getBody().emplaceBlock();
  block.addArgument(zero.getType(), node.location());
  block.addArgument(carriedType(condition), node.location());
  Values outputs = {block.getArgument(1)};
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&block);
    Values entries;
    for (mlir::Value value : llvm::drop_begin(node.inputs())) {
      entries.push_back(
          node.emit("gr.gather", {value, block.getArgument(0)}, {node.integer("axis", 0)}));
    }
    if (node.failed() || llvm::is_contained(entries, mlir::Value())) {
      return Values(node.outputCount());
    }
    llvm::append_range(
        outputs, scanAlong(node, Values(entries.begin(), entries.begin() + states),
                           Values(entries.begin() + states, entries.end()),
                           llvm::SmallVector<int64_t>(static_cast<size_t>(scans), 0), backwards));
  }
  if (node.failed()) {
    return Values(node.outputCount());
  }
  yield(node, block, outputs);
  return typed(node, op);
}

Values scan(Node& node) {
  node.attributes().require("num_scan_inputs");
  int64_t scans = node.attributes().integer("num_scan_inputs", 1);
  auto inputs = static_cast<int64_t>(node.inputs().size());
  if (scans < 1 || scans > inputs || static_cast<int64_t>(node.outputCount()) < inputs - scans) {
    node.fail(absl::StrCat("scans ", scans, " of ", inputs, " inputs into ", node.outputCount(),
                           " outputs"));
    return Values(node.outputCount());
  }
  size_t states = static_cast<size_t>(inputs - scans);
  size_t collected = node.outputCount() - states;
  auto inputAxes = perValue(node, "scan_input_axes", scans);
  auto inputBackwards = perValue(node, "scan_input_directions", scans);
  auto outputAxes = perValue(node, "scan_output_axes", collected);
  auto outputBackwards = perValue(node, "scan_output_directions", collected);
  Values scanned(node.inputs().begin() + static_cast<int64_t>(states), node.inputs().end());
  for (auto [value, axis] : llvm::zip(scanned, inputAxes)) {
    std::optional<ir::Dims> dims = ir::dimsOf(value);
    axis += axis < 0 && dims ? static_cast<int64_t>(dims->size()) : 0;
  }
  Values outputs = scanAlong(
      node, Values(node.inputs().begin(), node.inputs().begin() + static_cast<int64_t>(states)),
      scanned, inputAxes, inputBackwards);
  for (size_t i = 0; i < collected; ++i) {
    outputs[states + i] =
        arrange(node, outputs[states + i], outputAxes[i], outputBackwards[i] != 0);
  }
  return outputs;
}

/// A loop over the first input, as the standard's function body has it.
Values sequenceMap(Node& node) {
  mlir::OpBuilder& builder = node.builder();
  for (auto [i, value] : llvm::enumerate(node.inputs())) {
    if (!value || value.getType() == ir::placeholderType(builder.getContext()) ||
        (i == 0 && !ir::isSequence(value.getType()))) {
      node.fail(absl::StrCat("input ", i, " must be ", i == 0 ? "a sequence" : "of known type",
                             "; run onnx.shape_inference on the model"));
      return Values(node.outputCount());
    }
  }
  mlir::Type list = ir::sequenceType(builder.getContext());
  mlir::Type scalar = mlir::RankedTensorType::get({}, builder.getI64Type());
  LoopParts parts{always(node), later(node, "SequenceLength", {node.input(0)}, scalar), {}};
  for (size_t i = 0; i < node.outputCount(); ++i) {
    parts.carried.push_back(
        builder.create<ir::SequenceOp>(node.location(), list, mlir::ValueRange()));
  }
  auto elements = [&](mlir::Block& block) {
    Values values;
    for (mlir::Value value : node.inputs()) {
      values.push_back(ir::isSequence(value.getType())
                           ? later(node, "SequenceAt", {value, block.getArgument(0)},
                                   ir::placeholderType(builder.getContext()))
                           : value);
    }
    return values;
  };
  auto collect = [&](mlir::Block& block, Values& outputs) {
    for (auto [i, output] : llvm::enumerate(outputs)) {
      output = later(node, "SequenceInsert", {block.getArgument(2 + i), output}, list);
    }
  };
  return makeLoop(node, parts, /*hasCondition=*/false, elements, collect);
}

const OpRow kControlOps[] = {
    {"If", 1, kLast, 1, 1, kMany, branch},
    {"Loop", 1, kLast, 0, kMany, kMany, loop, "", /*takesLists=*/true},
    {"SequenceMap", 17, kLast, 1, kMany, kMany, sequenceMap, "", /*takesLists=*/true},
    {"Scan", 8, 8, 0, kMany, kMany, scanBatch},
    {"Scan", 9, kLast, 1, kMany, kMany, scan},
};

}  // namespace

llvm::ArrayRef<OpRow> controlOps() { return kControlOps; }

}  // namespace graphrun::frontends
