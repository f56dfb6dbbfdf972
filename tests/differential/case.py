"""A model with what it is fed, and its making."""

import dataclasses
import os
import shutil

import numpy as np
import onnx
from onnx import helper, numpy_helper

IR_VERSION = 10  # the newest that ONNX Runtime of tests/requirements.txt and older readers take


@dataclasses.dataclass
class Case:
    """A model and the data sets that go through one session of it."""

    label: str
    model: onnx.ModelProto
    feeds: list  # {name: array}, one a data set
    smooth: bool = True  # results change little when values are rounded: no comparisons, no rounding
    quantized: bool = False  # integer results may be off by one
    strategy: str = "single"  # how it was made; for statistics

    def outputNames(self):
        return [value.name for value in self.model.graph.output]

    def write(self, folder):
        """Writes it in the form of ONNX's test cases, without expected outputs."""
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        onnx.save(self.model, os.path.join(folder, "model.onnx"))
        names = [value.name for value in self.model.graph.input]
        for number, feed in enumerate(self.feeds):
            inside = os.path.join(folder, f"test_data_set_{number}")
            os.makedirs(inside)
            present = [name for name in names if name in feed]
            for index, name in enumerate(present):
                writeTensor(os.path.join(inside, f"input_{index}.pb"), feed[name], name)

    def dataSets(self, folder):
        return [os.path.join(folder, f"test_data_set_{i}") for i in range(len(self.feeds))]


def writeTensor(path, array, name):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(np.asarray(array), name).SerializeToString())


def typeOf(array):
    """TensorProto's number of an array's type."""
    array = np.asarray(array)
    if array.dtype == object or array.dtype.kind in "US":
        return onnx.TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def describe(name, array, dims=None):
    """The ValueInfo of an input with this value; `dims` in place of its shape, () for no rank."""
    shape = list(np.shape(array)) if dims is None else dims or None
    return helper.make_tensor_value_info(name, typeOf(array), shape)


class Builder:
    """Puts a model together, node by node."""

    def __init__(self, random, opset):
        self.random = random
        self.opset = opset
        self.nodes = []
        self.constants = {}
        self.inputs = {}
        self.count = 0

    def name(self, stem="v"):
        self.count += 1
        return f"{stem}{self.count}"

    def constant(self, array):
        name = self.name("c")
        self.constants[name] = np.asarray(array)
        return name

    def input(self, array):
        name = self.name("x")
        self.inputs[name] = np.asarray(array)
        return name

    def operand(self, array, constant=None):
        """An initialiser or an input; drawn where `constant` does not say."""
        constant = self.random.random() < 0.4 if constant is None else constant
        return self.constant(array) if constant else self.input(array)

    def node(self, kind, inputs, outputs=1, domain="", **attributes):
        """Adds a node; its output's name, or all of their names if there are several."""
        names = [self.name() for _ in range(outputs)]
        self.add(kind, inputs, names, domain, **attributes)
        return names[0] if outputs == 1 else names

    def add(self, kind, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=self.name("n"),
                                           domain=domain, **attributes))

    def graph(self, outputs, name="g"):
        values = [helper.make_empty_tensor_value_info(output) for output in outputs]
        inputs = [describe(key, value) for key, value in self.inputs.items()]
        weights = [numpy_helper.from_array(value, key) for key, value in self.constants.items()]
        return helper.make_graph(self.nodes, name, inputs, values, weights)

    def case(self, label, outputs, **more):
        model = helper.make_model(self.graph(outputs), ir_version=IR_VERSION,
                                  opset_imports=[helper.make_opsetid("", self.opset)])
        return Case(label, withOutputTypes(model), [dict(self.inputs)], **more)


def withOutputTypes(model):
    """Declares the outputs' types and shapes as far as ONNX infers them."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # pylint: disable=broad-except  # of several kinds; the type stays unknown
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value, known in zip(copy.graph.output, inferred.graph.output):
        if known.type.WhichOneof("value"):
            value.CopyFrom(known)
    return copy
