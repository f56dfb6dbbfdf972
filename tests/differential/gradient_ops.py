"""Operations whose gradients are compared: how ONNX writes each, and what it computes, in JAX.

A generator takes a Draw and the values that there are, and returns a Node or None where no value suits it.
What is computed is written from ONNX's specification with functions of jax.numpy, which differentiates it.
"""

import dataclasses
import typing

import jax
import jax.numpy as jnp
import numpy as np


@dataclasses.dataclass
class Node:
    kind: str
    inputs: list  # numbers of values, and arrays that are constants
    attributes: dict
    compute: typing.Callable  # of the inputs in JAX, constants included; the result


class Draw:
    """Draws from the values that a graph has; `values` are their f64 arrays."""

    def __init__(self, random, values):
        self.random = random
        self.values = values

    def chance(self, share):
        return self.random.random() < share

    def integer(self, low, high):
        """From low to high, both included."""
        return int(self.random.integers(low, high + 1))

    def one(self, options):
        return options[self.random.integers(len(options))]

    def value(self, suits=lambda array: True):
        """The number of a value that suits, of late ones rather than early ones; None if none does."""
        found = [i for i, array in enumerate(self.values) if suits(array)]
        return found[max(self.random.integers(len(found), size=2))] if found else None

    def array(self, shape, scale=1.0):
        return np.float32(self.random.normal(0, scale, shape)).astype(np.float64)

    def axis(self, array):
        axis = int(self.random.integers(array.ndim))
        return axis if self.chance(0.5) else axis - array.ndim

    def axes(self, array):
        count = self.integer(1, array.ndim)
        return sorted(int(a) for a in self.random.choice(array.ndim, count, replace=False))


def integers(values):
    return np.array(values, np.int64)


# --- Element-wise --------------------------------------------------------------------------------

def erf(x):
    return jax.scipy.special.erf(x)


def softplus(x):
    return jnp.logaddexp(x, 0.0)


def clipped(x, low, high):
    return jnp.where(x < low, low, jnp.where(x > high, high, x))


UNARY = {
    "Tanh": ({}, jnp.tanh), "Sigmoid": ({}, jax.nn.sigmoid), "Softplus": ({}, softplus), "Exp": ({}, jnp.exp),
    "Relu": ({}, lambda x: jnp.where(x > 0, x, 0.0)), "Erf": ({}, erf), "Sin": ({}, jnp.sin), "Cos": ({}, jnp.cos),
    "Atan": ({}, jnp.arctan), "Asinh": ({}, jnp.arcsinh), "Sinh": ({}, jnp.sinh), "Neg": ({}, jnp.negative),
    "Abs": ({}, jnp.abs), "Softsign": ({}, lambda x: x / (1 + jnp.abs(x))), "Identity": ({}, lambda x: x),
    "LeakyRelu": ({"alpha": 0.25}, lambda x: jnp.where(x < 0, 0.25 * x, x)),
    "Elu": ({"alpha": 1.5}, lambda x: jnp.where(x < 0, 1.5 * jnp.expm1(x), x)),
    "Selu": ({"alpha": 1.5, "gamma": 0.75}, lambda x: 0.75 * jnp.where(x > 0, x, 1.5 * jnp.expm1(x))),
    "Celu": ({"alpha": 0.5}, lambda x: jnp.where(x > 0, x, 0.5 * jnp.expm1(x / 0.5))),
    "Gelu": ({}, lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2)))),
    "Mish": ({}, lambda x: x * jnp.tanh(softplus(x))),
    "HardSigmoid": ({"alpha": 0.25, "beta": 0.5}, lambda x: clipped(0.25 * x + 0.5, 0.0, 1.0)),
    "HardSwish": ({}, lambda x: x * clipped(x / 6 + 0.5, 0.0, 1.0)),
    "ThresholdedRelu": ({"alpha": 0.5}, lambda x: jnp.where(x > 0.5, x, 0.0)),
}
POSITIVE = {"Log": jnp.log, "Sqrt": jnp.sqrt, "Reciprocal": lambda x: 1 / x}
BINARY = {
    "Add": jnp.add, "Sub": jnp.subtract, "Mul": jnp.multiply, "Max": jnp.maximum, "Min": jnp.minimum,
    "PRelu": lambda x, slope: jnp.where(x < 0, slope * x, x),
}


def unary(d):
    kind = d.one(list(UNARY))
    attributes, compute = UNARY[kind]
    return Node(kind, [d.value()], attributes, compute)


def ofPositive(d):
    kind = d.one(list(POSITIVE))
    x = d.value(lambda a: a.size and a.min() > 0.05)
    return None if x is None else Node(kind, [x], {}, POSITIVE[kind])


def partner(d, x):
    """A value, or a constant, that broadcasts to x."""
    shape = d.values[x].shape
    fits = lambda a: a.ndim <= len(shape) and all(
        m in (1, n) for m, n in zip(a.shape[::-1], shape[::-1]))
    if d.chance(0.6):
        return d.value(fits)
    keep = d.integer(0, len(shape))
    return d.array([n if d.chance(0.7) else 1 for n in shape[len(shape) - keep:]])


def binary(d):
    kind = d.one(list(BINARY))
    x = d.value()
    pair = [x, partner(d, x)]
    if kind != "PRelu" and d.chance(0.5):
        pair.reverse()
    return Node(kind, pair, {}, BINARY[kind])


def quotient(d):
    y = d.value(lambda a: a.size and np.abs(a).min() > 0.05)
    if y is None:
        return None
    kind = "Pow" if d.values[y].min() > 0.05 and d.chance(0.5) else "Div"
    if kind == "Pow":
        return Node("Pow", [y, partner(d, y)], {}, jnp.power)
    shape = d.values[y].shape
    x = d.value(lambda a: a.shape == shape)
    return Node("Div", [x, y], {}, jnp.divide)


def select(d):
    x = d.value()
    shape = d.values[x].shape
    condition = d.random.random(shape) < 0.5
    return Node("Where", [condition, x, partner(d, x)], {}, jnp.where)


def clip(d):
    low, high = -0.8, 1.1
    return Node("Clip", [d.value(), np.float64(low), np.float64(high)], {},
                lambda x, *bounds: clipped(x, *bounds))


# --- Reductions, products, normalisation ------------------------------------------------------------

REDUCTIONS = {
    "ReduceSum": jnp.sum, "ReduceMean": jnp.mean, "ReduceMax": jnp.max, "ReduceMin": jnp.min,
    "ReduceProd": jnp.prod,
    "ReduceL1": lambda x, **k: jnp.sum(jnp.abs(x), **k), "ReduceSumSquare": lambda x, **k: jnp.sum(x * x, **k),
    "ReduceL2": lambda x, **k: jnp.sqrt(jnp.sum(x * x, **k)),
    "ReduceLogSumExp": lambda x, **k: jax.scipy.special.logsumexp(x, **k),
}


def reduction(d):
    kind = d.one(list(REDUCTIONS))
    x = d.value(lambda a: a.ndim > 0 and (kind != "ReduceL2" or a.size and np.abs(a).min() > 1e-3))
    if x is None:
        return None
    axes, keep = d.axes(d.values[x]), d.chance(0.5)
    return Node(kind, [x, integers(axes)], {"keepdims": int(keep)},
                lambda x, _: REDUCTIONS[kind](x, axis=tuple(axes), keepdims=keep))


def matmul(d):
    x = d.value(lambda a: a.ndim >= 1)
    if x is None:
        return None
    n = d.values[x].shape[-1]
    y = d.value(lambda a: a.ndim == 2 and a.shape[0] == n) if d.chance(0.5) else None
    if y is None:
        y = d.array([n, d.integer(1, 5)], 0.5)
    return Node("MatMul", [x, y], {}, jnp.matmul)


def gemm(d):
    x = d.value(lambda a: a.ndim == 2)
    if x is None:
        return None
    left, right = d.chance(0.5), d.chance(0.5)
    m, k = d.values[x].shape[::-1] if left else d.values[x].shape
    n = d.integer(1, 5)
    inputs = [x, d.array([n, k] if right else [k, n], 0.5), d.array(d.one([[n], [1, n], [m, 1], [m, n]]))]
    return Node("Gemm", inputs, {"alpha": 0.75, "beta": 0.5, "transA": int(left), "transB": int(right)},
                lambda a, b, c: 0.75 * (a.T if left else a) @ (b.T if right else b) + 0.5 * c)


def softmax(d):
    x = d.value(lambda a: a.ndim > 0)
    if x is None:
        return None
    axis, log = d.axis(d.values[x]), d.chance(0.5)
    return Node("LogSoftmax" if log else "Softmax", [x], {"axis": axis},
                lambda x: (jax.nn.log_softmax if log else jax.nn.softmax)(x, axis=axis))


def normalised(x, axes, epsilon):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def layerNorm(d):
    x = d.value(lambda a: a.ndim > 0 and a.shape[-1] > 1)
    if x is None:
        return None
    axis = d.integer(0, d.values[x].ndim - 1)
    shape = d.values[x].shape[axis:]
    axes = tuple(range(axis, d.values[x].ndim))
    return Node("LayerNormalization", [x, d.array(shape), d.array(shape)], {"axis": axis, "epsilon": 0.125},
                lambda x, scale, bias: normalised(x, axes, 0.125) * scale + bias)


def channelNorm(d):
    """InstanceNormalization, or BatchNormalization by given statistics."""
    x = d.value(lambda a: a.ndim in (3, 4) and np.prod(a.shape[2:]) > 1)
    if x is None:
        return None
    rank, channels = d.values[x].ndim, d.values[x].shape[1]
    apart = lambda v: v.reshape([-1] + [1] * (rank - 2))
    scale, bias = d.array([channels]), d.array([channels])
    if d.chance(0.5):
        return Node("InstanceNormalization", [x, scale, bias], {"epsilon": 0.125},
                    lambda x, s, b: normalised(x, tuple(range(2, rank)), 0.125) * apart(s) + apart(b))
    variance = d.array([channels]) ** 2
    return Node("BatchNormalization", [x, scale, bias, d.array([channels]), variance], {"epsilon": 0.125},
                lambda x, s, b, m, v: (x - apart(m)) / jnp.sqrt(apart(v) + 0.125) * apart(s) + apart(b))


# --- Convolutions and pools -----------------------------------------------------------------------

def conv(d):
    x = d.value(lambda a: a.ndim in (3, 4))
    if x is None:
        return None
    _, channels, *size = d.values[x].shape
    groups = d.one([g for g in (1, 2, 3) if channels % g == 0])
    kernel = [d.integer(1, min(3, n)) for n in size]
    strides = [d.integer(1, 2) for _ in size]
    dilations = [d.integer(1, 2) if (k - 1) * 2 < n else 1 for k, n in zip(kernel, size)]
    pads = [[d.integer(0, 1), d.integer(0, 1)] for _ in size]
    filters = d.array([groups * d.integer(1, 2), channels // groups, *kernel], 0.5)
    attributes = {"strides": strides, "dilations": dilations, "group": groups, "kernel_shape": kernel,
                  "pads": [p[0] for p in pads] + [p[1] for p in pads]}
    bias = [d.array(filters.shape[:1])] if d.chance(0.5) else []

    def compute(x, w, *b):
        y = jax.lax.conv_general_dilated(x, w, strides, pads, rhs_dilation=dilations, feature_group_count=groups)
        return y + b[0].reshape([-1] + [1] * len(size)) if b else y

    return Node("Conv", [x, filters, *bias], attributes, compute)


def convTranspose(d):
    x = d.value(lambda a: a.ndim in (3, 4) and a.size <= 200)
    if x is None:
        return None
    _, channels, *size = d.values[x].shape
    kernel, strides = [d.integer(1, 3) for _ in size], [d.integer(1, 2) for _ in size]
    filters = d.array([channels, d.integer(1, 3), *kernel], 0.5)

    def compute(x, w):
        turned = jnp.flip(w, tuple(range(2, w.ndim))).swapaxes(0, 1)
        return jax.lax.conv_general_dilated(x, turned, [1] * len(size), [(k - 1, k - 1) for k in kernel],
                                            lhs_dilation=strides)

    return Node("ConvTranspose", [x, filters], {"strides": strides, "kernel_shape": kernel}, compute)


def pool(d):
    x = d.value(lambda a: a.ndim in (3, 4))
    if x is None:
        return None
    size = d.values[x].shape[2:]
    kernel = [d.integer(1, min(3, n)) for n in size]
    strides = [d.integer(1, 2) for _ in size]
    window, step = (1, 1, *kernel), (1, 1, *strides)
    if d.chance(0.5):
        compute = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, step, "VALID")
        return Node("MaxPool", [x], {"kernel_shape": kernel, "strides": strides}, compute)
    compute = lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, window, step, "VALID") / np.prod(kernel)
    return Node("AveragePool", [x], {"kernel_shape": kernel, "strides": strides}, compute)


def globalPool(d):
    x = d.value(lambda a: a.ndim in (3, 4))
    if x is None:
        return None
    axes = tuple(range(2, d.values[x].ndim))
    return Node("GlobalAveragePool", [x], {}, lambda x: x.mean(axes, keepdims=True))


# --- Shapes and movement --------------------------------------------------------------------------

def transpose(d):
    x = d.value()
    order = [int(a) for a in d.random.permutation(d.values[x].ndim)]
    return Node("Transpose", [x], {"perm": order}, lambda x: x.transpose(order)) if order else None


def reshape(d):
    x = d.value()
    size = d.values[x].size
    first = d.one([n for n in range(1, size + 1) if size % n == 0])
    shape = d.one([[first, -1], [-1], [1, first, -1], [-1, first]])
    return Node("Reshape", [x, integers(shape)], {}, lambda x, _: x.reshape(shape))


def concat(d):
    x = d.value(lambda a: a.ndim > 0)
    if x is None:
        return None
    axis = d.axis(d.values[x])
    rest = lambda a: [n for i, n in enumerate(a.shape) if i != axis % a.ndim]
    y = d.value(lambda a: a.ndim == d.values[x].ndim and rest(a) == rest(d.values[x]))
    return Node("Concat", [x, y], {"axis": axis}, lambda *parts: jnp.concatenate(parts, axis))


def slices(d):
    x = d.value(lambda a: a.ndim > 0)
    if x is None:
        return None
    axis = d.integer(0, d.values[x].ndim - 1)
    n = d.values[x].shape[axis]
    start, step = d.integer(0, n - 1), d.integer(1, 2)
    end = d.integer(start + 1, n)
    if d.chance(0.3):  # backwards
        start, end, step = end - 1, start - 1 - n - 1 if start == 0 else start - 1, -step
        stop = None if end < 0 else end
    else:
        stop = end
    inputs = [x] + [integers([v]) for v in (start, end, axis, step)]
    return Node("Slice", inputs, {},
                lambda x, *_: x[(slice(None),) * axis + (slice(start, stop, step),)])


def pad(d):
    x = d.value(lambda a: a.ndim > 0)
    if x is None:
        return None
    mode = d.one(["constant", "reflect", "edge"])
    most = [min(2, n - 1) if mode == "reflect" else 2 for n in d.values[x].shape]
    pads = [(d.integer(0, m), d.integer(0, m)) for m in most]
    flat = integers([p[0] for p in pads] + [p[1] for p in pads])
    return Node("Pad", [x, flat], {"mode": mode}, lambda x, _: jnp.pad(x, pads, mode))


def tile(d):
    x = d.value(lambda a: 0 < a.ndim and a.size <= 60)
    if x is None:
        return None
    repeats = [d.integer(1, 2) for _ in d.values[x].shape]
    return Node("Tile", [x, integers(repeats)], {}, lambda x, _: jnp.tile(x, repeats))


def expand(d):
    x = d.value(lambda a: a.size <= 60)
    if x is None:
        return None
    shape = [d.integer(1, 2)] + [n if n > 1 else d.integer(1, 3) for n in d.values[x].shape]
    return Node("Expand", [x, integers(shape)], {}, lambda x, _: jnp.broadcast_to(x, shape))


def gather(d):
    x = d.value(lambda a: a.ndim > 0)
    if x is None:
        return None
    axis = d.axis(d.values[x])
    n = d.values[x].shape[axis]
    if d.chance(0.5):
        at = d.random.integers(-n, n, d.one([(), (3,), (2, 2)]))
        return Node("Gather", [x, np.asarray(at, np.int64)], {"axis": axis},
                    lambda x, _: jnp.take(x, np.where(at < 0, at + n, at), axis))
    shape = list(d.values[x].shape)
    shape[axis] = d.integer(1, 3)
    at = d.random.integers(0, n, shape)
    return Node("GatherElements", [x, at], {"axis": axis}, lambda x, _: jnp.take_along_axis(x, at, axis))


def cumulative(d):
    x = d.value(lambda a: a.ndim > 0)
    if x is None:
        return None
    axis, back, late = d.axis(d.values[x]), d.chance(0.5), d.chance(0.5)

    def compute(x, _):
        turned = jnp.flip(x, axis) if back else x
        sums = jnp.cumsum(turned, axis) - (turned if late else 0)
        return jnp.flip(sums, axis) if back else sums

    return Node("CumSum", [x, np.asarray(axis, np.int64)], {"reverse": int(back), "exclusive": int(late)}, compute)


def triangle(d):
    x = d.value(lambda a: a.ndim >= 2)
    if x is None:
        return None
    upper, k = d.chance(0.5), d.integer(-1, 1)
    return Node("Trilu", [x, np.asarray(k, np.int64)], {"upper": int(upper)},
                lambda x, _: (jnp.triu if upper else jnp.tril)(x, k))


def largest(d):
    x = d.value(lambda a: a.ndim > 0)
    if x is None:
        return None
    axis = d.values[x].ndim - 1
    k = d.integer(1, d.values[x].shape[axis])
    return Node("TopK", [x, integers([k])], {"axis": axis}, lambda x, _: jax.lax.top_k(x, k)[0])


GENERATORS = [unary, unary, unary, ofPositive, binary, binary, quotient, select, clip, reduction, matmul, gemm,
              softmax, layerNorm, channelNorm, conv, conv, convTranspose, pool, globalPool, transpose, reshape,
              concat, slices, pad, tile, expand, gather, cumulative, triangle, largest]
