#include "devices/cuda/compiler/expansions.h"

#include <cmath>
#include <limits>

#include "devices/codegen/index_maps.h"
#include "ir/builders.h"
#include "ir/dialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/group_builder.h"
#include "passes/weights.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
using Dims = llvm::SmallVector<int64_t>;

/// Most elements of the mask of a causal attention, which is part of the executable.
constexpr int64_t kMostMask = int64_t{1} << 20;

Dims dimsOf(mlir::Value value) { return Dims(tensorOf(value).getShape()); }

mlir::Type elementOf(mlir::Value value) { return tensorOf(value).getElementType(); }

bool haveOneType(mlir::ValueRange values) {
  return llvm::all_of(values,
                      [&](mlir::Value v) { return elementOf(v) == elementOf(values.front()); });
}

/// Emits operations before `op`.
class Expander {
 public:
  explicit Expander(mlir::Operation* op) : op_(op), before_(op->getPrevNode()), builder_(op) {}

  mlir::Value make(llvm::StringRef name, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    mlir::Operation* made =
        ir::createOp(builder_, op_->getLoc(), name, operands, attributes).value_or(nullptr);
    assert(made != nullptr && "an expansion fits its operands");
    return made->getResult(0);
  }
  mlir::NamedAttribute number(llvm::StringRef name, int64_t value) {
    return builder_.getNamedAttr(name, builder_.getI64IntegerAttr(value));
  }
  mlir::NamedAttribute numbers(llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    return builder_.getNamedAttr(name, builder_.getDenseI64ArrayAttr(values));
  }
  mlir::NamedAttribute flag(llvm::StringRef name) {
    return builder_.getNamedAttr(name, builder_.getBoolAttr(true));
  }
  mlir::Value scalar(mlir::Type element, double value) {
    return ir::createScalar(builder_, op_->getLoc(), element, value);
  }
  mlir::Value constant(mlir::RankedTensorType type, llvm::ArrayRef<double> values) {
    return builder_.create<ir::ConstantOp>(op_->getLoc(), type,
                                           passes::makeFloats(type, values, "mask"));
  }
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> dims) {
    return dimsOf(value) == Dims(dims)
               ? value
               : make("gr.reshape", {value, ir::createInts(builder_, op_->getLoc(), dims)});
  }
  mlir::Value spread(mlir::Value value, llvm::ArrayRef<int64_t> dims) {
    return dimsOf(value) == Dims(dims)
               ? value
               : make("gr.expand", {value, ir::createInts(builder_, op_->getLoc(), dims)});
  }
  mlir::Value cast(mlir::Value value, mlir::Type to) {
    return elementOf(value) == to
               ? value
               : make("gr.cast", {value}, {builder_.getNamedAttr("to", mlir::TypeAttr::get(to))});
  }
  mlir::Value reduce(mlir::Value value, ir::ReduceKind kind, llvm::ArrayRef<int64_t> axes) {
    return make(
        "gr.reduce", {value},
        {builder_.getNamedAttr("kind", builder_.getStringAttr(ir::stringifyReduceKind(kind))),
         numbers("axes", axes)});
  }

  /// Puts the element-wise operations that `emit` emits into one group, and returns its result.
  mlir::Value group(llvm::function_ref<mlir::Value()> emit) {
    mlir::Operation* last = op_->getPrevNode();
    mlir::Value result = emit();
    passes::GroupPlan plan{ir::GroupKind::kMap, {}};
    for (mlir::Operation* made : since(last)) {
      if (!llvm::isa<ir::ConstantOp>(made)) {
        plan.members.push_back(made);
      }
    }
    return plan.members.size() < 2 ? result : passes::buildGroup(plan)->getResult(0);
  }

  /// `result` in the place of the operation's.
  llvm::SmallVector<mlir::Operation*> finish(mlir::Value result) {
    op_->getResult(0).replaceAllUsesWith(result);
    return since(before_);
  }

 private:
  llvm::SmallVector<mlir::Operation*> since(mlir::Operation* last) {
    llvm::SmallVector<mlir::Operation*> made;
    mlir::Operation* next = last != nullptr ? last->getNextNode() : &op_->getBlock()->front();
    for (; next != op_; next = next->getNextNode()) {
      made.push_back(next);
    }
    return made;
  }

  mlir::Operation* op_;
  mlir::Operation* before_;
  mlir::OpBuilder builder_;
};

/// 0 where the query at s sees the key at t, else what leaves it nothing of the softmax.
mlir::Value causalMask(Expander& e, mlir::Type element, int64_t queries, int64_t keys) {
  std::vector<double> values(static_cast<size_t>(queries * keys), 0);
  for (int64_t s = 0; s < queries; ++s) {
    for (int64_t t = s + 1; t < keys; ++t) {
      values[static_cast<size_t>(s * keys + t)] = -std::numeric_limits<double>::infinity();
    }
  }
  return e.constant(mlir::RankedTensorType::get({queries, keys}, element), values);
}

mlir::Value expandAttention(Expander& e, ir::AttentionOp op) {
  Dims query = dimsOf(op.getQuery()), value = dimsOf(op.getValue());
  int64_t samples = query[0], heads = query[1], rows = query[2], keys = value[2];
  int64_t groups = value[1], rowsOfGroup = heads / groups * rows;
  mlir::Type element = elementOf(op.getQuery());
  mlir::Value seen = e.reshape(op.getQuery(), {samples, groups, rowsOfGroup, query[3]});
  mlir::Value scores = e.make("gr.matmul", {seen, op.getKey()}, {e.flag("transpose_rhs")});
  scores = e.reshape(scores, {samples, heads, rows, keys});
  scores = e.group([&] {
    mlir::Value scaled =
        e.make("gr.mul", {scores, e.scalar(element, op.getScale().convertToDouble())});
    if (op.getMask()) {
      scaled = e.make("gr.add", {scaled, e.cast(op.getMask(), element)});
    }
    return op.getCausal() ? e.make("gr.add", {scaled, causalMask(e, element, rows, keys)}) : scaled;
  });
  mlir::Value weights = e.make("gr.softmax", {scores}, {e.number("axis", 3)});
  weights = e.reshape(weights, {samples, groups, rowsOfGroup, keys});
  return e.reshape(e.make("gr.matmul", {weights, op.getValue()}), {samples, heads, rows, value[3]});
}

/// The values that normalise x: one a channel, or one a channel of a sample.
struct Statistics {
  mlir::Value mean, variance, scale, bias;
};

/// (x - mean) / sqrt(variance + epsilon) * scale + bias.
mlir::Value normalized(Expander& e, mlir::Value x, const Statistics& by, double epsilon) {
  mlir::Value shifted = e.make("gr.add", {by.variance, e.scalar(elementOf(by.variance), epsilon)});
  mlir::Value factor = e.make("gr.div", {by.scale, e.make("gr.sqrt", {shifted})});
  return e.make("gr.add", {e.make("gr.mul", {e.make("gr.sub", {x, by.mean}), factor}), by.bias});
}

/// One value a channel, with the dims that broadcast to `input`.
mlir::Value byChannel(Expander& e, mlir::Value values, mlir::Value input) {
  Dims dims(static_cast<size_t>(tensorOf(input).getRank()) - 1, 1);
  dims[0] = tensorOf(input).getDimSize(1);
  return e.reshape(values, dims);
}

/// 16-bit floats are normalised in f32: what is between may be beyond them.
mlir::Type normalizedIn(mlir::Type element) {
  return element.getIntOrFloatBitWidth() == 16 ? mlir::Float32Type::get(element.getContext())
                                               : element;
}

mlir::Value expandBatchNorm(Expander& e, ir::BatchNormOp op) {
  mlir::Value x = op.getInput();
  mlir::Type wide = normalizedIn(elementOf(x));
  Statistics given{byChannel(e, op.getMean(), x), byChannel(e, op.getVariance(), x),
                   byChannel(e, op.getScale(), x), byChannel(e, op.getBias(), x)};
  return e.group([&] {
    Statistics by{e.cast(given.mean, wide), e.cast(given.variance, wide), e.cast(given.scale, wide),
                  e.cast(given.bias, wide)};
    mlir::Value result = normalized(e, e.cast(x, wide), by, op.getEpsilon().convertToDouble());
    return e.cast(result, elementOf(x));
  });
}

mlir::Value expandInstanceNorm(Expander& e, ir::InstanceNormOp op) {
  mlir::Type element = elementOf(op.getInput()), wide = normalizedIn(element);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, tensorOf(op.getInput()).getRank()));
  mlir::Value x = e.cast(op.getInput(), wide);
  mlir::Value mean = e.reduce(x, ir::ReduceKind::kMean, axes);
  mlir::Value squares = e.group([&] {
    mlir::Value rest = e.make("gr.sub", {x, mean});
    return e.make("gr.mul", {rest, rest});
  });
  mlir::Value variance = e.reduce(squares, ir::ReduceKind::kMean, axes);
  mlir::Value scale = byChannel(e, op.getScale(), x), bias = byChannel(e, op.getBias(), x);
  return e.group([&] {
    Statistics by{mean, variance, e.cast(scale, wide), e.cast(bias, wide)};
    return e.cast(normalized(e, x, by, op.getEpsilon().convertToDouble()), element);
  });
}

mlir::Value expandReduce(Expander& e, ir::ReduceOp op) {
  int64_t rank = tensorOf(op.getInput()).getRank();
  Dims permutation, axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (!llvm::is_contained(op.getAxes(), axis)) {
      permutation.push_back(axis);
    }
  }
  for (int64_t axis : op.getAxes()) {
    axes.push_back(static_cast<int64_t>(permutation.size()));
    permutation.push_back(axis);
  }
  mlir::Value moved =
      e.make("gr.transpose", {op.getInput()}, {e.numbers("permutation", permutation)});
  return e.reshape(e.reduce(moved, op.getKind(), axes), dimsOf(op.getResult()));
}

/// Bytes by a matrix that is no weight and lies in rows, where the library wants columns.
bool wantsColumns(ir::MatMulOp op) {
  return elementOf(op.getLhs()).isUnsignedInteger(8) &&
         elementOf(op.getRhs()).isSignlessInteger(8) && dimsOf(op.getRhs()).size() == 2 &&
         !op.getTransposeLhs() && !op.getTransposeRhs() && passes::weightOf(op.getRhs()) == nullptr;
}

mlir::Value expandMatMul(Expander& e, ir::MatMulOp op) {
  if (wantsColumns(op)) {
    mlir::Value columns = e.make("gr.transpose", {op.getRhs()}, {e.numbers("permutation", {1, 0})});
    return e.make("gr.matmul", {op.getLhs(), columns}, {e.flag("transpose_rhs")});
  }
  llvm::SmallVector<mlir::Value> operands;
  for (mlir::Value operand : op->getOperands()) {
    Dims dims = dimsOf(op.getResult());
    llvm::copy(llvm::ArrayRef(dimsOf(operand)).take_back(2), dims.end() - 2);
    operands.push_back(e.spread(operand, dims));
  }
  return e.make("gr.matmul", operands, llvm::to_vector(op->getAttrs()));
}

/// The dims that layer normalisation takes statistics over.
Dims rowDims(ir::LayerNormOp op) {
  Dims dims = dimsOf(op.getInput());
  int64_t axis = op.getAxis() < 0 ? op.getAxis() + static_cast<int64_t>(dims.size()) : op.getAxis();
  return Dims(dims.begin() + axis, dims.end());
}

mlir::Value expandLayerNorm(Expander& e, ir::LayerNormOp op) {
  llvm::SmallVector<mlir::Value> operands = {op.getInput()};
  for (mlir::Value operand : op->getOperands().drop_front()) {
    operands.push_back(e.spread(operand, rowDims(op)));
  }
  return e.make("gr.layer_norm", operands, llvm::to_vector(op->getAttrs()));
}

/// Windows that lie side by side are rows of a matrix: each is copied once, in the order of the
/// filter's elements, and multiplied by all filters.
mlir::Value expandPatches(Expander& e, ir::ConvOp op) {
  Dims image = dimsOf(op.getInput()), filter = dimsOf(op.getFilter());
  Dims result = dimsOf(op.getResult());
  int64_t rows = result[0] * result[2] * result[3], depth = filter[1] * filter[2] * filter[3];
  mlir::Value apart =
      e.reshape(op.getInput(), {image[0], image[1], result[2], filter[2], result[3], filter[3]});
  mlir::Value patches =
      e.make("gr.transpose", {apart}, {e.numbers("permutation", {0, 2, 4, 1, 3, 5})});
  mlir::Value product =
      e.make("gr.matmul",
             {e.reshape(patches, {rows, depth}), e.reshape(op.getFilter(), {filter[0], depth})},
             {e.flag("transpose_rhs")});
  if (op.getBias()) {
    mlir::Value sum = e.make("gr.add", {product, op.getBias()});
    product =
        passes::buildGroup({ir::GroupKind::kMatmul, {product.getDefiningOp(), sum.getDefiningOp()}})
            ->getResult(0);
  }
  mlir::Value positions = e.reshape(product, {result[0], result[2], result[3], filter[0]});
  return e.make("gr.transpose", {positions}, {e.numbers("permutation", {0, 3, 1, 2})});
}

/// The convolution, and what adds its bias to each channel.
mlir::Value expandConvTranspose(Expander& e, ir::ConvTransposeOp op) {
  mlir::Value product =
      e.make("gr.conv_transpose", {op.getInput(), op.getFilter()}, llvm::to_vector(op->getAttrs()));
  Dims channels(dimsOf(product).size(), 1);
  channels[1] = dimsOf(product)[1];
  return e.make("gr.add", {product, e.reshape(op.getBias(), channels)});
}

bool isExpandedAttention(ir::AttentionOp op) {
  Dims query = dimsOf(op.getQuery()), value = dimsOf(op.getValue());
  return haveOneType({op.getQuery(), op.getKey(), op.getValue()}) && value[1] > 0 &&
         query[1] % value[1] == 0 && (!op.getCausal() || query[2] * value[2] <= kMostMask);
}

/// True if each row of a constant mask shows at least one column.
bool seesInEachRow(mlir::ElementsAttr mask) {
  std::optional<std::vector<double>> values = passes::floatsOf(mask);
  llvm::ArrayRef<int64_t> dims = mask.getShapedType().getShape();
  if (!values || dims.empty() || dims.back() < 1) {
    return false;
  }
  auto size = static_cast<size_t>(dims.back());
  for (llvm::ArrayRef<double> rest(*values); !rest.empty(); rest = rest.drop_front(size)) {
    if (llvm::all_of(rest.take_front(size), [](double x) { return std::isinf(x) && x < 0; })) {
      return false;
    }
  }
  return true;
}

bool broadcastsBatches(ir::MatMulOp op) {
  Dims lhs = dimsOf(op.getLhs()), rhs = dimsOf(op.getRhs());
  return lhs.size() > 2 && rhs.size() > 2 &&
         llvm::ArrayRef(lhs).drop_back(2) != llvm::ArrayRef(rhs).drop_back(2);
}

/// Dims with others between them.
bool skipsDims(llvm::ArrayRef<int64_t> axes) {
  return !axes.empty() && axes.back() - axes.front() + 1 != static_cast<int64_t>(axes.size());
}

bool isSpreadOut(ir::LayerNormOp op) {
  Dims row = rowDims(op);
  return llvm::any_of(op->getOperands().drop_front(),
                      [&](mlir::Value value) { return dimsOf(value) != row; });
}

}  // namespace

bool isProductOfPatches(mlir::Operation* op) {
  constexpr int64_t kFewChannels = 4;
  auto conv = llvm::dyn_cast<ir::ConvOp>(op);
  if (!conv || !ir::hasStaticShapes(op) || !haveOneType(op->getOperands()) ||
      conv.getGroups() != 1 || conv.getPadding() != ir::WindowPadding::kExplicit) {
    return false;
  }
  Dims image = dimsOf(conv.getInput()), filter = dimsOf(conv.getFilter());
  auto areAll = [](llvm::ArrayRef<int64_t> values, int64_t value) {
    return llvm::all_of(values, [&](int64_t each) { return each == value; });
  };
  return image.size() == 4 && image[1] <= kFewChannels && filter[2] * filter[3] > 1 &&
         (elementOf(conv.getInput()).isF16() || elementOf(conv.getInput()).isBF16()) &&
         llvm::equal(conv.getStrides(), llvm::ArrayRef(filter).drop_front(2)) &&
         areAll(conv.getDilations(), 1) && areAll(conv.getPads(), 0) && image[2] % filter[2] == 0 &&
         image[3] % filter[3] == 0;
}

bool isExpanded(mlir::Operation* op) {
  if (!ir::hasStaticShapes(op)) {
    return false;
  }
  return llvm::TypeSwitch<mlir::Operation*, bool>(op)
      .Case([](ir::AttentionOp attention) { return isExpandedAttention(attention); })
      .Case<ir::BatchNormOp, ir::InstanceNormOp>(
          [](auto norm) { return haveOneType(norm->getOperands()); })
      .Case([](ir::ReduceOp reduce) { return skipsDims(reduce.getAxes()); })
      .Case(
          [](ir::MatMulOp product) { return broadcastsBatches(product) || wantsColumns(product); })
      .Case([](ir::LayerNormOp norm) { return isSpreadOut(norm); })
      .Case([](ir::ConvTransposeOp product) { return product.getBias() != nullptr; })
      .Default([](mlir::Operation*) { return false; });
}

llvm::SmallVector<mlir::Operation*> expand(mlir::Operation* op) {
  Expander e(op);
  mlir::Value result;
  llvm::TypeSwitch<mlir::Operation*>(op)
      .Case([&](ir::AttentionOp a) { result = expandAttention(e, a); })
      .Case([&](ir::BatchNormOp a) { result = expandBatchNorm(e, a); })
      .Case([&](ir::InstanceNormOp a) { result = expandInstanceNorm(e, a); })
      .Case([&](ir::ReduceOp a) { result = expandReduce(e, a); })
      .Case([&](ir::MatMulOp a) { result = expandMatMul(e, a); })
      .Case([&](ir::LayerNormOp a) { result = expandLayerNorm(e, a); })
      .Case([&](ir::ConvOp a) { result = expandPatches(e, a); })
      .Case([&](ir::ConvTransposeOp a) { result = expandConvTranspose(e, a); });
  return e.finish(result);
}

mlir::Operation* makeFiniteMask(mlir::Operation* op, mlir::Value mask) {
  mlir::ElementsAttr constant = passes::constantOf(mask);
  if (constant && seesInEachRow(constant)) {
    return nullptr;
  }
  auto element = llvm::cast<mlir::FloatType>(elementOf(mask));
  llvm::APFloat least = llvm::APFloat::getLargest(element.getFloatSemantics(), /*Negative=*/true);
  Expander e(op);
  return e.make("gr.max", {mask, e.scalar(element, least.convertToDouble())}).getDefiningOp();
}

}  // namespace graphrun::devices::cuda
