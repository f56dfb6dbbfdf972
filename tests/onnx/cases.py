"""Reading and writing test cases in ONNX's form: model.onnx, test_data_set_N/{input,output}_M.pb."""

import json
import os
import shutil

import onnx
from onnx import numpy_helper

DEFAULT_TOLERANCE = (1e-3, 1e-7)  # rtol, atol where a case has no data.json


def writeTensor(path, name, array):
    with open(path, "wb") as file:
        file.write(numpy_helper.from_array(array, name).SerializeToString())


def writeDataSet(case, number, inputs, outputs):
    """Writes {name: array} of inputs and of outputs, in the model's order, as test_data_set_`number`."""
    folder = os.path.join(case, f"test_data_set_{number}")
    os.makedirs(folder)
    for kind, tensors in (("input", inputs), ("output", outputs)):
        for index, (name, array) in enumerate(tensors.items()):
            writeTensor(os.path.join(folder, f"{kind}_{index}.pb"), name, array)


def writeTolerance(case, rtol, atol):
    with open(os.path.join(case, "data.json"), "w", encoding="utf-8") as file:
        json.dump({"rtol": rtol, "atol": atol}, file)
        file.write("\n")


def fedInputs(model):
    """The graph inputs that a caller feeds: those that are no initialisers."""
    fixed = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in fixed]


def fresh(folder, key, make):
    """Runs make(new folder) and puts the result at `folder`, unless one made with `key` is there.

    The result appears by a rename, so that an interrupted run leaves no half-written cases.
    """
    stamp = os.path.join(folder, "made_with.txt")
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == key:
                return False
    new = f"{folder}.new{os.getpid()}"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    try:
        make(new)
        with open(os.path.join(new, "made_with.txt"), "w", encoding="utf-8") as file:
            file.write(key)
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return True


def packageVersions(*names):
    from importlib import metadata

    return "".join(f"{name} {metadata.version(name)}\n" for name in names)


def onnxDataFolder():
    return os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
