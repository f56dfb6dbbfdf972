"""Writes a long LSTM of little work: python recurrent_model.py OUT."""

import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

STEPS, INPUTS, HIDDEN = 300, 16, 16


def main():
    random = numpy.random.default_rng(7)
    weights = [("w", (1, 4 * HIDDEN, INPUTS)), ("r", (1, 4 * HIDDEN, HIDDEN))]
    graph = helper.make_graph(
        [helper.make_node("LSTM", ["x", "w", "r"], ["y"], name="Layer", hidden_size=HIDDEN)],
        "recurrent",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [STEPS, 1, INPUTS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [STEPS, 1, 1, HIDDEN])],
        [numpy_helper.from_array((random.standard_normal(shape) / 4).astype(numpy.float32), name)
         for name, shape in weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, sys.argv[1])


main()
