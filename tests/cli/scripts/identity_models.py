#!/usr/bin/env python3
"""identity_models.py DIR: writes DIR/TYPE.onnx for some types: y = Identity(x), of any rank. And DIR/signs.onnx, in whose
names are signs that options have a use for."""

import os
import sys

import onnx
from onnx import TensorProto, helper

TYPES = {"f16": TensorProto.FLOAT16, "f32": TensorProto.FLOAT, "i64": TensorProto.INT64, "i8": TensorProto.INT8}


def writeSigns(folder):
    names = ["a", "a=b", "a=b=c", "n:0", "n:2"]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in names]
    outputs = [helper.make_tensor_value_info(f"{name}=out", TensorProto.FLOAT, [None]) for name in names]
    nodes = [helper.make_node("Identity", [x.name], [y.name]) for x, y in zip(inputs, outputs)]
    model = helper.make_model(helper.make_graph(nodes, "signs", inputs, outputs),
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, os.path.join(folder, "signs.onnx"))


def main():
    writeSigns(sys.argv[1])
    for name, element in TYPES.items():
        x, y = (helper.make_tensor_value_info(value, element, None) for value in "xy")
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], name, [x], [y])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        onnx.save(model, os.path.join(sys.argv[1], f"{name}.onnx"))


if __name__ == "__main__":
    main()
