#include "passes/forms.h"

#include <cmath>

#include "passes/weights.h"

namespace graphrun::passes {
namespace {

/// More factors or terms than any form has.
constexpr size_t kMaxParts = 8;

/// The operation behind a part of a form, when that is all it is for: other users would need it
/// still. The form itself may have any users.
template <typename Op>
Op partOf(mlir::Value value, mlir::Value form) {
  bool own = value == form || value.hasOneUse();
  auto op = own ? value.getDefiningOp<Op>() : Op();
  return op && op.getType() == form.getType() ? op : Op();
}

/// The exponent of x to the power of a small whole number; 0 for anything else.
int64_t smallPower(ir::PowOp op) {
  std::optional<double> exponent = uniformOf(op.getRhs());
  bool whole =
      exponent && (*exponent == 2 || *exponent == 3) && op.getLhs().getType() == op.getType();
  return whole ? static_cast<int64_t>(*exponent) : 0;
}

void multiply(Product& product, mlir::Value value, mlir::Value form) {
  if (std::optional<double> number = uniformOf(value)) {
    product.factor *= *number;
  } else if (product.values.size() >= kMaxParts) {
    product.values.push_back(value);
  } else if (auto mul = partOf<ir::MulOp>(value, form)) {
    multiply(product, mul.getLhs(), form);
    multiply(product, mul.getRhs(), form);
  } else if (auto neg = partOf<ir::NegOp>(value, form)) {
    product.factor = -product.factor;
    multiply(product, neg.getInput(), form);
  } else if (auto div = partOf<ir::DivOp>(value, form); div && uniformOf(div.getRhs())) {
    product.factor /= *uniformOf(div.getRhs());
    multiply(product, div.getLhs(), form);
  } else if (auto pow = partOf<ir::PowOp>(value, form); pow && smallPower(pow) > 0) {
    product.values.append(smallPower(pow), pow.getLhs());
  } else {
    product.values.push_back(value);
  }
}

void add(Sum& sum, mlir::Value value, mlir::Value form) {
  if (std::optional<double> number = uniformOf(value)) {
    sum.constant += *number;
  } else if (auto plus = partOf<ir::AddOp>(value, form); plus && sum.values.size() < kMaxParts) {
    add(sum, plus.getLhs(), form);
    add(sum, plus.getRhs(), form);
  } else if (auto minus = partOf<ir::SubOp>(value, form); minus && uniformOf(minus.getRhs())) {
    sum.constant -= *uniformOf(minus.getRhs());
    add(sum, minus.getLhs(), form);
  } else {
    sum.values.push_back(value);
  }
}

}  // namespace

Product productOf(mlir::Value value) {
  Product product;
  multiply(product, value, value);
  return product;
}

Sum sumOf(mlir::Value value) {
  Sum sum;
  add(sum, value, value);
  return sum;
}

Scaled scaledOf(mlir::Value value) {
  Product product = productOf(value);
  bool one = product.values.size() == 1 && product.values[0].getType() == value.getType();
  return one ? Scaled{product.factor, product.values[0]} : Scaled{1, value};
}

std::optional<double> uniformOf(mlir::Value value) {
  auto constant = llvm::dyn_cast_or_null<mlir::DenseElementsAttr>(constantOf(value));
  if (!constant || !constant.isSplat() || !llvm::isa<mlir::FloatType>(constant.getElementType()) ||
      constant.getNumElements() == 0) {
    return std::nullopt;
  }
  auto number = constant.getSplatValue<llvm::APFloat>();
  bool exact = false;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &exact);
  return number.convertToDouble();
}

bool isNear(double a, double b, mlir::Type type) {
  mlir::Type element = llvm::cast<mlir::ShapedType>(type).getElementType();
  double tolerance = element.isBF16() ? 1e-2 : element.isF16() ? 1e-3 : 1e-6;
  return std::abs(a - b) <= tolerance * std::abs(b);
}

bool reducesLast(ir::ReduceOp op, llvm::StringRef kind, size_t count) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(op.getInput().getType());
  llvm::ArrayRef<int64_t> axes = op.getAxes();
  return op.getKind() == kind && op.getKeepdims() && type && count > 0 && axes.size() == count &&
         axes.back() == type.getRank() - 1 &&
         axes.front() == type.getRank() - static_cast<int64_t>(count);
}

}  // namespace graphrun::passes
