#!/usr/bin/env python3
"""Writes networks to be trained, their data and recipes: trained_networks.py FOLDER.

net.onnx is a convolution, BatchNormalization, Relu, MaxPool, Dropout and a Gemm, as exported for inference,
of pictures of 1 x 8 x 8; images and labels are IDX files of 4 classes: each is a bar at a place of its own,
under noise. line.onnx is a matrix, to be fitted to .npy files.
"""

import gzip
import os
import struct
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

CLASSES, SIDE, SAMPLES = 4, 8, 640


def weights(random):
    conv = random.standard_normal((8, 1, 3, 3)).astype(np.float32) * 0.4
    dense = random.standard_normal((CLASSES, 8 * 16)).astype(np.float32) * 0.1
    return {"conv.weight": conv, "conv.bias": np.zeros(8, np.float32),
            "norm.scale": np.ones(8, np.float32), "norm.bias": np.zeros(8, np.float32),
            "norm.mean": np.zeros(8, np.float32), "norm.var": np.ones(8, np.float32),
            "head.weight": dense, "head.bias": np.zeros(CLASSES, np.float32)}


def network(random):
    nodes = [
        helper.make_node("Conv", ["x", "conv.weight", "conv.bias"], ["c"], "conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization",
                         ["c", "norm.scale", "norm.bias", "norm.mean", "norm.var"], ["n"], "norm"),
        helper.make_node("Relu", ["n"], ["r"], "relu"),
        helper.make_node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("Dropout", ["f", "ratio"], ["d"], "dropout"),
        helper.make_node("Gemm", ["d", "head.weight", "head.bias"], ["logits"], "head", transB=1),
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in weights(random).items()]
    tensors.append(numpy_helper.from_array(np.array(0.25, np.float32), "ratio"))
    graph = helper.make_graph(
        nodes, "net",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, ["N", CLASSES])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def pictures(random):
    labels = random.integers(0, CLASSES, SAMPLES).astype(np.uint8)
    images = random.integers(0, 120, (SAMPLES, SIDE, SIDE)).astype(np.uint8)
    for image, label in zip(images, labels):
        image[2 * label:2 * label + 2, :] = 255 - image[2 * label:2 * label + 2, :] // 4
    return images, labels


def writeIdx(path, array):
    header = struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape)
    with gzip.open(path, "wb") as file:
        file.write(header + array.tobytes())


def line(random):
    matrix = numpy_helper.from_array(np.zeros((3, 2), np.float32), "matrix")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "matrix"], ["y"], "product")], "line",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", 2])], [matrix])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = random.standard_normal((64, 3)).astype(np.float32)
    return model, x, x @ np.array([[1, 2], [3, 4], [5, 6]], np.float32)


RECIPE = """\
model: {0}/net.onnx
data:
  train: {{format: idx, images: {0}/images.gz, labels: {0}/labels.gz, range: [0, 512],
          scale: 0.00392157, shape: [1, 8, 8]}}
  eval: {{format: idx, images: {0}/images.gz, labels: {0}/labels.gz, range: [512, 640],
         scale: 0.00392157, shape: [1, 8, 8]}}
batch: 48
epochs: 3
seed: 1
loss: {{sparse_categorical_crossentropy: {{from_logits: true}}}}
optimizer: {{sgd: {{lr: 0.05, momentum: 0.9}}}}
metrics: [accuracy]
"""
LINE = """\
model: {0}/line.onnx
data:
  train: {{format: npy, inputs: {{x: {0}/x.npy}}, target: {0}/y.npy, shuffle: false}}
batch: 64
steps: 200
seed: 1
loss: {{mean_squared_error: {{}}}}
optimizer: {{adam: {{lr: 0.2}}}}
"""


def main():
    folder = sys.argv[1]
    random = np.random.default_rng(7)
    onnx.save(network(random), os.path.join(folder, "net.onnx"))
    images, labels = pictures(random)
    writeIdx(os.path.join(folder, "images.gz"), images)
    writeIdx(os.path.join(folder, "labels.gz"), labels)
    model, x, y = line(random)
    onnx.save(model, os.path.join(folder, "line.onnx"))
    np.save(os.path.join(folder, "x.npy"), x)
    np.save(os.path.join(folder, "y.npy"), y)
    for name, text in {"net.yaml": RECIPE, "line.yaml": LINE}.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text.format(folder))


if __name__ == "__main__":
    main()
