"""Models with symbolic dims or no rank that are fed with one shape after another in one session."""

import numpy as np
import onnx

from case import Case
from graphs import Growing
from values import tensor


class Symbolic(Growing):
    """A growing graph of values N x T x C with symbolic N and T; shapes are those of the first set."""

    def block(self, value):
        width = self.shapes[value][-1]
        kind = self.pick("product", "norm", "softmax", "attention", "gate", "sum", "concat", "shape")
        shape = self.shapes[value]
        if kind == "product":
            return self.matmul(value)
        if kind == "norm":
            return self.node("LayerNormalization", [value, self.fresh((width,), True)], shape,
                             epsilon=1e-2)
        if kind == "softmax":
            return self.node("Softmax", [value], shape, axis=self.pick(-1, 1, 2))
        if kind == "attention":
            turned = self.node("Transpose", [value], (shape[0], width, shape[1]), perm=[0, 2, 1])
            scores = self.node("MatMul", [value, turned], (shape[0], shape[1], shape[1]))
            return self.node("MatMul", [self.node("Softmax", [scores], self.shapes[scores]), value],
                             shape)
        if kind == "gate":
            return self.node("Mul", [value, self.node("Sigmoid", [value], shape)], shape)
        if kind == "sum":
            total = self.node("ReduceMean", [value, self.number([1])], (shape[0], 1, width),
                              keepdims=1)
            return self.node("Sub", [value, total], shape)
        if kind == "concat":
            both = self.node("Concat", [value, self.unary(value)], shape[:2] + (2 * width,), axis=2)
            return both if width < 40 else value
        return self.reshaped(value)

    def reshaped(self, value):
        """Reshape by a shape that is computed from the value's own."""
        shape, width = self.shapes[value], self.shapes[value][-1]
        dims = self.builder.node("Shape", [value])
        first = self.builder.node("Gather", [dims, self.number([0])], axis=0)
        target = self.builder.node("Concat", [first, self.number([-1])], axis=0)
        flat = self.node("Reshape", [value, target], (shape[0], shape[1] * width))
        back = self.node("Reshape", [flat, dims], shape)
        return back


def _declare(model, names, random):
    """Opens the inputs: symbolic N and T, or no rank at all."""
    ranks = random.random() < 0.3
    for value in model.graph.input:
        kind = value.type.tensor_type
        if value.name not in names:
            continue
        if ranks:
            kind.ClearField("shape")
            continue
        for index, name in enumerate(("N", "T")):
            kind.shape.dim[index].dim_param = name
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")


def symbolic(random):
    """A small network over N x T x C, run with several N and T."""
    g = Symbolic(random, "float")
    width = g.pick(1, 3, 8, 16)
    shapes = [(g.pick(0, 1, 2, 3) if g.coin(0.1) else g.int(1, 3), g.int(1, 9), width)
              for _ in range(g.int(2, 4))]
    first = g.fresh(shapes[0], constant=False)
    for _ in range(g.int(2, 7)):
        g.tame(g.block([n for n, s in g.shapes.items() if len(s) == 3][-1]))
    values = [node.output[0] for node in g.builder.nodes]
    case = g.builder.case("symbolic", values[-1:], strategy="symbolic")
    feeds = [dict(case.feeds[0]) for _ in shapes]
    for feed, shape in zip(feeds, shapes):
        feed[first] = tensor(random, "float", shape)
    fixed = {name for name, array in case.feeds[0].items() if name != first}
    _freeze(case.model, {name: case.feeds[0][name] for name in fixed
                         if np.shape(case.feeds[0][name])[:2] == shapes[0][:2]})
    _declare(case.model, {first}, random)
    names = {value.name for value in case.model.graph.input}
    return Case(case.label, case.model, [{k: v for k, v in feed.items() if k in names}
                                         for feed in feeds], strategy="symbolic")


def _freeze(model, arrays):
    """Inputs as initialisers."""
    for value in [v for v in model.graph.input if v.name in arrays]:
        model.graph.initializer.append(onnx.numpy_helper.from_array(arrays[value.name], value.name))
        model.graph.input.remove(value)


STRATEGIES = {"symbolic": symbolic}
