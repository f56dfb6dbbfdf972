"""Writes a model whose products have relu, clip and sums behind them, a broken input, and what each output should
hold by NumPy: nan_model.py FOLDER"""

import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

RANDOM = np.random.default_rng(21)


def convolution(x, weights, bias, groups=1, pad=1):
    """Of N x C x H x W; pads are left out, not multiplied."""
    height, width = x.shape[2] + 2 * pad - weights.shape[2] + 1, x.shape[3] + 2 * pad - weights.shape[3] + 1
    out_group, in_group = weights.shape[0] // groups, weights.shape[1]
    y = np.zeros((x.shape[0], weights.shape[0], height, width))
    for row in range(height):
        for column in range(width):
            first, left = max(0, row - pad), max(0, column - pad)
            last, right = min(x.shape[2], row - pad + weights.shape[2]), min(x.shape[3], column - pad + weights.shape[3])
            window = x[:, :, first:last, left:right]
            taps = weights[:, :, first - row + pad:last - row + pad, left - column + pad:right - column + pad]
            for group in range(groups):
                outs = slice(group * out_group, (group + 1) * out_group)
                ins = slice(group * in_group, (group + 1) * in_group)
                products = window[:, None, ins] * taps[None, outs]
                y[:, outs, row, column] = products.sum(axis=(2, 3, 4))
    return y + bias[None, :, None, None]


def largest(x, size, stride, pad):
    """The largest of each window: NaN before all."""
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=-np.inf)
    rows = range(0, padded.shape[2] - size + 1, stride)
    columns = range(0, padded.shape[3] - size + 1, stride)
    return np.stack([np.stack([padded[:, :, r:r + size, c:c + size].max(axis=(2, 3)) for c in columns], -1)
                     for r in rows], -2)


class Model:
    def __init__(self):
        self.nodes, self.weights, self.outputs = [], [], {}

    def weight(self, *shape):
        array = RANDOM.uniform(-1, 1, shape).astype(np.float32)
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name, array

    def number(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.float32(value), name))
        return name

    def node(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def give(self, name, array):
        self.outputs[name] = array.astype(np.float32)


def build(x, rows):
    model = Model()
    low, high = model.number(-0.5), model.number(6)
    w, filters = model.weight(32, 16, 3, 3)
    b, bias = model.weight(32)
    plain = convolution(x, filters, bias)
    model.node("Relu", [model.node("Conv", ["x", w, b], "conv", pads=[1] * 4)], "relu")
    model.give("relu", np.maximum(plain, 0))

    # As wide as the input: its sum with it may be made in place, or not.
    w, filters = model.weight(16, 32, 1, 1)
    b, bias = model.weight(16)
    narrow = convolution(np.maximum(plain, 0), filters, bias, pad=0)
    model.node("Conv", ["relu", w, b], "narrow")
    model.node("Relu", [model.node("Add", ["narrow", "x"], "sum")], "residual")
    model.give("residual", np.maximum(narrow + x, 0))

    w, filters = model.weight(16, 1, 3, 3)
    b, bias = model.weight(16)
    model.node("Conv", ["x", w, b], "depthwise", pads=[1] * 4, group=16)
    model.give("clip", np.clip(convolution(x, filters, bias, 16), -0.5, 6))
    model.node("Clip", ["depthwise", low, high], "clip")

    # Behind another product, so that its layout is the library's.
    w, filters = model.weight(16, 32, 1, 1)
    b, bias = model.weight(16)
    before = convolution(np.maximum(plain, 0), filters, bias, pad=0)
    model.node("Conv", ["relu", w, b], "before")
    model.node("MaxPool", ["before"], "pooled", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    model.give("pooled", largest(before, 3, 2, 1))
    model.node("MaxPool", ["x"], "dense_pool", kernel_shape=[2, 2], strides=[1, 1])
    model.give("dense_pool", largest(x, 2, 1, 0))

    w, matrix = model.weight(24, 20)
    b, bias = model.weight(20)
    model.node("Relu", [model.node("Gemm", ["rows", w, b], "gemm")], "gemm_relu")
    model.give("gemm_relu", np.maximum(rows @ matrix + bias, 0))
    model.node("Sigmoid", [model.node("MatMul", ["rows", w], "matmul")], "sigmoid")
    model.give("sigmoid", 1 / (1 + np.exp(-(rows @ matrix))))
    return model


def main():
    folder = sys.argv[1]
    x = RANDOM.uniform(-1, 1, (1, 16, 12, 12)).astype(np.float32)
    x[0, 5, :5, :5] = -np.inf
    x[0, :, 9, 9:] = -np.inf
    x[0, 3, 2, 7] = np.nan
    x[0, 12, 11, 0] = np.inf
    rows = RANDOM.uniform(-1, 1, (9, 24)).astype(np.float32)
    rows[4, 5] = np.nan
    with np.errstate(invalid="ignore", over="ignore"):
        model = build(x, rows)
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape),
              helper.make_tensor_value_info("rows", onnx.TensorProto.FLOAT, rows.shape)]
    outputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape)
               for name, array in model.outputs.items()]
    graph = helper.make_graph(model.nodes, "model", inputs, outputs, model.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              os.path.join(folder, "model.onnx"))
    for name, array in {"x": x, "rows": rows, **model.outputs}.items():
        np.save(os.path.join(folder, name), array)
        assert name in ("x", "rows") or np.isnan(array).any() and not np.isnan(array).all(), name


main()
