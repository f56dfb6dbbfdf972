"""Writes a model of products of one type, with activations and with arithmetic behind them, and its input:
bits_model.py TYPE FOLDER."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
ROWS, COLUMNS = 37, 48
ACTIVATIONS = ["Tanh", "Sigmoid", "Softplus", "Erf", "Exp", "Sin", "Gelu", "Elu", "Atan", "HardSwish"]
UNARY = ["Relu", "Abs", "LeakyRelu", "Sqrt"]
ARITHMETIC = [["Add"], ["Relu", "Add"], ["Sub", "Relu"], ["LeakyRelu", "Mul"], ["Max", "Add", "Abs", "Sqrt"],
              ["Mul", "Add", "Min"], ["Relu", "Div", "Sub"], ["Abs", "Sqrt", "Sub"]]


def main():
    element = TYPES[sys.argv[1]]
    folder = sys.argv[2]
    random = np.random.default_rng(21)
    nodes = [helper.make_node("Cast", ["x"], ["c"], "start", to=element)]
    weights = []
    last = "c"
    for i, activation in enumerate(ACTIVATIONS):
        weight = random.normal(0, 0.4, (COLUMNS, COLUMNS)).astype(np.float32)
        weights.append(helper.make_tensor(f"w{i}", element, weight.shape, weight.ravel().tolist()))
        nodes += [
            helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"], f"product{i}"),
            helper.make_node(activation, [f"p{i}"], [f"a{i}"], f"activation{i}"),
            helper.make_node("Mul", [f"a{i}", "c"], [f"m{i}"], f"scaled{i}"),
            helper.make_node("Sub", [f"m{i}", f"a{i}"], [f"s{i}"], f"shifted{i}"),
            helper.make_node("Tanh", [f"s{i}"], [f"t{i}"], f"bounded{i}"),
        ]
        last = f"t{i}"
    # What libraries do exactly in f32, in the same call as the product.
    for i, chain in enumerate(ARITHMETIC, len(ACTIVATIONS)):
        weight = random.normal(0, 0.2, (COLUMNS, COLUMNS)).astype(np.float32)
        weights.append(helper.make_tensor(f"w{i}", element, weight.shape, weight.ravel().tolist()))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"p{i}"], f"product{i}"))
        last = f"p{i}"
        for j, kind in enumerate(chain):
            operands = [last] if kind in UNARY else [last, "c"]
            last = f"e{i}_{j}"
            nodes.append(helper.make_node(kind, operands, [last], f"{('shifted', 'scaled')[j % 2]}{i}"))
    nodes.append(helper.make_node("Cast", [last], ["y"], "end", to=TensorProto.FLOAT))
    shape = [ROWS, COLUMNS]
    np.save(f"{folder}/x.npy", random.normal(0, 2, shape).astype(np.float32))
    save(f"{folder}/{sys.argv[1]}.onnx", nodes, weights, shape)
    if element == TensorProto.FLOAT:
        save(f"{folder}/rank.onnx", *folded(random), None)


def folded(random):
    """Scales and shifts of a product, which are folded when the rank of x is known: when it is placed."""
    values = {"w": (COLUMNS, COLUMNS), "k": (COLUMNS,), "b": (COLUMNS,), "c": (1, COLUMNS)}
    weights = [numpy_helper.from_array(random.normal(0, 0.4, shape).astype(np.float32), name)
               for name, shape in values.items()]
    nodes = [helper.make_node(kind, operands, [result], name) for kind, operands, result, name in [
        ("MatMul", ["x", "w"], "p", "product"), ("Mul", ["p", "k"], "m", "scaled"),
        ("Add", ["m", "b"], "s", "shifted"), ("MatMul", ["s", "w"], "q", "product1"),
        ("Add", ["q", "b"], "r", "shifted1"), ("Add", ["r", "c"], "y", "bounded")]]
    return nodes, weights


def save(path, nodes, weights, shape):
    graph = helper.make_graph(
        nodes, "bits",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    onnx.save(model, path)


main()
