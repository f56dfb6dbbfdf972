#include "devices/codegen/linear_offsets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Analysis/FlatLinearValueConstraints.h"

namespace graphrun::devices::codegen {
namespace {

using Coefficients = llvm::SmallVector<int64_t>;

/// There are none that round upwards.
bool isDivision(mlir::AffineExpr expr) {
  return expr.getKind() == mlir::AffineExprKind::FloorDiv ||
         expr.getKind() == mlir::AffineExprKind::Mod;
}

bool hasDivision(mlir::AffineExpr expr) {
  bool found = false;
  expr.walk([&](mlir::AffineExpr part) { found |= isDivision(part); });
  return found;
}

/// A sum as `divisor` times one sum and the rest, whose coefficients are in [0, divisor).
struct Division {
  Coefficients quotient, rest;
  int64_t divisor;

  /// The rest is less than the divisor in all iterations: nothing is carried.
  bool isExact(llvm::ArrayRef<int64_t> loops) const {
    int64_t most = rest.back();
    for (auto [coefficient, size] : llvm::zip(rest, loops)) {
      most += coefficient * (size - 1);
    }
    return most < divisor;
  }
};

/// A sum divided by a constant; nothing when they are something else.
std::optional<Division> divisionOf(mlir::AffineExpr sum, mlir::AffineExpr divisor, size_t loops) {
  auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(divisor);
  std::optional<Coefficients> flat = coefficientsOf(sum, loops);
  if (!constant || constant.getValue() < 1 || !flat) {
    return std::nullopt;
  }
  Division division{{}, {}, constant.getValue()};
  for (int64_t coefficient : *flat) {
    division.quotient.push_back(llvm::divideFloorSigned(coefficient, division.divisor));
    division.rest.push_back(llvm::mod(coefficient, division.divisor));
  }
  return division;
}

mlir::AffineExpr sumOf(llvm::ArrayRef<int64_t> coefficients, mlir::MLIRContext* context) {
  mlir::AffineExpr sum = mlir::getAffineConstantExpr(coefficients.back(), context);
  for (auto [i, coefficient] : llvm::enumerate(coefficients.drop_back())) {
    sum = sum + mlir::getAffineDimExpr(i, context) * coefficient;
  }
  return sum;
}

}  // namespace

std::optional<Coefficients> coefficientsOf(mlir::AffineExpr offset, size_t loops) {
  Coefficients flat;
  mlir::AffineExpr simplified = mlir::simplifyAffineExpr(offset, loops, 0);
  if (!simplified.isPureAffine() || hasDivision(simplified) ||
      mlir::failed(mlir::getFlattenedAffineExpr(simplified, loops, 0, &flat))) {
    return std::nullopt;
  }
  return flat;
}

mlir::AffineExpr withoutDivisions(mlir::AffineExpr offset, llvm::ArrayRef<int64_t> loops) {
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(offset);
  if (!binary) {
    return offset;
  }
  mlir::AffineExpr left = withoutDivisions(binary.getLHS(), loops);
  mlir::AffineExpr right = withoutDivisions(binary.getRHS(), loops);
  if (isDivision(offset)) {
    std::optional<Division> division = divisionOf(left, right, loops.size());
    if (division && division->isExact(loops)) {
      bool isRest = offset.getKind() == mlir::AffineExprKind::Mod;
      return sumOf(isRest ? division->rest : division->quotient, offset.getContext());
    }
  }
  return mlir::getAffineBinaryOpExpr(offset.getKind(), left, right);
}

std::optional<LoopSplit> splitFor(mlir::AffineExpr offset, llvm::ArrayRef<int64_t> loops) {
  std::optional<LoopSplit> split;
  offset.walk([&](mlir::AffineExpr part) {
    auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(part);
    std::optional<Division> division =
        binary && isDivision(part) ? divisionOf(binary.getLHS(), binary.getRHS(), loops.size())
                                   : std::nullopt;
    if (split || !division || division->isExact(loops)) {
      return;
    }
    for (auto [i, size] : llvm::enumerate(loops)) {
      int64_t step = division->rest[i];
      int64_t inner = step > 0 && division->divisor % step == 0 ? division->divisor / step : 0;
      if (inner > 1 && size > inner && size % inner == 0) {
        split = LoopSplit{static_cast<unsigned>(i), inner};
        return;
      }
    }
  });
  return split;
}

}  // namespace graphrun::devices::codegen
