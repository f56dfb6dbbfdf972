// Random numbers, and what is made of them. A seed makes results reproducible; without one it is
// made from the name of the node's output, so that nodes differ and runs agree.
#include <bit>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/tensors.h"
#include "ir/builders.h"
#include "llvm/Support/xxhash.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::frontends {
namespace {

int64_t seedOfName(Node& node) {
  return static_cast<int64_t>(llvm::xxh3_64bits(node.outputName(0)));
}

/// The attribute "seed", a float, by its bits.
int64_t realSeed(Node& node) {
  double given = node.attributes().real("seed", 0);
  return node.attributes().has("seed")
             ? static_cast<int64_t>(std::bit_cast<uint32_t>(static_cast<float>(given)))
             : seedOfName(node);
}

/// The element type that attribute "dtype" names, or `absent`; null, reported, for another kind.
mlir::Type dtypeOf(Node& node, mlir::Type absent) {
  if (!node.attributes().has("dtype")) {
    return absent;
  }
  auto given = static_cast<int32_t>(node.attributes().integer("dtype", 0));
  mlir::Type type = elementType(node.builder().getContext(), given);
  if (!type) {
    node.fail(absl::StrCat("attribute \"dtype\": ", unsupportedType(given)));
  }
  return type;
}

mlir::Value random(Node& node, mlir::Value shape, llvm::StringRef kind, double a, double b,
                   int64_t seed, mlir::Type type) {
  return type ? node.emit("gr.random", {shape},
                          {node.text("kind", kind), node.real("a", a), node.real("b", b),
                           node.integer("seed", seed), node.named("to", mlir::TypeAttr::get(type))})
              : mlir::Value();
}

/// A random tensor with the parameters that the attributes state; the row names the distribution.
mlir::Value distributed(Node& node, mlir::Value shape, mlir::Type type) {
  Attributes& attributes = node.attributes();
  bool normal = node.target() == "normal";
  double a = normal ? attributes.real("mean", 0) : attributes.real("low", 0);
  double b = normal ? attributes.real("scale", 1) : attributes.real("high", 1);
  return random(node, shape, node.target(), a, b, realSeed(node), type);
}

Values randomOfShape(Node& node) {
  node.attributes().require("shape");
  mlir::Value shape = node.constant(node.attributes().integers("shape"));
  return {distributed(node, shape, dtypeOf(node, node.builder().getF32Type()))};
}

Values randomLike(Node& node) {
  mlir::Type type = dtypeOf(node, node.elementOf(node.input(0)));
  return {distributed(node, node.emit("gr.shape", {node.input(0)}), type)};
}

/// 1 with the probability that the input gives.
Values bernoulli(Node& node) {
  mlir::Value x = node.input(0);
  mlir::Type type = dtypeOf(node, node.elementOf(x));
  mlir::Value u =
      random(node, node.emit("gr.shape", {x}), "uniform", 0, 1, realSeed(node), node.elementOf(x));
  return {type ? castTo(node, node.emit("gr.less", {u, x}), type) : mlir::Value()};
}

/// Draws classes by their unnormalised log probabilities: how many of the running sums of the
/// probabilities a random number has passed.
Values multinomial(Node& node) {
  mlir::Value x = node.input(0);
  int64_t samples = node.attributes().integer("sample_size", 1);
  mlir::Type type = dtypeOf(node, node.builder().getI32Type());
  std::optional<int64_t> rank = node.rankOf(x);
  if (rank && (*rank != 2 || samples < 1)) {
    return {node.fail(absl::StrCat("has an input of rank ", *rank, " and sample_size ", samples,
                                   ", expected batch x classes and at least 1"))};
  }
  if (!rank || !type) {
    return {nullptr};
  }
  x = castTo(node, x, node.builder().getF64Type());
  mlir::Value sums =
      node.emit("gr.cumulative",
                {node.emit("gr.softmax", {x}, {node.integer("axis", 1)}), intScalar(node, 1)},
                {node.text("kind", "sum")});
  mlir::Value shape = node.emit("gr.concat", {dimOf(node, x, 0), node.constant({samples})},
                                {node.integer("axis", 0)});
  mlir::Value u = random(node, shape, "uniform", 0, 1, realSeed(node), node.builder().getF64Type());
  mlir::Value passed =
      node.emit("gr.less_equal", {node.emit("gr.unsqueeze", {sums}, {node.integers("axes", {1})}),
                                  node.emit("gr.unsqueeze", {u}, {node.integers("axes", {2})})});
  mlir::Value drawn = node.emit(
      "gr.reduce", {castTo(node, passed, node.builder().getI64Type())},
      {node.text("kind", "sum"), node.integers("axes", {2}), node.boolean("keepdims", false)});
  // The sums may end a rounding error below 1.
  mlir::Value last = node.emit("gr.sub", {dimOf(node, x, 1), node.constant({1})});
  return {castTo(node, node.emit("gr.min", {drawn, last}), type)};
}

/// The one element of a constant bool; nothing when it is data.
std::optional<bool> constantBool(mlir::Value value) {
  mlir::DenseElementsAttr attr;
  if (mlir::matchPattern(value, mlir::m_Constant(&attr)) && attr.isSplat() &&
      attr.getElementType().isInteger(1)) {
    return attr.getSplatValue<bool>();
  }
  return std::nullopt;
}

mlir::Value allTrue(Node& node, mlir::Value like, mlir::Type type) {
  auto one = mlir::RankedTensorType::get({1}, type);
  mlir::Attribute value = llvm::isa<mlir::FloatType>(type)
                              ? mlir::Attribute(node.builder().getFloatAttr(type, 1.0))
                              : mlir::Attribute(node.builder().getIntegerAttr(type, 1));
  return node.emit("gr.fill", {node.emit("gr.shape", {like})},
                   {node.named("value", mlir::DenseElementsAttr::get(one, value))});
}

/// Inference: the input, and a mask that keeps all.
Values keepAll(Node& node) {
  mlir::Value x = node.input(0);
  mlir::Type mask = node.opset() >= 10 ? node.builder().getI1Type() : node.elementOf(x);
  return {x, node.outputUsed(1) ? allTrue(node, x, mask) : mlir::Value()};
}

/// Keeps each element with probability 1 - `ratio` (one f64), scaled by 1 / (1 - ratio), where
/// `training` is not false; where it is not known, while input 2 holds.
Values dropOut(Node& node, mlir::Value ratio, int64_t seed, llvm::StringRef generator,
               std::optional<bool> training) {
  mlir::Value x = node.input(0);
  mlir::Type f64 = node.builder().getF64Type();
  mlir::Value u = node.emit("gr.random", {node.emit("gr.shape", {x})},
                            {node.text("kind", "uniform"), node.real("a", 0), node.real("b", 1),
                             node.integer("seed", seed), node.named("to", mlir::TypeAttr::get(f64)),
                             node.text("generator", generator)});
  mlir::Value one = node.scalarLike(ratio, 1);
  mlir::Value keep = node.emit("gr.less_equal", {ratio, u});
  mlir::Value scale = node.emit("gr.div", {one, node.emit("gr.sub", {one, ratio})});
  if (!training) {
    mlir::Value on = scalarOf(node, node.input(2));
    keep = node.emit("gr.or", {keep, node.emit("gr.not", {on})});
    scale = node.emit("gr.where", {on, scale, one});
  }
  mlir::Value scaled = node.emit("gr.mul", {x, castTo(node, scale, node.elementOf(x))});
  return {node.emit("gr.where", {keep, scaled, node.scalarLike(x, 0)}), keep};
}

mlir::Value scalarRatio(Node& node, double ratio) {
  return ir::createScalar(node.builder(), node.builder().getUnknownLoc(),
                          node.builder().getF64Type(), ratio);
}

Values dropoutByAttribute(Node& node) {
  double ratio = node.attributes().real("ratio", 0.5F);
  node.attributes().ignore({"is_test", "consumed_inputs"});
  return node.trains() && ratio != 0
             ? dropOut(node, scalarRatio(node, ratio), seedOfName(node), "philox", true)
             : keepAll(node);
}

Values dropout(Node& node) {
  const bool hasSeed = node.attributes().has("seed");
  int64_t given = node.attributes().integer("seed", 0);
  int64_t seed = hasSeed ? given : seedOfName(node);
  std::optional<bool> training = node.input(2) ? constantBool(node.input(2)) : std::optional(false);
  if (node.trains()) {
    training = true;
  }
  if (training == false) {
    return keepAll(node);
  }
  mlir::Value ratio = node.input(1)
                          ? scalarOf(node, castTo(node, node.input(1), node.builder().getF64Type()))
                          : scalarRatio(node, 0.5);
  // A seed means the numbers that ONNX's reference draws from it, those of NumPy's RandomState; a
  // graph that trains draws others in each step.
  return dropOut(node, ratio, seed, hasSeed && !node.trains() ? "mt19937" : "philox", training);
}

const OpRow kRandomOps[] = {
    {"RandomNormal", 1, kLast, 0, 0, 1, randomOfShape, "normal"},
    {"RandomUniform", 1, kLast, 0, 0, 1, randomOfShape, "uniform"},
    {"RandomNormalLike", 1, kLast, 1, 1, 1, randomLike, "normal"},
    {"RandomUniformLike", 1, kLast, 1, 1, 1, randomLike, "uniform"},
    {"Bernoulli", 15, kLast, 1, 1, 1, bernoulli},
    {"Multinomial", 7, kLast, 1, 1, 1, multinomial},
    {"Dropout", 1, 11, 1, 1, 2, dropoutByAttribute},
    {"Dropout", 12, kLast, 1, 3, 2, dropout},
};

}  // namespace

llvm::ArrayRef<OpRow> randomOps() { return kRandomOps; }

}  // namespace graphrun::frontends
