"""elementwise_model.py MODEL: writes a chain of operations on single elements, which becomes one generated kernel."""

import sys

import onnx
from onnx import TensorProto, helper

nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Mul", ["a", "x"], ["b"]),
         helper.make_node("Add", ["b", "x"], ["y"])]
tensors = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 1000])] for name in ("x", "y")]
onnx.save(helper.make_model(helper.make_graph(nodes, "elementwise", *tensors), ir_version=8,
                            opset_imports=[helper.make_opsetid("", 17)]), sys.argv[1])
