// Attention and the rotation of its operands.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/compose.h"

namespace graphrun::frontends {
namespace {

/// One Attention node: its attributes, and its operands as N x H x S x D.
struct Attention {
  mlir::Value query, key, value;
  mlir::Value mask, pastKey, pastValue, validLength;
  bool packed = false;  // the inputs are of rank 3
  bool causal = false;
  int64_t outputMode = 0;
  int64_t leftWindow = -1, rightWindow = -1;
  double softcap = 0;
  mlir::Type precision;  // of the softmax; null: the operands'
  std::optional<double> scale;
};

/// Reads rank and heads, and brings the operands into four dims.
bool readOperands(Node& node, Attention& a) {
  int64_t queryHeads = node.attributes().integer("q_num_heads", 0);
  int64_t keyHeads = node.attributes().integer("kv_num_heads", 0);
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  std::optional<int64_t> keyRank = node.rankOf(node.input(1));
  std::optional<int64_t> valueRank = node.rankOf(node.input(2));
  if (!rank || !keyRank || !valueRank) {
    return false;
  }
  if (*rank != *keyRank || *rank != *valueRank || (*rank != 3 && *rank != 4)) {
    node.fail(absl::StrCat("Q, K and V are of ranks ", *rank, ", ", *keyRank, " and ", *valueRank,
                           ", expected 3 or 4 for all"));
    return false;
  }
  a.packed = *rank == 3;
  if (a.packed && (queryHeads < 1 || keyHeads < 1)) {
    node.fail("inputs of rank 3 need the attributes q_num_heads and kv_num_heads, at least 1");
    return false;
  }
  auto heads = [&](size_t i, int64_t count) {
    return a.packed ? splitHeads(node, node.input(i), count) : node.input(i);
  };
  a.query = heads(0, queryHeads);
  a.key = heads(1, keyHeads);
  a.value = heads(2, keyHeads);
  return true;
}

std::optional<Attention> readAttention(Node& node) {
  Attributes& attributes = node.attributes();
  Attention a;
  a.causal = attributes.integer("is_causal", 0) != 0;
  a.outputMode = attributes.integer("qk_matmul_output_mode", 0);
  a.softcap = attributes.real("softcap", 0);
  if (node.opset() >= 25) {
    a.leftWindow = attributes.integer("left_window_size", -1);
    a.rightWindow = attributes.integer("right_window_size", -1);
  }
  if (attributes.has("softmax_precision")) {
    a.precision = floatTypeAttribute(node, "softmax_precision", 1);
  }
  if (attributes.has("scale")) {
    a.scale = attributes.real("scale", 1);
  }
  a.mask = node.input(3);
  if (a.mask && !node.elementOf(a.mask).isInteger(1)) {
    a.mask = castLike(node, a.mask, node.input(0));  // integers are added as what they count
  }
  a.pastKey = node.input(4);
  a.pastValue = node.input(5);
  a.validLength = node.input(6);
  if (!readOperands(node, a) || node.failed()) {
    return std::nullopt;
  }
  if (static_cast<bool>(a.pastKey) != static_cast<bool>(a.pastValue)) {
    node.fail("only one of past_key and past_value is given, expected both or none");
    return std::nullopt;
  }
  if (a.leftWindow < -1 || a.rightWindow < -1 || a.outputMode < 0 || a.outputMode > 3) {
    node.fail(absl::StrCat("window sizes ", a.leftWindow, " and ", a.rightWindow,
                           " or qk_matmul_output_mode ", a.outputMode,
                           " are out of range, expected at least -1, and 0 to 3"));
    return std::nullopt;
  }
  if (a.pastKey) {
    a.key = concat(node, {a.pastKey, a.key}, 2);
    a.value = concat(node, {a.pastValue, a.value}, 2);
  }
  return a;
}

/// x times the square root of the scale: of both operands of the product, so that neither
/// overflows.
mlir::Value scaledByRoot(Node& node, const Attention& a, mlir::Value x) {
  std::optional<ir::Dims> dims = x ? ir::dimsOf(a.query) : std::nullopt;
  if (!dims) {
    return nullptr;
  }
  if (a.scale || dims->back().isStatic()) {
    double scale = a.scale ? *a.scale : 1 / std::sqrt(static_cast<double>(dims->back().value()));
    return withScalar(node, "gr.mul", x, std::sqrt(scale));
  }
  mlir::Value size = castLike(node, graphrun::frontends::dims(node, a.query, 3, 4), x);
  return node.emit("gr.div", {x, node.emit("gr.sqrt", {node.emit("gr.sqrt", {size})})});
}

/// True when K and V have as many heads as Q for all that is known.
bool sharesHeads(const Attention& a) {
  std::optional<ir::Dims> query = ir::dimsOf(a.query);
  std::optional<ir::Dims> key = ir::dimsOf(a.key);
  return query && key && !provablyEqual((*query)[1], (*key)[1]);
}

/// `left` (N x H x S x D) times `right` (N x G x …), where each of the G heads of the right one is
/// shared by H / G neighbouring heads of the left one; nothing is repeated in memory.
mlir::Value productOverHeads(Node& node, const Attention& a, mlir::Value left, mlir::Value right,
                             bool transposed) {
  llvm::SmallVector<mlir::NamedAttribute> attributes = {node.boolean("transpose_lhs", false),
                                                        node.boolean("transpose_rhs", transposed)};
  if (!left || !right || !sharesHeads(a)) {
    return node.emit("gr.matmul", {left, right}, attributes);
  }
  mlir::Value grouped =
      concat(node, {dims(node, right, 0, 2), node.constant({-1}), dims(node, left, 2, 4)}, 0);
  mlir::Value product = node.emit(
      "gr.matmul", {reshapeTo(node, left, grouped), unsqueeze(node, right, {2})}, attributes);
  mlir::Value flat = concat(node, {dims(node, left, 0, 3), node.constant({-1})}, 0);
  return reshapeTo(node, product, flat);
}

/// The mask as long as the keys: it may be shorter, and what is missing is masked.
mlir::Value paddedMask(Node& node, const Attention& a) {
  std::optional<int64_t> rank = node.rankOf(a.mask);
  std::optional<ir::Dims> mask = rank ? ir::dimsOf(a.mask) : std::nullopt;
  std::optional<ir::Dims> key = a.key ? ir::dimsOf(a.key) : std::nullopt;
  if (!mask || !key || mask->empty() || provablyEqual(mask->back(), (*key)[2])) {
    return a.mask;
  }
  mlir::Value missing =
      node.emit("gr.sub", {dims(node, a.key, 2, 3), dims(node, a.mask, *rank - 1, *rank)});
  mlir::Value none = node.constant(llvm::SmallVector<int64_t>(2 * *rank - 1, 0));
  bool isBool = node.elementOf(a.mask).isInteger(1);
  mlir::Value masked = node.scalarLike(a.mask, isBool ? 0 : -INFINITY);
  return node.emit("gr.pad", {a.mask, concat(node, {none, missing}, 0), masked},
                   {node.text("mode", "constant")});
}

mlir::Value both(Node& node, mlir::Value x, mlir::Value y) {
  return x && y ? node.emit("gr.and", {x, y}) : x ? x : y;
}

/// Returns which keys a query sees by their positions: null when all. A query's position is its
/// index plus the number of keys before the queries.
mlir::Value visibleByPosition(Node& node, const Attention& a) {
  mlir::Value visible;
  bool windowed = a.leftWindow >= 0 || a.rightWindow >= 0;
  if (a.causal || windowed) {
    mlir::Value queries = unsqueeze(node, indicesOf(node, a.query, 2), {1});
    mlir::Value keys = indicesOf(node, a.key, 2);
    if (a.pastKey) {
      queries = node.emit("gr.add", {queries, dims(node, a.pastKey, 2, 3)});
    } else if (a.validLength) {
      mlir::Value first = node.emit("gr.sub", {a.validLength, dims(node, a.query, 2, 3)});
      queries = node.emit("gr.add", {queries, unsqueeze(node, first, {1, 2, 3})});
    }
    auto atMost = [&](mlir::Value x, mlir::Value y, int64_t shift) {
      return node.emit("gr.less_equal", {x, withScalar(node, "gr.add", y, shift)});
    };
    if (a.causal) {
      visible = node.emit("gr.less_equal", {keys, queries});
    }
    if (a.leftWindow >= 0) {
      visible = both(node, visible, atMost(queries, keys, a.leftWindow));
    }
    if (a.rightWindow >= 0) {
      visible = both(node, visible, atMost(keys, queries, a.rightWindow));
    }
  }
  if (a.validLength) {
    mlir::Value valid = node.emit(
        "gr.less", {indicesOf(node, a.key, 2), unsqueeze(node, a.validLength, {1, 2, 3})});
    visible = both(node, visible, valid);
  }
  return visible;
}

/// Scores with what the mask adds to them, and which rows see no key at all (null: none can be).
struct Masked {
  mlir::Value scores, blind;
};

Masked applyMask(Node& node, const Attention& a, mlir::Value scores) {
  mlir::Value visible = visibleByPosition(node, a);
  mlir::Value mask = a.mask ? paddedMask(node, a) : mlir::Value();
  bool additive = mask && llvm::isa<mlir::FloatType>(node.elementOf(mask));
  if (node.failed() || (!visible && !mask)) {
    return {scores, nullptr};
  }
  mlir::Value lowest = node.scalarLike(scores, -INFINITY);
  if (additive) {
    mask = castLike(node, mask, scores);
    mask = visible ? node.emit("gr.where", {visible, mask, lowest}) : mask;
    std::optional<int64_t> rank = node.rankOf(mask);
    mlir::Value most = rank ? reduceTo(node, mask, "max", {*rank - 1}, true) : mlir::Value();
    return {node.emit("gr.add", {scores, mask}), node.emit("gr.equal", {most, lowest})};
  }
  visible = both(node, visible, mask);
  scores = node.emit("gr.where", {visible, scores, lowest});
  std::optional<int64_t> rank = node.rankOf(visible);
  // By its position alone each query sees the first key.
  bool always = !a.mask && !a.validLength && a.leftWindow < 0;
  if (!rank || always) {
    return {scores, nullptr};
  }
  mlir::Value sees = reduceTo(node, visible, "max", {*rank - 1}, true);
  return {scores, node.emit("gr.not", {sees})};
}

mlir::Value softmaxOfScores(Node& node, const Attention& a, const Masked& masked) {
  mlir::Value scores = masked.scores;
  if (a.precision) {
    scores = castTo(node, scores, a.precision);
  }
  mlir::Value weights = node.emit("gr.softmax", {scores}, {node.integer("axis", -1)});
  if (masked.blind) {
    weights = node.emit("gr.where", {masked.blind, node.scalarLike(weights, 0), weights});
  }
  return castLike(node, weights, a.query);
}

/// 16-bit floats are computed in f32: their products overflow, and the weights lose digits.
mlir::Value widened(Node& node, mlir::Value value) {
  bool narrow = node.elementOf(value).getIntOrFloatBitWidth() < 32;
  return narrow ? castTo(node, value, node.builder().getF32Type()) : value;
}

Values attention(Node& node) {
  std::optional<Attention> a = readAttention(node);
  if (!a || !a->query || !a->key || !a->value) {
    return {nullptr, nullptr, nullptr, nullptr};
  }
  mlir::Value presentKey = a->key, presentValue = a->value;
  for (mlir::Value* operand : {&a->query, &a->key, &a->value}) {
    *operand = widened(node, *operand);
  }
  mlir::Value scores = productOverHeads(node, *a, scaledByRoot(node, *a, a->query),
                                        scaledByRoot(node, *a, a->key), true);
  mlir::Value product = scores;
  if (a->softcap > 0) {
    mlir::Value small = node.emit("gr.tanh", {withScalar(node, "gr.div", scores, a->softcap)});
    scores = withScalar(node, "gr.mul", small, a->softcap);
  }
  mlir::Value capped = scores;
  Masked masked = applyMask(node, *a, scores);
  mlir::Value weights = softmaxOfScores(node, *a, masked);
  mlir::Value stages[] = {product, capped, masked.scores, weights};
  mlir::Value result =
      productOverHeads(node, *a, weights, castLike(node, a->value, a->query), false);
  return {castLike(node, a->packed ? joinHeads(node, result) : result, node.input(0)), presentKey,
          presentValue, castLike(node, stages[a->outputMode], node.input(0))};
}

/// The two parts of each pair that is rotated: neighbours when interleaved, else the halves.
struct Pairs {
  mlir::Value first, second;
};

Pairs pairsOf(Node& node, mlir::Value x, bool interleaved) {
  if (interleaved) {
    return {slice(node, x, 3, 0, kEnd, 2), slice(node, x, 3, 1, kEnd, 2)};
  }
  Values halves =
      node.emitMany("gr.split", {x}, {node.integer("axis", 3), node.integers("sizes", {})}, 2);
  return {halves[0], halves[1]};
}

mlir::Value joinPairs(Node& node, const Pairs& pairs, mlir::Value like, bool interleaved) {
  if (!interleaved) {
    return concat(node, {pairs.first, pairs.second}, 3);
  }
  mlir::Value joined =
      concat(node, {unsqueeze(node, pairs.first, {4}), unsqueeze(node, pairs.second, {4})}, 4);
  return reshapeTo(node, joined, dims(node, like, 0, 4));
}

/// Rotates the pairs of `x` (rank 4) by the angles whose cosines and sines broadcast to them.
mlir::Value rotate(Node& node, mlir::Value x, mlir::Value cosines, mlir::Value sines,
                   bool interleaved) {
  Pairs pairs = pairsOf(node, x, interleaved);
  auto product = [&](mlir::Value a, mlir::Value b) { return node.emit("gr.mul", {a, b}); };
  mlir::Value real =
      node.emit("gr.sub", {product(cosines, pairs.first), product(sines, pairs.second)});
  mlir::Value imaginary =
      node.emit("gr.add", {product(sines, pairs.first), product(cosines, pairs.second)});
  return joinPairs(node, {real, imaginary}, x, interleaved);
}

/// N x H x S x D, or N x S x (H * D), whose dims before D the caches follow.
Values rotaryEmbedding(Node& node) {
  int64_t heads = node.attributes().integer("num_heads", 0);
  int64_t rotated = node.attributes().integer("rotary_embedding_dim", 0);
  bool interleaved = node.attributes().integer("interleaved", 0) != 0;
  mlir::Value x = node.input(0);
  std::optional<int64_t> rank = node.rankOf(x);
  if (!rank) {
    return {nullptr};
  }
  if ((*rank != 3 && *rank != 4) || (*rank == 3 && heads < 1) || rotated < 0 || rotated % 2 != 0) {
    return {node.fail(absl::StrCat(
        "input is of rank ", *rank, " with num_heads ", heads, " and rotary_embedding_dim ",
        rotated, ", expected rank 4, or 3 with at least one head, and an even dim"))};
  }
  bool packed = *rank == 3;
  x = packed ? reshape(node, x, {0, 0, heads, -1}) : x;
  auto angles = [&](size_t i) {
    mlir::Value cache = node.input(i);
    if (node.input(3)) {
      cache = node.emit("gr.gather", {cache, node.input(3)}, {node.integer("axis", 0)});
    }
    return unsqueeze(node, cache, {packed ? 2 : 1});
  };
  mlir::Value turned = rotated > 0 ? slice(node, x, 3, 0, rotated) : x;
  mlir::Value result = rotate(node, turned, angles(1), angles(2), interleaved);
  std::optional<ir::Dims> dims = x ? ir::dimsOf(x) : std::nullopt;
  if (rotated > 0 && dims && !provablyEqual(dims->back(), ir::Dim(rotated))) {
    result = concat(node, {result, slice(node, x, 3, rotated, kEnd)}, 3);
  }
  return {packed ? reshapeTo(node, result, node.emit("gr.shape", {node.input(0)})) : result};
}

const OpRow kAttentionOps[] = {
    {"Attention", 23, 23, 3, 6, 4, attention},
    {"Attention", 24, kLast, 3, 7, 4, attention},
    {"RotaryEmbedding", 23, kLast, 3, 4, 1, rotaryEmbedding},
};

}  // namespace

llvm::ArrayRef<OpRow> attentionOps() { return kAttentionOps; }

}  // namespace graphrun::frontends
