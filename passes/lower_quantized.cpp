// gr-lower-quantized: products of dequantised bytes become products of bytes.
#include <cmath>
#include <limits>

#include "ir/builders.h"
#include "ir/dialect.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/passes.h"
#include "passes/pins.h"
#include "passes/quantized_forms.h"
#include "passes/rewrite.h"
#include "passes/weights.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_LOWERQUANTIZED
#include "passes/passes.h.inc"

namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using Dims = llvm::SmallVector<int64_t>;

mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

bool isUnsignedByte(mlir::Value value) {
  return tensorTypeOf(value).getElementType().isUnsignedInteger(8);
}
bool isSignedByte(mlir::Value value) {
  return tensorTypeOf(value).getElementType().isSignlessInteger(8);
}

mlir::Type unsignedByte(PatternRewriter& rewriter) {
  return rewriter.getIntegerType(8, /*isSigned=*/false);
}

template <typename Op>
mlir::Value withNumber(PatternRewriter& rewriter, mlir::Location loc, mlir::Value value,
                       double number) {
  mlir::Value scalar =
      ir::createScalar(rewriter, loc, tensorTypeOf(value).getElementType(), number);
  return rewriter.create<Op>(loc, value.getType(), value, scalar);
}

/// Bytes of i8 between quantisation and what reads them as floats become bytes of u8, 128 higher:
/// products take u8 on the left.
struct ShiftSignedBytes : mlir::OpRewritePattern<ir::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::CastOp op, PatternRewriter& rewriter) const override {
    constexpr double kHalf = 128;
    auto isRead = [](mlir::Operation* user) {
      auto cast = llvm::dyn_cast<ir::CastOp>(user);
      return cast && cast.getTo().isF32();
    };
    if (!op.getTo().isSignlessInteger(8) || !quantizedOf(op) || op->use_empty() ||
        !llvm::all_of(op->getUsers(), isRead)) {
      return mlir::failure();
    }
    auto clip = op.getInput().getDefiningOp<ir::ClipOp>();
    mlir::Value whole = withNumber<ir::AddOp>(rewriter, op.getLoc(), clip.getInput(), kHalf);
    mlir::Value kept = rewriter.create<ir::ClipOp>(op.getLoc(), whole.getType(), whole,
                                                   llvm::APFloat(0.0), llvm::APFloat(255.0));
    mlir::Value shifted = castTo(rewriter, op.getLoc(), kept, unsignedByte(rewriter));
    for (mlir::Operation* user : llvm::to_vector(op->getUsers())) {
      rewriter.setInsertionPoint(user);
      mlir::Value wide = castTo(rewriter, user->getLoc(), shifted, rewriter.getF32Type());
      rewriter.replaceOp(user, withNumber<ir::SubOp>(rewriter, user->getLoc(), wide, kHalf));
    }
    rewriter.eraseOp(op);
    return mlir::success();
  }
};

/// Operations that choose and move elements, so that it does not matter in which form.
bool onlyMoves(mlir::Operation* op) {
  return ir::isView(op) || llvm::isa<ir::MaxPoolOp, ir::TransposeOp, ir::SliceOp>(op);
}

/// A value that was dequantised and is quantised again as it was needs neither, whatever moved it
/// meanwhile.
struct SkipFloats : mlir::OpRewritePattern<ir::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::CastOp op, PatternRewriter& rewriter) const override {
    std::optional<Quantized> quantized = quantizedOf(op);
    if (!quantized) {
      return mlir::failure();
    }
    mlir::Operation* moves = quantized->input.getDefiningOp();
    moves = moves != nullptr && onlyMoves(moves) && moves->hasOneUse() ? moves : nullptr;
    std::optional<Dequantized> from =
        dequantizedOf(moves != nullptr ? moves->getOperand(0) : quantized->input);
    if (!from || !from->isUniform() || from->scales[0] != quantized->scale ||
        from->zero != quantized->zero ||
        tensorTypeOf(from->integers).getElementType() != op.getTo() ||
        !mayBecomeOne(op, from->integers)) {
      return mlir::failure();
    }
    if (moves == nullptr) {
      rewriter.replaceOp(op, from->integers);
      return mlir::success();
    }
    rewriter.setInsertionPoint(moves);
    mlir::Operation* moved = rewriter.clone(*moves);
    moved->setOperand(0, from->integers);
    moved->getResult(0).setType(tensorTypeOf(moves->getResult(0)).clone(op.getTo()));
    rewriter.replaceOp(op, moved->getResults());
    return mlir::success();
  }
};

/// The operands of a product that is one of bytes: u8 with one scale, constant weights of i8
/// without a zero point, whose scales lie along the result's channels.
struct ByteProduct {
  Dequantized input, weights;
  std::vector<int64_t> elements;  ///< of the weights
};

std::optional<ByteProduct> byteProduct(mlir::Value input, mlir::Value weights,
                                       int64_t channelAxis) {
  std::optional<Dequantized> x = dequantizedOf(input);
  std::optional<Dequantized> w = dequantizedOf(weights);
  if (!x || !w || !x->isUniform() || !isUnsignedByte(x->integers) || !isSignedByte(w->integers) ||
      w->zero != 0 || (!w->isUniform() && w->axis != channelAxis)) {
    return std::nullopt;
  }
  bool keepsUnits = llvm::all_of(w->scales, [&](double scale) {
    return keepsPrecision(scale * x->scales[0], mlir::Float32Type::get(input.getContext()));
  });
  if (!keepsUnits) {
    return std::nullopt;
  }
  std::optional<std::vector<int64_t>> elements = integersOf(w->integers);
  return elements ? std::optional(ByteProduct{*std::move(x), *std::move(w), *std::move(elements)})
                  : std::nullopt;
}

/// Returns where a product and what makes floats of its operands begin.
llvm::SmallVector<mlir::Value> endsOf(const ByteProduct& product, mlir::Value bias) {
  llvm::SmallVector<mlir::Value> ends = {product.input.integers, product.weights.integers};
  if (bias) {
    ends.push_back(bias);
  }
  return ends;
}

/// One value a channel, along dim 0 of `rank` dims of which the others are 1.
mlir::RankedTensorType channelsType(int64_t channels, int64_t rank, mlir::Type element) {
  Dims dims(rank, 1);
  dims[0] = channels;
  return mlir::RankedTensorType::get(dims, element);
}

/// Returns the scale of the sums of channel `c`: the number for which a sum of 1 stands.
double unitOf(const ByteProduct& product, size_t c) {
  return product.weights.scales[product.weights.isUniform() ? 0 : c] * product.input.scales[0];
}

/// Each number of `bias` is a whole number of the sums' units, up to the rounding of floats.
bool isOfUnits(const ByteProduct& product, llvm::ArrayRef<double> bias) {
  constexpr double kRounding = 0x1p-22;
  for (size_t c = 0; c < bias.size(); ++c) {
    double units = bias[c] / unitOf(product, c);
    if (!(std::abs(units - std::nearbyint(units)) <= kRounding * std::abs(units))) {
      return false;
    }
  }
  return true;
}

/// Returns the addend to the sums of each channel: `bias` in their units, less the contribution of
/// the input's zero point. Nothing where it is beyond i32.
std::optional<std::vector<int32_t>> offsetsOf(const ByteProduct& product,
                                              llvm::ArrayRef<int64_t> weightSums,
                                              llvm::ArrayRef<double> bias) {
  std::vector<int32_t> offsets;
  for (size_t c = 0; c < weightSums.size(); ++c) {
    double offset = (bias.empty() ? 0 : std::nearbyint(bias[c] / unitOf(product, c))) -
                    product.input.zero * static_cast<double>(weightSums[c]);
    if (!(std::abs(offset) <= std::numeric_limits<int32_t>::max())) {
      return std::nullopt;
    }
    offsets.push_back(static_cast<int32_t>(offset));
  }
  return offsets;
}

/// `sums` of i32 as the floats that they stand for; `rank` dims, of which the first is the
/// channels', broadcast to them.
mlir::Value scaled(PatternRewriter& rewriter, mlir::Location loc, mlir::Value sums, int64_t rank,
                   const ByteProduct& product, llvm::ArrayRef<int32_t> offsets) {
  auto channels = static_cast<int64_t>(offsets.size());
  if (llvm::any_of(offsets, [](int32_t offset) { return offset != 0; })) {
    auto type = channelsType(channels, rank, rewriter.getI32Type());
    llvm::ArrayRef<char> bytes(reinterpret_cast<const char*>(offsets.data()),
                               offsets.size() * sizeof(int32_t));
    mlir::Value constant = rewriter.create<ir::ConstantOp>(loc, type, elementsFrom(type, bytes));
    sums = rewriter.create<ir::AddOp>(loc, sums.getType(), sums, constant);
  }
  std::vector<double> scales = product.weights.scales;
  llvm::for_each(scales, [&](double& scale) { scale *= product.input.scales[0]; });
  auto type = product.weights.isUniform() ? mlir::RankedTensorType::get({}, rewriter.getF32Type())
                                          : channelsType(channels, rank, rewriter.getF32Type());
  mlir::Value constant =
      rewriter.create<ir::ConstantOp>(loc, type, makeFloats(type, scales, "scales"));
  mlir::Value wide = castTo(rewriter, loc, sums, rewriter.getF32Type());
  return rewriter.create<ir::MulOp>(loc, wide.getType(), wide, constant);
}

/// The bias of a convolution as numbers: a constant, or what is dequantised of one. Empty where
/// there is none, nothing where it is not known.
std::optional<std::vector<double>> biasOf(ir::ConvOp op) {
  if (!op.getBias()) {
    return std::vector<double>();
  }
  if (std::optional<std::vector<double>> floats = floatsOf(constantOf(op.getBias()))) {
    return floats;
  }
  std::optional<Dequantized> bias = dequantizedOf(op.getBias());
  std::optional<std::vector<int64_t>> integers = bias ? integersOf(bias->integers) : std::nullopt;
  if (!integers) {
    return std::nullopt;
  }
  std::vector<double> floats;
  for (auto [i, value] : llvm::enumerate(*integers)) {
    double scale = bias->scales[bias->isUniform() ? 0 : i];
    floats.push_back(scale * (static_cast<double>(value) - bias->zero));
  }
  return floats;
}

/// A convolution's input whose padding stands in it, as the zero point.
mlir::Value padded(PatternRewriter& rewriter, ir::ConvOp op, mlir::Value input, double zero) {
  size_t spatial = op.getStrides().size();
  llvm::ArrayRef<int64_t> given = op.getPads();
  Dims pads(2, 0);
  pads.append(given.begin(), given.begin() + spatial);
  pads.append(2, 0);
  pads.append(given.begin() + spatial, given.end());
  Dims dims(tensorTypeOf(input).getShape());
  for (size_t d = 0; d < dims.size(); ++d) {
    dims[d] += pads[d] + pads[dims.size() + d];
  }
  mlir::Type element = tensorTypeOf(input).getElementType();
  return rewriter.create<ir::PadOp>(op.getLoc(), mlir::RankedTensorType::get(dims, element), input,
                                    ir::createInts(rewriter, op.getLoc(), pads),
                                    ir::createScalar(rewriter, op.getLoc(), element, zero),
                                    ir::PadMode::kConstant);
}

struct ConvolveBytes : mlir::OpRewritePattern<ir::ConvOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::ConvOp op, PatternRewriter& rewriter) const override {
    std::optional<ByteProduct> product = byteProduct(op.getInput(), op.getFilter(), 0);
    std::optional<std::vector<double>> bias = biasOf(op);
    if (!product || !bias) {
      return mlir::failure();
    }
    bool hasPads = op.getPadding() != ir::WindowPadding::kExplicit ||
                   llvm::any_of(op.getPads(), [](int64_t pad) { return pad != 0; });
    bool pads = hasPads && product->input.zero != 0;
    if (pads && op.getPadding() != ir::WindowPadding::kExplicit) {
      return mlir::failure();
    }
    int64_t channels = tensorTypeOf(op.getFilter()).getDimSize(0);
    auto depth = static_cast<int64_t>(product->elements.size()) / channels;
    std::vector<int64_t> sums(channels, 0);
    for (auto [i, element] : llvm::enumerate(product->elements)) {
      sums[i / depth] += element;
    }
    bool ofUnits = isOfUnits(*product, *bias);
    std::optional<std::vector<int32_t>> offsets =
        offsetsOf(*product, sums, ofUnits ? *bias : std::vector<double>());
    if (!offsets || !mayBecomeOne(op, endsOf(*product, op.getBias()))) {
      return mlir::failure();
    }
    mlir::Value input = product->input.integers;
    if (pads) {
      input = padded(rewriter, op, input, product->input.zero);
    }
    auto made = llvm::cast<ir::ConvOp>(rewriter.clone(*op));
    made->setOperands({input, product->weights.integers});
    made->getResult(0).setType(tensorTypeOf(op).clone(rewriter.getI32Type()));
    if (pads) {
      made.setPads(Dims(op.getPads().size(), 0));
    }
    int64_t rank = tensorTypeOf(op).getRank() - 1;
    mlir::Value result = scaled(rewriter, op.getLoc(), made, rank, *product, *offsets);
    if (!ofUnits) {
      auto type = channelsType(channels, rank, rewriter.getF32Type());
      mlir::Value added =
          rewriter.create<ir::ConstantOp>(op.getLoc(), type, makeFloats(type, *bias, "bias"));
      result = rewriter.create<ir::AddOp>(op.getLoc(), result.getType(), result, added);
    }
    rewriter.replaceOp(op, result);
    return mlir::success();
  }
};

struct MultiplyBytes : mlir::OpRewritePattern<ir::MatMulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MatMulOp op, PatternRewriter& rewriter) const override {
    mlir::RankedTensorType weights = tensorTypeOf(op.getRhs());
    bool transposed = op.getTransposeRhs();
    std::optional<ByteProduct> product =
        weights.getRank() == 2 && tensorTypeOf(op.getLhs()).getRank() >= 2 && !op.getTransposeLhs()
            ? byteProduct(op.getLhs(), op.getRhs(), transposed ? 0 : 1)
            : std::nullopt;
    if (!product) {
      return mlir::failure();
    }
    int64_t channels = weights.getDimSize(transposed ? 0 : 1);
    int64_t depth = weights.getDimSize(transposed ? 1 : 0);
    std::vector<int64_t> sums(channels, 0);
    for (auto [i, element] : llvm::enumerate(product->elements)) {
      auto at = static_cast<int64_t>(i);
      sums[transposed ? at / depth : at % channels] += element;
    }
    std::optional<std::vector<int32_t>> offsets = offsetsOf(*product, sums, {});
    if (!offsets || !mayBecomeOne(op, endsOf(*product, {}))) {
      return mlir::failure();
    }
    mlir::Value made = rewriter.create<ir::MatMulOp>(
        op.getLoc(), tensorTypeOf(op).clone(rewriter.getI32Type()), product->input.integers,
        product->weights.integers, false, transposed);
    rewriter.replaceOp(op, scaled(rewriter, op.getLoc(), made, 1, *product, *offsets));
    return mlir::success();
  }
};

/// Weights that no product of bytes takes, as the floats that they stand for: computed once.
struct DequantizeWeights : mlir::OpRewritePattern<ir::MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ir::MulOp op, PatternRewriter& rewriter) const override {
    auto isProduct = [](mlir::Operation* user) {
      return llvm::isa<ir::ConvOp, ir::ConvTransposeOp, ir::MatMulOp>(user);
    };
    std::optional<Dequantized> weights = dequantizedOf(op);
    std::optional<std::vector<int64_t>> integers =
        weights && llvm::all_of(op->getUsers(), isProduct) ? integersOf(weights->integers)
                                                           : std::nullopt;
    mlir::RankedTensorType type = tensorTypeOf(op);
    if (!integers || static_cast<int64_t>(integers->size()) != type.getNumElements()) {
      return mlir::failure();
    }
    size_t inner = 1;  // elements from one scale to the next
    for (int64_t size : type.getShape().drop_front(weights->isUniform() ? 0 : weights->axis + 1)) {
      inner *= size;
    }
    std::vector<double> floats(integers->size());
    for (size_t i = 0; i < floats.size(); ++i) {
      double scale = weights->scales[weights->isUniform() ? 0 : i / inner % weights->scales.size()];
      floats[i] = scale * (static_cast<double>((*integers)[i]) - weights->zero);
    }
    rewriter.replaceOpWithNewOp<ir::ConstantOp>(op, type, makeFloats(type, floats, "weights"));
    return mlir::success();
  }
};

struct LowerQuantizedPass : impl::LowerQuantizedBase<LowerQuantizedPass> {
  using LowerQuantizedBase::LowerQuantizedBase;

  void runOnOperation() override {
    mlir::RewritePatternSet products(&getContext());
    products.add<ShiftSignedBytes, SkipFloats>(&getContext());
    if (bytes) {
      products.add<ConvolveBytes, MultiplyBytes>(&getContext());
    }
    mlir::RewritePatternSet rest(&getContext());
    rest.add<DequantizeWeights>(&getContext());
    constexpr llvm::StringLiteral kWhat = "lowering of quantised products";
    if (mlir::failed(rewriteGreedily(getOperation(), std::move(products), kWhat)) ||
        mlir::failed(rewriteGreedily(getOperation(), std::move(rest), kWhat))) {
      signalPassFailure();
    }
  }
};

}  // namespace
}  // namespace graphrun::passes
