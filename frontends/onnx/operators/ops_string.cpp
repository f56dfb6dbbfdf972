// Text: operations that compute characters. No device does; they are computed here, on import where
// their inputs are constants, else when a plan is made for the strings of a run.
#include "frontends/onnx/operators/ops_string.h"

#include <re2/re2.h>

#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "frontends/onnx/op_table.h"
#include "frontends/onnx/operators/text.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "ir/folding.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace graphrun::frontends {
namespace {

using Strings = llvm::SmallVector<llvm::StringRef>;
using Dims = llvm::SmallVector<int64_t>;

Dims dimsOf(mlir::Value value) {
  return llvm::to_vector(llvm::cast<mlir::RankedTensorType>(value.getType()).getShape());
}

mlir::Value emitStrings(Node& node, llvm::ArrayRef<int64_t> dims,
                        llvm::ArrayRef<std::string> made) {
  auto type = mlir::RankedTensorType::get(dims, ir::StringType::get(node.builder().getContext()));
  Strings strings(made.begin(), made.end());
  return node.evaluated(ir::makeStrings(type, strings));
}

mlir::Value emitInts(Node& node, llvm::ArrayRef<int64_t> dims, mlir::Type element,
                     llvm::ArrayRef<int64_t> values) {
  return node.evaluated(ir::makeInts(mlir::RankedTensorType::get(dims, element), values));
}

Values stringConcat(Node& node) {
  std::optional<Strings> left = node.knownStrings(node.input(0));
  std::optional<Strings> right = node.knownStrings(node.input(1));
  if (!left || !right) {
    return {nullptr};
  }
  std::optional<ir::Dims> dims =
      ir::broadcast(*ir::dimsOf(node.input(0)), *ir::dimsOf(node.input(1)));
  if (!dims) {
    return {node.fail("the shapes of its inputs do not broadcast")};
  }
  Dims shape;
  for (const ir::Dim& dim : *dims) {
    shape.push_back(dim.value());
  }
  std::vector<std::string> made(mlir::ShapedType::getNumElements(shape));
  for (auto [value, strings] : {std::pair(node.input(0), &*left), {node.input(1), &*right}}) {
    ir::forEachBroadcast(dimsOf(value), shape, [&, from = strings](int64_t out, int64_t in) {
      made[out] += (*from)[in].str();
    });
  }
  return {emitStrings(node, shape, made)};
}

Values regexFullMatch(Node& node) {
  node.attributes().require("pattern");
  RE2 regex(node.attributes().text("pattern", ""), RE2::Quiet);
  if (!regex.ok()) {
    return {node.fail(absl::StrCat("its pattern is no RE2 expression: ", regex.error()))};
  }
  std::optional<Strings> strings = node.knownStrings(node.input(0));
  if (!strings) {
    return {nullptr};
  }
  llvm::SmallVector<int64_t> matches;
  for (llvm::StringRef string : *strings) {
    matches.push_back(RE2::FullMatch(re2::StringPiece(string.data(), string.size()), regex) ? 1
                                                                                            : 0);
  }
  return {emitInts(node, dimsOf(node.input(0)), node.builder().getI1Type(), matches)};
}

Values stringSplit(Node& node) {
  std::string delimiter = node.attributes().text("delimiter", "");
  int64_t most = node.attributes().integer("maxsplit", -1);
  std::optional<Strings> strings = node.knownStrings(node.input(0));
  if (!strings) {
    return {nullptr, nullptr};
  }
  std::vector<std::vector<llvm::StringRef>> parts;
  llvm::SmallVector<int64_t> counts;
  for (llvm::StringRef string : *strings) {
    parts.push_back(splitText(string, delimiter, most));
    counts.push_back(static_cast<int64_t>(parts.back().size()));
  }
  int64_t longest = counts.empty() ? 0 : *llvm::max_element(counts);
  std::vector<std::string> made;
  for (const auto& list : parts) {
    for (llvm::StringRef part : list) {
      made.push_back(part.str());
    }
    made.resize(made.size() + static_cast<size_t>(longest) - list.size());
  }
  Dims dims = dimsOf(node.input(0));
  mlir::Value number = emitInts(node, dims, node.builder().getI64Type(), counts);
  dims.push_back(longest);
  return {emitStrings(node, dims, made), number};
}

/// Normalization is what a StringNormalizer does with each string.
struct Normalization {
  std::optional<LetterCase> change;
  bool caseSensitive = false;
  std::string locale;
  llvm::StringSet<> stopwords;

  /// The form in which strings are compared with the stop words.
  absl::StatusOr<std::string> compared(llvm::StringRef text) const {
    return caseSensitive ? absl::StatusOr<std::string>(text.str())
                         : withCase(text, LetterCase::kLower, locale);
  }
};

absl::Status normalize(llvm::ArrayRef<llvm::StringRef> strings, Normalization& how,
                       llvm::ArrayRef<llvm::StringRef> stopwords, std::vector<std::string>& made) {
  for (llvm::StringRef word : stopwords) {
    absl::StatusOr<std::string> form = how.compared(word);
    if (!form.ok()) {
      return form.status();
    }
    how.stopwords.insert(*form);
  }
  for (llvm::StringRef string : strings) {
    absl::StatusOr<std::string> form = how.compared(string);
    if (!form.ok()) {
      return form.status();
    }
    if (how.stopwords.contains(*form)) {
      continue;
    }
    absl::StatusOr<std::string> changed =
        how.change ? withCase(string, *how.change, how.locale) : string.str();
    if (!changed.ok()) {
      return changed.status();
    }
    made.push_back(*std::move(changed));
  }
  return absl::OkStatus();
}

Values stringNormalizer(Node& node) {
  Normalization how;
  std::string action = node.attributes().text("case_change_action", "NONE");
  how.caseSensitive = node.attributes().integer("is_case_sensitive", 0) != 0;
  how.locale = node.attributes().text("locale", "en_US");
  Strings stopwords = node.attributes().texts("stopwords");
  if (action != "NONE" && action != "LOWER" && action != "UPPER") {
    return {node.fail(absl::StrCat("case_change_action is ", inQuotes(action),
                                   ", expected LOWER, UPPER or NONE"))};
  }
  if (action != "NONE") {
    how.change = action == "LOWER" ? LetterCase::kLower : LetterCase::kUpper;
  }
  std::optional<Strings> strings = node.knownStrings(node.input(0));
  if (!strings) {
    return {nullptr};
  }
  Dims dims = dimsOf(node.input(0));
  if (dims.empty() || dims.size() > 2 || (dims.size() == 2 && dims[0] != 1)) {
    return {node.fail("takes strings of shape C or 1xC")};
  }
  std::vector<std::string> made;
  absl::Status status = normalize(*strings, how, stopwords, made);
  if (!status.ok()) {
    return {node.fail(std::string(status.message()))};
  }
  if (made.empty()) {
    made.emplace_back();
  }
  dims.back() = static_cast<int64_t>(made.size());
  return {emitStrings(node, dims, made)};
}

/// The known elements of a tensor of numbers; null, and put off, where they are not.
mlir::DenseElementsAttr knownNumbers(Node& node, mlir::Value value) {
  mlir::ElementsAttr known = ir::knownElements(value);
  if (auto resource = llvm::dyn_cast_or_null<mlir::DenseResourceElementsAttr>(known);
      resource && resource.getRawHandle().getBlob() != nullptr) {
    return mlir::DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                                     resource.getRawHandle().getBlob()->getData());
  }
  if (mlir::DenseElementsAttr dense = ir::denseOf(known)) {
    return dense;
  }
  node.putOff(value);
  return nullptr;
}

std::vector<std::string> textsOf(mlir::DenseElementsAttr numbers) {
  std::vector<std::string> texts;
  mlir::Type element = numbers.getElementType();
  if (llvm::isa<mlir::FloatType>(element)) {
    for (double number : ir::floatsOf(numbers)) {
      texts.push_back(element.isF64() ? numberText(number)
                                      : numberText(static_cast<float>(number)));
    }
    return texts;
  }
  for (int64_t number : ir::intsOf(numbers)) {
    texts.push_back(element.isInteger(1)          ? number != 0 ? "True" : "False"
                    : element.isUnsignedInteger() ? absl::StrCat(static_cast<uint64_t>(number))
                                                  : absl::StrCat(number));
  }
  return texts;
}

/// The number that `text` is; nothing when it is none.
std::optional<double> parseReal(llvm::StringRef text) {
  double value = 0;
  return absl::SimpleAtod(absl::string_view(text.data(), text.size()), &value)
             ? std::optional(value)
             : std::nullopt;
}

std::optional<int64_t> parseInteger(llvm::StringRef text) {
  absl::string_view view(text.data(), text.size());
  int64_t value = 0;
  uint64_t large = 0;
  if (absl::SimpleAtoi(view, &value)) {
    return value;
  }
  if (absl::SimpleAtoi(view, &large)) {
    return static_cast<int64_t>(large);
  }
  constexpr double kLimit = 0x1p63;
  std::optional<double> real = parseReal(text);
  return real && *real >= -kLimit && *real < kLimit ? std::optional(static_cast<int64_t>(*real))
                                                    : std::nullopt;
}

mlir::Value numbersFromText(Node& node, mlir::Value input, mlir::Type element) {
  std::optional<Strings> strings = node.knownStrings(input);
  if (!strings) {
    return nullptr;
  }
  auto type = mlir::RankedTensorType::get(dimsOf(input), element);
  llvm::SmallVector<double> reals;
  llvm::SmallVector<int64_t> integers;
  bool isFloat = llvm::isa<mlir::FloatType>(element);
  for (llvm::StringRef string : *strings) {
    std::optional<double> real = parseReal(string);
    std::optional<int64_t> integer = parseInteger(string);
    if (isFloat ? !real : !integer) {
      return node.fail(absl::StrCat("element ", reals.size(), " is ", inQuotes(string),
                                    ", which is no ", isFloat ? "number" : "integer of 64 bits"));
    }
    reals.push_back(real.value_or(0));
    integers.push_back(element.isInteger(1) ? integer.value_or(0) != 0 : integer.value_or(0));
  }
  return node.evaluated(isFloat ? ir::makeFloats(type, reals) : ir::makeInts(type, integers));
}

const OpRow kStringOps[] = {
    {"StringConcat", 20, kLast, 2, 2, 1, stringConcat},
    {"RegexFullMatch", 20, kLast, 1, 1, 1, regexFullMatch},
    {"StringSplit", 20, kLast, 1, 1, 2, stringSplit},
    {"StringNormalizer", 10, kLast, 1, 1, 1, stringNormalizer},
};

}  // namespace

mlir::Value castStrings(Node& node, mlir::Value input, mlir::Type to) {
  if (ir::isStrings(input.getType()) == ir::isStrings(to)) {
    return input;
  }
  if (!ir::isStrings(to)) {
    return numbersFromText(node, input, to);
  }
  mlir::DenseElementsAttr numbers = knownNumbers(node, input);
  return numbers ? emitStrings(node, dimsOf(input), textsOf(numbers)) : mlir::Value();
}

Values uniqueStrings(Node& node) {
  mlir::Value input = node.input(0);
  int64_t given = node.attributes().integer("axis", 0);
  std::optional<Strings> strings = node.knownStrings(input);
  if (!strings) {
    return Values(4);
  }
  Dims dims = dimsOf(input);
  if (!node.attributes().has("axis")) {
    dims = {static_cast<int64_t>(strings->size())};
  }
  std::optional<int64_t> normalized = node.axisOf(given, static_cast<int64_t>(dims.size()));
  if (!normalized) {
    return Values(4);
  }
  int64_t axis = *normalized;
  int64_t inner = mlir::ShapedType::getNumElements(llvm::ArrayRef(dims).drop_front(axis + 1));
  int64_t outer = mlir::ShapedType::getNumElements(llvm::ArrayRef(dims).take_front(axis));
  // Slices in the order of their elements, with the positions where they occur.
  std::map<std::vector<llvm::StringRef>, llvm::SmallVector<int64_t>> slices;
  for (int64_t i = 0; i < dims[axis]; ++i) {
    std::vector<llvm::StringRef> slice;
    slice.reserve(outer * inner);
    for (int64_t o = 0; o < outer * inner; ++o) {
      slice.push_back((*strings)[(o / inner * dims[axis] + i) * inner + o % inner]);
    }
    slices[slice].push_back(i);
  }
  auto count = static_cast<int64_t>(slices.size());
  std::vector<std::string> made(static_cast<size_t>(outer * count * inner));
  llvm::SmallVector<int64_t> first, counts, inverse(dims[axis]);
  for (const auto& [slice, positions] : slices) {
    auto at = static_cast<int64_t>(first.size());
    for (int64_t o = 0; o < outer * inner; ++o) {
      made[(o / inner * count + at) * inner + o % inner] = slice[o].str();
    }
    first.push_back(positions.front());
    counts.push_back(static_cast<int64_t>(positions.size()));
    for (int64_t position : positions) {
      inverse[position] = at;
    }
  }
  int64_t all = dims[axis];
  dims[axis] = count;
  mlir::Type element = node.builder().getI64Type();
  return {emitStrings(node, dims, made), emitInts(node, {count}, element, first),
          emitInts(node, {all}, element, inverse), emitInts(node, {count}, element, counts)};
}

llvm::ArrayRef<OpRow> stringOps() { return kStringOps; }

}  // namespace graphrun::frontends
