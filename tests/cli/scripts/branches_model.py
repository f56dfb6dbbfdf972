"""Writes a model of branches that meet in the end: branches_model.py MODEL.onnx BRANCHES DEPTH WIDTH."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main(path, branches, depth, width):
    random = np.random.default_rng(1)
    nodes, weights, ends = [], [], []
    for branch in range(branches):
        value = "x"
        for step in range(depth):
            name = f"b{branch}_{step}"
            weight = random.standard_normal((width, width)) / np.sqrt(width)
            weights.append(numpy_helper.from_array(weight.astype(np.float32), f"{name}_w"))
            nodes.append(helper.make_node("MatMul", [value, f"{name}_w"], [f"{name}_p"], name=name))
            nodes.append(helper.make_node("Tanh", [f"{name}_p"], [name], name=f"{name}_t"))
            value = name
        ends.append(value)
    nodes.append(helper.make_node("Sum", ends, ["y"], name="end"))
    shape = [64, width]
    graph = helper.make_graph(
        nodes, "branches", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)


main(sys.argv[1], *map(int, sys.argv[2:]))
