"""Writes a model whose last part has a shape that data decides, and one of which nothing is left to run:
staged_model.py STAGED FOLDED"""

import sys

import onnx
from onnx import TensorProto, helper


def save(path, nodes, inputs, output, initializers):
    graph = helper.make_graph(nodes, "model", inputs, [output], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def main():
    staged, folded = sys.argv[1:]
    save(staged,
         [helper.make_node("Exp", ["x"], ["a"], name="first"),
          helper.make_node("NonZero", ["a"], ["places"], name="where"),
          helper.make_node("Transpose", ["places"], ["turned"], name="turn"),
          helper.make_node("GatherND", ["a", "turned"], ["values"], name="pick"),
          helper.make_node("Neg", ["values"], ["y"], name="last")],
         [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
         helper.make_tensor_value_info("y", TensorProto.FLOAT, [None]), [])
    save(folded, [helper.make_node("ConstantOfShape", ["shape"], ["y"], name="zeros")], [],
         helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4]),
         [helper.make_tensor("shape", TensorProto.INT64, [2], [3, 4])])


main()
