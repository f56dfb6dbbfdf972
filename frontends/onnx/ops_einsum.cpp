// Einsum as diagonals, reductions, products and transposes; and determinants.
#include <cctype>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "frontends/onnx/index_helpers.h"
#include "frontends/onnx/op_table.h"
#include "ir/builders.h"

namespace graphrun::frontends {
namespace {

/// Names of dims: letters, and negative numbers for the dims of an ellipsis, -1 the last one.
using Labels = llvm::SmallVector<int, 6>;
using Ints = llvm::SmallVector<int64_t>;

bool has(const Labels& labels, int label) { return llvm::is_contained(labels, label); }

/// A value with a label for each dim.
struct Term {
  mlir::Value value;
  Labels labels;

  int64_t axisOf(int label) const { return llvm::find(labels, label) - labels.begin(); }
};

/// The labels of one term of an equation, where an ellipsis stands for `ellipsis` dims; nothing,
/// reported, when it has other characters than letters.
std::optional<Labels> labelsOf(Node& node, llvm::StringRef text, int64_t ellipsis) {
  Labels labels;
  size_t dots = text.find("...");
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dots) {
      for (int64_t d = ellipsis; d > 0; --d) {
        labels.push_back(static_cast<int>(-d));
      }
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      labels.push_back(text[i]);
    } else {
      node.fail(absl::StrCat("equation has the term ", inQuotes(text),
                             ", expected letters and at most one ellipsis"));
      return std::nullopt;
    }
  }
  return labels;
}

mlir::Value sum(Node& node, mlir::Value value, llvm::ArrayRef<int64_t> axes) {
  return node.emit(
      "gr.reduce", {value},
      {node.text("kind", "sum"), node.integers("axes", axes), node.boolean("keepdims", false)});
}

class Einsum {
 public:
  explicit Einsum(Node& node) : node_(node) {}

  mlir::Value run() {
    if (!readEquation()) {
      return nullptr;
    }
    for (Term& term : terms_) {
      takeDiagonals(term);
    }
    Term result = terms_[0];
    sumUnneeded(result, 1);
    for (size_t i = 1; i < terms_.size(); ++i) {
      sumUnneeded(terms_[i], i + 1, &result);
      result = product(result, terms_[i], i + 1);
    }
    return inOrder(result, output_);
  }

 private:
  bool readEquation() {
    node_.attributes().require("equation");
    std::string equation = node_.attributes().text("equation", "");
    llvm::erase_if(equation, [](char c) { return c == ' '; });
    auto [left, right] = llvm::StringRef(equation).split("->");
    llvm::SmallVector<llvm::StringRef> texts;
    left.split(texts, ',');
    if (texts.size() != node_.inputs().size()) {
      node_.fail(absl::StrCat("equation ", inQuotes(equation), " has ", texts.size(),
                              " terms, expected one for each of ", node_.inputs().size(),
                              " inputs"));
      return false;
    }
    int64_t widest = 0;
    for (auto [text, value] : llvm::zip(texts, node_.inputs())) {
      if (!readTerm(text, value, widest)) {
        return false;
      }
    }
    return readOutput(equation, right, widest);
  }

  bool readTerm(llvm::StringRef text, mlir::Value value, int64_t& widest) {
    std::optional<int64_t> rank = node_.rankOf(value);
    if (!rank) {
      return false;
    }
    bool dots = text.contains("...");
    int64_t letters = static_cast<int64_t>(text.size()) - (dots ? 3 : 0);
    if (dots ? letters > *rank : letters != *rank) {
      node_.fail(
          absl::StrCat("equation has the term ", inQuotes(text), " for an input of rank ", *rank));
      return false;
    }
    widest = std::max(widest, *rank - letters);
    std::optional<Labels> labels = labelsOf(node_, text, *rank - letters);
    if (labels) {
      terms_.push_back({value, *labels});
    }
    return labels.has_value();
  }

  /// Without "->" the result has the ellipsis and, in alphabetical order, the letters that stand
  /// once.
  bool readOutput(llvm::StringRef equation, llvm::StringRef right, int64_t widest) {
    if (equation.contains("->")) {
      std::optional<Labels> labels = labelsOf(node_, right, widest);
      output_ = labels.value_or(Labels());
      for (int label : output_) {
        bool known =
            llvm::any_of(terms_, [&](const Term& term) { return has(term.labels, label); });
        if (!known || llvm::count(output_, label) > 1) {
          node_.fail(absl::StrCat("equation ", inQuotes(equation), " has a dim in its result that ",
                                  known ? "stands there twice" : "no input has"));
          return false;
        }
      }
      return labels.has_value();
    }
    for (int64_t d = widest; d > 0; --d) {
      output_.push_back(static_cast<int>(-d));
    }
    for (int letter = 'A'; letter <= 'z'; ++letter) {
      int64_t count = 0;
      for (const Term& term : terms_) {
        count += llvm::count(term.labels, letter);
      }
      if (count == 1) {
        output_.push_back(letter);
      }
    }
    return true;
  }

  /// Where a term has a label twice, only the places count at which both positions are equal.
  void takeDiagonals(Term& term) {
    for (size_t i = 0; i < term.labels.size(); ++i) {
      for (size_t j = term.labels.size(); j-- > i + 1;) {
        if (term.labels[i] != term.labels[j]) {
          continue;
        }
        auto rank = static_cast<int64_t>(term.labels.size());
        auto places = [&](size_t axis) {
          mlir::Value range = rangeTo(node_, dimOf(node_, term.value, static_cast<int64_t>(axis)));
          return withTrailing(node_, range, rank - 1 - static_cast<int64_t>(axis));
        };
        mlir::Value same = node_.emit("gr.equal", {places(i), places(j)});
        term.value = node_.emit("gr.where", {same, term.value, node_.scalarLike(term.value, 0)});
        term.value = sum(node_, term.value, {static_cast<int64_t>(j)});
        term.labels.erase(term.labels.begin() + static_cast<int64_t>(j));
      }
    }
  }

  /// True when the result or a term from `next` on has the label.
  bool needed(int label, size_t next) const {
    return has(output_, label) ||
           llvm::any_of(llvm::ArrayRef<Term>(terms_).drop_front(next),
                        [&](const Term& term) { return has(term.labels, label); });
  }

  /// Sums over the dims of `term` that nothing else has.
  void sumUnneeded(Term& term, size_t next, const Term* other = nullptr) const {
    Ints axes;
    Labels left;
    for (auto [axis, label] : llvm::enumerate(term.labels)) {
      bool stays = needed(label, next) || (other != nullptr && has(other->labels, label));
      stays ? left.push_back(label) : axes.push_back(static_cast<int64_t>(axis));
    }
    term.value = axes.empty() ? term.value : sum(node_, term.value, axes);
    term.labels = left;
  }

  /// `term` with the dims in the order of `labels`, which are a subset in any order of its own.
  mlir::Value inOrder(const Term& term, const Labels& labels) const {
    Ints permutation;
    for (int label : labels) {
      permutation.push_back(term.axisOf(label));
    }
    return permuted(node_, term.value, permutation);
  }

  /// The same, with dims of 1 for labels that it does not have.
  mlir::Value aligned(const Term& term, const Labels& labels) const {
    Labels own;
    Ints missing;
    for (auto [i, label] : llvm::enumerate(labels)) {
      has(term.labels, label) ? own.push_back(label) : missing.push_back(static_cast<int64_t>(i));
    }
    mlir::Value value = inOrder(term, own);
    return missing.empty() ? value
                           : node_.emit("gr.unsqueeze", {value}, {node_.integers("axes", missing)});
  }

  /// Product of two terms, summed over what is not needed from term `next` on. By matrix product
  /// when letters are summed, element by element otherwise (dims of an ellipsis may broadcast).
  Term product(Term a, Term b, size_t next) const {
    Labels batch, contracted, left, right;
    for (int label : a.labels) {
      bool shared = has(b.labels, label);
      (!shared ? left : needed(label, next) ? batch : contracted).push_back(label);
    }
    llvm::copy_if(b.labels, std::back_inserter(right),
                  [&](int label) { return !has(a.labels, label); });
    bool letters = llvm::all_of(contracted, [](int label) { return label > 0; });
    if (contracted.empty() || !letters) {
      return elementwise(a, b, next);
    }
    Labels all = batch;
    all.append(left);
    all.append(right);
    return {matrices(a, b, batch, left, right, contracted), all};
  }

  Term elementwise(const Term& a, const Term& b, size_t next) const {
    Labels all = a.labels;
    llvm::copy_if(b.labels, std::back_inserter(all),
                  [&](int label) { return !has(a.labels, label); });
    Term result{node_.emit("gr.mul", {aligned(a, all), aligned(b, all)}), all};
    sumUnneeded(result, next);
    return result;
  }

  mlir::Value matrices(const Term& a, const Term& b, const Labels& batch, const Labels& left,
                       const Labels& right, const Labels& contracted) const {
    auto joined = [&](const Labels& x, const Labels& y) {
      Labels labels = batch;
      labels.append(x);
      labels.append(y);
      return labels;
    };
    auto batches = static_cast<int64_t>(batch.size());
    mlir::Value lhs = inOrder(a, joined(left, contracted));
    mlir::Value rhs = inOrder(b, joined(contracted, right));
    auto sizes = [](const Labels& labels) { return static_cast<int64_t>(labels.size()); };
    mlir::Value product =
        node_.emit("gr.matmul", {merged(lhs, batches, sizes(left), sizes(contracted)),
                                 merged(rhs, batches, sizes(contracted), sizes(right))});
    if (left.size() == 1 && right.size() == 1) {
      return product;
    }
    Values dims;
    appendDims(product, 0, batches, dims);
    appendDims(lhs, batches, batches + sizes(left), dims);
    appendDims(rhs, batches + sizes(contracted), batches + sizes(contracted) + sizes(right), dims);
    return reshapeTo(node_, product, dims);
  }

  void appendDims(mlir::Value value, int64_t begin, int64_t end, Values& dims) const {
    for (int64_t axis = begin; axis < end; ++axis) {
      dims.push_back(dimOf(node_, value, axis));
    }
  }

  /// The dims behind the batches as two: the product of `rows` dims and that of `columns`.
  mlir::Value merged(mlir::Value value, int64_t batches, int64_t rows, int64_t columns) const {
    if (rows == 1 && columns == 1) {
      return value;
    }
    Values dims;
    appendDims(value, 0, batches, dims);
    dims.push_back(dimProduct(node_, value, batches, batches + rows));
    dims.push_back(dimProduct(node_, value, batches + rows, batches + rows + columns));
    return reshapeTo(node_, value, dims);
  }

  Node& node_;
  llvm::SmallVector<Term, 2> terms_;
  Labels output_;
};

Values einsum(Node& node) { return {Einsum(node).run()}; }

Values det(Node& node) { return {node.emit("gr.det", {node.input(0)})}; }

constexpr int kLast = kLastOpset;
const OpRow kRows[] = {
    {"Einsum", 12, kLast, 1, kMany, 1, einsum},
    {"Det", 11, kLast, 1, 1, 1, det},
};

}  // namespace

llvm::ArrayRef<OpRow> einsumOps() { return kRows; }

}  // namespace graphrun::frontends
