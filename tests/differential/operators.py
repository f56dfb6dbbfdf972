"""Single operations over their attribute space, at any opset, driven by ONNX's schemas.

A generator (ops_*.py) returns {name: Operand or attribute value} for the newest form of its operation.
What the schema of the drawn opset calls an attribute becomes one, what it calls an input becomes one,
and what it does not know is left out; so one generator serves all versions.
"""

import dataclasses
import functools

import numpy as np
from onnx import defs

import ops_elementwise
import ops_nn
import ops_other
import ops_shape
from case import Builder
from values import TYPES, dtypeOf, tensor

OLDEST_OPSET, NEWEST_OPSET = 7, defs.onnx_opset_version()
GENERATORS = {**ops_elementwise.GENERATORS, **ops_shape.GENERATORS, **ops_nn.GENERATORS,
              **ops_other.GENERATORS}
# Operations whose results jump when values are rounded.
ROUGH = {"Floor", "Ceil", "Round", "Sign", "Equal", "Less", "Greater", "LessOrEqual",
         "GreaterOrEqual", "ArgMax", "ArgMin", "TopK", "Hardmax", "Mod", "NonZero", "Unique", "Cast",
         "CastLike", "QuantizeLinear", "DynamicQuantizeLinear", "NonMaxSuppression", "Not"}
QUANTIZED = {"QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"}
# Where NaN, Inf and the ends of the range have no defined result, or peers are known to differ.
TAME = {"ArgMax", "ArgMin", "TopK", "Unique", "Cast", "CastLike", "QuantizeLinear", "NonZero",
        "DynamicQuantizeLinear", "Hardmax", "Resize", "Upsample", "GridSample", "RoiAlign",
        "NonMaxSuppression", "MaxRoiPool", "LRN", "Mod", "Det", "DFT", "STFT", "AffineGrid",
        "Range", "CumSum", "CumProd", "DeformConv", "Attention", "BatchNormalization",
        "LpNormalization", "Col2Im", "Einsum", "Gemm", "MatMul", "Conv", "ConvTranspose", "LSTM",
        "GRU", "RNN", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "Softmax",
        "LogSoftmax", "ReduceLogSumExp", "ReduceL2", "MeanVarianceNormalization", "LpPool",
        "RMSNormalization", "ReduceLogSum", "ReduceL1", "ReduceSumSquare", "GlobalLpPool",
        "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss", "RotaryEmbedding", "Pow",
        "LinearAttention", "CausalConvWithState", "ScatterElements", "ScatterND", "OneHot"}


@dataclasses.dataclass
class Operand:
    """What an input is: its shape, and a type where it is not the one that the schema's variable got."""

    shape: tuple = ()
    low: float = None
    high: float = None
    type: str = None
    values: object = None  # in place of random ones; also gives the shape
    constant: bool = None  # None: drawn


class Draw:
    """Random shapes and choices for a generator."""

    def __init__(self, random, schema, opset):
        self.random = random
        self.schema = schema
        self.opset = opset
        self.types = {}

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def coin(self, share=0.5):
        return self.random.random() < share

    def int(self, low, high):
        return int(self.random.integers(low, high + 1))

    def float(self, low, high):
        return float(np.float32(self.random.uniform(low, high)))

    def dim(self, low=0, high=9):
        """Mostly small and odd; 1 and 0 with a share of their own."""
        roll = self.random.random()
        if roll < 0.03 and low <= 0:
            return 0
        if roll < 0.2 and low <= 1:
            return 1
        if roll < 0.25 and high >= 9:
            return self.pick(16, 17, 31, 33, 64)
        return self.int(max(1, low), high)

    def shape(self, low=0, high=4, least=0):
        return tuple(self.dim(least) for _ in range(self.int(low, high)))

    def axis(self, rank):
        return self.int(-rank, rank - 1) if rank else 0

    def axes(self, rank):
        """Some axes, each once; some counted from the end."""
        chosen = self.random.permutation(rank)[:self.int(0, rank)]
        return [int(a) - (rank if self.coin(0.3) else 0) for a in chosen]

    def broadcast(self, shape):
        """A shape that broadcasts with `shape`: dims set to 1, leading ones left out."""
        other = [1 if self.coin(0.25) else dim for dim in shape]
        return tuple(other[self.int(0, len(other)):] if self.coin(0.3) else other)

    def array(self, shape, low=None, high=None, **more):
        return Operand(tuple(shape), low, high, **more)

    def ints(self, values, type="int64", constant=None):
        return Operand(values=np.array(values), type=type, constant=constant)

    def typeOf(self, variable):
        """The type drawn for a type variable of the schema, as "float"."""
        if variable.startswith("tensor("):
            return variable[len("tensor("):-1]
        if variable not in self.types:
            allowed = [name for name in TYPES if any(
                c.type_param_str == variable and f"tensor({name})" in c.allowed_type_strs
                for c in self.schema.type_constraints)]
            if not allowed:
                raise ValueError(f"no tensor type for {variable}")
            preferred = [name for name in ("float", "int64") if name in allowed]
            names = preferred if preferred and self.coin(0.5) else allowed
            self.types[variable] = self.pick(*names)
        return self.types[variable]


def _slot(schema, newest, key):
    """("attribute" | "input", its index or name), or (None, None), of a name of the newest form."""
    if key in schema.attributes:
        return "attribute", key
    names = [formal.name for formal in schema.inputs]
    if key in names:
        return "input", names.index(key)
    here = [formal.name for formal in newest.inputs]
    if key in here and here.index(key) < len(names) and names[here.index(key)] not in here:
        return "input", here.index(key)
    return None, None


def _attribute(draw, key, value):
    """What an attribute of this name holds; a number of its range for an operand without values."""
    schema = draw.schema
    if isinstance(value, Operand):
        value = draw.float(value.low, value.high) if value.values is None else value.values
    value = value.tolist() if isinstance(value, np.ndarray) else value
    kind = schema.attributes[key].type
    if kind == defs.OpSchema.AttrType.INTS:
        return [int(x) for x in np.atleast_1d(value)]
    if kind in (defs.OpSchema.AttrType.INT, defs.OpSchema.AttrType.FLOAT) and isinstance(value, list):
        value = value[0]
    return float(value) if kind == defs.OpSchema.AttrType.FLOAT else value


def _fill(draw, formal, operand, special):
    name = operand.type or draw.typeOf(formal.type_str)
    if operand.values is not None:
        return np.asarray(operand.values).astype(dtypeOf(name))
    return tensor(draw.random, name, operand.shape, operand.low, operand.high, special)


def _assemble(builder, draw, schema, given, special):
    """Adds the node with its operands; names of its outputs."""
    newest = defs.get_schema(schema.name, NEWEST_OPSET, "")
    attributes, slots, variadic = {}, {}, []
    for key, value in given.items():
        if isinstance(value, list) and value and isinstance(value[0], Operand):
            variadic = [builder.operand(_fill(draw, schema.inputs[-1], one, special), one.constant)
                        for one in value]
            continue
        kind, where = _slot(schema, newest, key)
        if kind == "attribute" and value is not None:
            attributes[where] = _attribute(draw, where, value)
        elif kind == "input" and value is not None:
            slots[where] = value
    inputs = []
    for index in range(max(slots, default=-1) + 1):
        operand = slots.get(index)
        formal = schema.inputs[min(index, len(schema.inputs) - 1)]
        inputs.append("" if operand is None else builder.operand(
            _fill(draw, formal, operand, special), operand.constant))
    count = given.get("outputs", len(schema.outputs) if draw.coin(0.5) else schema.min_output)
    names = [builder.name() for _ in range(max(1, count))]
    builder.add(schema.name, inputs + variadic, names, **attributes)
    return names


@functools.cache
def _versions():
    """{operation: the opsets where a version of it begins}."""
    found = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "" and not schema.deprecated:
            found.setdefault(schema.name, set()).add(schema.since_version)
    return found


def _opset(random, name):
    """An opset: where a version of the operation begins, or any that has it."""
    versions = _versions()[name]
    usable = sorted({max(v, OLDEST_OPSET) for v in versions})
    if random.random() < 0.5:
        return usable[random.integers(len(usable))]
    return int(random.integers(usable[0], min(NEWEST_OPSET, 24) + 1)) if usable[0] <= 24 \
        else usable[-1]


def single(random, name=None):
    """A case of one operation; None where what was drawn makes none."""
    name = name or sorted(GENERATORS)[random.integers(len(GENERATORS))]
    opset = _opset(random, name)
    schema = defs.get_schema(name, opset, "")
    if schema.deprecated:
        return None
    draw = Draw(random, schema, opset)
    builder = Builder(random, opset)
    special = name not in TAME and random.random() < 0.25
    outputs = _assemble(builder, draw, schema, GENERATORS[name](draw), special)
    return builder.case(f"{name}-{opset}", outputs, smooth=name not in ROUGH,
                        quantized=name in QUANTIZED)


def uncovered():
    """Operations of ONNX that no generator makes."""
    return sorted({schema.name for schema in defs.get_all_schemas()
                   if schema.domain == "" and not schema.deprecated} - set(GENERATORS))

