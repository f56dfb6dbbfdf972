"""Writes a model whose last part has a shape that data decides and one number that is a sum of constants, one of
which nothing is left to run, and one of a convolution with a normalisation: staged_model.py STAGED FOLDED JOINED"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(path, nodes, inputs, output, initializers):
    graph = helper.make_graph(nodes, "model", inputs, [output], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def main():
    staged, folded, joined = sys.argv[1:]
    save(staged,
         [helper.make_node("Exp", ["x"], ["a"], name="first"),
          helper.make_node("NonZero", ["a"], ["places"], name="where"),
          helper.make_node("Transpose", ["places"], ["turned"], name="turn"),
          helper.make_node("GatherND", ["a", "turned"], ["values"], name="pick"),
          helper.make_node("Add", ["one", "one"], ["two"], name="sum"),
          helper.make_node("Sub", ["values", "two"], ["y"], name="last")],
         [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4])],
         helper.make_tensor_value_info("y", TensorProto.FLOAT, [None]),
         [helper.make_tensor("one", TensorProto.FLOAT, [], [1])])
    save(folded, [helper.make_node("ConstantOfShape", ["shape"], ["y"], name="zeros")], [],
         helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 4]),
         [helper.make_tensor("shape", TensorProto.INT64, [2], [3, 4])])
    ones = {name: np.ones(dims, np.float32) for name, dims in
            (("filter", (2, 2, 3, 3)), ("scale", 2), ("bias", 2), ("mean", 2), ("variance", 2))}
    save(joined,
         [helper.make_node("Shape", ["x"], ["shape"], name="size"),
          helper.make_node("ConstantOfShape", ["shape"], ["zeros"], name="zeros"),
          helper.make_node("Add", ["x", "zeros"], ["a"], name="nothing"),
          helper.make_node("Conv", ["a", "filter"], ["b"], name="conv"),
          helper.make_node("BatchNormalization", ["b", "scale", "bias", "mean", "variance"], ["c"], name="norm"),
          helper.make_node("MaxPool", ["c"], ["y"], name="pool", kernel_shape=[2, 2])],
         [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 8, 8])],
         helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
         [numpy_helper.from_array(value, name) for name, value in ones.items()])


main()
