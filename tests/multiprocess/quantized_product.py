#!/usr/bin/env python3
"""quantized_product.py PATH: a model that multiplies quantised rows by weights of bytes."""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

weights = np.random.RandomState(5).randint(-63, 64, (64, 64)).astype(np.int8)
constants = {"scale": np.float32(0.05), "zero": np.uint8(121), "bytes": weights,
             "step": np.float32(0.008)}
nodes = [helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], name="quantize"),
         helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["d"], name="floats"),
         helper.make_node("DequantizeLinear", ["bytes", "step"], ["w"], name="weights"),
         helper.make_node("MatMul", ["d", "w"], ["y"], name="product")]
graph = helper.make_graph(
    nodes, "quantized", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [8, 64])],
    [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [8, 64])],
    [numpy_helper.from_array(value, name) for name, value in constants.items()])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
          sys.argv[1])
