"""Writes a model of activations of f64, of an input and of the same numbers as a constant, the input, and what each
output should hold: double_model.py FOLDER"""

import sys
from decimal import Decimal, Overflow, getcontext

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

getcontext().prec = 1000  # of series whose terms are as large as their sums are small
NUMBERS = [-710, -700, -40, -37, -10, -0.4, -1e-5, -1e-17, -1e-300, 1e-17, 10, 700]
getcontext().traps[Overflow] = False  # an infinite divisor leaves 0
LEAST = Decimal(10) ** -900


def series(term, ratio):
    """term + term * ratio(1) / 3 + term * ratio(1) * ratio(2) / 5 + …"""
    total, n = term, 0
    while abs(term) > LEAST:
        n += 1
        term *= ratio(n)
        total += term / (2 * n + 1)
    return total


PI = 16 * series(Decimal(1) / 5, lambda n: Decimal(-1) / 25) - 4 * series(Decimal(1) / 239, lambda n: Decimal(-1) / 239**2)


def gelu(x):
    if abs(x) >= 40:  # of what is left, f64 has nothing
        return max(x, Decimal(0))
    return x * (Decimal(1) / 2 + series(x, lambda n: -x * x / (2 * n)) / (2 * PI).sqrt())


def gated(x, power):
    return x / (1 + (-power).exp())


EXPECTED = {
    "Elu": lambda x: x if x > 0 else x.exp() - 1,
    "Softplus": lambda x: (1 + x.exp()).ln(),
    "Sigmoid": lambda x: gated(1, x),
    "Gelu": gelu,
    "GeluTanh": lambda x: gated(x, (8 / PI).sqrt() * (x + Decimal("0.044715") * x**3)),
}

folder = sys.argv[1]
x = np.array(NUMBERS, np.float64)
np.save(f"{folder}/x.npy", x)
nodes, outputs = [], []
for name, function in EXPECTED.items():
    attributes = {"approximate": "tanh"} if name == "GeluTanh" else {}
    for operand in ("x", "constant"):
        outputs.append(f"{name}_{operand}")
        nodes.append(helper.make_node(name.removesuffix("Tanh"), [operand], [outputs[-1]], **attributes))
    np.save(f"{folder}/{name}.npy", np.array([float(function(Decimal(float(v)))) for v in x]))
ports = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, x.shape) for name in ["x", *outputs]]
graph = helper.make_graph(nodes, "doubles", ports[:1], ports[1:], [numpy_helper.from_array(x, "constant")])
onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)]), f"{folder}/model.onnx")
