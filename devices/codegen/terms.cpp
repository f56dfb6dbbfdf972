#include "devices/codegen/terms.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace graphrun::devices::codegen {
namespace {

constexpr int64_t kFractionBits = 52, kExponentBias = 1023;  // of f64

unsigned bitsIn(const Term& x) {
  return mlir::getElementTypeOrSelf(x.value.getType()).getIntOrFloatBitWidth();
}

/// The float of the size of `word`, in its shape.
mlir::Type floatLike(const Term& word) {
  mlir::Type element = bitsIn(word) == 64 ? mlir::Type(word.builder->getF64Type())
                                          : mlir::Type(word.builder->getF32Type());
  return withShapeOf(word.value.getType(), element);
}

}  // namespace

mlir::Type withShapeOf(mlir::Type like, mlir::Type element) {
  auto vector = llvm::dyn_cast<mlir::VectorType>(like);
  return vector ? mlir::Type(vector.clone(element)) : element;
}

Term anyOf(const Term& condition) {
  return llvm::isa<mlir::VectorType>(condition.value.getType())
             ? condition.make<mlir::vector::ReductionOp>(mlir::vector::CombiningKind::OR,
                                                         condition.value)
             : condition;
}

Term wide(const Term& x) {
  mlir::Type type = withShapeOf(x.value.getType(), x.builder->getF64Type());
  return x.make<mlir::arith::ExtFOp>(type, x.value);
}

Term narrow(const Term& x) {
  mlir::Type type = withShapeOf(x.value.getType(), x.builder->getF32Type());
  return x.make<mlir::arith::TruncFOp>(type, x.value);
}

Term whereRare(const Term& condition, const Term& usual, const Term& x,
               llvm::function_ref<Term(const Term&)> rare) {
  auto branch = x.builder->create<mlir::scf::IfOp>(
      x.loc, anyOf(condition).value,
      [&](mlir::OpBuilder& builder, mlir::Location loc) {
        Term inside{&builder, loc, x.value};
        Term chosen = inside.with(condition.value).choose(rare(inside), usual);
        builder.create<mlir::scf::YieldOp>(loc, chosen.value);
      },
      [&](mlir::OpBuilder& builder, mlir::Location loc) {
        builder.create<mlir::scf::YieldOp>(loc, usual.value);
      });
  return x.with(branch.getResult(0));
}

Term polynomial(const Term& x, llvm::ArrayRef<double> coefficients) {
  Term sum = x.number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back())) {
    sum = fused(sum, x, x.number(coefficient));
  }
  return sum;
}

Word Word::number(int64_t x) const {
  mlir::Type type = term.value.getType();
  mlir::TypedAttr attr = term.builder->getIntegerAttr(mlir::getElementTypeOrSelf(type), x);
  if (auto vector = llvm::dyn_cast<mlir::VectorType>(type)) {
    attr = mlir::DenseElementsAttr::get(vector, attr);
  }
  return {term.make<mlir::arith::ConstantOp>(attr)};
}

Term Word::operator==(int64_t y) const {
  return term.make<mlir::arith::CmpIOp>(mlir::arith::CmpIPredicate::eq, term.value,
                                        number(y).term.value);
}

Term Word::asFloat() const { return term.make<mlir::arith::SIToFPOp>(floatLike(term), term.value); }

Word bitsOf(const Term& x) {
  mlir::Type type = withShapeOf(x.value.getType(), x.builder->getIntegerType(bitsIn(x)));
  return {x.make<mlir::arith::BitcastOp>(type, x.value)};
}

Term floatOf(const Word& bits) {
  const Term& term = bits.term;
  return term.make<mlir::arith::BitcastOp>(floatLike(term), term.value);
}

Term powerOfTwo(const Word& power) {
  return floatOf((power + power.number(kExponentBias)) << kFractionBits);
}

Pair Pair::operator+(const Pair& y) const {
  Pair sum = sumOf(high, y.high);
  return quickSum(sum.high, sum.low + (low + y.low));
}

Pair Pair::operator*(const Pair& y) const {
  Pair product = productOf(high, y.high);
  return quickSum(product.high, product.low + fused(high, y.low, low * y.high));
}

/// Long division with two digits.
Pair Pair::operator/(const Pair& y) const {
  Term first = high / y.high;
  Term rest = fused(-first, y.high, high) + fused(-first, y.low, low);
  return quickSum(first, rest / y.high);
}

Pair Pair::scaled(double factor) const {
  return {high * high.number(factor), low * low.number(factor)};
}

Pair pairOf(const Term& x) { return {x, x.number(0)}; }

Pair sumOf(const Term& x, const Term& y) {
  Term sum = x + y;
  Term ofY = sum - x;
  return {sum, (x - (sum - ofY)) + (y - ofY)};
}

Pair quickSum(const Term& x, const Term& y) {
  Term sum = x + y;
  return {sum, y - (sum - x)};
}

Pair productOf(const Term& x, const Term& y) {
  Term product = x * y;
  return {product, fused(x, y, -product)};
}

/// A step of Newton's from the root of the greater part; of zero it is zero.
Pair squareRoot(const Pair& x) {
  Term root = of<mlir::math::SqrtOp>(x.high);
  Term rest = fused(-root, root, x.high) + x.low;
  Term step = rest / (root + root);
  return quickSum(root, (root == root.number(0)).choose(root, step));
}

Pair choose(const Term& condition, const Pair& x, const Pair& y) {
  return {condition.choose(x.high, y.high), condition.choose(x.low, y.low)};
}

}  // namespace graphrun::devices::codegen
