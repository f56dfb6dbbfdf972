"""Writes a small language model's first block, with what GPUs compute by generated kernels and by products:
an embedding, two attentions over shared keys, an MLP, and a pooled image beside it. usage: gpu_model.py FILE"""
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

HIDDEN, HEADS, LENGTH, WORDS = 32, 4, 6, 50
random = np.random.RandomState(3)
weights, nodes = [], []


def weight(name, *dims):
    weights.append(numpy_helper.from_array(random.uniform(-0.4, 0.4, dims).astype("f"), name))
    return name


def ints(name, values):
    weights.append(numpy_helper.from_array(np.array(values, "q"), name))
    return name


def node(kind, inputs, **attributes):
    output = f"{kind}_{len(nodes)}"
    nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
    return output


def heads(x, name, permutation):
    flat = node("MatMul", [x, weight(name, HIDDEN, HIDDEN)])
    split = node("Reshape", [flat, "split"])
    return node("Transpose", [split], perm=permutation)


def attention(x, name):
    query = heads(x, name + "q", [0, 2, 1, 3])
    key = heads(x, name + "k", [0, 2, 3, 1])
    value = heads(x, name + "v", [0, 2, 1, 3])
    scores = node("Div", [node("MatMul", [query, key]), "root"])
    seen = node("MatMul", [node("Softmax", [node("Add", [scores, "mask"])], axis=-1), value])
    return node("Reshape", [node("Transpose", [seen], perm=[0, 2, 1, 3]), "join"])


def norm(x, name):
    return node("LayerNormalization", [x, weight(name + "s", HIDDEN), weight(name + "b", HIDDEN)])


ints("split", [2, LENGTH, HEADS, HIDDEN // HEADS])
ints("join", [2, LENGTH, HIDDEN])
weights.append(numpy_helper.from_array(np.float32(np.sqrt(HIDDEN / HEADS)), "root"))
weights.append(numpy_helper.from_array(np.triu(np.full((LENGTH, LENGTH), -1e9, "f"), 1), "mask"))
x = node("Gather", [weight("embedding", WORDS, HIDDEN), "ids"])
for layer in ("a", "b"):
    seen = node("MatMul", [attention(norm(x, layer + "1"), layer), weight(layer + "o", HIDDEN, HIDDEN)])
    x = node("Add", [x, seen])
    wide = node("MatMul", [norm(x, layer + "2"), weight(layer + "u", HIDDEN, 64)])
    wide = node("Gelu", [node("Add", [wide, weight(layer + "c", 64)])])
    x = node("Add", [x, node("MatMul", [wide, weight(layer + "d", 64, HIDDEN)])])
image = node("MaxPool", ["image"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
image = node("ReduceMean", [image, ints("axes", [0, 2, 3])], keepdims=0)
pooled = node("ReduceMax", [x, ints("rows", [1])], keepdims=0)
joined = node("Concat", [pooled, node("Expand", [image, ints("two", [2, 8])])], axis=1)
nodes.append(helper.make_node("Softmax", [joined], ["y"], name="last"))

graph = helper.make_graph(
    nodes, "block",
    [helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [2, LENGTH]),
     helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, [2, 8, 9, 9])],
    [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, HIDDEN + 8])], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), sys.argv[1])
