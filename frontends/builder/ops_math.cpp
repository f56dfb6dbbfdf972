// Element-wise operations, reductions and products.
#include <numeric>

#include "frontends/builder/op_call.h"
#include "frontends/builder/ops.h"

namespace graphrun::builder {
namespace {

Tensor unary(const char* op, const Tensor& x, const At& at) { return OpCall(op, at, {x}).create(); }

Tensor binary(const char* op, const Operand& x, const Operand& y, const At& at) {
  return OpCall(op, at, {x, y}).create();
}

}  // namespace

#define GR_UNARY(Class, name, builder, rule, flops, onnx, since) \
  Tensor builder(const Tensor& x, const At& at) { return unary(#name, x, at); }
#define GR_FORM_OF_ALPHA(Class, name, builder, flops, form, usual) \
  Tensor builder(const Tensor& x, double alpha, const At& at) {    \
    return OpCall(#name, at, {x}).number("alpha", alpha).create(); \
  }
#define GR_FORM_OF_TWO(Class, name, builder, flops, form, first, firstUsual, second, secondUsual)
#define GR_OWN_UNARY(Class, name, builder, rule, flops)
#define GR_BINARY(Class, name, builder, rule, flops, onnx, since, neutral) \
  Tensor builder(const Operand& x, const Operand& y, const At& at) {       \
    return binary(#name, x, y, at);                                        \
  }
#define GR_OWN_BINARY(Class, name, builder, flops, neutral)
#include "devices/functions/elementwise.def"

Tensor leakyRelu(const Tensor& x, double alpha, const At& at) {
  return OpCall("leaky_relu", at, {x}).number("alpha", alpha).create();
}

Tensor selu(const Tensor& x, const Selu& options, const At& at) {
  return OpCall("selu", at, {x})
      .number("alpha", options.alpha)
      .number("gamma", options.gamma)
      .create();
}

Tensor hardSigmoid(const Tensor& x, const HardSigmoid& options, const At& at) {
  return OpCall("hard_sigmoid", at, {x})
      .number("alpha", options.alpha)
      .number("beta", options.beta)
      .create();
}

Tensor gelu(const Tensor& x, const Gelu& options, const At& at) {
  return OpCall("gelu", at, {x}).flag("approximate", options.approximate).create();
}

Tensor clip(const Tensor& x, double low, double high, const At& at) {
  return OpCall("clip", at, {x}).number("low", low).number("high", high).create();
}

Tensor cast(const Tensor& x, ElementType type, const Cast& options, const At& at) {
  OpCall call("cast", at, {x});
  call.type("to", type);
  if (!options.saturate) {
    call.flag("saturate", false);
  }
  if (type == ElementType::kF8E8M0) {
    call.text("round_mode", options.roundMode);
  }
  return call.create();
}
Tensor bitcast(const Tensor& x, ElementType type, const At& at) {
  return OpCall("bitcast", at, {x}).type("to", type).create();
}

Tensor pow(const Operand& x, const Operand& y, const At& at) { return binary("pow", x, y, at); }
Tensor mod(const Operand& x, const Operand& y, const Mod& options, const At& at) {
  return OpCall("mod", at, {x, y}).flag("truncate", options.truncate).create();
}
Tensor prelu(const Tensor& x, const Operand& slope, const At& at) {
  return OpCall("prelu", at, {x, slope}).create();
}
Tensor notEqual(const Operand& x, const Operand& y, const At& at) {
  return logicalNot(equal(x, y, At(at.location)), at);
}
Tensor greater(const Operand& x, const Operand& y, const At& at) { return less(y, x, at); }
Tensor greaterEqual(const Operand& x, const Operand& y, const At& at) {
  return lessEqual(y, x, at);
}

// An operator has no place for a name; the line is where its first operand was converted.
Tensor operator+(const Operand& x, const Operand& y) { return add(x, y, At(x.location())); }
Tensor operator-(const Operand& x, const Operand& y) { return sub(x, y, At(x.location())); }
Tensor operator*(const Operand& x, const Operand& y) { return mul(x, y, At(x.location())); }
Tensor operator/(const Operand& x, const Operand& y) { return div(x, y, At(x.location())); }
Tensor operator-(const Operand& x) { return neg(x.tensor(), At(x.location())); }
Tensor operator==(const Operand& x, const Operand& y) { return equal(x, y, At(x.location())); }
Tensor operator!=(const Operand& x, const Operand& y) { return notEqual(x, y, At(x.location())); }
Tensor operator<(const Operand& x, const Operand& y) { return less(x, y, At(x.location())); }
Tensor operator<=(const Operand& x, const Operand& y) { return lessEqual(x, y, At(x.location())); }
Tensor operator>(const Operand& x, const Operand& y) { return greater(x, y, At(x.location())); }
Tensor operator>=(const Operand& x, const Operand& y) {
  return greaterEqual(x, y, At(x.location()));
}
Tensor& Tensor::operator+=(const Operand& y) { return *this = add(*this, y, At(y.location())); }
Tensor& Tensor::operator-=(const Operand& y) { return *this = sub(*this, y, At(y.location())); }
Tensor& Tensor::operator*=(const Operand& y) { return *this = mul(*this, y, At(y.location())); }
Tensor& Tensor::operator/=(const Operand& y) { return *this = div(*this, y, At(y.location())); }

Tensor where(const Tensor& condition, const Operand& x, const Operand& y, const At& at) {
  OpCall call("where", at, {condition, x, y});
  if (x.isScalar() && y.isScalar()) {
    call.problem("both choices are numbers, expected a tensor among them; use Graph::scalar");
  }
  return call.create();
}

const char* nameOf(Reduction kind) {
  switch (kind) {
#define GR_REDUCE_KIND(Kind, name, rule, flops, nothing, onnx, axesInput) \
  case Reduction::k##Kind:                                                \
    return #name;
#include "devices/functions/reductions.def"
  }
  return "";
}

Tensor reduce(const Tensor& x, Reduction kind, const Reduce& options, const At& at) {
  OpCall call("reduce", at, {x});
  std::vector<int64_t> axes = options.axes;
  if (axes.empty()) {
    if (x.valid() && !x.ranked()) {
      call.problem("reduces all axes of a tensor whose rank is not known; name the axes");
    }
    axes.resize(x.dims().size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  return call.text("kind", nameOf(kind))
      .axes("axes", axes, x)
      .flag("keepdims", options.keepdims)
      .create();
}

Tensor matmul(const Tensor& lhs, const Tensor& rhs, const MatMul& options, const At& at) {
  return OpCall("matmul", at, {lhs, rhs})
      .flag("transpose_lhs", options.transposeLhs)
      .flag("transpose_rhs", options.transposeRhs)
      .create();
}

}  // namespace graphrun::builder
