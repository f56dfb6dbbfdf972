// These matchers find the parts of spelled-out forms of larger operations: products, sums and
// constants in any order. Internal to the pass gr-raise-ops.
#ifndef GRAPHRUN_PASSES_RAISE_RAISE_PATTERNS_H_
#define GRAPHRUN_PASSES_RAISE_RAISE_PATTERNS_H_

#include <optional>

#include "ir/dialect.h"
#include "mlir/IR/PatternMatch.h"

namespace graphrun::passes {

/// A value as a number times other values, as far as that shows in what computes it: through mul,
/// div by a constant, neg and pow by a small whole number. Only operations whose result has the
/// type of the value are looked into, and so many of them that every form has fewer.
struct Product {
  double factor = 1;
  size_t constants = 0;  ///< of which `factor` is the product
  llvm::SmallVector<mlir::Value> values;
};
Product productOf(mlir::Value value);

/// The same of a sum: a number and other values, through add, and sub of a constant.
struct Sum {
  double constant = 0;
  llvm::SmallVector<mlir::Value> values;
};
Sum sumOf(mlir::Value value);

/// A number times one value: the product of `value` where it has but one other factor and its
/// number can be an attribute.
struct Scaled {
  double factor = 1;
  mlir::Value value;
};
Scaled scaledOf(mlir::Value value);

/// The one number that all elements of a floating-point constant are.
std::optional<double> uniformOf(mlir::Value value);

/// The factor of `product` is `number` up to the rounding of its constants to the element type of
/// `type`: a model that means `number` cannot come closer.
bool isFactor(const Product& product, double number, mlir::Type type);

/// An attribute may hold `number` in place of constants of `type` that are multiplied one by one:
/// neither is it 0 nor has it left the numbers of full precision.
bool canBeAttribute(double number, mlir::Type type);

/// The inputs of a commutative operation, first the one that `first` names; nothing when neither
/// operand is that.
template <typename Op>
mlir::Value otherOperand(Op op, mlir::Value first) {
  if (op.getLhs() == first) {
    return op.getRhs();
  }
  return op.getRhs() == first ? op.getLhs() : mlir::Value();
}

/// True when the axes of `op` are the last dims of its input, in number `count`, and stay as dims
/// of 1.
bool reducesLast(ir::ReduceOp op, ir::ReduceKind kind, size_t count);

/// Patterns of gr-raise-ops.
void addActivationPatterns(mlir::RewritePatternSet& patterns);     // raise_activation.cpp
void addNormalizationPatterns(mlir::RewritePatternSet& patterns);  // raise_normalization.cpp
void addAttentionPatterns(mlir::RewritePatternSet& patterns);      // raise_attention.cpp

}  // namespace graphrun::passes

#endif  // GRAPHRUN_PASSES_RAISE_RAISE_PATTERNS_H_
