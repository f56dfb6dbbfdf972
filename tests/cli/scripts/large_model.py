"""Writes a model of 128 MiB of weights: large_model.py PATH."""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

SHAPE = (1024, 2048)
COUNT = 16

weights = [np.full(SHAPE, number, np.float32) + np.arange(SHAPE[1], dtype=np.float32)
           for number in range(COUNT)]
nodes = [helper.make_node("Add", [f"t{i}" if i else "x", f"w{i}"], [f"t{i + 1}"]) for i in range(COUNT)]
ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, SHAPE) for name in ("x", f"t{COUNT}")]
graph = helper.make_graph(nodes, "large", ports[:1], ports[1:],
                          [numpy_helper.from_array(weight, f"w{i}") for i, weight in enumerate(weights)])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])
