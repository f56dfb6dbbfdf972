"""Writes models of convolutions:

convolution_models.py outlier DIR: a 3 x 3 convolution, an input of small numbers with some that are
huge, and the result in f64: c.onnx, x.npy, y.npy.
convolution_models.py chains DIR: convolutions, pools and normalisations after each other, as 0.onnx,
1.onnx …, each with input x and output y.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Channels, height and batch of the input; then for each operation its name, and of a convolution
# results, kernel and stride.
CHAINS = (((64, 28, 2), ("Conv", 32, 3, 1), ("GlobalAveragePool",)),
          ((3, 14, 1), ("Conv", 32, 5, 1), ("Conv", 16, 5, 2), ("Relu",)),
          ((8, 7, 1), ("Relu",), ("Conv", 16, 1, 1), ("Conv", 32, 3, 1)),
          ((64, 28, 1), ("Conv", 16, 3, 2), ("Conv", 16, 3, 1), ("InstanceNormalization",)),
          ((3, 28, 1), ("Conv", 16, 1, 2), ("Relu",), ("InstanceNormalization",), ("Conv", 8, 3, 1)),
          ((3, 14, 1), ("InstanceNormalization",), ("AveragePool",), ("Conv", 8, 1, 2)),
          ((16, 14, 2), ("Conv", 24, 3, 1), ("Add",), ("Conv", 24, 3, 1), ("AveragePool",)),
          ((3, 28, 2), ("MaxPool",), ("Sigmoid",), ("GlobalAveragePool",)))


def save(path, nodes, shape, weights):
    """The chain of `nodes`, from x to y."""
    graph = helper.make_graph(
        nodes, "convolutions", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)


def outlier(folder):
    random = np.random.default_rng(1)
    channels, size = 64, 28
    x = random.uniform(-1, 1, (1, channels, size, size)).astype(np.float32)
    for huge in (1e4, -1e6, 3e12):
        x[0, random.integers(channels), random.integers(size), random.integers(size)] = huge
    w = (random.standard_normal((channels, channels, 3, 3)) / 24).astype(np.float32)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    np.save(f"{folder}/x.npy", x)
    np.save(f"{folder}/y.npy", np.einsum("nchwij,ocij->nohw", windows, w).astype(np.float32))
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 1, 1])
    save(f"{folder}/c.onnx", [node], x.shape, {"w": w})


def chain(path, random, image, operations):
    (channels, size, batch), weights, nodes = image, {}, []

    def weight(*shape):
        weights[f"w{len(weights)}"] = random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        return list(weights)[-1]

    for number, (kind, *sizes) in enumerate(operations):
        value = f"v{number}" if number else "x"
        inputs, attributes = [value], {}
        if kind == "Conv":
            results, kernel, stride = sizes
            inputs += [weight(results, channels, kernel, kernel), weight(results)]
            attributes = {"pads": [kernel // 2] * 4, "strides": [stride] * 2}
            channels = results
        elif kind == "InstanceNormalization":
            inputs += [weight(channels), weight(channels)]
        elif kind in ("AveragePool", "MaxPool"):
            attributes = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
        elif kind == "Add":
            inputs.append(value)
        result = f"v{number + 1}" if number + 1 < len(operations) else "y"
        nodes.append(helper.make_node(kind, inputs, [result], name=f"n{number}", **attributes))
    save(path, nodes, [batch, image[0], size, size], weights)


def chains(folder):
    random = np.random.default_rng(2)
    for number, (image, *operations) in enumerate(CHAINS):
        chain(f"{folder}/{number}.onnx", random, image, operations)


{"outlier": outlier, "chains": chains}[sys.argv[1]](sys.argv[2])
