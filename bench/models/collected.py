"""Models that the tests have already: ONNX's nine light networks and three trained OCR models."""

import glob
import os
import sys

import onnx
from onnx import numpy_helper

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "..", "tests", "onnx"))

import cases
import ocr_reference
import seeded

LIGHT = os.path.join(cases.onnxDataFolder(), "light", "light_*.onnx")


def lightNames():
    return [os.path.basename(path)[len("light_"):-len(".onnx")] for path in sorted(glob.glob(LIGHT))]


def openBatch(model):
    """Makes the batch of a light network, which is 1 throughout, a symbol."""
    del model.graph.value_info[:]
    for value in [*cases.fedInputs(model), *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Reshape" and node.input[0] not in tensors:
            shape = numpy_helper.to_array(tensors[node.input[1]]).copy()
            shape[0] = 0  # the input's own
            tensors[node.input[1]].CopyFrom(numpy_helper.from_array(shape, node.input[1]))
    return model


def light(name):
    """A light network with seeded random weights."""
    return openBatch(seeded.seed(onnx.load(LIGHT.replace("*", name)))[0])


def ocr(kind):
    return onnx.load(ocr_reference.modelPath(kind))
