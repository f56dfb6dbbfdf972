"""Writes deep_graphs.py nested DEPTH: graphs of If in each other; chain LENGTH: nodes one after the other."""
import sys

from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT


def value(name, kind=FLOAT, shape=(2,)):
    return helper.make_tensor_value_info(name, kind, shape)


def varint(number):
    text = b""
    while number > 127:
        text += bytes([number & 127 | 128])
        number >>= 7
    return text + bytes([number])


def field(number, data):
    """A field of bytes: the file is written by hand, since Python cannot nest messages that deep."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def branch(name, graph):
    return field(5, field(1, name) + field(6, graph) + varint(20 << 3) + varint(5))


def model(graph):
    return varint(1 << 3) + varint(8) + field(7, graph) + field(8, helper.make_opsetid("", 17).SerializeToString())


def nested(depth):
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["z"])], "e", [], [value("z")]).SerializeToString()
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y0"])], "b", [], [value("y0")]).SerializeToString()
    for i in range(1, depth + 1):
        node = field(1, b"c") + field(2, b"y%d" % i) + field(4, b"If")
        node += branch(b"then_branch", graph) + branch(b"else_branch", other)
        graph = field(1, node) + field(2, b"g") + field(12, value(f"y{i}").SerializeToString())
    inputs = (value("x"), value("c", TensorProto.BOOL, ()))
    return model(graph + b"".join(field(11, made.SerializeToString()) for made in inputs))


def chain(length):
    nodes = [helper.make_node("Mul", [f"v{i}" if i else "x", "k"], [f"v{i + 1}"]) for i in range(length)]
    k = helper.make_tensor("k", FLOAT, [], [1.0001])
    graph = helper.make_graph(nodes, "g", [value("x")], [value(f"v{length}")], [k])
    return model(graph.SerializeToString())


with open(sys.argv[3], "wb") as file:
    file.write({"nested": nested, "chain": chain}[sys.argv[1]](int(sys.argv[2])))
