"""Writes the node cases of the onnx package, which it builds in memory, in the form of cases.py."""

import os
import warnings

import numpy as np
import onnx
from onnx import numpy_helper

import cases


def loadNodeCases():
    """All node cases, the same ones each time: some draw their data from numpy's global generator."""
    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflows that the cases are about
        from onnx.backend.test.loader import load_model_tests

        return load_model_tests(kind="node")


def toTensor(value, name):
    if isinstance(value, onnx.TensorProto):
        tensor = onnx.TensorProto()
        tensor.CopyFrom(value)
        tensor.name = name
        return tensor
    return numpy_helper.from_array(np.asarray(value), name)


def toSequence(values, name):
    sequence = onnx.SequenceProto(name=name, elem_type=onnx.SequenceProto.TENSOR)
    sequence.tensor_values.extend(toTensor(value, "") for value in values)
    return sequence


def toOptional(value, port):
    optional = onnx.OptionalProto(name=port.name)
    if value is None:
        return optional
    if port.type.optional_type.elem_type.WhichOneof("value") == "sequence_type":
        optional.elem_type = onnx.OptionalProto.SEQUENCE
        optional.sequence_value.CopyFrom(toSequence(value, ""))
    else:
        optional.elem_type = onnx.OptionalProto.TENSOR
        optional.tensor_value.CopyFrom(toTensor(value, ""))
    return optional


def toProto(value, port):
    """`value` as the message for a graph input or output of the type of `port`."""
    kind = port.type.WhichOneof("value")
    if kind == "optional_type":
        return toOptional(value, port)
    return (toSequence if kind == "sequence_type" else toTensor)(value, port.name)


def writeDataSet(folder, graph, inputs, outputs):
    os.makedirs(folder)
    for kind, ports, values in (("input", graph.input, inputs), ("output", graph.output, outputs)):
        for index, (port, value) in enumerate(zip(ports, values, strict=True)):
            with open(os.path.join(folder, f"{kind}_{index}.pb"), "wb") as file:
                file.write(toProto(value, port).SerializeToString(deterministic=True))


def export(out):
    """Writes OUT/<case> for each."""
    for case in loadNodeCases():
        folder = os.path.join(out, case.name)
        os.makedirs(folder)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(case.model.SerializeToString(deterministic=True))
        for number, (inputs, outputs) in enumerate(case.data_sets):
            writeDataSet(os.path.join(folder, f"test_data_set_{number}"), case.model.graph, inputs,
                         outputs)
        if (case.rtol, case.atol) != cases.DEFAULT_TOLERANCE:
            cases.writeTolerance(folder, case.rtol, case.atol)
