"""ladder_model.py PATH RUNGS WIDTH: a model whose rungs are two products side by side and their sum."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

path, rungs, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = np.random.default_rng(1)
nodes, weights, last = [], [], "x"
for rung in range(rungs):
    for side in "lr":
        values = chance.standard_normal((width, width), dtype=np.float32) / width
        weights.append(numpy_helper.from_array(values, f"w{rung}{side}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{rung}{side}"], [f"{side}{rung}"],
                                      name=f"{side}{rung}"))
        nodes.append(helper.make_node("Softmax", [f"{side}{rung}"], [f"s{side}{rung}"],
                                      name=f"s{side}{rung}"))
    nodes.append(helper.make_node("Add", [f"sl{rung}", f"sr{rung}"], [f"y{rung}"], name=f"y{rung}"))
    last = f"y{rung}"
shape = [width, width]
graph = helper.make_graph(
    nodes, "ladder", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
    [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 8
onnx.save(model, path)
