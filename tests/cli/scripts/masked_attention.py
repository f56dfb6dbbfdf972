"""Writes a model of an attention with a mask, its inputs and what it should give: masked_attention.py FOLDER"""

import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

SHAPE = (2, 3, 6, 16)
SCALE = np.float16(0.25)


def main():
    folder = sys.argv[1]
    random = np.random.default_rng(4)
    q, k, v = (random.uniform(-1, 1, SHAPE).astype(np.float16) for _ in range(3))
    mask = np.zeros((6, 6), np.float16)
    mask[1, :4] = mask[4] = -np.inf
    hidden = np.maximum(mask, np.finfo(np.float16).min)
    scores = np.float32(q) @ np.float32(k).transpose(0, 1, 3, 2) * SCALE + np.float32(hidden)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    y = np.float16(weights / weights.sum(-1, keepdims=True) @ v)
    for name, array in {"q": q, "k": k, "v": v, "mask": mask, "y": y}.items():
        np.save(os.path.join(folder, name), array)
    nodes = [helper.make_node("Transpose", ["k"], ["turned"], perm=[0, 1, 3, 2]),
             helper.make_node("MatMul", ["q", "turned"], ["products"]),
             helper.make_node("Mul", ["products", "scale"], ["scores"]),
             helper.make_node("Add", ["scores", "mask"], ["masked"]),
             helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
             helper.make_node("MatMul", ["weights", "v"], ["y"], name="attention")]
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT16, array.shape)
              for name, array in (("q", q), ("k", k), ("v", v), ("mask", mask))]
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT16, SHAPE)
    graph = helper.make_graph(nodes, "model", inputs, [output], [numpy_helper.from_array(SCALE, "scale")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              os.path.join(folder, "model.onnx"))


main()
