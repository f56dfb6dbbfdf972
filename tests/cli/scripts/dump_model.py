#!/usr/bin/env python3
"""dump_model.py write DIR: writes DIR/m.onnx and its input DIR/x.npy. dump_model.py check DIR: lists DIR/d, and fails
unless what lies there is what the operations between give; removes it."""

import os
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper


def write(folder):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 6])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 3])
    nodes = [helper.make_node("Neg", ["x"], ["n"], name="block/turn"),
             helper.make_node("Split", ["n"], ["a", "b"], name="block/halves", axis=1, num_outputs=2),
             helper.make_node("Mul", ["a", "b"], ["m"], name="join"),
             helper.make_node("Exp", ["m"], ["y"], name="last")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "m", [x], [y]), opset_imports=[helper.make_opsetid("", 18)]),
              os.path.join(folder, "m.onnx"))
    np.save(os.path.join(folder, "x.npy"), np.random.default_rng(1).random((4, 6), np.float32))


def check(folder):
    n = -np.load(os.path.join(folder, "x.npy"))
    a, b = n[:, :3], n[:, 3:]
    dumps = os.path.join(folder, "d")
    for name in sorted(os.listdir(dumps)):
        print(name)
        want = {"block_turn.npy": n, "block_halves.npy": a, "block_halves:1.npy": b}[name]
        np.testing.assert_array_equal(np.load(os.path.join(dumps, name)), want)
    np.testing.assert_allclose(np.load(os.path.join(folder, "y.npy")), np.exp(a * b), rtol=1e-5)
    shutil.rmtree(dumps)
    print("as they should be")


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](sys.argv[2])
