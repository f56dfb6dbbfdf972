"""Folding a constant gives what running gives, to the bit.

folding_models.py write FOLDER: operations on constants (folded.onnx), and on inputs of the same
elements (run.onnx), with these inputs. Elements are random bits: of all magnitudes, denormals, zeros
of both signs, infinities and NaN.
folding_models.py compare FOLDER: the outputs of both runs.
"""
import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SETS, SIZE = 6, 64  # constants of more elements are not folded
FLOATS = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f32": TensorProto.FLOAT,
          "f64": TensorProto.DOUBLE}
INTS = {"i8": TensorProto.INT8, "u8": TensorProto.UINT8, "i16": TensorProto.INT16,
        "i32": TensorProto.INT32, "i64": TensorProto.INT64, "u64": TensorProto.UINT64}
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "u8": np.uint8,
         "i16": np.int16, "i32": np.int32, "i64": np.int64, "u64": np.uint64}
UNARY = ("Neg", "Abs", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "Sign", "Relu")
BINARY = ("Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu")
COMPARED = ("Less", "Equal")
RNG = np.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)


def flushed(values):
    """Without denormals, which machines that convert to bf16 in one instruction take for 0."""
    return np.where(np.abs(values) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), values), values)


def bits(name):
    """Random elements; bf16 as the f32 that they are."""
    if name == "bf16":
        raw = RNG.integers(0, 1 << 16, (SETS, SIZE), dtype=np.uint32) << 16
        return flushed(raw.view(np.float32))
    dtype = np.dtype(NUMPY[name])
    raw = RNG.integers(0, 256, (SETS, SIZE * dtype.itemsize), dtype=np.uint8)
    values = raw.view(dtype)
    if name in FLOATS:  # half of them near each other, so that sums and quotients are of interest
        near = RNG.standard_normal((SETS, SIZE // 2)).astype(dtype)
        values[:, ::2] = near
        values[:, :4] = (0.0, -0.0, np.inf, np.nan)
    return values


class Graph:
    """One of both models: `constant` tells which."""

    def __init__(self, constant, data):
        self.constant, self.nodes, self.initializers, self.inputs = constant, [], [], []
        self.results, self.data = {}, data

    def node(self, op, inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def operand(self, name, which, s):
        """Set `s` of the elements called `name`, as a constant or as a part of an input."""
        values = self.data[name, which]
        key = f"{which}_{name}_{s}"
        if self.constant:
            made = numpy_helper.from_array(values[s], key + "_wide" if name == "bf16" else key)
            if name == "bf16":
                made = helper.make_tensor(key, TensorProto.BFLOAT16, [SIZE], (values[s].view(np.uint32) >> 16)
                                          .astype(np.uint16).tobytes(), raw=True)
            if key not in {i.name for i in self.initializers}:
                self.initializers.append(made)
            return key
        if key not in {n.output[0] for n in self.nodes}:
            whole = f"{which}_{name}"
            if s == 0:
                code = TensorProto.FLOAT if name == "bf16" else (FLOATS | INTS)[name]
                self.inputs.append(helper.make_tensor_value_info(whole, code, [SETS, SIZE]))
            index = numpy_helper.from_array(np.int64(s), f"at_{key}")
            self.initializers.append(index)
            part = self.node("Gather", [whole, f"at_{key}"], axis=0)
            op, attributes = ("Cast", {"to": TensorProto.BFLOAT16}) if name == "bf16" else ("Identity", {})
            self.nodes.append(helper.make_node(op, [part], [key], name=key, **attributes))
        return key

    def result(self, name, value):
        self.results.setdefault(name, []).append(value)

    def model(self):
        outputs = []
        for name, values in self.results.items():
            joined = self.node("Concat", values, axis=0)
            code = (FLOATS | INTS | {"bool": TensorProto.BOOL})[name]
            if name == "bf16":
                joined, code = self.node("Cast", [joined], to=TensorProto.FLOAT), TensorProto.FLOAT
            self.nodes.append(helper.make_node("Identity", [joined], [name], name=name))
            outputs.append(helper.make_tensor_value_info(name, code, None))
        graph = helper.make_graph(self.nodes, "g", self.inputs, outputs, self.initializers)
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])


def addOperations(graph):
    for s in range(SETS):
        for name in FLOATS:
            x, y = (graph.operand(name, which, s) for which in "xy")
            for op in UNARY:
                graph.result(name, graph.node(op, [x]))
            for op in BINARY:
                graph.result(name, graph.node(op, [x, y]))
            for op in COMPARED:
                graph.result("bool", graph.node(op, [x, y]))
            graph.result(name, graph.node("Where", [graph.node("Less", [x, y]), y, x]))
            graph.result(name, graph.node("Mod", [x, y], fmod=1))
            for to in FLOATS:
                graph.result(to, graph.node("Cast", [x], to=FLOATS[to]))
            if name not in ("f16", "bf16"):
                chain = graph.node("Add", [graph.node("Mul", [x, y]), x])
                graph.result(name, graph.node("Sub", [graph.node("Div", [chain, y]), x]))
        for name in INTS:
            x, y = (graph.operand(name, which, s) for which in "xy")
            for to in FLOATS:
                graph.result(to, graph.node("Cast", [x], to=FLOATS[to]))
            for to in INTS:
                graph.result(to, graph.node("Cast", [x], to=INTS[to]))
            for op in ("Add", "Sub", "Mul", "Min", "Max"):
                graph.result(name, graph.node(op, [x, y]))
            for op in COMPARED:
                graph.result("bool", graph.node(op, [x, y]))


def write(folder):
    data = {(name, which): bits(name) for name in (*FLOATS, *INTS) for which in "xy"}
    for constant, file in ((True, "folded"), (False, "run")):
        graph = Graph(constant, data)
        addOperations(graph)
        onnx.save(graph.model(), f"{folder}/{file}.onnx")
    with open(f"{folder}/results.json", "w", encoding="utf-8") as file:
        json.dump(graph.results, file)
    for (name, which), values in data.items():
        np.save(f"{folder}/{which}_{name}.npy", values)


def compare(folder):
    with open(f"{folder}/results.json", encoding="utf-8") as file:
        results = json.load(file)
    total = 0
    for name, nodes in results.items():
        folded, run = (np.load(f"{folder}/{way}/{name}.npy").reshape(-1, SIZE) for way in ("folded", "run"))
        assert len(folded) == len(run) == len(nodes)
        if name == "bf16":
            folded, run = flushed(folded), flushed(run)
        same = folded.view(f"u{folded.itemsize}") == run.view(f"u{run.itemsize}")
        if folded.dtype.kind == "f":
            same |= np.isnan(folded) & np.isnan(run)
        total += same.size
        for node in sorted({nodes[i].split("_")[0] for i in np.flatnonzero(~same.all(axis=1))}):
            rows = [i for i in range(len(nodes)) if nodes[i].split("_")[0] == node]
            row, at = next((i, j) for i in rows for j in range(SIZE) if not same[i, j])
            print(f"{name}: {node}: {(~same[rows]).sum()} of {same[rows].size} differ; first: "
                  f"folded {folded[row, at]!r}, run {run[row, at]!r} ({nodes[row]}, element {at})")
    print(f"compared {total} elements")


{"write": write, "compare": compare}[sys.argv[1]](sys.argv[2])
