"""Graphs of many small operations, as ONNX, whose compile time is watched.

    python large_graphs.py SHAPE OPERATIONS -o graph.onnx

A shape says how operations hang together; all compute f32 tensors of 4 x 16 elements from the input "x"
to the output "y". Constants are scalars, each with a value of its own, near 1 so that nothing overflows.
The same arguments give the same graph.
"""

import argparse
import random

import onnx
from onnx import TensorProto, helper

DIMS = [4, 16]
UNARY = ("Relu", "Sigmoid", "Tanh", "Neg", "Abs")
BINARY = ("Add", "Mul", "Sub", "Max", "Min")


class Graph:
    """Nodes and scalars of a graph that is being written."""

    def __init__(self):
        self.nodes = []
        self.scalars = []

    def scalar(self):
        """A constant unlike all before it."""
        name = f"c{len(self.scalars)}"
        value = 1 + (len(self.scalars) + 1) / 2**20
        self.scalars.append(helper.make_tensor(name, TensorProto.FLOAT, [], [value]))
        return name

    def add(self, kind, *operands):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name]))
        return name

    def sum(self, values):
        """The sum of all, pair by pair: as many operations as values, less one."""
        while len(values) > 1:
            pairs = [self.add("Add", *values[i:i + 2]) for i in range(0, len(values) - 1, 2)]
            values = pairs + values[len(values) - len(values) % 2:]
        return values[0]

    def model(self, output):
        self.nodes[-1].output[0] = "y"
        assert output == f"v{len(self.nodes) - 1}"
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, DIMS) for name in "xy"]
        graph = helper.make_graph(self.nodes, "large", ports[:1], ports[1:], self.scalars)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def wide(graph, count):
    """Branches of three operations with constants of their own, summed."""
    return graph.sum([graph.add("Tanh", graph.add("Add", graph.add("Mul", "x", graph.scalar()),
                                                  graph.scalar()))
                      for _ in range(count // 4)])


def chain(graph, count):
    value = "x"
    for i in range(count):
        kind = ("Add", "Tanh", "Mul", "Sigmoid")[i % 4]
        value = graph.add(kind, value, *(["x"] if i % 2 == 0 else []))
    return value


def constants(graph, count):
    """A chain of multiplications by constants."""
    value = "x"
    for _ in range(count):
        value = graph.add("Mul", value, graph.scalar())
    return value


def dag(graph, count):
    """Each operation reads values drawn at random; those that nobody read are summed."""
    draw = random.Random(count)
    values, unread = ["x"], {"x": None}

    def pick():
        near = draw.random() < 0.5
        value = values[-draw.randint(1, min(len(values), 20))] if near else draw.choice(values)
        unread.pop(value, None)
        return value

    while len(graph.nodes) + len(unread) < count + 1:
        sort = draw.random()
        if sort < 0.4:
            value = graph.add(draw.choice(UNARY), pick())
        elif sort < 0.6:
            value = graph.add(draw.choice(BINARY), pick(), graph.scalar())
        else:
            value = graph.add(draw.choice(BINARY), pick(), pick())
        values.append(value)
        unread[value] = None
    return graph.sum(list(unread))


def training(graph, count):
    """Forward and back: the value of each forward operation lives until the way back comes by."""
    values = ["x"]
    for _ in range(count // 3):
        values.append(graph.add("Tanh", values[-1]))
    gradient = values[-1]
    for value in reversed(values[1:]):
        gradient = graph.add("Mul", gradient, graph.add("Neg", value))
    return gradient


def kept(graph, count):
    """Values that all live until a last row of operations reads them, the first one last."""
    values = ["x"]
    for _ in range(count // 2):
        values.append(graph.add("Sigmoid", values[-1]))
    total = values[-1]
    for value in values[1:-1]:
        total = graph.add("Add", total, value)
    return total


SHAPES = {"wide": wide, "chain": chain, "constants": constants, "dag": dag, "training": training,
          "kept": kept}


def model(shape, count):
    """The graph of some `count` operations of a shape."""
    graph = Graph()
    return graph.model(SHAPES[shape](graph, count))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("operations", type=int)
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    onnx.save(model(args.shape, args.operations), args.output)


if __name__ == "__main__":
    main()
