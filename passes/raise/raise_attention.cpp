// Attention, spelled out: two products with a softmax between them.
#include <cmath>

#include "ir/builders.h"
#include "ir/dims.h"
#include "passes/pins.h"
#include "passes/raise/raise_patterns.h"
#include "passes/weights.h"

namespace graphrun::passes {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;

/// This number is added to hide a key: in f32 its weight is then 0, whatever the other scores.
constexpr double kHidden = -1e4;
/// From here on adding is as good as replacing: no score changes such a number.
constexpr double kAbsorbs = -1e30;

/// softmax(scale * query * op(key) + mask) * value, as found.
struct Form {
  mlir::Value query, key, value;
  mlir::Value mask;       ///< added to the scores; null: none
  mlir::Value condition;  ///< where false, scores are `hidden` before that; null: none
  double hidden = 0;
  double scale = 1;
  bool causal = false;
  bool keyTransposed = false;             ///< key is N x H x D x T
  bool valueTransposed = false;           ///< value is N x H x V x T
  llvm::SmallVector<mlir::Value> inputs;  ///< all that it is made from
};

int64_t knownRankOf(mlir::Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type ? type.getRank() : -1;
}

/// `slice` starts at the beginning of every dim and leaves nothing out.
bool isCorner(ir::SliceOp slice) {
  auto starts = ir::constantInts(slice.getStarts());
  auto steps = ir::constantInts(slice.getSteps());
  auto isZero = [](int64_t start) { return start == 0; };
  return starts && steps && llvm::all_of(*starts, isZero) &&
         llvm::all_of(*steps, [](int64_t step) { return step == 1; });
}

/// The constant behind `value`, through slices of it from the same position in the last two dims.
mlir::ElementsAttr squareConstant(mlir::Value value) {
  constexpr int kMaxSlices = 8;
  auto slice = value.getDefiningOp<ir::SliceOp>();
  for (int i = 0; slice && i < kMaxSlices && isCorner(slice); ++i) {
    value = slice.getInput();
    slice = value.getDefiningOp<ir::SliceOp>();
  }
  return constantOf(value);
}

/// True for a constant of `rows` x `columns` (and dims of 1) where `isSeen(row, column, byte
/// offset)` holds up to the diagonal and not behind it.
template <typename Seen>
bool isLowerTriangle(mlir::ElementsAttr constant, const Seen& isSeen) {
  llvm::ArrayRef<int64_t> shape = constant.getShapedType().getShape();
  if (shape.size() < 2 || shape[shape.size() - 1] != shape[shape.size() - 2] ||
      llvm::any_of(shape.drop_back(2), [](int64_t dim) { return dim != 1; })) {
    return false;
  }
  int64_t size = shape.back();
  for (int64_t row = 0; row < size; ++row) {
    for (int64_t column = 0; column < size; ++column) {
      if (isSeen(row * size + column) != (column <= row)) {
        return false;
      }
    }
  }
  return size > 1;
}

/// A condition that holds for the keys up to the query's position.
bool isCausalCondition(mlir::Value condition) {
  mlir::ElementsAttr constant = squareConstant(condition);
  std::optional<ElementBytes> raw = constant ? bytesOf(constant) : std::nullopt;
  return raw && !raw->splat && constant.getElementType().isInteger(1) &&
         isLowerTriangle(constant, [&](int64_t i) { return raw->bytes[i] != 0; });
}

/// A mask that hides the keys behind the query's position, and adds nothing to the others.
bool isCausalMask(mlir::Value mask) {
  mlir::ElementsAttr constant = squareConstant(mask);
  std::optional<std::vector<double>> values = constant ? floatsOf(constant) : std::nullopt;
  auto isPlain = [](double value) { return value == 0 || value <= kHidden; };
  return values && llvm::all_of(*values, isPlain) &&
         isLowerTriangle(constant, [&](int64_t i) { return (*values)[i] == 0; });
}

bool sameDims(mlir::Value a, mlir::Value b, llvm::ArrayRef<std::pair<int, int>> pairs) {
  std::optional<ir::Dims> x = ir::dimsOf(a);
  std::optional<ir::Dims> y = ir::dimsOf(b);
  return x && y && llvm::all_of(pairs, [&](auto pair) {
           return provablyEqual((*x)[pair.first], (*y)[pair.second]);
         });
}

/// Reads what is between the softmax and the product of query and key.
class ScoreReader {
 public:
  explicit ScoreReader(Form& form) : form_(form) {}

  bool read(mlir::Value scores) {
    mlir::Value inner = withoutScale(scores);
    return inner && (readProduct(inner) || readAdd(inner) || readWhere(inner));
  }

 private:
  /// `scores` before it was multiplied by numbers; null where it is read as something else too.
  mlir::Value withoutScale(mlir::Value scores) {
    Scaled scaled = scaledOf(scores);
    scale_ *= scaled.factor;
    return scaled.value == scores || scaled.value.hasOneUse() ? scaled.value : mlir::Value();
  }

  /// Matches the operand of a condition: nothing but the product.
  bool readUnderCondition(mlir::Value scores) {
    mlir::Value inner = withoutScale(scores);
    return inner && readProduct(inner);
  }

  /// Matches the operand of a mask: no other mask, or one would stand for two.
  bool readUnderMask(mlir::Value scores) {
    mlir::Value inner = withoutScale(scores);
    return inner && (readProduct(inner) || (readWhere(inner) && form_.hidden <= kAbsorbs));
  }

  bool readProduct(mlir::Value scores) {
    auto product = scores.getDefiningOp<ir::MatMulOp>();
    if (!product || !scores.hasOneUse() || product.getTransposeLhs()) {
      return false;
    }
    Scaled query = scaledOf(product.getLhs());
    Scaled key = scaledOf(product.getRhs());
    form_.query = query.value;
    form_.key = key.value;
    form_.keyTransposed = !product.getTransposeRhs();
    form_.scale = scale_ * query.factor * key.factor;
    return true;
  }

  /// A mask, which what is applied outside of it must not scale.
  bool readAdd(mlir::Value scores) {
    auto sum = scores.getDefiningOp<ir::AddOp>();
    if (!sum || !scores.hasOneUse() || scale_ != 1) {
      return false;
    }
    for (mlir::Value inner : {sum.getLhs(), sum.getRhs()}) {
      mlir::Value mask = otherOperand(sum, inner);
      if (inner.getType() == scores.getType() && knownRankOf(mask) <= knownRankOf(scores) &&
          ScoreReader(form_).readUnderMask(inner)) {
        bool causal = isCausalMask(mask);
        form_.causal |= causal;
        form_.mask = causal ? mlir::Value() : mask;
        form_.inputs.push_back(mask);
        return true;
      }
    }
    return false;
  }

  bool readWhere(mlir::Value scores) {
    auto choice = scores.getDefiningOp<ir::WhereOp>();
    std::optional<double> hidden = choice ? uniformOf(choice.getRhs()) : std::nullopt;
    if (!hidden || !scores.hasOneUse() || scale_ != 1 ||
        choice.getLhs().getType() != scores.getType() ||
        !ScoreReader(form_).readUnderCondition(choice.getLhs())) {
      return false;
    }
    bool causal = *hidden <= kHidden && isCausalCondition(choice.getCondition());
    form_.inputs.push_back(choice.getCondition());
    form_.causal = causal;
    form_.condition = causal ? mlir::Value() : choice.getCondition();
    form_.hidden = *hidden;
    return causal || *hidden <= kAbsorbs;
  }

  Form& form_;
  double scale_ = 1;
};

std::optional<Form> formOf(ir::MatMulOp op) {
  auto softmax = op.getLhs().getDefiningOp<ir::SoftmaxOp>();
  int64_t rank = softmax ? knownRankOf(softmax) : -1;
  if (!softmax || !softmax->hasOneUse() || softmax.getLog() || op.getTransposeLhs() ||
      (rank != 3 && rank != 4) || (softmax.getAxis() != -1 && softmax.getAxis() != rank - 1)) {
    return std::nullopt;
  }
  Form form;
  form.value = op.getRhs();
  form.valueTransposed = op.getTransposeRhs();
  bool own = softmax.getInput().hasOneUse();
  if (!own || !ScoreReader(form).read(softmax.getInput()) || knownRankOf(form.query) != rank ||
      knownRankOf(form.key) != rank || knownRankOf(form.value) != rank || knownRankOf(op) != rank) {
    return std::nullopt;
  }
  form.inputs.append({form.query, form.key, form.value});
  // Products broadcast their leading dims; an attention has them alike.
  llvm::SmallVector<std::pair<int, int>> leading = {{0, 0}};
  if (rank == 4) {
    leading.push_back({1, 1});
  }
  bool alike = sameDims(form.query, form.key, leading) && sameDims(form.query, form.value, leading);
  return alike ? std::optional(form) : std::nullopt;
}

/// Operands of rank 3 have one head; a key or value that lies transposed is turned back.
mlir::Value headsOf(PatternRewriter& rewriter, mlir::Location loc, mlir::Value value,
                    bool transposed) {
  auto create = [&](llvm::StringRef name, llvm::StringRef attribute,
                    llvm::ArrayRef<int64_t> numbers) {
    mlir::NamedAttribute list(rewriter.getStringAttr(attribute),
                              rewriter.getDenseI64ArrayAttr(numbers));
    mlir::FailureOr<mlir::Operation*> op = ir::createOp(rewriter, loc, name, {value}, {list});
    return mlir::failed(op) ? mlir::Value() : (*op)->getResult(0);
  };
  if (knownRankOf(value) == 3) {
    value = create("gr.unsqueeze", "axes", {1});
  }
  return transposed && value ? create("gr.transpose", "permutation", {0, 1, 3, 2}) : value;
}

/// The mask at rank 4 where it has a leading dim, which heads come behind.
mlir::Value maskOf(PatternRewriter& rewriter, mlir::Location loc, const Form& form) {
  mlir::Value mask = form.mask;
  if (form.condition) {
    mlir::Type element = llvm::cast<mlir::ShapedType>(form.query.getType()).getElementType();
    mlir::Value seen = ir::createScalar(rewriter, loc, element, 0);
    mlir::Value hidden = ir::createScalar(rewriter, loc, element, form.hidden);
    auto made = ir::createOp(rewriter, loc, "gr.where", {form.condition, seen, hidden});
    mlir::Value hides = mlir::failed(made) ? mlir::Value() : (*made)->getResult(0);
    auto both = hides && mask ? ir::createOp(rewriter, loc, "gr.add", {hides, mask}) : made;
    mask = mlir::failed(both) ? mlir::Value() : (*both)->getResult(0);
  }
  return mask && knownRankOf(form.query) == 3 && knownRankOf(mask) == 3
             ? headsOf(rewriter, loc, mask, false)
             : mask;
}

struct RaiseAttention : mlir::OpRewritePattern<ir::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MatMulOp op, PatternRewriter& rewriter) const override {
    std::optional<Form> form = formOf(op);
    if (!form || !canBeAttribute(form->scale, op.getType()) || !mayBecomeOne(op, form->inputs)) {
      return mlir::failure();
    }
    mlir::Location loc = op.getLoc();
    llvm::SmallVector<mlir::Value> operands = {
        headsOf(rewriter, loc, form->query, false),
        headsOf(rewriter, loc, form->key, form->keyTransposed),
        headsOf(rewriter, loc, form->value, form->valueTransposed)};
    if (mlir::Value mask = maskOf(rewriter, loc, *form)) {
      operands.push_back(mask);
    }
    mlir::NamedAttribute attributes[] = {
        {rewriter.getStringAttr("scale"), rewriter.getF64FloatAttr(form->scale)},
        {rewriter.getStringAttr("causal"), rewriter.getBoolAttr(form->causal)}};
    auto made = ir::createOp(rewriter, loc, "gr.attention", operands, attributes);
    if (mlir::failed(made)) {
      return mlir::failure();
    }
    mlir::Value result = (*made)->getResult(0);
    if (knownRankOf(op) == 3) {
      rewriter.replaceOpWithNewOp<ir::SqueezeOp>(op, op.getType(), result,
                                                 rewriter.getDenseI64ArrayAttr({1}));
    } else {
      rewriter.replaceOp(op, result);
    }
    return mlir::success();
  }
};

}  // namespace

void addAttentionPatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<RaiseAttention>(patterns.getContext());
}

}  // namespace graphrun::passes
