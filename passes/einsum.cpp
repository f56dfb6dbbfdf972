#include "passes/einsum.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "mlir/IR/BuiltinTypes.h"

namespace graphrun::passes {
namespace {

/// Names of dims: letters, and negative numbers for the dims of an ellipsis, -1 the last one.
using Labels = llvm::SmallVector<int, 6>;
using Ints = llvm::SmallVector<int64_t>;

bool has(const Labels& labels, int label) { return llvm::is_contained(labels, label); }

std::string inQuotes(llvm::StringRef text) { return absl::StrCat("\"", text.str(), "\""); }

/// A value with a label for each dim.
struct Term {
  mlir::Value value;
  Labels labels;

  int64_t axisOf(int label) const { return llvm::find(labels, label) - labels.begin(); }
};

/// The labels of one term of an equation, where an ellipsis stands for `ellipsis` dims; nothing,
/// reported, when it has other characters than letters.
std::optional<Labels> labelsOf(Emitter& emitter, llvm::StringRef text, int64_t ellipsis) {
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
      emitter.fail(absl::StrCat("equation has the term ", inQuotes(text),
                                ", expected letters and at most one ellipsis"));
      return std::nullopt;
    }
  }
  return labels;
}

int64_t rankOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getRank();
}

// Each passes a null value on, as Emitter::emit does.

mlir::NamedAttribute integers(Emitter& emitter, llvm::StringRef name,
                              llvm::ArrayRef<int64_t> values) {
  return emitter.builder().getNamedAttr(name, emitter.builder().getDenseI64ArrayAttr(values));
}

mlir::NamedAttribute integer(Emitter& emitter, llvm::StringRef name, int64_t value) {
  return emitter.builder().getNamedAttr(name, emitter.builder().getI64IntegerAttr(value));
}

mlir::NamedAttribute boolean(Emitter& emitter, llvm::StringRef name, bool value) {
  return emitter.builder().getNamedAttr(name, emitter.builder().getBoolAttr(value));
}

mlir::Value reduce(Emitter& emitter, llvm::StringRef kind, mlir::Value value,
                   llvm::ArrayRef<int64_t> axes, bool keepdims) {
  return emitter.emit(
      "gr.reduce", {value},
      {emitter.builder().getNamedAttr("kind", emitter.builder().getStringAttr(kind)),
       integers(emitter, "axes", axes), boolean(emitter, "keepdims", keepdims)});
}

mlir::Value sum(Emitter& emitter, mlir::Value value, llvm::ArrayRef<int64_t> axes) {
  return reduce(emitter, "sum", value, axes, /*keepdims=*/false);
}

/// The dims [begin, end), as a vector.
mlir::Value dims(Emitter& emitter, mlir::Value value, int64_t begin, int64_t end) {
  return emitter.emit("gr.shape", {value},
                      {integer(emitter, "start", begin), integer(emitter, "end", end)});
}

mlir::Value reshapeTo(Emitter& emitter, mlir::Value value, llvm::ArrayRef<mlir::Value> parts) {
  mlir::Value shape = parts.empty()
                          ? emitter.constant({})
                          : emitter.emit("gr.concat", parts, {integer(emitter, "axis", 0)});
  return emitter.emit("gr.reshape", {value, shape}, {boolean(emitter, "allow_zero", true)});
}

mlir::Value unsqueezed(Emitter& emitter, mlir::Value value, llvm::ArrayRef<int64_t> axes) {
  return axes.empty() ? value
                      : emitter.emit("gr.unsqueeze", {value}, {integers(emitter, "axes", axes)});
}

mlir::Value permuted(Emitter& emitter, mlir::Value value, llvm::ArrayRef<int64_t> permutation) {
  return llvm::is_sorted(permutation)
             ? value
             : emitter.emit("gr.transpose", {value},
                            {integers(emitter, "permutation", permutation)});
}

/// The positions 0, 1 … of dim `axis`, with a dim of 1 for each of the `behind` dims behind it.
mlir::Value positionsOf(Emitter& emitter, mlir::Value value, int64_t axis, int64_t behind) {
  mlir::Value size = dims(emitter, value, axis, axis + 1);
  mlir::Value range =
      emitter.emit("gr.range", {emitter.constant({0}), size, emitter.constant({1})});
  return unsqueezed(emitter, range, llvm::to_vector(llvm::seq<int64_t>(1, behind + 1)));
}

class Einsum {
 public:
  explicit Einsum(Emitter& emitter) : emitter_(emitter) {}

  mlir::Value run(std::string equation, llvm::ArrayRef<mlir::Value> operands) {
    llvm::erase_if(equation, [](char c) { return c == ' '; });
    if (!readEquation(equation, operands)) {
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
  bool readEquation(const std::string& equation, llvm::ArrayRef<mlir::Value> operands) {
    auto [left, right] = llvm::StringRef(equation).split("->");
    llvm::SmallVector<llvm::StringRef> texts;
    left.split(texts, ',');
    if (texts.size() != operands.size()) {
      emitter_.fail(absl::StrCat("equation ", inQuotes(equation), " has ", texts.size(),
                                 " terms, expected one for each of ", operands.size(), " inputs"));
      return false;
    }
    int64_t widest = 0;
    for (auto [text, value] : llvm::zip(texts, operands)) {
      if (!readTerm(text, value, widest)) {
        return false;
      }
    }
    return readOutput(equation, right, widest);
  }

  bool readTerm(llvm::StringRef text, mlir::Value value, int64_t& widest) {
    const int64_t rank = rankOf(value);
    bool dots = text.contains("...");
    int64_t letters = static_cast<int64_t>(text.size()) - (dots ? 3 : 0);
    if (dots ? letters > rank : letters != rank) {
      emitter_.fail(
          absl::StrCat("equation has the term ", inQuotes(text), " for an input of rank ", rank));
      return false;
    }
    widest = std::max(widest, rank - letters);
    std::optional<Labels> labels = labelsOf(emitter_, text, rank - letters);
    if (labels) {
      terms_.push_back({value, *labels});
    }
    return labels.has_value();
  }

  /// Without "->" the result has the ellipsis and, in alphabetical order, the letters that stand
  /// once.
  bool readOutput(llvm::StringRef equation, llvm::StringRef right, int64_t widest) {
    if (equation.contains("->")) {
      std::optional<Labels> labels = labelsOf(emitter_, right, widest);
      output_ = labels.value_or(Labels());
      for (int label : output_) {
        bool known =
            llvm::any_of(terms_, [&](const Term& term) { return has(term.labels, label); });
        if (!known || llvm::count(output_, label) > 1) {
          emitter_.fail(absl::StrCat("equation ", inQuotes(equation),
                                     " has a dim in its result that ",
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

  /// Keeps only the diagonal where a term has a label twice: the elements at which both indices are
  /// equal.
  void takeDiagonals(Term& term) {
    for (size_t i = 0; i < term.labels.size(); ++i) {
      for (size_t j = term.labels.size(); j-- > i + 1;) {
        if (term.labels[i] != term.labels[j]) {
          continue;
        }
        auto positions = [&](size_t axis) {
          return positionsOf(emitter_, term.value, static_cast<int64_t>(axis),
                             static_cast<int64_t>(term.labels.size() - 1 - axis));
        };
        mlir::Value same = emitter_.emit("gr.equal", {positions(i), positions(j)});
        term.value = emitter_.emit("gr.where", {same, term.value, emitter_.zeroLike(term.value)});
        term.value = sum(emitter_, term.value, {static_cast<int64_t>(j)});
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
    term.value = axes.empty() ? term.value : sum(emitter_, term.value, axes);
    term.labels = left;
  }

  /// `term` with the dims in the order of `labels`, which are a subset in any order of its own.
  mlir::Value inOrder(const Term& term, const Labels& labels) const {
    Ints permutation;
    for (int label : labels) {
      permutation.push_back(term.axisOf(label));
    }
    return permuted(emitter_, term.value, permutation);
  }

  /// The same, with dims of 1 for labels that it does not have.
  mlir::Value aligned(const Term& term, const Labels& labels) const {
    Labels own;
    Ints missing;
    for (auto [i, label] : llvm::enumerate(labels)) {
      has(term.labels, label) ? own.push_back(label) : missing.push_back(static_cast<int64_t>(i));
    }
    mlir::Value value = inOrder(term, own);
    return unsqueezed(emitter_, value, missing);
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
    Term result{emitter_.emit("gr.mul", {aligned(a, all), aligned(b, all)}), all};
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
        emitter_.emit("gr.matmul", {merged(lhs, batches, sizes(left), sizes(contracted)),
                                    merged(rhs, batches, sizes(contracted), sizes(right))});
    if (left.size() == 1 && right.size() == 1) {
      return product;
    }
    llvm::SmallVector<mlir::Value> parts;
    auto append = [&](mlir::Value value, int64_t begin, int64_t count) {
      if (count > 0) {
        parts.push_back(dims(emitter_, value, begin, begin + count));
      }
    };
    append(product, 0, batches);
    append(lhs, batches, sizes(left));
    append(rhs, batches + sizes(contracted), sizes(right));
    return reshapeTo(emitter_, product, parts);
  }

  /// The dims behind the batches as two: the product of `rows` dims and that of `columns`.
  mlir::Value merged(mlir::Value value, int64_t batches, int64_t rows, int64_t columns) const {
    if (rows == 1 && columns == 1) {
      return value;
    }
    llvm::SmallVector<mlir::Value> parts;
    if (batches > 0) {
      parts.push_back(dims(emitter_, value, 0, batches));
    }
    for (auto [begin, count] : {std::pair(batches, rows), std::pair(batches + rows, columns)}) {
      parts.push_back(reduce(emitter_, "prod", dims(emitter_, value, begin, begin + count), {0},
                             /*keepdims=*/true));
    }
    return reshapeTo(emitter_, value, parts);
  }

  Emitter& emitter_;
  llvm::SmallVector<Term, 2> terms_;
  Labels output_;
};

}  // namespace

mlir::Value emitEinsum(Emitter& emitter, const std::string& equation,
                       llvm::ArrayRef<mlir::Value> operands) {
  return Einsum(emitter).run(equation, operands);
}

}  // namespace graphrun::passes
