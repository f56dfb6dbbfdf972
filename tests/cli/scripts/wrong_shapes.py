"""Writes a model that declares other shapes than its nodes give, after an input of unknown rank."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def main():
    def declared(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    nodes = [helper.make_node("Conv", ["x", "w"], ["t"], name="conv"),
             helper.make_node("Relu", ["t"], ["u"], name="relu"),
             helper.make_node("Neg", ["u"], ["y"], name="neg")]
    weights = numpy_helper.from_array(np.ones((2, 1, 3, 3), np.float32), "w")
    wrong = [1, 2, 9, 9]
    graph = helper.make_graph(nodes, "g", [declared("x", None)], [declared("y", wrong)], [weights],
                              value_info=[declared("t", wrong), declared("u", wrong)])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]),
              sys.argv[1])


main()
