"""Writes a model whose loop ends only once its number is above that of its input: endless_model.py MODEL"""

import sys

import onnx
from onnx import TensorProto, helper


def main():
    number = helper.make_tensor_value_info("number", TensorProto.FLOAT, [])
    body = helper.make_graph(
        [helper.make_node("Add", ["before", "one"], ["after"], name="count"),
         helper.make_node("Less", ["after", "end"], ["goes_on"], name="compare")],
        "body",
        [helper.make_tensor_value_info("round", TensorProto.INT64, []),
         helper.make_tensor_value_info("condition", TensorProto.BOOL, []),
         helper.make_tensor_value_info("before", TensorProto.FLOAT, [])],
        [helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
         helper.make_tensor_value_info("after", TensorProto.FLOAT, [])])
    graph = helper.make_graph(
        [helper.make_node("Loop", ["", "yes", "zero"], ["number"], name="until", body=body)],
        "model", [helper.make_tensor_value_info("end", TensorProto.FLOAT, [])], [number],
        [helper.make_tensor("one", TensorProto.FLOAT, [], [1]), helper.make_tensor("zero", TensorProto.FLOAT, [], [0]),
         helper.make_tensor("yes", TensorProto.BOOL, [], [True])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), sys.argv[1])


main()
