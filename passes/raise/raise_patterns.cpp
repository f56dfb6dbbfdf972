#include "passes/raise/raise_patterns.h"

#include <cmath>

#include "mlir/IR/TypeUtilities.h"
#include "passes/weights.h"

namespace graphrun::passes {
namespace {

/// More factors or terms than any form has.
constexpr size_t kMaxTerms = 8;
/// More operations than any form has: what lies behind them stays one value.
constexpr size_t kMaxVisits = 32;

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

/// Values that are still to be looked into, the next one last, as far as the budget goes.
class Parts {
 public:
  explicit Parts(mlir::Value form) : pending_({form}) {}

  bool empty() const { return pending_.empty(); }
  bool exhausted() const { return visits_ > kMaxVisits; }
  mlir::Value next() {
    ++visits_;
    return pending_.pop_back_val();
  }
  void push(mlir::Value value) { pending_.push_back(value); }
  /// In this order.
  void push(mlir::Value first, mlir::Value second) { pending_.append({second, first}); }

 private:
  llvm::SmallVector<mlir::Value> pending_;
  size_t visits_ = 0;
};

}  // namespace

Product productOf(mlir::Value form) {
  Product product;
  auto take = [&](double number) {
    product.factor *= number;
    ++product.constants;
  };
  for (Parts parts(form); !parts.empty();) {
    mlir::Value value = parts.next();
    if (std::optional<double> number = uniformOf(value)) {
      take(*number);
    } else if (product.values.size() >= kMaxTerms || parts.exhausted()) {
      product.values.push_back(value);
    } else if (auto mul = partOf<ir::MulOp>(value, form)) {
      parts.push(mul.getLhs(), mul.getRhs());
    } else if (auto neg = partOf<ir::NegOp>(value, form)) {
      product.factor = -product.factor;
      parts.push(neg.getInput());
    } else if (auto div = partOf<ir::DivOp>(value, form); div && uniformOf(div.getRhs())) {
      take(1 / *uniformOf(div.getRhs()));
      parts.push(div.getLhs());
    } else if (auto pow = partOf<ir::PowOp>(value, form); pow && smallPower(pow) > 0) {
      product.values.append(smallPower(pow), pow.getLhs());
    } else {
      product.values.push_back(value);
    }
  }
  return product;
}

Sum sumOf(mlir::Value form) {
  Sum sum;
  for (Parts parts(form); !parts.empty();) {
    mlir::Value value = parts.next();
    if (std::optional<double> number = uniformOf(value)) {
      sum.constant += *number;
    } else if (sum.values.size() >= kMaxTerms || parts.exhausted()) {
      sum.values.push_back(value);
    } else if (auto plus = partOf<ir::AddOp>(value, form)) {
      parts.push(plus.getLhs(), plus.getRhs());
    } else if (auto minus = partOf<ir::SubOp>(value, form); minus && uniformOf(minus.getRhs())) {
      sum.constant -= *uniformOf(minus.getRhs());
      parts.push(minus.getLhs());
    } else {
      sum.values.push_back(value);
    }
  }
  return sum;
}

Scaled scaledOf(mlir::Value value) {
  Product product = productOf(value);
  bool one = product.values.size() == 1 && product.values[0].getType() == value.getType() &&
             canBeAttribute(product.factor, value.getType());
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

bool isFactor(const Product& product, double number, mlir::Type type) {
  double a = std::abs(product.factor);
  double b = std::abs(number);
  double roundoff = roundoffOf(mlir::getElementTypeOrSelf(type));
  return std::signbit(product.factor) == std::signbit(number) &&
         std::abs(a - b) <= static_cast<double>(product.constants) * roundoff * std::max(a, b);
}

bool canBeAttribute(double number, mlir::Type type) {
  return number != 0 && keepsPrecision(number, mlir::getElementTypeOrSelf(type));
}

bool reducesLast(ir::ReduceOp op, ir::ReduceKind kind, size_t count) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(op.getInput().getType());
  llvm::ArrayRef<int64_t> axes = op.getAxes();
  return op.getKind() == kind && op.getKeepdims() && type && count > 0 && axes.size() == count &&
         axes.back() == type.getRank() - 1 &&
         axes.front() == type.getRank() - static_cast<int64_t>(count);
}

}  // namespace graphrun::passes
