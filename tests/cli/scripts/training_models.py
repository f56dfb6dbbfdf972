#!/usr/bin/env python3
"""Writes small ONNX models into a folder: one that can be trained, one with nodes that have no gradient,
one without parameters."""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def weight(name, *shape):
    values = np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape) / 10
    return numpy_helper.from_array(values, name)


def save(path, nodes, inputs, output, weights):
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in inputs]
    graph = helper.make_graph(nodes, "g", ports, [helper.make_tensor_value_info(
        output, TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    node = helper.make_node
    save(os.path.join(folder, "mlp.onnx"),
         [node("Gemm", ["x", "w1", "b1"], ["h"]), node("Relu", ["h"], ["r"]),
          node("Gemm", ["r", "w2", "b2"], ["z"]), node("LogSoftmax", ["z"], ["y"])],
         [("x", ["N", 3])], "y", [weight("w1", 3, 4), weight("b1", 4), weight("w2", 4, 2), weight("b2", 2)])
    save(os.path.join(folder, "blocked.onnx"),
         [node("Mul", ["x", "w"], ["s"], name="scaled"),
          node("DeformConv", ["s", "filter", "offsets"], ["a"], name="sample_a"),
          node("DeformConv", ["a", "filter", "offsets"], ["y"], name="sample_b")],
         [("x", ["N", 1, 2, 2]), ("filter", [1, 1, 1, 1]), ("offsets", ["N", 2, 2, 2])], "y", [weight("w", 1, 1, 2, 2)])
    save(os.path.join(folder, "nothing.onnx"), [node("Relu", ["x"], ["y"])], [("x", [2])], "y", [])


if __name__ == "__main__":
    main()
