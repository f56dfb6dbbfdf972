#!/usr/bin/env python3
"""make_model.py FILE: writes an ONNX file with two dense layers. Of zeros it makes 35.5 and -10."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def weight(name, values):
    return numpy_helper.from_array(np.array(values, dtype=np.float32), name)


def main():
    layers = [
        helper.make_node("Gemm", ["x", "w0", "b0"], ["hidden"], name="first"),
        helper.make_node("Gemm", ["hidden", "w1", "b1"], ["y"], name="second"),
    ]
    weights = [
        weight("w0", [[1, 2, 3], [4, 5, 6]]), weight("b0", [1, 2, 3]),
        weight("w1", [[10, 1], [5, -4], [5, -1]]), weight("b1", [0.5, 0]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(layers, "dense", [value("x", TensorProto.FLOAT, ["batch", 2])],
                              [value("y", TensorProto.FLOAT, ["batch", 2])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, sys.argv[1])


if __name__ == "__main__":
    main()
