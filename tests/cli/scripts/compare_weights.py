#!/usr/bin/env python3
"""Prints which initializers of two ONNX files of the same graph differ: compare_weights.py A.onnx B.onnx."""

import sys

import numpy as np
import onnx
from onnx import numpy_helper


def weights(path):
    model = onnx.load(path)
    onnx.checker.check_model(model)
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}


first, second = weights(sys.argv[1]), weights(sys.argv[2])
assert first.keys() == second.keys()
same = {name: np.array_equal(first[name], second[name]) for name in sorted(first)}
print("changed:", *(name for name, equal in same.items() if not equal))
print("equal:", *(name for name, equal in same.items() if equal))
