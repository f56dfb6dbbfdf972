"""Writes test cases whose expected results are a little off: FOLDER/<case>/{model.onnx,data.json,…}."""

import json
import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper


def write(folder, x, expected, **tolerance):
    """A model that gives its input, for which `expected` is claimed."""
    port = lambda name: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, x.shape)
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [port("x")], [port("y")])
    data = os.path.join(folder, "test_data_set_0")
    os.makedirs(data)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              os.path.join(folder, "model.onnx"))
    for file, name, value in (("input_0.pb", "x", x), ("output_0.pb", "y", expected)):
        with open(os.path.join(data, file), "wb") as out:
            out.write(numpy_helper.from_array(value, name).SerializeToString())
    with open(os.path.join(folder, "data.json"), "w", encoding="utf-8") as out:
        json.dump(tolerance, out)


def off(x, count, by):
    changed = x.copy()
    changed[:count] += np.float32(by)
    return changed


def main():
    x = np.linspace(1, 2, 100, dtype=np.float32)
    case = lambda name, *arguments, **tolerance: write(os.path.join(sys.argv[1], name), *arguments,
                                                       **tolerance)
    case("within_step", x, off(x, 1, 0.25), step=0.25)
    case("many_off", x, off(x, 2, 0.25), step=0.25)
    case("two_steps", x, off(x, 1, 0.5), step=0.25)
    case("within_norm", x, x * np.float32(1.015), l2=0.02)
    case("norm", x, x * np.float32(1.03), l2=0.02)
    case("norm_of_nan", x, off(x, 1, np.nan), l2=0.02)


if __name__ == "__main__":
    main()
