// Layers of sequences that carry a state from one call to the next.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"

namespace graphrun::frontends {
namespace {

/// The state, or zeros, before the input: N x C x (K - 1 + L).
mlir::Value withState(Node& node) {
  if (node.input(3)) {
    return concat(node, {node.input(3), node.input(0)}, 2);
  }
  mlir::Value before = node.emit("gr.sub", {dims(node, node.input(1), 2, 3), node.constant({1})});
  mlir::Value pads = concat(node, {node.constant({0, 0}), before, node.constant({0, 0, 0})}, 0);
  return node.emit("gr.pad", {node.input(0), pads, node.scalarLike(node.input(0), 0)},
                   {node.text("mode", "constant")});
}

/// x * sigmoid(x), of 16-bit floats in f32.
mlir::Value silu(Node& node, mlir::Value x) {
  bool narrow = x && node.elementOf(x).getIntOrFloatBitWidth() < 32;
  mlir::Value wide = narrow ? castTo(node, x, node.builder().getF32Type()) : x;
  return castLike(node, node.emit("gr.mul", {wide, node.emit("gr.sigmoid", {wide})}), x);
}

/// A convolution of each channel that sees the past only, and the last K - 1 elements that the next
/// call needs.
Values causalConv(Node& node) {
  std::string activation = node.attributes().text("activation", "none");
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<int64_t> weightRank = node.rankOf(node.input(1));
  if (!rank || !weightRank) {
    return {nullptr, nullptr};
  }
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return {node.fail(absl::StrCat("activation is ", inQuotes(activation),
                                   ", expected \"none\", \"silu\" or \"swish\"")),
            nullptr};
  }
  if (*rank != 3 || *weightRank != 3) {
    return {node.fail(absl::StrCat("input and weight are of ranks ", *rank, " and ", *weightRank,
                                   ", expected N x C x L and C x 1 x K")),
            nullptr};
  }
  ir::Dim channels = (*ir::dimsOf(node.input(1)))[0];
  if (!channels.isStatic()) {
    return {node.putOff(nullptr), nullptr};
  }
  mlir::Value padded = withState(node);
  Values operands = {padded, node.input(1)};
  if (node.input(2)) {
    operands.push_back(node.input(2));
  }
  mlir::Value result = node.emit("gr.conv", operands,
                                 {node.integers("strides", {1}), node.integers("dilations", {1}),
                                  node.integers("pads", {0, 0}), node.text("padding", "explicit"),
                                  node.integer("groups", channels.value())});
  // Where the input's length L starts in the padded one are its last K - 1 elements.
  mlir::Value state =
      slice(node, padded, 2, dims(node, node.input(0), 2, 3), node.constant({kEnd}));
  return {activation == "none" ? result : silu(node, result), state};
}

/// One LinearAttention node: its attributes, and what its update rule says.
struct Recurrence {
  int64_t queryHeads, keyHeads;
  double scale;
  bool gated, delta;
};

std::optional<Recurrence> readRecurrence(Node& node) {
  Attributes& attributes = node.attributes();
  attributes.ignore({"chunk_size"});  // how to compute it
  std::string rule = attributes.text("update_rule", "gated_delta");
  Recurrence r{attributes.integer("q_num_heads", 0), attributes.integer("kv_num_heads", 0),
               attributes.real("scale", 0), rule.starts_with("gated"), rule.ends_with("delta")};
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta") {
    node.fail(absl::StrCat("update_rule is ", inQuotes(rule),
                           ", expected \"linear\", \"gated\", \"delta\" or \"gated_delta\""));
    return std::nullopt;
  }
  if (r.keyHeads < 1 || r.queryHeads < 1 || r.queryHeads % r.keyHeads != 0) {
    node.fail(absl::StrCat("q_num_heads is ", r.queryHeads, " and kv_num_heads ", r.keyHeads,
                           ", expected a multiple of the latter, both at least 1"));
    return std::nullopt;
  }
  if (r.gated != static_cast<bool>(node.input(4)) || r.delta != static_cast<bool>(node.input(5))) {
    node.fail(absl::StrCat("update_rule ", inQuotes(rule), " goes ", r.gated ? "with" : "without",
                           " decay (input 4) and ", r.delta ? "with" : "without",
                           " beta (input 5)"));
    return std::nullopt;
  }
  for (size_t i = 0; i < 3; ++i) {
    std::optional<int64_t> rank = node.rankOf(node.input(i));
    if (!rank) {
      return std::nullopt;
    }
    if (*rank != 3) {
      node.fail(absl::StrCat("input ", i, " is not of rank 3, expected N x T x (H * D)"));
      return std::nullopt;
    }
  }
  return r;
}

/// A gate or rate of each head (or one for all), N x T x (G * D), as N x G x T x D.
mlir::Value perHead(Node& node, const Recurrence& r, mlir::Value value) {
  std::optional<ir::Dims> dims = value ? ir::dimsOf(value) : std::nullopt;
  if (value && (!dims || (dims->size() == 3 && !(*dims)[2].isStatic()))) {
    return node.putOff(nullptr);  // whether it is one for all is not known yet
  }
  bool shared = dims && dims->size() == 3 && (*dims)[2].value() == 1;
  return shared ? unsqueeze(node, value, {1}) : splitHeads(node, value, r.keyHeads);
}

/// Zeros, N x G x K x V.
mlir::Value emptyState(Node& node, mlir::Value key, mlir::Value value) {
  auto one = mlir::RankedTensorType::get({1}, node.builder().getF32Type());
  return node.emit(
      "gr.fill",
      {concat(node, {dims(node, key, 0, 2), dims(node, key, 3, 4), dims(node, value, 3, 4)}, 0)},
      {node.named("value", mlir::DenseElementsAttr::get(one, 0.0F))});
}

/// outputs * scale, where a scale of 0 stands for 1 / sqrt(K).
mlir::Value scaledOutputs(Node& node, const Recurrence& r, mlir::Value outputs, mlir::Value key) {
  std::optional<ir::Dims> dims = key ? ir::dimsOf(key) : std::nullopt;
  if (r.scale != 0) {
    return withScalar(node, "gr.mul", outputs, r.scale);
  }
  if (dims && dims->back().isStatic()) {
    double width = static_cast<double>(dims->back().value());
    return withScalar(node, "gr.mul", outputs, 1 / std::sqrt(width));
  }
  mlir::Value width = castLike(node, graphrun::frontends::dims(node, key, 3, 4), outputs);
  return node.emit("gr.div", {outputs, node.emit("gr.sqrt", {width})});
}

/// Computed in f32, whatever the operands are of.
Values linearAttention(Node& node) {
  std::optional<Recurrence> r = readRecurrence(node);
  if (!r) {
    return {nullptr, nullptr};
  }
  mlir::Type f32 = node.builder().getF32Type();
  auto wide = [&](mlir::Value value) { return castTo(node, value, f32); };
  mlir::Value query = wide(splitHeads(node, node.input(0), r->queryHeads));
  mlir::Value key = wide(splitHeads(node, node.input(1), r->keyHeads));
  mlir::Value value = wide(splitHeads(node, node.input(2), r->keyHeads));
  mlir::Value state = node.input(3) ? wide(node.input(3)) : emptyState(node, key, value);
  mlir::Value one = reshape(node, node.scalarLike(key, 1), {1, 1, 1, 1});
  mlir::Value gate = r->gated ? node.emit("gr.exp", {wide(perHead(node, *r, node.input(4)))}) : one;
  mlir::Value rate = r->delta ? wide(perHead(node, *r, node.input(5))) : one;
  Values results = node.emitMany("gr.linear_attention", {query, key, value, state, gate, rate},
                                 {node.boolean("delta", r->delta)}, 2);
  mlir::Value outputs = castLike(node, scaledOutputs(node, *r, results[0], key), node.input(0));
  return {joinHeads(node, outputs),
          castLike(node, results[1], node.input(3) ? node.input(3) : node.input(0))};
}

const OpRow kRecurrenceOps[] = {
    {"CausalConvWithState", 27, kLast, 2, 4, 2, causalConv},
    {"LinearAttention", 27, kLast, 3, 6, 2, linearAttention},
};

}  // namespace

llvm::ArrayRef<OpRow> recurrenceOps() { return kRecurrenceOps; }

}  // namespace graphrun::frontends
