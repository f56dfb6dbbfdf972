#include "devices/cuda/compiler/emit/channels_last.h"

#include <numeric>

#include "devices/codegen/linear_offsets.h"
#include "devices/codegen/map_layouts.h"
#include "ir/dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "passes/serialization/type_codec.h"

namespace graphrun::devices::cuda {
namespace {

using codegen::tensorOf;
using Dims = llvm::SmallVector<int64_t>;

/// For each dim of N x spatial x C, which of N x C x spatial it is.
Dims lastOrder(int64_t rank) {
  Dims order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

/// The way back.
Dims backOrder(int64_t rank) {
  Dims order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

mlir::RankedTensorType withLast(mlir::RankedTensorType type) {
  Dims dims;
  for (int64_t dim : lastOrder(type.getRank())) {
    dims.push_back(type.getShape()[static_cast<size_t>(dim)]);
  }
  return mlir::RankedTensorType::get(dims, type.getElementType());
}

int64_t axisOfLast(int64_t axis, int64_t rank) {
  axis = axis < 0 ? axis + rank : axis;
  return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1;
}

/// A function with these arguments, for operations at its end.
AloneOperation begin(mlir::OpBuilder& builder, mlir::Location loc, mlir::TypeRange arguments) {
  auto module = std::make_shared<mlir::OwningOpRef<mlir::ModuleOp>>(mlir::ModuleOp::create(loc));
  AloneOperation alone{module, nullptr};
  builder.setInsertionPointToEnd((*module)->getBody());
  auto function =
      builder.create<mlir::func::FuncOp>(loc, "alone", builder.getFunctionType(arguments, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  return alone;
}

/// True if the results, lying as the operation leaves them, are in one of the two layouts.
bool hasLayout(ir::ReduceOp reduce) {
  auto spatial = llvm::to_vector(llvm::seq<int64_t>(2, tensorOf(reduce.getInput()).getRank()));
  return reduce.getKeepdims() || llvm::equal(reduce.getAxes(), spatial);
}

/// The attributes that name dims.
void turnAxes(mlir::Operation* op, int64_t rank) {
  mlir::Builder builder(op->getContext());
  if (auto axis = op->getAttrOfType<mlir::IntegerAttr>("axis")) {
    op->setAttr("axis", mlir::IntegerAttr::get(axis.getType(), axisOfLast(axis.getInt(), rank)));
  }
  if (auto reduce = llvm::dyn_cast<ir::ReduceOp>(op)) {
    Dims axes;
    for (int64_t axis : reduce.getAxes()) {
      axes.push_back(axisOfLast(axis, rank));
    }
    llvm::sort(axes);
    reduce.setAxes(axes);
  }
}

/// True if, for each element, an access reads among the channels of the position that is written:
/// each loop moves both by the same, or both among the channels.
bool staysAtPosition(mlir::AffineExpr position, const codegen::MapNest& nest, int64_t channels) {
  size_t loops = nest.loops().size();
  auto read = codegen::coefficientsOf(position, loops);
  auto written = codegen::coefficientsOf(nest.store(), loops);
  return read && written && llvm::all_of(llvm::zip(*read, *written), [&](auto step) {
           auto [from, to] = step;
           return from == to || (from < channels && to < channels);
         });
}

}  // namespace

AloneOperation seenChannelsLast(mlir::Operation* op) {
  int64_t rank = op->getNumOperands() > 0 ? tensorOf(op->getOperand(0)).getRank() : 0;
  auto reduce = llvm::dyn_cast<ir::ReduceOp>(op);
  bool isKnown = llvm::isa<ir::ConcatOp, ir::SplitOp, ir::SoftmaxOp>(op) || reduce;
  if (!isKnown || rank < 3 || rank > 5 || (reduce && !hasLayout(reduce))) {
    return {};
  }
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value operand : op->getOperands()) {
    types.push_back(withLast(tensorOf(operand)));
  }
  mlir::OpBuilder builder(op->getContext());
  AloneOperation alone = begin(builder, op->getLoc(), types);
  alone.op = builder.clone(*op);
  alone.op->setOperands(builder.getBlock()->getArguments());
  turnAxes(alone.op, rank);
  for (mlir::OpResult result : alone.op->getResults()) {
    auto type = tensorOf(result);
    result.setType(type.getRank() == rank ? withLast(type) : type);
  }
  return alone;
}

AloneOperation copyOperation(const TensorDesc& from, const TensorDesc& to,
                             mlir::MLIRContext& context) {
  auto rank = static_cast<int64_t>(from.dims.size());
  auto type = mlir::RankedTensorType::get(from.dims, passes::elementTypeOf(from.type, &context));
  bool putsLast = !to.layout.empty();
  mlir::RankedTensorType given = putsLast ? type : withLast(type);
  mlir::RankedTensorType wanted = putsLast ? withLast(type) : type;
  mlir::OpBuilder builder(&context);
  AloneOperation alone = begin(builder, builder.getUnknownLoc(), {given});
  alone.op = builder.create<ir::TransposeOp>(builder.getUnknownLoc(), wanted,
                                             builder.getBlock()->getArgument(0),
                                             putsLast ? lastOrder(rank) : backOrder(rank));
  return alone;
}

bool shufflesChannels(mlir::Operation* op) {
  constexpr codegen::KernelLayout kLast{codegen::KernelLayout::Order::kChannelsLast, 0};
  auto operands = codegen::operandLayouts(op, kLast);
  if (!operands || codegen::isElementwiseThroughout(op)) {
    return false;
  }
  llvm::SmallVector<codegen::KernelLayout> layouts;
  for (const codegen::OperandLayout& operand : *operands) {
    layouts.push_back(operand.layout);
  }
  codegen::MapNest nest(op, layouts, kLast);
  auto type = tensorOf(op->getResult(0));
  return llvm::all_of(nest.accesses(), [&](const auto& access) {
    return tensorOf(access.first.first).getShape() == type.getShape() &&
           staysAtPosition(access.second.offset, nest, type.getDimSize(1));
  });
}

bool putsChannelsLast(mlir::Operation* op) {
  auto transpose = llvm::dyn_cast<ir::TransposeOp>(op);
  return transpose && transpose.getPermutation().size() >= 3 &&
         transpose.getPermutation() ==
             llvm::ArrayRef(lastOrder(tensorOf(op->getOperand(0)).getRank()));
}

bool bringsChannelsBack(mlir::Operation* op) {
  auto transpose = llvm::dyn_cast<ir::TransposeOp>(op);
  return transpose && transpose.getPermutation().size() >= 3 &&
         transpose.getPermutation() ==
             llvm::ArrayRef(backOrder(tensorOf(op->getOperand(0)).getRank()));
}

}  // namespace graphrun::devices::cuda
