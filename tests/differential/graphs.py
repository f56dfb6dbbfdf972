"""Random graphs that attack fusion and in-place buffers: values with several users, outputs that are
intermediates too, broadcasts, 16 bits, chains behind products, pieces written in place."""

import numpy as np

from case import Builder
from values import tensor

OPSET = 20
_UNARY = ("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Sin", "Cos", "Erf", "Softplus", "Gelu",
          "HardSwish", "Elu", "LeakyRelu", "Sqrt", "Identity", "HardSigmoid", "Mish", "Softsign",
          "Reciprocal", "Clip", "Atan", "Selu", "ThresholdedRelu")
_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu")


class Growing:
    """A graph under construction that knows the shapes of its values."""

    def __init__(self, random, kind="float", opset=OPSET):
        self.random = random
        self.kind = kind
        self.builder = Builder(random, opset)
        self.shapes = {}  # of values in the order in which they were made

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def coin(self, share=0.5):
        return self.random.random() < share

    def int(self, low, high):
        return int(self.random.integers(low, high + 1))

    def fresh(self, shape, constant=None, low=None, high=None):
        name = self.builder.operand(tensor(self.random, self.kind, shape, low, high), constant)
        self.shapes[name] = tuple(shape)
        return name

    def number(self, value, kind=None):
        """A constant scalar or vector of integers, for shapes and the like."""
        return self.builder.constant(np.array(value, dtype=kind or np.int64))

    def scalar(self, value):
        return self.builder.constant(np.asarray(tensor(self.random, self.kind, (), value, value)))

    def any(self, rank=None):
        """A value made before; the latest ones are drawn more often."""
        names = [n for n, s in self.shapes.items() if rank is None or len(s) == rank]
        if not names:
            return None
        back = int(self.random.exponential(2.5))
        return names[max(0, len(names) - 1 - back)]

    def node(self, kind, inputs, shape, **attributes):
        name = self.builder.node(kind, inputs, **attributes)
        self.shapes[name] = tuple(int(d) for d in shape)
        return name

    def unary(self, value):
        """An element-wise operation of one value, kept where it is defined and does not explode."""
        kind, shape = self.pick(*_UNARY), self.shapes[value]
        if kind in ("Exp", "Sqrt", "Reciprocal"):
            value = self.node("Sigmoid" if kind != "Sqrt" else "Abs", [value], shape)
        if kind == "Clip":
            return self.node(kind, [value, self.scalar(-1), self.scalar(1.5)], shape)
        return self.node(kind, [value], shape)

    def partner(self, shape):
        """A value that broadcasts to `shape`: made before, or fresh and smaller."""
        fitting = [n for n, s in self.shapes.items() if _broadcasts(s, shape)]
        if fitting and self.coin(0.6):
            return fitting[self.random.integers(len(fitting))]
        small = tuple(1 if self.coin(0.3) else d for d in shape)
        return self.fresh(small[self.int(0, len(small)):] if self.coin(0.4) else small)

    def binary(self, value):
        kind, shape = self.pick(*_BINARY), self.shapes[value]
        other = self.partner(shape)
        if kind == "Div":
            positive = self.node("Exp", [self.node("Tanh", [other], self.shapes[other])],
                                 self.shapes[other])
            return self.node(kind, [value, positive], shape)
        pair = [value, other]
        if kind != "PRelu" and self.coin():
            pair.reverse()
        return self.node(kind, pair, shape)

    def tame(self, value):
        """Keeps magnitudes near 1, so that 16 bits neither overflow nor lose everything."""
        return self.node("Tanh", [value], self.shapes[value])

    def where(self, value):
        shape = self.shapes[value]
        condition = self.builder.operand(self.random.random(shape) < 0.5)
        return self.node("Where", [condition, value, self.partner(shape)], shape)

    def reduce(self, value):
        shape = self.shapes[value]
        if not shape:
            return value
        axis = self.int(0, len(shape) - 1)
        kind = self.pick("ReduceMean", "ReduceMax", "ReduceSum", "Softmax", "LayerNorm")
        if kind == "Softmax":
            return self.node(kind, [value], shape, axis=axis)
        if kind == "LayerNorm":
            scale = self.fresh(shape[-1:], low=0.5, high=1.5)
            return self.node("LayerNormalization", [value, scale], shape, epsilon=1e-2)
        keep = tuple(1 if i == axis else d for i, d in enumerate(shape))
        inputs = [value, self.number([axis])]
        if kind == "ReduceSum":
            return self.node(kind, inputs, keep, keepdims=1)
        return self.node(kind, inputs, keep, keepdims=1)

    def move(self, value):
        """A change of shape or place."""
        shape = self.shapes[value]
        rank = len(shape)
        kind = self.pick("Transpose", "Reshape", "Slice", "Concat", "Split", "Pad", "Expand")
        if not rank:
            return value
        if kind == "Transpose":
            order = self.random.permutation(rank).tolist()
            return self.node(kind, [value], [shape[i] for i in order], perm=order)
        if kind == "Reshape":
            target = (int(np.prod(shape)),) if self.coin(0.3) else shape[:-1] + (1,) + shape[-1:]
            if len(target) > 5:
                target = (int(np.prod(shape[:-1])), shape[-1])
            return self.node(kind, [value, self.number(target)], target)
        axis = self.int(0, rank - 1)
        if kind == "Slice":
            return self._slice(value, axis)
        if kind == "Concat":
            others = [value] + [self.like(value) for _ in range(self.int(1, 2))]
            self.random.shuffle(others)
            total = [d * len(others) if i == axis else d for i, d in enumerate(shape)]
            return self.node(kind, others, total, axis=axis) if np.prod(total) < 50_000 else value
        if kind == "Split":
            return self._split(value, axis)
        if kind == "Pad":
            pads = [self.int(0, 1) for _ in range(2 * rank)]
            target = [d + pads[i] + pads[i + rank] for i, d in enumerate(shape)]
            return self.node(kind, [value, self.number(pads)], target)
        target = (self.int(2, 3),) + shape
        if rank > 4 or np.prod(target) > 50_000:
            return value
        return self.node(kind, [value, self.number(target)], target)

    def like(self, value):
        """A value of the same shape."""
        same = [n for n, s in self.shapes.items() if s == self.shapes[value]]
        return same[self.random.integers(len(same))] if self.coin(0.7) else \
            self.fresh(self.shapes[value])

    def _slice(self, value, axis):
        shape = list(self.shapes[value])
        begin, step = self.int(0, max(0, shape[axis] - 1)), self.pick(1, 1, 2)
        if self.coin(0.25):
            shape_out = shape
            inputs = [value] + [self.number([v]) for v in (-1, -2**31, axis, -1)]
            return self.node("Slice", inputs, shape_out)
        end = self.int(min(begin + 1, shape[axis]), shape[axis])
        inputs = [value] + [self.number([v]) for v in (begin, end, axis, step)]
        shape[axis] = len(range(begin, end, step))
        return self.node("Slice", inputs, shape)

    def _split(self, value, axis):
        shape = list(self.shapes[value])
        if shape[axis] < 2:
            return value
        first = self.int(1, shape[axis] - 1)
        sizes = [first, shape[axis] - first]
        names = self.builder.node("Split", [value, self.number(sizes)], outputs=2, axis=axis)
        for name, size in zip(names, sizes):
            self.shapes[name] = tuple(shape[:axis] + [size] + shape[axis + 1:])
        return names[self.int(0, 1)]

    def matmul(self, value):
        shape = self.shapes[value]
        if len(shape) < 2 or 0 in shape:
            return value
        width = self.pick(1, 3, 8, 16, 17)
        weight = self.fresh((shape[-1], width), low=-0.5, high=0.5)
        product = self.node("MatMul", [value, weight], shape[:-1] + (width,))
        if self.coin():
            product = self.node("Add", [product, self.fresh((width,))], shape[:-1] + (width,))
        return product

    def finish(self, label, **more):
        """The graph with its last values and some intermediates as outputs."""
        made = [name for node in self.builder.nodes for name in node.output]
        used = {name for node in self.builder.nodes for name in node.input}
        outputs = [name for name in made if name not in used or self.random.random() < 0.1]
        return self.builder.case(label, outputs[-6:], **more)


def _broadcasts(small, shape):
    return len(small) <= len(shape) and all(
        a in (1, b) for a, b in zip(reversed(small), reversed(shape)))


def _shape(random):
    dims = (1, 2, 3, 5, 7, 8, 16, 17, 31)
    return tuple(int(dims[random.integers(len(dims))]) for _ in range(random.integers(0, 5)))


def elementwise(random):
    """A long tree of element-wise operations with broadcasts, reductions and moves among them."""
    kind = ("float", "float", "double", "float16", "bfloat16")[random.integers(5)]
    g = Growing(random, kind)
    shape = _shape(random)
    value = g.fresh(shape if np.prod(shape) < 20_000 else shape[:2], constant=False)
    moves, reductions = g.coin(), g.coin(0.4)
    for _ in range(g.int(3, 40)):
        value = g.any()
        roll = random.random()
        if roll < 0.4:
            g.binary(value)
        elif roll < 0.75:
            g.unary(value)
        elif roll < 0.8:
            g.where(value)
        elif roll < 0.88 and reductions:
            g.reduce(value)
        elif moves:
            g.move(value)
        if len(g.builder.nodes) % 5 == 4:
            g.tame(g.any())
    return g.finish("elementwise", strategy="elementwise")


def products(random):
    """Products with chains of what may become their post-operations behind them."""
    kind = ("float", "float", "float16", "bfloat16")[random.integers(4)]
    g = Growing(random, kind)
    value = g.fresh((g.pick(1, 2, 5, 17), g.pick(1, 3, 8, 33)) if g.coin() else
                    (g.int(1, 3), g.pick(1, 4, 7), g.pick(1, 8, 15)), constant=False)
    for _ in range(g.int(1, 4)):
        value = g.matmul(value)
        for _ in range(g.int(0, 5)):
            value = g.unary(value) if g.coin() else g.binary(value)
        if g.coin(0.3):
            value = g.reduce(value)
        if g.coin(0.3):
            value = g.move(value)
        value = g.tame(value)
    return g.finish("products", strategy="products")


def inPlace(random):
    """Concat, Split, Slice and Reshape around values with several users, all of one shape."""
    g = Growing(random, _kind(random))
    shape = (int(random.integers(1, 5)), int(random.integers(1, 9)), int(random.integers(1, 9)))
    g.fresh(shape, constant=False)
    for _ in range(g.int(4, 25)):
        value = g.any()
        roll = random.random()
        if roll < 0.5:
            g.move(value)
        elif roll < 0.8:
            g.binary(value)
        else:
            g.unary(value)
        if len(g.builder.nodes) % 4 == 3:
            g.tame(g.any())
    return g.finish("in-place", strategy="in-place")


def _kind(random):
    return ("float", "float", "float", "float16", "double")[random.integers(5)]


STRATEGIES = {"elementwise": elementwise, "products": products, "in-place": inPlace}
