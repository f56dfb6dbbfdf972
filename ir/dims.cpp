#include "ir/dims.h"

#include <algorithm>

#include "ir/dialect.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Matchers.h"

namespace graphrun::ir {
namespace {

// An expression of more terms counts as unknown: it would only make later ones larger.
constexpr int kMaxTerms = 64;

bool isLarge(mlir::AffineExpr expr) {
  int terms = 0;
  expr.walk([&](mlir::AffineExpr) { ++terms; });
  return terms > kMaxTerms;
}

/// Applies `known` to two static dims, which gives nothing on overflow, and `symbolic` to two that
/// have expressions.
template <typename Known, typename Symbolic>
Dim combine(const Dim& a, const Dim& b, Known known, Symbolic symbolic) {
  if (a.isUnknown() || b.isUnknown()) {
    return Dim();
  }
  if (a.isStatic() && b.isStatic()) {
    std::optional<int64_t> value = known(a.value(), b.value());
    return value ? Dim(*value) : Dim();
  }
  mlir::MLIRContext* context = (a.isStatic() ? b.expr(nullptr) : a.expr(nullptr)).getContext();
  mlir::AffineExpr expr = symbolic(a.expr(context), b.expr(context));
  return isLarge(expr) ? Dim() : Dim::symbolic(expr);
}

/// `Overflows` (a compiler built-in such as __builtin_add_overflow) as a function of two numbers.
template <typename Overflows>
auto checked(Overflows overflows) {
  return [overflows](int64_t a, int64_t b) {
    int64_t result = 0;
    return overflows(a, b, &result) ? std::nullopt : std::optional(result);
  };
}

/// Sums whose symbols cancel (s0 + 1 - s0) are numbers, as they are to who reads their text.
mlir::AffineExpr withoutCancelled(mlir::AffineExpr expr) {
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary || !(llvm::isa<mlir::AffineBinaryOpExpr>(binary.getLHS()) ||
                   llvm::isa<mlir::AffineBinaryOpExpr>(binary.getRHS()))) {
    return expr;
  }
  unsigned symbols = 0;
  expr.walk([&](mlir::AffineExpr part) {
    if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(part)) {
      symbols = std::max(symbols, symbol.getPosition() + 1);
    }
  });
  mlir::AffineExpr simple = mlir::simplifyAffineExpr(expr, /*numDims=*/0, symbols);
  return llvm::isa<mlir::AffineConstantExpr>(simple) ? simple : expr;
}

}  // namespace

Dim Dim::symbolic(mlir::AffineExpr expr) {
  expr = withoutCancelled(expr);
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr)) {
    return Dim(constant.getValue());
  }
  Dim dim;
  dim.expr_ = expr;
  return dim;
}

mlir::AffineExpr Dim::expr(mlir::MLIRContext* context) const {
  return isStatic() ? mlir::getAffineConstantExpr(value_, context) : expr_;
}

Dim operator+(const Dim& a, const Dim& b) {
  return combine(a, b, checked([](int64_t x, int64_t y, int64_t* z) {
                   return __builtin_add_overflow(x, y, z);
                 }),
                 std::plus<>());
}

Dim operator-(const Dim& a, const Dim& b) {
  return combine(a, b, checked([](int64_t x, int64_t y, int64_t* z) {
                   return __builtin_sub_overflow(x, y, z);
                 }),
                 std::minus<>());
}

Dim operator*(const Dim& a, const Dim& b) {
  bool zero = (a.isStatic() && a.value() == 0) || (b.isStatic() && b.value() == 0);
  return zero ? Dim(0)
              : combine(a, b, checked([](int64_t x, int64_t y, int64_t* z) {
                          return __builtin_mul_overflow(x, y, z);
                        }),
                        std::multiplies<>());
}

Dim Dim::floorDiv(int64_t divisor) const {
  return combine(
      *this, Dim(divisor), [](int64_t a, int64_t b) { return llvm::divideFloorSigned(a, b); },
      [](mlir::AffineExpr a, mlir::AffineExpr b) { return a.floorDiv(b); });
}

Dim Dim::ceilDiv(int64_t divisor) const {
  return combine(
      *this, Dim(divisor), [](int64_t a, int64_t b) { return llvm::divideCeilSigned(a, b); },
      [](mlir::AffineExpr a, mlir::AffineExpr b) { return a.ceilDiv(b); });
}

std::optional<Dims> dimsOf(mlir::Type type) {
  auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!tensor) {
    return std::nullopt;
  }
  auto encoding = llvm::dyn_cast_or_null<DimsAttr>(tensor.getEncoding());
  Dims dims;
  for (auto [i, size] : llvm::enumerate(tensor.getShape())) {
    if (!mlir::ShapedType::isDynamic(size)) {
      dims.push_back(Dim(size));
    } else if (encoding && !llvm::isa<mlir::AffineDimExpr>(encoding.getMap().getResult(i))) {
      dims.push_back(Dim::symbolic(encoding.getMap().getResult(i)));
    } else {
      dims.push_back(Dim());
    }
  }
  return dims;
}

mlir::RankedTensorType tensorType(llvm::ArrayRef<Dim> dims, mlir::Type elementType) {
  mlir::MLIRContext* context = elementType.getContext();
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<mlir::AffineExpr> exprs;
  bool symbolic = false;
  unsigned symbols = 0;
  for (const Dim& dim : dims) {
    shape.push_back(dim.isStatic() ? dim.value() : mlir::ShapedType::kDynamic);
    exprs.push_back(dim.isUnknown() ? mlir::getAffineDimExpr(0, context) : dim.expr(context));
    symbolic |= !dim.isStatic() && !dim.isUnknown();
    exprs.back().walk([&](mlir::AffineExpr expr) {
      if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr)) {
        symbols = std::max(symbols, symbol.getPosition() + 1);
      }
    });
  }
  mlir::Attribute encoding;
  if (symbolic) {
    encoding = DimsAttr::get(context, mlir::AffineMap::get(1, symbols, exprs, context));
  }
  return mlir::RankedTensorType::get(shape, elementType, encoding);
}

std::optional<Dim> broadcast(const Dim& a, const Dim& b) {
  if (a.isStatic() && a.value() == 1) {
    return b;
  }
  if (b.isStatic() && b.value() == 1) {
    return a;
  }
  if (provablyDifferent(a, b)) {
    return std::nullopt;
  }
  if (a.isStatic()) {
    return a;
  }
  return b.isStatic() || provablyEqual(a, b) ? b : Dim();
}

std::optional<Dims> broadcast(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b) {
  if (a.size() < b.size()) {
    std::swap(a, b);
  }
  Dims dims(a.begin(), a.end());
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    std::optional<Dim> dim = broadcast(a[offset + i], b[i]);
    if (!dim) {
      return std::nullopt;
    }
    dims[offset + i] = *dim;
  }
  return dims;
}

Dim product(llvm::ArrayRef<Dim> dims) {
  Dim result(1);
  for (const Dim& dim : dims) {
    result = result * dim;
  }
  return result;
}

std::string toString(llvm::ArrayRef<Dim> dims) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (auto [i, dim] : llvm::enumerate(dims)) {
    stream << (i == 0 ? "" : "x");
    if (dim.isStatic()) {
      stream << dim.value();
    } else if (dim.isUnknown()) {
      stream << "?";
    } else {
      stream << "(" << dim.expr(nullptr) << ")";
    }
  }
  return text.empty() ? "scalar" : text;
}

std::optional<llvm::SmallVector<int64_t>> constantInts(mlir::Value value) {
  mlir::DenseIntElementsAttr attr;
  if (!mlir::matchPattern(value, mlir::m_Constant(&attr))) {
    return std::nullopt;
  }
  bool isUnsigned = attr.getElementType().isUnsignedInteger() || attr.getElementType().isInteger(1);
  llvm::SmallVector<int64_t> ints;
  for (const llvm::APInt& element : attr.getValues<llvm::APInt>()) {
    ints.push_back(isUnsigned ? static_cast<int64_t>(element.getZExtValue())
                              : element.getSExtValue());
  }
  return ints;
}

}  // namespace graphrun::ir
