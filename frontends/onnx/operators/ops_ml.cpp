// ai.onnx.ml: encoders, scalers and linear models; and n-grams.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/index_helpers.h"
#include "frontends/onnx/operators/ml_helpers.h"
#include "frontends/onnx/tensors.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "ir/folding.h"

namespace graphrun::frontends {
namespace {

using Ints = llvm::SmallVector<int64_t>;
using Reals = llvm::SmallVector<double>;
using Texts = llvm::SmallVector<llvm::StringRef>;

bool holdsStrings(mlir::Value value) { return value && ir::isStrings(value.getType()); }

/// Returns where `input` is among `keys`: their number where it is not.
mlir::Value lookup(Node& node, mlir::Value input, mlir::Value keys, bool required = false) {
  return node.emit("gr.lookup", {input, keys}, {node.boolean("required", required)});
}

/// values[index], `absent` (one element) behind the last one.
mlir::Value valueAt(Node& node, mlir::Value index, mlir::Value values, mlir::Value absent) {
  mlir::Value all = node.emit("gr.concat", {values, absent}, {node.integer("axis", 0)});
  return node.emit("gr.gather", {all, index}, {node.integer("axis", 0)});
}

/// The elements of `input` that are among `keys` become the value at the same index.
mlir::Value translate(Node& node, mlir::Value input, mlir::Value keys, mlir::Value values,
                      mlir::Value absent) {
  if (!keys || !values || !absent) {
    return nullptr;
  }
  int64_t from = llvm::cast<mlir::ShapedType>(keys.getType()).getNumElements();
  int64_t to = llvm::cast<mlir::ShapedType>(values.getType()).getNumElements();
  if (from != to) {
    return node.fail(absl::StrCat("has ", from, " keys and ", to, " values, expected as many"));
  }
  return valueAt(node, lookup(node, input, keys), values, absent);
}

Values arrayFeatureExtractor(Node& node) {
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (!rank || *rank == 0) {
    return {rank ? node.fail("takes no scalar") : nullptr};
  }
  mlir::Value input = *rank == 1 ? asMatrix(node, node.input(0)) : node.input(0);
  mlir::Value indices = node.emit("gr.reshape", {node.input(1), node.constant({-1})});
  return {node.emit("gr.gather", {input, indices},
                    {node.integer("axis", std::max<int64_t>(*rank, 2) - 1)})};
}

Values binarizer(Node& node) {
  mlir::Value x = asReal(node, node.input(0));
  mlir::Value above = greater(node, x, node.scalarLike(x, node.attributes().real("threshold", 0)));
  return {castTo(node, above, node.elementOf(node.input(0)))};
}

Values categoryMapper(Node& node) {
  Ints numbers = node.attributes().integers("cats_int64s");
  Texts words = node.attributes().texts("cats_strings");
  int64_t absentNumber = node.attributes().integer("default_int64", -1);
  std::string absentWord = node.attributes().text("default_string", "_Unused");
  mlir::Value codes = node.constant(numbers);
  mlir::Value names = textConstant(node, words);
  if (holdsStrings(node.input(0))) {
    return {translate(node, node.input(0), names, codes, node.constant({absentNumber}))};
  }
  return {translate(node, node.input(0), codes, names, textConstant(node, {absentWord}))};
}

/// A list of a LabelEncoder: of its strings, integers, floats or tensor, whichever is given.
mlir::Value encoderList(Node& node, llvm::StringRef what) {
  Attributes& attributes = node.attributes();
  std::string texts = absl::StrCat(what.str(), "_strings");
  std::string integers = absl::StrCat(what.str(), "_int64s");
  std::string reals = absl::StrCat(what.str(), "_floats");
  std::string tensor = absl::StrCat(what.str(), "_tensor");
  if (attributes.has(texts)) {
    return textConstant(node, attributes.texts(texts));
  }
  if (attributes.has(integers)) {
    return node.constant(attributes.integers(integers));
  }
  if (attributes.has(reals)) {
    return realConstant(node, attributes.reals(reals), node.builder().getF32Type());
  }
  ::onnx::TensorProto* proto = attributes.tensor(tensor);
  std::string problem;
  mlir::ElementsAttr elements = proto == nullptr ? nullptr
                                                 : importTensor(node.builder().getContext(), *proto,
                                                                node.outputName(0), problem);
  if (!elements) {
    return node.fail(proto == nullptr
                         ? absl::StrCat("has no ", what.str(), ", expected one of ", texts, ", ",
                                        integers, ", ", reals, ", ", tensor)
                         : absl::StrCat("attribute ", inQuotes(tensor), " ", problem));
  }
  mlir::Value list = node.emit("gr.constant", {}, {node.named("value", elements)});
  return node.emit("gr.reshape", {list, node.constant({-1})});
}

/// Returns the result of a LabelEncoder for an element without a key: a vector of one, of the
/// values' type.
mlir::Value encoderDefault(Node& node, mlir::Value values) {
  std::string word = node.attributes().text("default_string", "_Unused");
  int64_t number = node.attributes().integer("default_int64", -1);
  double real = node.attributes().real("default_float", -0.0);
  if (node.attributes().has("default_tensor")) {
    mlir::Value given = encoderList(node, "default");
    if (given && values && node.elementOf(given) != node.elementOf(values)) {
      return node.fail("attribute \"default_tensor\" is of another type than the values");
    }
    return given;
  }
  if (!values) {
    return nullptr;
  }
  mlir::Type element = node.elementOf(values);
  if (ir::isStrings(element)) {
    return textConstant(node, {word});
  }
  if (llvm::isa<mlir::FloatType>(element)) {
    return realConstant(node, {real}, element);
  }
  return castTo(node, node.constant({number}), element);
}

Values labelEncoder(Node& node) {
  mlir::Value keys = encoderList(node, "keys");
  mlir::Value values = encoderList(node, "values");
  mlir::Value absent = encoderDefault(node, values);
  return {translate(node, node.input(0), keys, values, absent)};
}

/// Version 1: strings to their indices in a list, or indices to strings.
Values labelEncoder1(Node& node) {
  Texts words = node.attributes().texts("classes_strings");
  int64_t number = node.attributes().integer("default_int64", -1);
  std::string word = node.attributes().text("default_string", "_Unused");
  mlir::Value names = textConstant(node, words);
  mlir::Value indices =
      node.constant(llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(words.size()))));
  if (holdsStrings(node.input(0))) {
    return {translate(node, node.input(0), names, indices, node.constant({number}))};
  }
  return {translate(node, node.input(0), indices, names, textConstant(node, {word}))};
}

Values oneHotEncoder(Node& node) {
  bool zeros = node.attributes().integer("zeros", 1) != 0;
  mlir::Value categories = labelsOf(node, "cats_int64s", "cats_strings");
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  if (!categories || !rank) {
    return {nullptr};
  }
  mlir::Value input = holdsStrings(node.input(0))
                          ? node.input(0)
                          : castTo(node, node.input(0), node.builder().getI64Type());
  mlir::Value index = lookup(node, input, categories, /*required=*/!zeros);
  mlir::Value column = node.emit("gr.unsqueeze", {index}, {node.integers("axes", {*rank})});
  int64_t count = llvm::cast<mlir::ShapedType>(categories.getType()).getNumElements();
  mlir::Value each = node.constant(llvm::to_vector(llvm::seq<int64_t>(0, count)));
  return {castTo(node, node.emit("gr.equal", {column, each}), node.builder().getF32Type())};
}

Values scaler(Node& node) {
  mlir::Value x = asReal(node, node.input(0));
  Reals offset = node.attributes().reals("offset");
  Reals scale = node.attributes().reals("scale");
  if (!offset.empty()) {
    x = sub(node, x, x ? realConstant(node, offset, node.elementOf(x)) : nullptr);
  }
  if (!scale.empty()) {
    x = mul(node, x, x ? realConstant(node, scale, node.elementOf(x)) : nullptr);
  }
  return {castTo(node, x, node.builder().getF32Type())};
}

/// Each row over its largest element, the sum of its absolute elements, or its length; a row for
/// which that is 0 stays.
Values normalizer(Node& node) {
  std::string norm = node.attributes().text("norm", "MAX");
  std::optional<int64_t> rank = node.rankOf(node.input(0));
  mlir::Value x = castTo(node, node.input(0), node.builder().getF32Type());
  if (!rank || !x) {
    return {nullptr};
  }
  auto reduce = [&](mlir::Value value, llvm::StringRef kind) {
    return node.emit("gr.reduce", {value},
                     {node.text("kind", kind), node.integers("axes", {*rank - 1})});
  };
  mlir::Value size;
  if (norm == "MAX") {
    size = reduce(x, "max");
  } else if (norm == "L1") {
    size = reduce(node.emit("gr.abs", {x}), "sum");
  } else if (norm == "L2") {
    size = node.emit("gr.sqrt", {reduce(mul(node, x, x), "sum")});
  } else {
    return {node.fail(absl::StrCat("norm is ", inQuotes(norm), ", expected MAX, L1 or L2"))};
  }
  mlir::Value none = node.emit("gr.equal", {size, node.scalarLike(x, 0)});
  return {div(node, x, select(node, none, node.scalarLike(x, 1), size))};
}

Values imputer(Node& node) {
  mlir::Value x = node.input(0);
  Reals reals = node.attributes().reals("imputed_value_floats");
  Ints integers = node.attributes().integers("imputed_value_int64s");
  double real = node.attributes().real("replaced_value_float", 0);
  int64_t integer = node.attributes().integer("replaced_value_int64", 0);
  mlir::Type element = node.elementOf(x);
  bool isReal = llvm::isa<mlir::FloatType>(element);
  if (isReal ? reals.empty() : integers.empty()) {
    return {node.fail(
        absl::StrCat("has no ", isReal ? "imputed_value_floats" : "imputed_value_int64s"))};
  }
  mlir::Value values =
      isReal ? realConstant(node, reals, element) : castTo(node, node.constant(integers), element);
  mlir::Value found;
  if (isReal && std::isnan(real)) {
    found = node.emit("gr.not", {node.emit("gr.equal", {x, x})});
  } else {
    mlir::Value what = isReal ? node.scalarLike(x, real)
                              : castTo(node, scalarOf(node, node.constant({integer})), element);
    found = node.emit("gr.equal", {x, what});
  }
  return {select(node, found, values, x)};
}

/// `matrix` with exactly `columns` columns: cut off, or zeros behind.
mlir::Value withColumns(Node& node, mlir::Value matrix, int64_t columns) {
  mlir::Value zeros =
      node.emit("gr.pad", {matrix, node.constant({0, 0, 0, columns}), node.scalarLike(matrix, 0)},
                {node.text("mode", "constant")});
  return firstOf(node, zeros, node.constant({columns}), 1);
}

Values featureVectorizer(Node& node) {
  Ints columns = node.attributes().integers("inputdimensions");
  if (!columns.empty() && columns.size() != node.inputs().size()) {
    return {node.fail(absl::StrCat("has ", node.inputs().size(), " inputs and ", columns.size(),
                                   " inputdimensions, expected as many"))};
  }
  Values parts;
  for (auto [i, input] : llvm::enumerate(node.inputs())) {
    mlir::Value part = castTo(node, asMatrix(node, input), node.builder().getF32Type());
    parts.push_back(columns.empty() || !part ? part : withColumns(node, part, columns[i]));
  }
  return {beside(node, parts)};
}

/// X * W^T + b: `rows` rows of coefficients.
mlir::Value linear(Node& node, mlir::Value x, llvm::ArrayRef<double> coefficients,
                   llvm::ArrayRef<double> intercepts, int64_t rows) {
  if (!x) {
    return nullptr;
  }
  auto count = static_cast<int64_t>(coefficients.size());
  if (rows < 1 || count % rows != 0) {
    return node.fail(absl::StrCat("has ", count, " coefficients, expected as many for each of ",
                                  rows, " results"));
  }
  mlir::Type element = node.elementOf(x);
  mlir::Value weights = realConstant(node, coefficients, element, {rows, count / rows});
  mlir::Value result = node.emit("gr.matmul", {x, weights}, {node.boolean("transpose_rhs", true)});
  return intercepts.empty() ? result : add(node, result, realConstant(node, intercepts, element));
}

Values linearRegressor(Node& node) {
  int64_t targets = node.attributes().integer("targets", 1);
  Reals coefficients = node.attributes().reals("coefficients");
  Reals intercepts = node.attributes().reals("intercepts");
  std::string transform = node.attributes().text("post_transform", "NONE");
  mlir::Value x = asReal(node, asMatrix(node, node.input(0)));
  mlir::Value scores =
      postTransform(node, linear(node, x, coefficients, intercepts, targets), transform);
  return {castTo(node, scores, node.builder().getF32Type())};
}

/// One score stands for two classes.
Values twoClasses(Node& node, mlir::Value score, mlir::Value labels, llvm::StringRef transform) {
  mlir::Value positive = node.emit("gr.squeeze", {score}, {node.integers("axes", {1})});
  mlir::Value above = greater(node, positive, node.scalarLike(score, 0));
  mlir::Value label =
      node.emit("gr.gather", {labels, castTo(node, above, node.builder().getI64Type())},
                {node.integer("axis", 0)});
  // As ONNX Runtime has it: there is nothing to normalise in one score.
  mlir::Value yes = transform == "LOGISTIC" || transform == "PROBIT"
                        ? postTransform(node, score, transform)
                        : score;
  mlir::Value scores = beside(node, {sub(node, node.scalarLike(score, 1), yes), yes});
  return {label, castTo(node, scores, node.builder().getF32Type())};
}

Values linearClassifier(Node& node) {
  node.attributes().ignore({"multi_class"});  // says how the model was trained
  node.attributes().require("coefficients");
  Reals coefficients = node.attributes().reals("coefficients");
  Reals intercepts = node.attributes().reals("intercepts");
  std::string transform = node.attributes().text("post_transform", "NONE");
  mlir::Value labels = labelsOf(node, "classlabels_ints", "classlabels_strings");
  mlir::Value x = asReal(node, asMatrix(node, node.input(0)));
  if (!labels || !x) {
    return {nullptr, nullptr};
  }
  int64_t classes = llvm::cast<mlir::ShapedType>(labels.getType()).getNumElements();
  std::optional<ir::Dims> dims = ir::dimsOf(x);
  bool known = dims && (*dims)[1].isStatic() && (*dims)[1].value() > 0;
  int64_t rows = !intercepts.empty() ? static_cast<int64_t>(intercepts.size())
                 : known ? static_cast<int64_t>(coefficients.size()) / (*dims)[1].value()
                         : classes;
  mlir::Value scores = linear(node, x, coefficients, intercepts, rows);
  if (rows == 1 && classes == 2) {
    return twoClasses(node, scores, labels, transform);
  }
  if (rows != classes) {
    return {node.fail(absl::StrCat("has ", rows, " scores and ", classes,
                                   " classes, expected as many, or 1 and 2")),
            nullptr};
  }
  mlir::Value label =
      node.emit("gr.gather", {labels, argMax(node, scores)}, {node.integer("axis", 0)});
  return {label, castTo(node, postTransform(node, scores, transform), node.builder().getF32Type())};
}

Values ngrams(Node& node) {
  Attributes& attributes = node.attributes();
  for (llvm::StringRef name : {"mode", "ngram_counts", "ngram_indexes", "min_gram_length",
                               "max_gram_length", "max_skip_count"}) {
    attributes.require(name);
  }
  std::string mode = attributes.text("mode", "TF");
  Ints starts = attributes.integers("ngram_counts");
  Ints indices = attributes.integers("ngram_indexes");
  Reals weights = attributes.reals("weights");
  int64_t shortest = attributes.integer("min_gram_length", 1);
  int64_t longest = attributes.integer("max_gram_length", 1);
  int64_t skips = attributes.integer("max_skip_count", 0);
  mlir::Value pool = labelsOf(node, "pool_int64s", "pool_strings");
  if (indices.empty() || (mode != "TF" && mode != "IDF" && mode != "TFIDF")) {
    return {node.fail(absl::StrCat("has mode ", inQuotes(mode), " and ", indices.size(),
                                   " ngram_indexes, expected TF, IDF or TFIDF, and some"))};
  }
  int64_t size = *llvm::max_element(indices) + 1;
  mlir::Value input = holdsStrings(node.input(0))
                          ? node.input(0)
                          : castTo(node, node.input(0), node.builder().getI64Type());
  mlir::Value counts =
      node.emit("gr.ngram_count", {input, pool},
                {node.integers("starts", starts), node.integers("places", indices),
                 node.integer("shortest", shortest), node.integer("longest", longest),
                 node.integer("skips", skips), node.integer("size", size)});
  if (mode == "IDF") {
    counts = node.emit("gr.min", {counts, node.scalarLike(counts, 1)});
  }
  if (mode == "TF" || weights.empty() || !counts) {
    return {counts};
  }
  // As ONNX's reference and ONNX Runtime have it: a weight for each element of the result.
  weights.resize(static_cast<size_t>(size), 0);
  return {mul(node, counts, realConstant(node, weights, node.builder().getF32Type()))};
}

Values refuseMap(Node& node) {
  node.attributes().ignore({"cast_to", "map_form", "max_map", "int64_vocabulary",
                            "string_vocabulary", "classlabels_int64s", "classlabels_strings"});
  return {node.fail(
      "takes or gives maps, which are not supported, expected tensors; end the model at the tensor "
      "of scores (options={'zipmap': False} in skl2onnx)")};
}

const OpRow kMlOps[] = {
    {"TfIdfVectorizer", 9, kLastOpset, 1, 1, 1, ngrams},
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, kLastMl, 2, 2, 1, arrayFeatureExtractor},
    {"ai.onnx.ml.Binarizer", 1, kLastMl, 1, 1, 1, binarizer},
    {"ai.onnx.ml.CastMap", 1, kLastMl, 1, 1, 1, refuseMap, "", false, true},
    {"ai.onnx.ml.CategoryMapper", 1, kLastMl, 1, 1, 1, categoryMapper},
    {"ai.onnx.ml.DictVectorizer", 1, kLastMl, 1, 1, 1, refuseMap, "", false, true},
    {"ai.onnx.ml.FeatureVectorizer", 1, kLastMl, 1, kMany, 1, featureVectorizer},
    {"ai.onnx.ml.Imputer", 1, kLastMl, 1, 1, 1, imputer},
    {"ai.onnx.ml.LabelEncoder", 1, 1, 1, 1, 1, labelEncoder1},
    {"ai.onnx.ml.LabelEncoder", 2, kLastMl, 1, 1, 1, labelEncoder},
    {"ai.onnx.ml.LinearClassifier", 1, kLastMl, 1, 1, 2, linearClassifier},
    {"ai.onnx.ml.LinearRegressor", 1, kLastMl, 1, 1, 1, linearRegressor},
    {"ai.onnx.ml.Normalizer", 1, kLastMl, 1, 1, 1, normalizer},
    {"ai.onnx.ml.OneHotEncoder", 1, kLastMl, 1, 1, 1, oneHotEncoder},
    {"ai.onnx.ml.Scaler", 1, kLastMl, 1, 1, 1, scaler},
    {"ai.onnx.ml.ZipMap", 1, kLastMl, 1, 1, 1, refuseMap, "", false, true},
};

}  // namespace

llvm::ArrayRef<OpRow> mlOps() { return kMlOps; }

}  // namespace graphrun::frontends
