"""Writes a model of products of 8-bit floats to argv[1], quantised and dequantised as ONNX spells it; argv[2] is the
type of the floats between ("float" or "float16"), argv[3] the number of the rows of its input. Into the folder argv[4]
go an input u.npy and what the last output, of a weight that is not quantised again, is for it."""

import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

wide = TensorProto.FLOAT16 if sys.argv[2] == "float16" else TensorProto.FLOAT
rows = int(sys.argv[3])
fine, coarse = TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2
random = np.random.default_rng(5)
weights = []
nodes = []
outputs = []
tables = {}


def scalar(name, value, kind=wide):
    weights.append(helper.make_tensor(name, kind, [], [value]))
    return name


def weight(name, *shape, kind=fine):
    """Dequantised: of random bytes that are small numbers."""
    highest = 0x40 if kind == fine else 0x42
    codes = random.integers(0, highest, shape, dtype=np.uint8) | (random.integers(0, 2, shape, dtype=np.uint8) << 7)
    tables[name] = codes
    weights.append(helper.make_tensor(name + "_codes", kind, shape, codes.tobytes(), raw=True))
    operands = [name + "_codes", scalar(name + "_scale", 0.11), scalar(name + "_zero", 0, kind)]
    nodes.append(helper.make_node("DequantizeLinear", operands, [name]))
    return name


def quantized(source, kind=fine, scale=0.013):
    name = f"{source}_{scale}_{kind}"
    scales = [scalar(name + "_scale", scale), scalar(name + "_zero", 0, kind)]
    nodes.append(helper.make_node("QuantizeLinear", [source, *scales], [name + "_codes"]))
    nodes.append(helper.make_node("DequantizeLinear", [name + "_codes", *scales], [name], name="widen_" + name))
    return name


def bias(name, size):
    values = random.standard_normal(size).astype(np.float16 if wide == TensorProto.FLOAT16 else np.float32)
    weights.append(numpy_helper.from_array(values, name))
    return name


def add(op, operands, *dims, **attributes):
    outputs.append((f"y{len(outputs)}", dims))
    nodes.append(helper.make_node(op, operands, [outputs[-1][0]], name=f"product{len(outputs) - 1}", **attributes))


def decoded(codes):
    """What bytes of e4m3 are."""
    exponent, fraction = (codes >> 3 & 15).astype(int), (codes & 7) / 8
    size = np.where(exponent == 0, fraction * 2.0**-6, (1 + fraction) * 2.0 ** (exponent - 7))
    return np.where(codes >= 128, -size, size)


x = quantized("x")
add("MatMul", [x, weight("w0", 256, 272)], 2, rows, 272)
nodes.append(helper.make_node("MatMul", [x, weight("w1", 256, 288, kind=coarse)], ["p1"]))  # reads the same codes
nodes.append(helper.make_node("Add", ["p1", bias("b1", 288)], ["s1"]))
add("Relu", ["s1"], 2, rows, 288)
add("Gemm", [quantized("v", scale=0.02), weight("w2", 272, 256), bias("b2", 272)], rows, 272, transB=1)
v = quantized("v", coarse, 0.01)
add("MatMul", [v, weight("w3", 256, 264)], rows, 264)  # no multiple of 16
add("MatMul", [v, weight("w4", 256, 272, kind=coarse)], rows, 272)  # nor one of e4m3
nodes.append(helper.make_node("Transpose", [quantized("v", scale=0.03)], ["t5"], perm=[1, 0]))
add("MatMul", [quantized("u", scale=0.02), "t5"], 48, rows)
add("MatMul", ["u", weight("w6", 256, 288)], 48, 288)
u = random.standard_normal((48, 256)).astype(np.float16 if wide == TensorProto.FLOAT16 else np.float32)
np.save(sys.argv[4] + "/u.npy", u)
np.save(sys.argv[4] + "/y6.npy", (u.astype(float) @ (decoded(tables["w6"]) * 0.11)).astype(u.dtype))
inputs = [("x", [2, rows, 256]), ("v", [rows, 256]), ("u", [48, 256])]
graph = helper.make_graph(nodes, "float8", [helper.make_tensor_value_info(name, wide, dims) for name, dims in inputs],
                          [helper.make_tensor_value_info(name, wide, dims) for name, dims in outputs], weights)
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), sys.argv[1])
