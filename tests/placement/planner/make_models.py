"""Writes the ONNX models of stages_test.cpp, whose shapes or number of steps depend on data, and of
filters_test.cpp, whose filters are inputs; and of start_test.cpp."""
import argparse
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
tensor = helper.make_tensor_value_info


def const(name, values, dtype):
    return numpy_helper.from_array(np.array(values, dtype=dtype), name)


def expand():
    """y = x repeated in int(n) rows."""
    return helper.make_graph(
        [node("Cast", ["n"], ["rows"], to=INT64), node("Concat", ["rows", "columns"], ["shape"], axis=0),
         node("Exp", ["x"], ["e"]), node("Expand", ["e", "shape"], ["y"])], "expand",
        [tensor("x", FLOAT, ["C"]), tensor("n", FLOAT, [1])], [tensor("y", FLOAT, [None, None])],
        [const("columns", [1], np.int64)])


def double():
    """Doubles x until its sum is above 1000; y is the result and all holds every step."""
    body = helper.make_graph(
        [node("Add", ["v", "v"], ["w"]), node("ReduceSum", ["w"], ["sum"], keepdims=0),
         node("Less", ["sum", "bound"], ["again"])], "body",
        [tensor("i", INT64, []), tensor("go", BOOL, []), tensor("v", FLOAT, ["N"])],
        [tensor("again", BOOL, []), tensor("w", FLOAT, ["N"])])
    return helper.make_graph([node("Loop", ["", "", "x"], ["y"], body=body)], "double",
                             [tensor("x", FLOAT, ["N"])], [tensor("y", FLOAT, ["N"])],
                             [const("bound", 1000.0, np.float32)])


def choose():
    """A branch by data, inside a loop whose number of iterations is an input."""
    up = helper.make_graph([node("Add", ["v", "v"], ["u"])], "up", [], [tensor("u", FLOAT, None)])
    down = helper.make_graph([node("Neg", ["v"], ["d"])], "down", [], [tensor("d", FLOAT, None)])
    body = helper.make_graph(
        [node("ReduceSum", ["v"], ["sum"], keepdims=0), node("Less", ["sum", "zero"], ["negative"]),
         node("If", ["negative"], ["w"], then_branch=down, else_branch=up)], "body",
        [tensor("i", INT64, []), tensor("go", BOOL, []), tensor("v", FLOAT, ["N"])],
        [tensor("go", BOOL, []), tensor("w", FLOAT, ["N"]), tensor("sum", FLOAT, [])])
    return helper.make_graph([node("Loop", ["m", "", "x"], ["y", "sums"], body=body)], "choose",
                             [tensor("m", INT64, []), tensor("x", FLOAT, ["N"])],
                             [tensor("y", FLOAT, ["N"]), tensor("sums", FLOAT, [None])],
                             [const("zero", 0.0, np.float32)])


def transposed():
    """A transposed convolution whose filter is an input."""
    return helper.make_graph(
        [node("ConvTranspose", ["x", "w"], ["y"])], "transposed",
        [tensor("x", FLOAT, [1, 2, 1, 1]), tensor("w", FLOAT, [2, 2, 1, 1])], [tensor("y", FLOAT, [1, 2, 1, 1])])


def grouped():
    """A convolution in groups whose filter is an input."""
    return helper.make_graph(
        [node("Conv", ["x", "w"], ["y"], group=2)], "grouped",
        [tensor("x", FLOAT, [1, 32, 1, 1]), tensor("w", FLOAT, [32, 16, 1, 1])],
        [tensor("y", FLOAT, [1, 32, 1, 1])])


def words():
    """Numbers of known words, and all words behind the known ones: moved, never looked into."""
    return helper.make_graph(
        [node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=["a", "b"],
              values_int64s=[1, 2], default_int64=0),
         node("Constant", [], ["known"], value_strings=["a", "b"]),
         node("Concat", ["known", "x"], ["all"], axis=0)], "words",
        [tensor("x", TensorProto.STRING, ["N"])],
        [tensor("y", INT64, ["N"]), tensor("all", TensorProto.STRING, [None])])


def lower():
    """Lower-cased words without "the", their numbers, and something to compute with these."""
    return helper.make_graph(
        [node("StringNormalizer", ["x"], ["low"], case_change_action="LOWER", stopwords=["the"]),
         node("LabelEncoder", ["low"], ["n"], domain="ai.onnx.ml", keys_strings=["a", "b"],
              values_floats=[1.0, 2.0], default_float=0.0),
         node("Exp", ["n"], ["y"])], "lower", [tensor("x", TensorProto.STRING, ["N"])],
        [tensor("y", FLOAT, [None]), tensor("low", TensorProto.STRING, [None])])


def batched():
    """A convolution, an epilogue of broadcasts and a product, for any number of images."""
    random = np.random.default_rng(1)
    def weight(name, shape):
        return numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
    return helper.make_graph(
        [node("Conv", ["x", "w"], ["a"], kernel_shape=[3, 3], pads=[1] * 4),
         node("GlobalAveragePool", ["a"], ["mean"]), node("Sigmoid", ["mean"], ["gate"]),
         node("Mul", ["a", "gate"], ["b"]), node("Tanh", ["b"], ["c"]),
         node("GlobalMaxPool", ["c"], ["p"]), node("Flatten", ["p"], ["f"]), node("MatMul", ["f", "v"], ["y"])],
        "batched", [tensor("x", FLOAT, ["N", 32, "H", "W"])], [tensor("y", FLOAT, ["N", 64])],
        [weight("w", (64, 32, 3, 3)), weight("v", (64, 64))])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    out = parser.parse_args().out
    os.makedirs(out, exist_ok=True)
    for make in (expand, double, choose, transposed, grouped, words, lower, batched):
        model = helper.make_model(make(), opset_imports=[helper.make_opsetid("", 18),
                                                          helper.make_opsetid("ai.onnx.ml", 2)])
        model.ir_version = 8
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(out, make.__name__ + ".onnx"))


if __name__ == "__main__":
    main()
