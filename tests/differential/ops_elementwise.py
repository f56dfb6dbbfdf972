"""Element-wise operations, reductions and what else takes tensors of any shape."""


def _unary(low=None, high=None, **ranges):
    def make(g):
        name = g.schema.inputs[0].name
        attributes = {key: g.float(*bounds) for key, bounds in ranges.items() if g.coin(0.7)}
        return {name: g.array(g.shape(), low, high), **attributes}
    return make


def _binary(low=None, high=None):
    def make(g):
        a, b = (formal.name for formal in g.schema.inputs[:2])
        shape = g.shape()
        pair = [shape, g.broadcast(shape)]
        if g.coin():
            pair.reverse()
        return {a: g.array(pair[0]), b: g.array(pair[1], low, high)}
    return make


def _variadic(g):
    shape = g.shape()
    return {"data": [g.array(g.broadcast(shape)) for _ in range(g.int(1, 4))]}


def _shift(g):
    shape = g.shape()
    return {"X": g.array(shape, 0, 100), "Y": g.array(g.broadcast(shape), 0, 7),
            "direction": g.pick("LEFT", "RIGHT")}


def _mod(g):
    made = _binary(1, 9)(g)
    made["fmod"] = 1 if "float" in g.typeOf("T") or g.typeOf("T") == "double" else g.int(0, 1)
    return made


def _pow(g):
    shape = g.shape()
    return {"X": g.array(shape, 0.1, 3), "Y": g.array(g.broadcast(shape), -2, 3)}


def _prelu(g):
    shape = g.shape(1)
    return {"X": g.array(shape), "slope": g.array(tuple(1 if g.coin(0.3) else d for d in shape)
                                                  [g.int(0, len(shape) - 1):])}


def _where(g):
    shape = g.shape()
    return {"condition": g.array(g.broadcast(shape)), "X": g.array(g.broadcast(shape)),
            "Y": g.array(shape)}


def _clip(g):
    return {"input": g.array(g.shape()), "min": g.array((), -2, 0) if g.coin(0.7) else None,
            "max": g.array((), 1, 3) if g.coin(0.7) else None}


def _isInf(g):
    return {"X": g.array(g.shape()), "detect_negative": g.int(0, 1), "detect_positive": g.int(0, 1)}


def _gelu(g):
    return {"X": g.array(g.shape()), "approximate": g.pick("none", "tanh")}


def _cast(g):
    from values import TYPES, elementType

    target = g.pick(*[name for name in TYPES if f"tensor({name})" in next(
        c.allowed_type_strs for c in g.schema.type_constraints if c.type_param_str == "T2")])
    source = g.typeOf("T1")
    if "string" in (source, target):
        g.types["T1"] = source = g.pick("float", "int32")
        target = g.pick("double", "int64")
    low = 0 if target.startswith("uint") else None
    return {"input": g.array(g.shape(), low, None if low is None else 3),
            "to": elementType(target), "saturate": g.int(0, 1) if target.startswith("float8") else None}


def _castLike(g):
    g.types["T1"] = g.pick("float", "int32", "double", "float16")
    g.types["T2"] = g.pick("float", "int64", "double", "bfloat16")
    return {"input": g.array(g.shape()), "target_type": g.array(g.shape())}


def _reduce(low=None, high=None):
    def make(g):
        shape = g.shape()
        axes = g.axes(len(shape))
        made = {"data": g.array(shape, low, high), "keepdims": g.int(0, 1)}
        if axes or g.coin(0.3):
            made["axes"] = g.ints(axes)
        if g.coin(0.3):
            made["noop_with_empty_axes"] = g.int(0, 1)
        if not axes and "axes" in g.schema.attributes:  # which cannot be an empty list
            made.pop("axes", None)
        return made
    return make


def _arg(g):
    shape = g.shape(1, least=1)
    return {"data": g.array(shape), "axis": g.axis(len(shape)), "keepdims": g.int(0, 1),
            "select_last_index": g.int(0, 1)}


def _softmax(g):
    shape = g.shape(1)
    return {"input": g.array(shape), "axis": g.axis(len(shape)) if g.coin(0.8) else None}


def _cum(g):
    shape = g.shape(1)
    return {"x": g.array(shape, -1.5, 1.5), "axis": g.ints(g.axis(len(shape))),
            "exclusive": g.int(0, 1), "reverse": g.int(0, 1)}


def _swiglu(g):
    shape = g.shape()
    return {"A": g.array(shape), "B": g.array(shape), "alpha": g.float(0.5, 2)}


def _dropout(g):
    return {"data": g.array(g.shape()), "ratio": g.array((), 0, 0.9) if g.coin() else None,
            "outputs": 1}


_SPREAD = (-2, 2)
GENERATORS = {
    **{name: _unary() for name in (
        "Abs Asinh Atan BitwiseNot Ceil Cos Cosh Erf Exp Floor HardSwish Identity IsNaN Log Mish Neg Not "
        "Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh Shape Size "
        "NonZero").split()},
    **{name: _binary() for name in (
        "Add Sub Mul And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual BitwiseAnd BitwiseOr "
        "BitwiseXor").split()},
    **{name: _variadic for name in ("Max", "Min", "Mean", "Sum")},
    **{f"Reduce{kind}": _reduce() for kind in "L1 L2 Max Mean Min Sum SumSquare LogSumExp".split()},
    "ReduceProd": _reduce(-1.5, 1.5), "ReduceLogSum": _reduce(0.1, 3),
    "Acos": _unary(-1.1, 1.1), "Asin": _unary(-1.1, 1.1), "Atanh": _unary(-1.1, 1.1),
    "Acosh": _unary(0.9, 9), "Div": _binary(1, 9), "Mod": _mod, "Pow": _pow, "BitShift": _shift,
    "PRelu": _prelu, "Where": _where, "Clip": _clip, "IsInf": _isInf, "Gelu": _gelu, "Cast": _cast,
    "CastLike": _castLike, "ArgMax": _arg, "ArgMin": _arg, "Softmax": _softmax,
    "LogSoftmax": _softmax, "Hardmax": _softmax, "CumSum": _cum, "CumProd": _cum,
    "SwiGLU": _swiglu, "Dropout": _dropout,
    "Celu": _unary(alpha=(0.1, 2)), "Elu": _unary(alpha=_SPREAD), "LeakyRelu": _unary(alpha=_SPREAD),
    "Selu": _unary(alpha=_SPREAD, gamma=_SPREAD), "HardSigmoid": _unary(alpha=_SPREAD, beta=_SPREAD),
    "ThresholdedRelu": _unary(alpha=_SPREAD), "Swish": _unary(alpha=_SPREAD),
    "Shrink": _unary(lambd=(0, 2), bias=_SPREAD),
}
