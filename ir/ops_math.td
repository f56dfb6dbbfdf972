// These operations are element-wise arithmetic, comparisons, reductions and matrix products.
#ifndef GRAPHRUN_IR_OPS_MATH_TD
#define GRAPHRUN_IR_OPS_MATH_TD

include "ir/gr_dialect.td"

def GR_Elementwise : NativeOpTrait<"IsElementwise"> { let cppNamespace = "::graphrun::ir"; }
def GR_PostOp : NativeOpTrait<"MayBePostOp"> { let cppNamespace = "::graphrun::ir"; }

// One operand; the result has the operand's type.
class GR_UnaryOp<string mnemonic, string what, list<Trait> traits = []> :
    GR_PureOp<mnemonic, [GR_Elementwise] # traits> {
  let summary = what;
  let description = "Element-wise: " # what # ". The result has the operand's type.";
  let arguments = (ins GR_Tensor:$input);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_AbsOp : GR_UnaryOp<"abs", "absolute value", [GR_PostOp]>;
def GR_NegOp : GR_UnaryOp<"neg", "negation", [GR_PostOp]>;
def GR_ExpOp : GR_UnaryOp<"exp", "e to the power of x", [GR_PostOp]>;
def GR_LogOp : GR_UnaryOp<"log", "natural logarithm", [GR_PostOp]>;
def GR_ExpM1Op : GR_UnaryOp<"expm1", "e to the power of x, less 1, with all digits near 0">;
def GR_Log1pOp : GR_UnaryOp<"log1p", "natural logarithm of 1 + x, with all digits near 0">;
def GR_SqrtOp : GR_UnaryOp<"sqrt", "square root", [GR_PostOp]>;
def GR_ReciprocalOp : GR_UnaryOp<"reciprocal", "1 / x">;
def GR_FloorOp : GR_UnaryOp<"floor", "largest integer not above x"> { let noGradient = "piecewise constant"; }
def GR_CeilOp : GR_UnaryOp<"ceil", "smallest integer not below x"> { let noGradient = "piecewise constant"; }
def GR_RoundOp : GR_UnaryOp<"round", "nearest integer, halves to even", [GR_PostOp]> {
  let noGradient = "piecewise constant";
}
def GR_SignOp : GR_UnaryOp<"sign", "-1, 0 or 1"> { let noGradient = "piecewise constant"; }
def GR_ErfOp : GR_UnaryOp<"erf", "Gauss error function">;
def GR_SinOp : GR_UnaryOp<"sin", "sine">;
def GR_CosOp : GR_UnaryOp<"cos", "cosine">;
def GR_TanOp : GR_UnaryOp<"tan", "tangent">;
def GR_AsinOp : GR_UnaryOp<"asin", "inverse sine">;
def GR_AcosOp : GR_UnaryOp<"acos", "inverse cosine">;
def GR_AtanOp : GR_UnaryOp<"atan", "inverse tangent">;
def GR_SinhOp : GR_UnaryOp<"sinh", "hyperbolic sine">;
def GR_CoshOp : GR_UnaryOp<"cosh", "hyperbolic cosine">;
def GR_TanhOp : GR_UnaryOp<"tanh", "hyperbolic tangent", [GR_PostOp]>;
def GR_AsinhOp : GR_UnaryOp<"asinh", "inverse hyperbolic sine">;
def GR_AcoshOp : GR_UnaryOp<"acosh", "inverse hyperbolic cosine">;
def GR_AtanhOp : GR_UnaryOp<"atanh", "inverse hyperbolic tangent">;
def GR_SigmoidOp : GR_UnaryOp<"sigmoid", "1 / (1 + exp(-x))", [GR_PostOp]>;
def GR_SoftplusOp : GR_UnaryOp<"softplus", "log(1 + exp(x)), without overflow", [GR_PostOp]>;
def GR_ReluOp : GR_UnaryOp<"relu", "max(x, 0)", [GR_PostOp]>;
def GR_HardSwishOp : GR_UnaryOp<"hard_swish", "x * max(0, min(1, x / 6 + 1 / 2))", [GR_PostOp]>;
def GR_NotOp : GR_UnaryOp<"not", "the complement of each bit of an integer or bool"> {
  let noGradient = "logical";
}

def GR_LeakyReluOp : GR_UnaryOp<"leaky_relu", "x where x >= 0, else alpha * x", [GR_PostOp]> {
  let arguments = (ins GR_Tensor:$input, DefaultValuedAttr<F64Attr, "0.01">:$alpha);
}
def GR_SwishOp : GR_UnaryOp<"swish", "x / (1 + exp(-alpha * x))", [GR_PostOp]> {
  let description = [{
    Element-wise: x times the sigmoid of `alpha` * x; SiLU where `alpha` is 1 (Ramachandran et al.,
    "Searching for Activation Functions", 2017).
  }];
  let arguments = (ins GR_Tensor:$input, DefaultValuedAttr<F64Attr, "1.0">:$alpha);
}
def GR_EluOp : GR_UnaryOp<"elu", "x where x >= 0, else alpha * (exp(x) - 1)", [GR_PostOp]> {
  let arguments = (ins GR_Tensor:$input, DefaultValuedAttr<F64Attr, "1.0">:$alpha);
}
def GR_SeluOp : GR_UnaryOp<"selu", "gamma * x where x > 0, else gamma * alpha * (exp(x) - 1)"> {
  let arguments = (ins GR_Tensor:$input,
                       DefaultValuedAttr<F64Attr, "1.67326319217681884765625">:$alpha,
                       DefaultValuedAttr<F64Attr, "1.05070102214813232421875">:$gamma);
}
def GR_HardSigmoidOp : GR_UnaryOp<"hard_sigmoid", "max(0, min(1, alpha * x + beta))", [GR_PostOp]> {
  let arguments = (ins GR_Tensor:$input, DefaultValuedAttr<F64Attr, "0.2">:$alpha,
                       DefaultValuedAttr<F64Attr, "0.5">:$beta);
}
def GR_GeluOp : GR_UnaryOp<"gelu", "x times the normal distribution's cumulative function at x", [GR_PostOp]> {
  let description = [{
    Element-wise: `x * (1 + erf(x / sqrt 2)) / 2`, or its tanh form when `approximate` is set
    (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016).
  }];
  let arguments = (ins GR_Tensor:$input, DefaultValuedAttr<BoolAttr, "false">:$approximate);
}
def GR_ClipOp : GR_UnaryOp<"clip", "min(max(x, low), high)", [GR_PostOp]> {
  let arguments = (ins GR_Tensor:$input, F64Attr:$low, F64Attr:$high);
}

def GR_CastOp : GR_PureOp<"cast", [GR_Elementwise]> {
  let summary = "convert to another element type";
  let description = [{
    Element-wise conversion. Floating point to integer truncates towards zero; to bool is `x != 0`.
    To the 8-bit floats: unless `saturate` is false, what is out of range becomes the largest value
    of its sign; else infinity, or NaN where the type has none. `round_mode` is of f8e8m0: `up`
    (when absent), `down` or `nearest`; all others round to nearest, ties to even.
  }];
  let arguments = (ins GR_Tensor:$input, TypeAttr:$to, OptionalAttr<BoolAttr>:$saturate,
                       GR_OptionalWord<GR_PowerRounding>:$round_mode);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_BitcastOp : GR_PureOp<"bitcast"> {
  let summary = "the same bits as another element type";
  let description = [{
    Both element types are equally wide. A bool is a byte; what is not 0 becomes 1.
  }];
  let noGradient = "reinterprets bits";
  let arguments = (ins GR_Tensor:$input, TypeAttr:$to);
  let results = (outs GR_Tensor:$output);
}

// Two operands of one element type, NumPy broadcasting.
class GR_BinaryOp<string mnemonic, string what, list<Trait> traits = []> :
    GR_PureOp<mnemonic, [GR_Elementwise] # traits> {
  let summary = what;
  let description = "Element-wise: " # what # ". Operands broadcast as in NumPy.";
  let arguments = (ins GR_Tensor:$lhs, GR_Tensor:$rhs);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}
def GR_AddOp : GR_BinaryOp<"add", "x + y", [Commutative, GR_PostOp]>;
def GR_SubOp : GR_BinaryOp<"sub", "x - y", [GR_PostOp]>;
def GR_MulOp : GR_BinaryOp<"mul", "x * y", [Commutative, GR_PostOp]>;
def GR_DivOp : GR_BinaryOp<"div", "x / y; integers truncate towards zero", [GR_PostOp]>;
def GR_ModOp : GR_BinaryOp<"mod", "what is left of x / y: floored, or truncated when asked for"> {
  let description = [{
    Element-wise remainder `x - q * y`. The quotient q is rounded down, so that the result has the sign
    of y, or towards zero when `truncate` is set, so that it has the sign of x.
  }];
  let arguments = (ins GR_Tensor:$lhs, GR_Tensor:$rhs, DefaultValuedAttr<BoolAttr, "false">:$truncate);
}
def GR_PowOp : GR_BinaryOp<"pow", "x to the power of y">;
def GR_MinOp : GR_BinaryOp<"min", "the smaller one; NaN wins", [Commutative, GR_PostOp]>;
def GR_MaxOp : GR_BinaryOp<"max", "the larger one; NaN wins", [Commutative, GR_PostOp]>;
def GR_PReluOp : GR_BinaryOp<"prelu", "x where x >= 0, else slope * x", [GR_PostOp]>;

// The result is a bool tensor.
class GR_CompareOp<string mnemonic, string what, list<Trait> traits = []> :
    GR_BinaryOp<mnemonic, what, traits> { let noGradient = "logical"; }
def GR_EqualOp : GR_CompareOp<"equal", "x == y", [Commutative, GR_TakesStrings]>;
def GR_LessOp : GR_CompareOp<"less", "x < y">;
def GR_LessEqualOp : GR_CompareOp<"less_equal", "x <= y">;

// On each bit of integers or bools; the result has the operands' type.
class GR_BitsOp<string mnemonic, string what, list<Trait> traits = []> :
    GR_BinaryOp<mnemonic, what, traits> { let noGradient = "works on bits"; }
def GR_AndOp : GR_BitsOp<"and", "and of each bit of integers or bools", [Commutative]>;
def GR_OrOp : GR_BitsOp<"or", "or of each bit of integers or bools", [Commutative]>;
def GR_XorOp : GR_BitsOp<"xor", "exclusive or of each bit of integers or bools", [Commutative]>;
def GR_ShiftLeftOp : GR_BitsOp<"shift_left",
    "x * 2 to the power of y, bits shifted out are lost; 0 for y < 0 or not below the width">;
def GR_ShiftRightOp : GR_BitsOp<"shift_right",
    "floor(x / 2 to the power of y); y < 0 or not below the width leaves only the sign">;

def GR_WhereOp : GR_PureOp<"where", [GR_Elementwise, GR_TakesStrings]> {
  let summary = "x where the condition holds, else y";
  let description = "Element-wise selection. All three operands broadcast as in NumPy.";
  let arguments = (ins GR_Tensor:$condition, GR_Tensor:$lhs, GR_Tensor:$rhs);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_ReduceOp : GR_PureOp<"reduce"> {
  let summary = "reduce over axes: sum, mean, max and so on";
  let description = [{
    `kind` is a word of GR_ReduceKind, and `devices/functions/reductions.def` says what it does. `axes`
    are in [0, rank), ascending and unique; `keepdims` keeps each as a dim of 1.
  }];
  let arguments = (ins GR_Tensor:$input, GR_ReduceKind:$kind, DenseI64ArrayAttr:$axes,
                       DefaultValuedAttr<BoolAttr, "true">:$keepdims);
  let results = (outs GR_Tensor:$output);
  let hasFolder = 1;
}

def GR_MatMulOp : GR_PureOp<"matmul"> {
  let summary = "matrix product, batched as in NumPy";
  let description = [{
    `op(lhs) * op(rhs)` over the last two dims, where op transposes them when `transpose_lhs` or
    `transpose_rhs` is set. Leading dims broadcast; a 1-D operand is a row on the left, a column on
    the right, and its dim of 1 is dropped from the result. Of one type; or u8 by i8, summed in i32,
    as quantized models multiply.
  }];
  let arguments = (ins GR_Tensor:$lhs, GR_Tensor:$rhs,
                       DefaultValuedAttr<BoolAttr, "false">:$transpose_lhs,
                       DefaultValuedAttr<BoolAttr, "false">:$transpose_rhs);
  let results = (outs GR_Tensor:$output);
}

#endif  // GRAPHRUN_IR_OPS_MATH_TD
