// gr-fold-normalization: constant scales and shifts of channels go into the weights before them.
#include <cmath>

#include "ir/dialect.h"
#include "ir/dims.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/passes.h"
#include "passes/pins.h"
#include "passes/rewrite.h"
#include "passes/weights.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_FOLDNORMALIZATION
#include "passes/passes.h.inc"

namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using Vector = std::vector<double>;

/// a * b, unless that is infinite or has lost digits although neither is 0.
std::optional<double> product(double a, double b) {
  double result = a * b;
  bool kept = a == 0 || b == 0 ? result == 0 : std::isnormal(result);
  return kept ? std::optional(result) : std::nullopt;
}

/// y = scale[c] * x + shift[c] for each channel c.
struct Affine {
  Vector scale, shift;

  explicit Affine(size_t channels) : scale(channels, 1), shift(channels, 0) {}

  /// `next` after this one; nothing where a number is too large or too small for a double.
  static std::optional<Affine> composed(const Affine& first, const Affine& next) {
    Affine result(first.scale.size());
    for (size_t c = 0; c < result.scale.size(); ++c) {
      std::optional<double> scale = product(first.scale[c], next.scale[c]);
      std::optional<double> shift = product(first.shift[c], next.scale[c]);
      if (!scale || !shift || !std::isfinite(*shift + next.shift[c])) {
        return std::nullopt;
      }
      result.scale[c] = *scale;
      result.shift[c] = *shift + next.shift[c];
    }
    return result;
  }

  bool scales() const {
    return llvm::any_of(scale, [](double value) { return value != 1; });
  }
  bool shifts() const {
    return llvm::any_of(shift, [](double value) { return value != 0; });
  }
};

/// `value` in place of `was` in a weight of type `element`. What overflows there, or loses digits
/// as a denormal, may be brought back by what comes later.
bool canReplace(double was, double value, mlir::Type element) {
  return value == was || keepsPrecision(value, element);
}

/// `factors` times what they stand for: of each element of `weights` that which `channelOf` names.
/// Nothing where one cannot be replaced so.
template <typename ChannelOf>
std::optional<Vector> scaledWeights(mlir::ElementsAttr weights, llvm::ArrayRef<double> factors,
                                    const ChannelOf& channelOf) {
  std::optional<Vector> values = floatsOf(weights);
  for (size_t i = 0; values && i < values->size(); ++i) {
    double was = (*values)[i];
    std::optional<double> scaled = product(was, factors[channelOf(i)]);
    if (!scaled || !canReplace(was, *scaled, weights.getElementType())) {
      return std::nullopt;
    }
    (*values)[i] = *scaled;
  }
  return values;
}

bool keepPrecision(llvm::ArrayRef<double> values, mlir::Type element) {
  return llvm::all_of(values, [&](double value) { return keepsPrecision(value, element); });
}

/// One value a channel from a constant that broadcasts to a tensor of `rank` and differs only along
/// dim `axis`; nothing when it is something else.
std::optional<Vector> channelValues(mlir::Value value, size_t rank, size_t axis, size_t channels) {
  mlir::ElementsAttr constant = constantOf(value);
  if (!constant) {
    return std::nullopt;
  }
  llvm::ArrayRef<int64_t> shape = constant.getShapedType().getShape();
  if (shape.size() > rank) {
    return std::nullopt;
  }
  for (auto [i, size] : llvm::enumerate(shape)) {
    bool isChannel = rank - shape.size() + i == axis;
    if (size != 1 && (!isChannel || size != static_cast<int64_t>(channels))) {
      return std::nullopt;
    }
  }
  std::optional<Vector> values = floatsOf(constant);
  if (values && values->size() == 1) {
    values->assign(channels, values->front());
  }
  return values;
}

std::optional<Affine> affineOf(ir::BatchNormOp op, size_t channels) {
  Vector parameters[4];
  for (auto [vector, operand] : llvm::zip(parameters, op.getOperands().drop_front())) {
    std::optional<Vector> values = floatsOf(constantOf(operand));
    if (!values || values->size() != channels) {
      return std::nullopt;
    }
    vector = std::move(*values);
  }
  const auto& [scale, bias, mean, variance] = parameters;
  Affine affine(channels);
  for (size_t c = 0; c < channels; ++c) {
    affine.scale[c] = scale[c] / std::sqrt(variance[c] + op.getEpsilon().convertToDouble());
    affine.shift[c] = bias[c] - mean[c] * affine.scale[c];
  }
  return affine;
}

/// Returns the scale and shift along dim `axis` that `op` applies to its operand `x`, if it is one.
std::optional<Affine> affineOf(mlir::Operation* op, mlir::Value x, size_t axis, size_t channels) {
  size_t rank = llvm::cast<mlir::ShapedType>(x.getType()).getRank();
  if (auto norm = llvm::dyn_cast<ir::BatchNormOp>(op)) {
    return axis == 1 && norm.getInput() == x ? affineOf(norm, channels) : std::nullopt;
  }
  if (!llvm::isa<ir::AddOp, ir::SubOp, ir::MulOp, ir::DivOp>(op)) {
    return std::nullopt;
  }
  bool left = op->getOperand(0) == x;
  std::optional<Vector> values = channelValues(op->getOperand(left ? 1 : 0), rank, axis, channels);
  if (!values || (llvm::isa<ir::DivOp>(op) && !left)) {
    return std::nullopt;
  }
  Affine affine(channels);
  for (size_t c = 0; c < channels; ++c) {
    double value = (*values)[c];
    if (llvm::isa<ir::MulOp>(op)) {
      affine.scale[c] = value;
    } else if (llvm::isa<ir::DivOp>(op)) {
      affine.scale[c] = 1 / value;
    } else if (llvm::isa<ir::AddOp>(op)) {
      affine.shift[c] = value;
    } else {
      affine.scale[c] = left ? 1 : -1;
      affine.shift[c] = left ? -value : value;
    }
  }
  return affine;
}

/// The operations after an anchor that are one affine map of its channels together.
struct Chain {
  Affine affine;
  llvm::SmallVector<mlir::Operation*> ops;
};

/// Follows the only uses of the result of `anchor` as long as they are affine along dim `axis` and
/// may run where it does.
Chain follow(mlir::Operation* anchor, size_t axis, size_t channels) {
  Chain chain{Affine(channels), {}};
  CommonPin common;
  common.add(anchor);
  mlir::Value value = anchor->getResult(0);
  while (value.hasOneUse()) {
    mlir::Operation* user = *value.user_begin();
    if (user->getNumResults() != 1 || user->getResult(0).getType() != value.getType() ||
        !common.allows(user)) {
      break;
    }
    common.add(user);
    std::optional<Affine> next = affineOf(user, value, axis, channels);
    std::optional<Affine> all = next ? Affine::composed(chain.affine, *next) : std::nullopt;
    if (!all) {
      break;
    }
    chain.affine = *std::move(all);
    chain.ops.push_back(user);
    value = user->getResult(0);
  }
  return chain;
}

/// The location of the folded operation: the anchor's and those of what went into it.
mlir::Location locationOf(mlir::Operation* anchor, const Chain& chain) {
  llvm::SmallVector<mlir::Location> locations = {anchor->getLoc()};
  for (mlir::Operation* op : chain.ops) {
    locations.push_back(op->getLoc());
  }
  return mlir::FusedLoc::get(anchor->getContext(), locations);
}

/// Puts `result` in the place of the anchor and its chain.
void replaceChain(mlir::Operation* anchor, const Chain& chain, mlir::Value result,
                  PatternRewriter& rewriter) {
  rewriter.replaceOp(chain.ops.back(), result);
  for (mlir::Operation* op : llvm::reverse(llvm::ArrayRef(chain.ops).drop_back())) {
    rewriter.eraseOp(op);
  }
  rewriter.eraseOp(anchor);
}

mlir::Value createConstant(PatternRewriter& rewriter, mlir::Value like, mlir::RankedTensorType type,
                           llvm::ArrayRef<double> values, llvm::StringRef what) {
  std::string label = labelOf(like.getLoc());
  std::string name = (label.empty() ? what : llvm::StringRef(label)).str() + "_folded";
  auto loc = mlir::NameLoc::get(rewriter.getStringAttr(name));
  return rewriter.create<ir::ConstantOp>(loc, type, makeFloats(type, values, name));
}

mlir::RankedTensorType vectorType(size_t channels, mlir::Type element) {
  return mlir::RankedTensorType::get({static_cast<int64_t>(channels)}, element);
}

/// Result channel of each filter element's block of `kernel` elements; the filter of a convolution
/// is O x C/groups x kernel, of a transposed one C x O/groups x kernel.
size_t resultChannel(size_t block, llvm::ArrayRef<int64_t> shape, size_t groups, bool transposed) {
  size_t row = block / shape[1];
  size_t column = block % shape[1];
  return transposed ? row / (shape[0] / groups) * shape[1] + column : row;
}

template <typename Op>
struct FoldIntoConv : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  static constexpr bool kTransposed = std::is_same_v<Op, ir::ConvTransposeOp>;

  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    mlir::ElementsAttr filter = constantOf(op.getFilter());
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(op.getFilter().getType());
    if (!filter || !type || !llvm::isa<mlir::RankedTensorType>(op.getType()) ||
        (op.getBias() && !constantOf(op.getBias()))) {
      return mlir::failure();
    }
    llvm::ArrayRef<int64_t> shape = type.getShape();
    size_t channels = kTransposed ? shape[1] * op.getGroups() : shape[0];
    Chain chain = follow(op, /*axis=*/1, channels);
    if (chain.ops.empty()) {
      return mlir::failure();
    }
    size_t kernel = type.getNumElements() / std::max<int64_t>(1, shape[0] * shape[1]);
    // An addition alone leaves the filter as it is, however large.
    std::optional<Vector> weights =
        !chain.affine.scales()
            ? Vector()
            : scaledWeights(filter, chain.affine.scale, [&](size_t i) {
                return resultChannel(i / kernel, shape, op.getGroups(), kTransposed);
              });
    std::optional<Vector> bias = weights ? biasAfter(op, chain.affine) : std::nullopt;
    if (!bias) {
      return mlir::failure();
    }
    replace(op, chain, type, *weights, *bias, rewriter);
    return mlir::success();
  }

  /// The bias behind `affine`; nothing where it cannot be replaced.
  static std::optional<Vector> biasAfter(Op op, const Affine& affine) {
    size_t channels = affine.scale.size();
    std::optional<Vector> bias =
        op.getBias() ? floatsOf(constantOf(op.getBias())) : Vector(channels, 0);
    if (!bias || bias->size() != channels) {
      return std::nullopt;
    }
    mlir::Type element = mlir::getElementTypeOrSelf(op.getFilter().getType());
    for (size_t c = 0; c < channels; ++c) {
      double was = (*bias)[c];
      std::optional<double> scaled = product(was, affine.scale[c]);
      if (!scaled || !canReplace(was, *scaled + affine.shift[c], element)) {
        return std::nullopt;
      }
      (*bias)[c] = *scaled + affine.shift[c];
    }
    return bias;
  }

  void replace(Op op, const Chain& chain, mlir::RankedTensorType filterType, const Vector& weights,
               const Vector& bias, PatternRewriter& rewriter) const {
    rewriter.setInsertionPoint(op);
    mlir::Value newFilter = chain.affine.scales() ? createConstant(rewriter, op.getFilter(),
                                                                   filterType, weights, "filter")
                                                  : op.getFilter();
    mlir::Value like = op.getBias() ? op.getBias() : op.getResult();
    mlir::Value newBias = createConstant(
        rewriter, like, vectorType(bias.size(), filterType.getElementType()), bias, "bias");
    auto folded = llvm::cast<Op>(rewriter.clone(*op));
    folded->setOperands({op.getInput(), newFilter, newBias});
    folded->setLoc(locationOf(op, chain));
    replaceChain(op, chain, folded->getResult(0), rewriter);
  }
};

/// matmul(x, W) * a + b for a constant matrix W: the columns of W are scaled, b becomes one
/// addition.
struct FoldIntoMatMul : mlir::OpRewritePattern<ir::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ir::MatMulOp op, PatternRewriter& rewriter) const override {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(op.getRhs().getType());
    auto result = llvm::dyn_cast<mlir::RankedTensorType>(op.getType());
    if (!constantOf(op.getRhs()) || !type || type.getRank() != 2 || !result ||
        result.getRank() < 2) {
      return mlir::failure();
    }
    size_t channels = type.getDimSize(op.getTransposeRhs() ? 0 : 1);
    Chain chain = follow(op, result.getRank() - 1, channels);
    // A single shift is the form that this pattern makes.
    if (chain.ops.empty() || (chain.ops.size() == 1 && !chain.affine.scales())) {
      return mlir::failure();
    }
    std::optional<Vector> weights =
        !chain.affine.scales()
            ? Vector()
            : scaledWeights(constantOf(op.getRhs()), chain.affine.scale, [&](size_t i) {
                return op.getTransposeRhs() ? i / type.getDimSize(1) : i % channels;
              });
    if (!weights || !keepPrecision(chain.affine.shift, type.getElementType())) {
      return mlir::failure();
    }
    replace(op, chain, type, *weights, rewriter);
    return mlir::success();
  }

  static void replace(ir::MatMulOp op, const Chain& chain, mlir::RankedTensorType type,
                      const Vector& weights, PatternRewriter& rewriter) {
    rewriter.setInsertionPoint(op);
    mlir::Value matrix = chain.affine.scales()
                             ? createConstant(rewriter, op.getRhs(), type, weights, "matrix")
                             : op.getRhs();
    mlir::Location loc = locationOf(op, chain);
    mlir::Value result = rewriter.create<ir::MatMulOp>(loc, op.getType(), op.getLhs(), matrix,
                                                       op.getTransposeLhs(), op.getTransposeRhs());
    if (chain.affine.shifts()) {
      mlir::Value bias = createConstant(
          rewriter, op.getResult(), vectorType(chain.affine.shift.size(), type.getElementType()),
          chain.affine.shift, "bias");
      result = rewriter.create<ir::AddOp>(loc, op.getType(), result, bias);
    }
    replaceChain(op, chain, result, rewriter);
  }
};

/// A batch_norm that nothing before it can take: one multiplication and one addition a channel,
/// which join the element-wise operations around them. Those of 16 bits are of f32, as the product
/// may be beyond f16, and much larger than the sum.
struct ExpandBatchNorm : mlir::OpRewritePattern<ir::BatchNormOp> {
  explicit ExpandBatchNorm(mlir::MLIRContext* context) : OpRewritePattern(context) {}

  LogicalResult matchAndRewrite(ir::BatchNormOp op, PatternRewriter& rewriter) const override {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(op.getType());
    auto scaleType = llvm::dyn_cast<mlir::RankedTensorType>(op.getScale().getType());
    if (!type || op.getInput().getType() != type || !scaleType || !scaleType.hasStaticShape()) {
      return mlir::failure();
    }
    size_t channels = scaleType.getNumElements();
    std::optional<Affine> affine = affineOf(op, channels);
    mlir::Type element = type.getElementType();
    mlir::Type computed = element.isF64() ? element : rewriter.getF32Type();
    if (!affine || !keepPrecision(affine->scale, computed) ||
        !keepPrecision(affine->shift, computed)) {
      return mlir::failure();
    }
    llvm::SmallVector<int64_t> shape(type.getRank() - 1, 1);
    shape[0] = static_cast<int64_t>(channels);
    auto vector = mlir::RankedTensorType::get(shape, computed);
    mlir::Value scale = createConstant(rewriter, op.getScale(), vector, affine->scale, "scale");
    mlir::Value shift = createConstant(rewriter, op.getBias(), vector, affine->shift, "shift");
    mlir::Location loc = op.getLoc();
    mlir::Value x = castTo(rewriter, loc, op.getInput(), computed);
    mlir::Value scaled = rewriter.create<ir::MulOp>(loc, x.getType(), x, scale);
    mlir::Value sum = rewriter.create<ir::AddOp>(loc, x.getType(), scaled, shift);
    rewriter.replaceOp(op, castTo(rewriter, loc, sum, element));
    return mlir::success();
  }
};

struct FoldNormalizationPass : impl::FoldNormalizationBase<FoldNormalizationPass> {
  void runOnOperation() override {
    mlir::MLIRContext* context = &getContext();
    mlir::RewritePatternSet folds(context);
    folds.add<FoldIntoConv<ir::ConvOp>, FoldIntoConv<ir::ConvTransposeOp>, FoldIntoMatMul>(context);
    mlir::RewritePatternSet rest(context);
    rest.add<ExpandBatchNorm>(context);
    // In this order: what is left is expanded only after every anchor took what it can.
    constexpr llvm::StringLiteral kWhat = "folding of normalisations";
    if (mlir::failed(rewriteGreedily(getOperation(), std::move(folds), kWhat)) ||
        mlir::failed(rewriteGreedily(getOperation(), std::move(rest), kWhat))) {
      signalPassFailure();
    }
  }
};

}  // namespace
}  // namespace graphrun::passes
