"""Writes a model in which two nodes compute the same, and the same with wishes for two devices."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = sys.argv[1]


def model(nodes):
    weights = np.random.default_rng(3).standard_normal((64, 64)).astype(np.float32)
    graph = helper.make_graph(
        nodes, "twins", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 64])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 64]) for name in ("y", "z")],
        [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, ir_version=11, opset_imports=[helper.make_opsetid("", 17)])


def twins():
    return [helper.make_node("MatMul", ["x", "w"], ["y"], name="left"),
            helper.make_node("MatMul", ["x", "w"], ["z"], name="right")]


def main():
    onnx.save(model(twins()), f"{FOLDER}/twins.onnx")
    wishing = twins()
    for node, device in zip(wishing, ("a/cpu:0", "b/cpu:0")):
        node.metadata_props.add(key="layer_ann", value=device)
    onnx.save(model(wishing), f"{FOLDER}/wishing.onnx")


main()
