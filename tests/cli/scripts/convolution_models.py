"""Writes models of convolutions:

convolution_models.py outlier DIR: a 3 x 3 convolution, an input of small numbers with some that are
huge, and the result in f64: c.onnx, x.npy, y.npy.
convolution_models.py chains DIR: convolutions, pools and normalisations after each other, as 0.onnx,
1.onnx …, each with input x and output y.
convolution_models.py lines DIR: convolutions along one dim, of one image of a column and of one
spatial dim, transposed ones too, and all their results one behind the other: c.onnx, x.npy, y.npy.
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
        [numpy_helper.from_array(array if array.dtype == np.int64 else array.astype(np.float32), name)
         for name, array in weights.items()])
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


def along_line(x, w, groups, stride, dilation, pads, transposed):
    """In f64: x is N x C x H, w as ONNX has the filter."""
    (batch, channels, height), taps = x.shape, w.shape[2]
    inner = channels // groups
    outer = w.shape[1] if transposed else w.shape[0] // groups
    reach = (taps - 1) * dilation + 1
    if transposed:  # every element of the result that there is before pads crop it
        full = np.zeros((batch, groups * outer, (height - 1) * stride + reach))
    else:
        x = np.pad(x, ((0, 0), (0, 0), pads))
        full = np.zeros((batch, groups * outer, (x.shape[2] - reach) // stride + 1))
    for group in range(groups):
        images = x[:, group * inner:(group + 1) * inner].astype(np.float64)
        result = full[:, group * outer:(group + 1) * outer]
        for tap in range(taps):
            at = tap * dilation
            if transposed:
                result[:, :, at:at + (height - 1) * stride + 1:stride] += np.einsum(
                    "nih,io->noh", images, w[group * inner:(group + 1) * inner, :, tap])
            else:
                taken = images[:, :, at:at + (full.shape[2] - 1) * stride + 1:stride]
                result += np.einsum("nih,oi->noh", taken, w[group * outer:(group + 1) * outer, :, tap])
    return full[:, :, pads[0]:full.shape[2] - pads[1]] if transposed else full


def lines(folder):
    random = np.random.default_rng(3)
    channels, height = 48, 90
    x = random.standard_normal((2, channels, height, 1)).astype(np.float32)
    weights = {"axes": np.array([3]), "flat": np.array([-1])}
    nodes = [helper.make_node("Squeeze", ["x", "axes"], ["line"], name="line")]
    results, expected = [], []
    for number in range(60):
        groups = int(random.choice([1, 1, 2, 3, 16, channels]))
        outer = 1 if groups == channels else int(random.choice([1, 5, 8, 32]))
        taps, stride, dilation = (int(random.choice(of)) for of in ([1, 2, 3, 8], [1, 1, 2, 3], [1, 1, 2]))
        pads = [int(random.integers(taps)), int(random.integers(taps))]
        transposed, column = number % 3 == 0, number % 2 == 0
        shape = ([channels, outer] if transposed else [groups * outer, channels // groups]) + [taps]
        w, bias = random.standard_normal(shape).astype(np.float32), random.standard_normal(groups * outer)
        y = along_line(x[..., 0], w, groups, stride, dilation, pads, transposed)
        y += bias.astype(np.float32)[:, None]
        weights[f"w{number}"] = w[..., None] if column else w
        weights[f"b{number}"] = bias
        inputs = ["x" if column else "line", f"w{number}", f"b{number}"]
        if number % 5 == 1:  # a filter that is computed
            nodes.append(helper.make_node("Mul", [inputs[1], "scale"], [f"s{number}"], name=f"s{number}"))
            inputs[1] = f"s{number}"
        ones, zeros = ([1], [0]) if column else ([], [])
        nodes.append(helper.make_node(
            "ConvTranspose" if transposed else "Conv", inputs, [f"c{number}"], name=f"c{number}",
            group=groups, strides=[stride] + ones, dilations=[dilation] + ones,
            pads=[pads[0]] + zeros + [pads[1]] + zeros))
        results.append(f"c{number}")
        if number % 4 < 2:
            nodes.append(helper.make_node("Relu", [results[-1]], [f"r{number}"], name=f"r{number}"))
            results[-1], y = f"r{number}", np.maximum(y, 0)
        nodes.append(helper.make_node("Reshape", [results[-1], "flat"], [f"f{number}"], name=f"f{number}"))
        results[-1] = f"f{number}"
        expected.append(y.ravel())
    # Of an input, so that filters are not known.
    nodes.insert(1, helper.make_node("ReduceMax", ["x"], ["most"], name="most", keepdims=0))
    nodes.insert(2, helper.make_node("Div", ["most", "most"], ["scale"], name="scale"))
    nodes.append(helper.make_node("Concat", results, ["y"], name="all", axis=0))
    np.save(f"{folder}/x.npy", x)
    np.save(f"{folder}/y.npy", np.concatenate(expected).astype(np.float32))
    save(f"{folder}/c.onnx", nodes, x.shape, weights)


{"outlier": outlier, "lines": lines, "chains": chains}[sys.argv[1]](sys.argv[2])
