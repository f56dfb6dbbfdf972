#include "frontends/onnx/operators/ml_helpers.h"

#include <numbers>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/tensors.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "ir/folding.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace graphrun::frontends {

mlir::Value realConstant(Node& node, llvm::ArrayRef<double> values, mlir::Type element,
                         llvm::ArrayRef<int64_t> dims) {
  auto count = static_cast<int64_t>(values.size());
  auto type = mlir::RankedTensorType::get(dims.empty() ? llvm::ArrayRef(count) : dims, element);
  if (type.getNumElements() != count) {
    return node.fail(
        absl::StrCat("an attribute has ", count, " elements, expected ", type.getNumElements()));
  }
  return node.emit("gr.constant", {}, {node.named("value", ir::makeFloats(type, values))});
}

mlir::Value textConstant(Node& node, llvm::ArrayRef<llvm::StringRef> values) {
  auto type = mlir::RankedTensorType::get({static_cast<int64_t>(values.size())},
                                          ir::StringType::get(node.builder().getContext()));
  return node.emit("gr.constant", {}, {node.named("value", ir::makeStrings(type, values))});
}

mlir::Value scalar(Node& node, mlir::Value like, double value) {
  return node.scalarLike(like, value);
}

llvm::SmallVector<double> tensorReals(Node& node, llvm::StringRef name) {
  ::onnx::TensorProto* tensor = node.attributes().tensor(name);
  std::string problem;
  mlir::ElementsAttr elements =
      tensor == nullptr
          ? nullptr
          : importTensor(node.builder().getContext(), *tensor, node.outputName(0), problem);
  if (!elements) {
    if (tensor != nullptr) {
      node.fail(absl::StrCat("attribute ", inQuotes(name), " ", problem));
    }
    return {};
  }
  auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(elements);
  mlir::DenseElementsAttr dense =
      resource ? mlir::DenseElementsAttr::getFromRawBuffer(
                     resource.getType(), resource.getRawHandle().getBlob()->getData())
               : ir::denseOf(elements);
  if (!dense) {
    node.fail(absl::StrCat("attribute ", inQuotes(name), " holds strings, expected numbers"));
    return {};
  }
  if (llvm::isa<mlir::FloatType>(dense.getElementType())) {
    return ir::floatsOf(dense);
  }
  llvm::SmallVector<int64_t> integers = ir::intsOf(dense);
  return llvm::SmallVector<double>(integers.begin(), integers.end());
}

llvm::SmallVector<double> tensorOrReals(Node& node, llvm::StringRef name) {
  llvm::SmallVector<double> list = node.attributes().reals(name);
  llvm::SmallVector<double> tensor = tensorReals(node, absl::StrCat(name.str(), "_as_tensor"));
  return list.empty() ? tensor : list;
}

mlir::Value asReal(Node& node, mlir::Value input) {
  bool isDouble = input && node.elementOf(input).isF64();
  return isDouble ? input : castTo(node, input, node.builder().getF32Type());
}

mlir::Value asMatrix(Node& node, mlir::Value input) {
  std::optional<int64_t> rank = node.rankOf(input);
  if (!rank) {
    return nullptr;
  }
  if (*rank < 1 || *rank > 2) {
    return node.fail(absl::StrCat("an input is of rank ", *rank, ", expected 1 or 2"));
  }
  return *rank == 2 ? input : node.emit("gr.unsqueeze", {input}, {node.integers("axes", {0})});
}

mlir::Value toFloat(Node& node, mlir::Value value) {
  return castTo(node, value, node.builder().getF32Type());
}

mlir::Value labelAt(Node& node, mlir::Value labels, mlir::Value indices) {
  return node.emit("gr.gather", {labels, castTo(node, indices, node.builder().getI64Type())},
                   {node.integer("axis", 0)});
}

mlir::Value labelsOf(Node& node, llvm::StringRef integers, llvm::StringRef texts) {
  llvm::SmallVector<int64_t> numbers = node.attributes().integers(integers);
  llvm::SmallVector<llvm::StringRef> words = node.attributes().texts(texts);
  if (numbers.empty() == words.empty()) {
    return node.fail(absl::StrCat("needs one of the attributes ", inQuotes(integers), " and ",
                                  inQuotes(texts), ", got ", words.empty() ? "none" : "both"));
  }
  return words.empty() ? node.constant(numbers) : textConstant(node, words);
}

mlir::Value add(Node& node, mlir::Value a, mlir::Value b) { return node.emit("gr.add", {a, b}); }
mlir::Value sub(Node& node, mlir::Value a, mlir::Value b) { return node.emit("gr.sub", {a, b}); }
mlir::Value mul(Node& node, mlir::Value a, mlir::Value b) { return node.emit("gr.mul", {a, b}); }
mlir::Value div(Node& node, mlir::Value a, mlir::Value b) { return node.emit("gr.div", {a, b}); }

mlir::Value select(Node& node, mlir::Value condition, mlir::Value yes, mlir::Value no) {
  return node.emit("gr.where", {condition, yes, no});
}

mlir::Value greater(Node& node, mlir::Value a, mlir::Value b) {
  return node.emit("gr.less", {b, a});
}

mlir::Value reduceRows(Node& node, mlir::Value matrix, llvm::StringRef kind) {
  return node.emit("gr.reduce", {matrix}, {node.text("kind", kind), node.integers("axes", {1})});
}

mlir::Value argMax(Node& node, mlir::Value matrix) {
  return node.emit(
      "gr.arg_reduce", {matrix},
      {node.text("kind", "max"), node.integer("axis", 1), node.boolean("keepdims", false)});
}

mlir::Value beside(Node& node, llvm::ArrayRef<mlir::Value> matrices) {
  return node.emit("gr.concat", matrices, {node.integer("axis", 1)});
}

namespace {

/// The softmax that leaves scores that are about 0 as they are, before they are normalised.
mlir::Value softmaxZero(Node& node, mlir::Value x) {
  mlir::Value most = reduceRows(node, x, "max");
  mlir::Value isZero =
      node.emit("gr.less_equal", {node.emit("gr.abs", {x}), scalar(node, x, 1e-7)});
  mlir::Value shrunk = mul(node, x, node.emit("gr.exp", {node.emit("gr.neg", {most})}));
  mlir::Value parts = select(node, isZero, shrunk, node.emit("gr.exp", {sub(node, x, most)}));
  mlir::Value sum = reduceRows(node, parts, "sum");
  mlir::Value none = node.emit("gr.equal", {sum, scalar(node, x, 0)});
  return select(node, none, scalar(node, x, 0.5), div(node, parts, sum));
}

/// sqrt(2) * erf^-1(2x - 1), the inverse by Winitzki's approximation, which ONNX Runtime and the
/// reference of ONNX use: other inverses would give other results.
mlir::Value probit(Node& node, mlir::Value x) {
  constexpr double kA = 0.147;
  mlir::Value one = scalar(node, x, 1);
  mlir::Value y = sub(node, add(node, x, x), one);
  mlir::Value rest = mul(node, sub(node, one, y), add(node, one, y));
  mlir::Value log = node.emit("gr.log", {rest});
  mlir::Value v =
      add(node, scalar(node, x, 2 / (std::numbers::pi * kA)), mul(node, scalar(node, x, 0.5), log));
  mlir::Value root =
      node.emit("gr.sqrt", {sub(node, mul(node, v, v), mul(node, scalar(node, x, 1 / kA), log))});
  mlir::Value inverse = node.emit("gr.sqrt", {sub(node, root, v)});
  mlir::Value isEdge = node.emit("gr.equal", {rest, scalar(node, x, 0)});
  mlir::Value size = select(node, isEdge, scalar(node, x, 0),
                            mul(node, inverse, scalar(node, x, std::numbers::sqrt2)));
  mlir::Value below = node.emit("gr.less", {y, scalar(node, x, 0)});
  return select(node, below, node.emit("gr.neg", {size}), size);
}

}  // namespace

mlir::Value postTransform(Node& node, mlir::Value scores, llvm::StringRef name) {
  if (name == "NONE") {
    return scores;
  }
  if (name == "SOFTMAX") {
    return node.emit("gr.softmax", {scores}, {node.integer("axis", 1)});
  }
  if (name == "LOGISTIC") {
    return node.emit("gr.sigmoid", {scores});
  }
  if (name == "SOFTMAX_ZERO") {
    return softmaxZero(node, scores);
  }
  if (name == "PROBIT") {
    return probit(node, scores);
  }
  return node.fail(absl::StrCat("post_transform is ", inQuotes(name),
                                ", expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT"));
}

}  // namespace graphrun::frontends
