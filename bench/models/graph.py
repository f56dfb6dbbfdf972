"""Writes an ONNX graph node by node, with seeded random weights, as exporters spell it."""

import math

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET, IR_VERSION = 17, 8
# What keeps the spread of activations the same behind a layer whose input went through …
LINEAR, RELU = 1.0, math.sqrt(2)


class Graph:
    """One graph in the making. Values are named by their strings, as in ONNX."""

    def __init__(self, name, seed=2026):
        self.name, self.random = name, np.random.default_rng(seed)
        self.nodes, self.inputs, self.outputs, self.tensors = [], [], [], []

    def input(self, name, dims, kind=onnx.TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, dims))
        return name

    def output(self, value, dims):
        self.outputs.append(helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, dims))

    def op(self, kind, *inputs, outputs=1, **attributes):
        """Adds a node; its result, or the list of them if there are several."""
        name = f"{kind}_{len(self.nodes)}"
        names = [name] if outputs == 1 else [f"{name}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"/{name}", **attributes))
        return names[0] if outputs == 1 else names

    def tensor(self, array):
        name = f"tensor_{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def number(self, value):
        return self.tensor(np.float32(value))

    def ints(self, *values):
        return self.tensor(np.array(values, np.int64))

    def weight(self, *shape, spread=0.02, mean=0.0):
        values = self.random.standard_normal(shape, np.float32) * np.float32(spread)
        return self.tensor(values + np.float32(mean))

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                 ir_version=IR_VERSION, producer_name="graphrun-bench")


def linear(graph, x, width, out, gain=LINEAR):
    """A matrix and a bias on the last dimension."""
    product = graph.op("MatMul", x, graph.weight(width, out, spread=gain / math.sqrt(width)))
    return graph.op("Add", graph.weight(out), product)


def dense(graph, x, width, out, gain=LINEAR):
    """The same for a matrix of samples, as Gemm."""
    weight = graph.weight(out, width, spread=gain / math.sqrt(width))
    return graph.op("Gemm", x, weight, graph.weight(out), transB=1)


def conv(graph, x, width, out, kernel=1, stride=1, groups=1, gain=LINEAR, bias=True):
    """A convolution that keeps the size but for the stride."""
    spread = gain / math.sqrt(width // groups * kernel * kernel)
    weights = [graph.weight(out, width // groups, kernel, kernel, spread=spread)]
    if bias:
        weights.append(graph.weight(out, spread=0.1))
    return graph.op("Conv", x, *weights, kernel_shape=[kernel] * 2, strides=[stride] * 2,
                    pads=[kernel // 2] * 4, dilations=[1, 1], group=groups)


def size(graph, x, axis):
    """The size of one dimension as a tensor of one element, as tracing exporters ask for it."""
    dim = graph.op("Gather", graph.op("Shape", x), graph.tensor(np.int64(axis)), axis=0)
    return graph.op("Unsqueeze", dim, graph.ints(0))


def view(graph, x, *dims):
    """Reshapes to `dims`, each a number or the result of size()."""
    dims = [dim if isinstance(dim, str) else graph.ints(dim) for dim in dims]
    return graph.op("Reshape", x, graph.op("Concat", *dims, axis=0))
