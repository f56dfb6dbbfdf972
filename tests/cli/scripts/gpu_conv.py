"""Writes a model of convolutions and pools to argv[1]: what cuDNN fuses, what it leaves to generated
kernels, and what has to be taken apart for it."""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

random = np.random.default_rng(3)
weights = []


def weight(name, *shape):
    values = (random.standard_normal(shape) * 0.2).astype(np.float32)
    weights.append(numpy_helper.from_array(values, name))
    return name


def convolution(op, number, source, *shape, channels, **attributes):
    operands = [source, weight(f"w{number}", *shape), weight(f"b{number}", channels)]
    return helper.make_node(op, operands, [f"c{number}"], **attributes)


nodes = [
    convolution("Conv", 1, "x", 8, 3, 3, 3, channels=8, pads=[1, 1, 1, 1]),
    helper.make_node("Relu", ["c1"], ["r1"]),
    helper.make_node("MaxPool", ["r1"], ["p1"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    convolution("Conv", 2, "p1", 8, 1, 3, 3, channels=8, group=8, pads=[1, 1, 1, 1]),
    helper.make_node("Clip", ["c2", "low", "high"], ["r2"]),
    convolution("Conv", 3, "r2", 8, 8, 1, 1, channels=8),
    helper.make_node("Add", ["c3", "p1"], ["a3"]),
    helper.make_node("Relu", ["a3"], ["r3"]),
    helper.make_node("GlobalAveragePool", ["r3"], ["g3"]),
    helper.make_node("Sigmoid", ["g3"], ["e3"]),
    helper.make_node("Mul", ["r3", "e3"], ["s3"]),
    helper.make_node("Concat", ["s3", "p1"], ["j3"], axis=1),
    convolution("Conv", 4, "j3", 8, 16, 3, 3, channels=8, auto_pad="SAME_UPPER", strides=[2, 2]),
    helper.make_node("Sigmoid", ["c4"], ["s4"]),
    helper.make_node("Mul", ["c4", "s4"], ["m4"]),
    convolution("ConvTranspose", 5, "m4", 8, 4, 2, 2, channels=4, strides=[2, 2]),
    helper.make_node("Relu", ["c5"], ["r5"]),
    helper.make_node("AveragePool", ["r5"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
]
weights += [numpy_helper.from_array(np.float32(value), name) for name, value in (("low", 0), ("high", 6))]
graph = helper.make_graph(nodes, "convolutions",
                          [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3, 16, 16])],
                          [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 4, 4, 4])], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), sys.argv[1])
