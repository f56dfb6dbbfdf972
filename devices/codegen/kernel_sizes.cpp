#include "devices/codegen/kernel_sizes.h"

#include "llvm/ADT/STLExtras.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineMap.h"

namespace graphrun::devices::codegen {
namespace {

constexpr int64_t kLargestImmediate = 16;  // a block of channels: such sizes shape the code

bool isImmediate(int64_t size) { return size <= kLargestImmediate && size >= -kLargestImmediate; }

/// A sum or a product; null for other expressions.
mlir::AffineBinaryOpExpr sumOrProduct(mlir::AffineExpr expr) {
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  bool known = binary && (binary.getKind() == mlir::AffineExprKind::Add ||
                          binary.getKind() == mlir::AffineExprKind::Mul);
  return known ? binary : nullptr;
}

/// The large constant that is the right side; nothing for another.
std::optional<int64_t> largeRight(mlir::AffineBinaryOpExpr expr) {
  auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr.getRHS());
  return constant && !isImmediate(constant.getValue()) ? std::optional(constant.getValue())
                                                       : std::nullopt;
}

}  // namespace

void KernelSizes::add(int64_t size) {
  if (!isImmediate(size) && !llvm::is_contained(numbers_, size)) {
    numbers_.push_back(size);
  }
}

void KernelSizes::addOf(mlir::AffineExpr offset) {
  mlir::AffineBinaryOpExpr expr = sumOrProduct(offset);
  if (!expr) {
    return;
  }
  addOf(expr.getLHS());
  addOf(expr.getRHS());
  if (std::optional<int64_t> number = largeRight(expr)) {
    add(*number);
  }
}

mlir::AffineExpr KernelSizes::withSymbols(mlir::AffineExpr offset) const {
  mlir::AffineBinaryOpExpr expr = sumOrProduct(offset);
  if (!expr) {
    return offset;
  }
  mlir::AffineExpr left = withSymbols(expr.getLHS());
  mlir::AffineExpr right = withSymbols(expr.getRHS());
  if (std::optional<int64_t> number = largeRight(expr)) {
    auto found = llvm::find(numbers_, *number);
    assert(found != numbers_.end());
    right = mlir::getAffineSymbolExpr(static_cast<unsigned>(found - numbers_.begin()),
                                      offset.getContext());
  }
  return mlir::getAffineBinaryOpExpr(expr.getKind(), left, right);
}

mlir::Value KernelSizes::value(mlir::OpBuilder& builder, mlir::Location loc, int64_t size) const {
  if (isImmediate(size)) {
    return builder.create<mlir::arith::ConstantIndexOp>(loc, size);
  }
  auto found = llvm::find(numbers_, size);
  assert(found != numbers_.end());
  return parameters_[static_cast<size_t>(found - numbers_.begin())];
}

mlir::Value KernelSizes::apply(mlir::OpBuilder& builder, mlir::Location loc,
                               mlir::AffineExpr offset, mlir::ValueRange indices) const {
  llvm::SmallVector<mlir::Value> values(indices);
  values.append(parameters_);
  auto map = mlir::AffineMap::get(indices.size(), parameters_.size(), withSymbols(offset));
  return builder.create<mlir::affine::AffineApplyOp>(loc, map, values);
}

}  // namespace graphrun::devices::codegen
