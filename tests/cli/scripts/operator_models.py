#!/usr/bin/env python3
"""Writes the smallest models of findings beside ONNX Runtime, as test cases in ONNX's form.

OUT/<case>/model.onnx, test_data_set_0 and, where the usual tolerance is not meant, data.json. What is
expected comes from NumPy where ONNX Runtime refuses the model or is not exact, else from ONNX Runtime.
"""

import json
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

onnxruntime.set_default_logger_severity(4)
LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
F32 = np.float32
node = helper.make_node
random = np.random.default_rng(1)


def draw(*shape):
    return random.uniform(-1, 1, shape).astype(F32)


def port(name, value=None, shape=None):
    """`shape`: dims, of which strings are symbols; None: of unknown rank."""
    made = onnx.ValueInfoProto(name=name)
    if value is not None:
        tensor = made.type.tensor_type
        tensor.elem_type = helper.np_dtype_to_tensor_dtype(value.dtype)
        if shape is not None:
            tensor.shape.SetInParent()
            for dim in shape:
                key = "dim_param" if isinstance(dim, str) else "dim_value"
                setattr(tensor.shape.dim.add(), key, dim)
    return made


class Case:
    def __init__(self, name, nodes, inputs, constants=None, outputs=("y",), opset=17, shapes=None,
                 expected=None, tolerance=None):
        """`shapes`: of inputs where the model does not say the whole; `tolerance`: (rtol, atol)."""
        self.name, self.inputs, self.outputs, self.tolerance = name, inputs, outputs, tolerance
        shapes = shapes or {}
        ports = [port(key, value, shapes.get(key, value.shape)) for key, value in inputs.items()]
        graph = helper.make_graph(nodes, "g", ports, [port(output) for output in outputs],
                                  [numpy_helper.from_array(value, key)
                                   for key, value in (constants or {}).items()])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                       ir_version=8).SerializeToString()
        self.expected = expected
        if expected is None:
            self.expected = onnxruntime.InferenceSession(self.model).run(None, inputs)

    def write(self, folder):
        data = os.path.join(folder, self.name, "test_data_set_0")
        os.makedirs(data)
        with open(os.path.join(folder, self.name, "model.onnx"), "wb") as file:
            file.write(self.model)
        for kind, values in (("input", self.inputs.items()),
                             ("output", zip(self.outputs, self.expected))):
            for i, (name, value) in enumerate(values):
                with open(os.path.join(data, f"{kind}_{i}.pb"), "wb") as file:
                    file.write(numpy_helper.from_array(np.asarray(value), name).SerializeToString())
        if self.tolerance:
            with open(os.path.join(folder, self.name, "data.json"), "w", encoding="utf-8") as file:
                json.dump(dict(zip(("rtol", "atol"), self.tolerance)), file)


def vectors():
    """Products with a vector: constant, on either side, with batches and what is fused behind."""
    product = [node("MatMul", ["x", "w"], ["y"])]
    for size in (1, 2, 17):
        yield Case(f"vector_right_{size}", product, {"x": draw(3, size)}, {"w": draw(size)})
        yield Case(f"vector_left_{size}", [node("MatMul", ["w", "x"], ["y"])], {"x": draw(size, 5)},
                   {"w": draw(size)})
        yield Case(f"vector_both_{size}", product, {"x": draw(size)}, {"w": draw(size)})
    yield Case("vector_right_batches", product, {"x": draw(2, 3, 8)}, {"w": draw(8)})
    yield Case("vector_left_batches", [node("MatMul", ["w", "x"], ["y"])], {"x": draw(2, 3, 8, 5)},
               {"w": draw(8)})
    yield Case("vector_right_f16", product, {"x": draw(3, 8).astype(np.float16)},
               {"w": draw(8).astype(np.float16)}, tolerance=(2e-3, 1e-3))
    yield Case("vector_right_i32", product, {"x": np.arange(24, dtype=np.int32).reshape(3, 8)},
               {"w": np.arange(8, dtype=np.int32)})
    x = random.integers(0, 255, (3, 8)).astype(np.uint8)
    w = random.integers(-60, 60, 8).astype(np.int8)
    yield Case("vector_right_bytes", [node("MatMulInteger", ["x", "w"], ["y"])], {"x": x}, {"w": w},
               expected=[x.astype(np.int32) @ w.astype(np.int32)])
    for name, shape in (("rows", (3, 8)), ("batches", (2, 3, 8)), ("square", (3, 3, 8))):
        out = shape[:-1]
        for what, other in (("row", draw(out[-1])), ("column", draw(out[0], *(1,) * (len(out) - 1))),
                            ("same", draw(*out))):
            nodes = [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["s"]),
                     node("Relu", ["s"], ["y"])]
            constants = {"w": draw(8), "b": other}
            yield Case(f"vector_fused_{name}_{what}", nodes, {"x": draw(*shape)}, constants)
            yield Case(f"vector_fused_{name}_{what}_input", nodes, {"x": draw(*shape), "b": other},
                       {"w": constants["w"]})
    yield Case("matrix_with_batch_of_one", product, {"x": draw(3, 64)}, {"w": draw(1, 64, 48)})


def cells():
    """Recurrent cells whose matrices lie in one way only, weights constant or not."""
    for kind, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for inputs, hidden in ((1, 1), (4, 1), (1, 4)):
            weights = {"w": draw(1, gates * hidden, inputs), "r": draw(1, gates * hidden, hidden),
                       "b": draw(1, 2 * gates * hidden)}
            for constant in ("wrb", "wb", "rb", ""):
                fed = {key: value for key, value in weights.items() if key not in constant}
                fixed = {key: value for key, value in weights.items() if key in constant}
                for linear in ((0, 1) if kind == "GRU" else (0,)):
                    options = {"linear_before_reset": linear} if linear else {}
                    yield Case(f"{kind.lower()}{'_linear' * linear}_{inputs}_{hidden}_{constant}",
                               [node(kind, ["x", "w", "r", "b"], ["y", "h"], hidden_size=hidden,
                                     **options)],
                               {"x": draw(3, 2, inputs), **fed}, fixed, ("y", "h"))


def scans():
    """Scan along every axis, from either end, of inputs of known and unknown rank."""
    body = helper.make_graph(
        [node("Mul", ["s", "e"], ["next"]), node("Identity", ["next"], ["out"])], "body",
        [port("s", draw(1)), port("e", draw(1))], [port("next", draw(1)), port("out", draw(1))])

    def case(name, x, shapes, into=0, along=0, backwards=0):
        slices = np.moveaxis(x, along, 0)
        products = np.cumprod(slices, axis=0)
        collected = np.moveaxis(products[::-1] if backwards else products, 0, into)
        return Case(name, [node("Scan", ["s0", "x"], ["last", "y"], num_scan_inputs=1, body=body,
                                scan_input_axes=[along], scan_output_axes=[into],
                                scan_output_directions=[backwards])],
                    {"s0": np.ones_like(slices[0]), "x": x}, outputs=("last", "y"), shapes=shapes,
                    expected=[products[-1], np.ascontiguousarray(collected)])

    for rank, shapes in (("", None), ("_of_unknown_rank", {"s0": None, "x": None})):
        for axis in (1, 2, -1, -2, -3):
            yield case(f"scan_into_{axis}{rank}", draw(3, 4, 2), shapes, into=axis)
            yield case(f"scan_along_{axis}{rank}", draw(3, 4, 2), shapes, along=axis)
        yield case(f"scan_backwards{rank}", draw(3, 4), shapes, backwards=1)
        yield case(f"scan_backwards_into_1{rank}", draw(3, 4), shapes, into=1, backwards=1)


def unknownRanks():
    """Inputs of unknown rank: attributes are read when the node is imported in a plan."""
    def case(kind, x, constants=None, opset=18, inputs=("x",), **attributes):
        return Case(f"unknown_rank_{kind}", [node(kind, list(inputs), ["y"], **attributes)],
                    {"x": x}, constants, opset=opset, shapes={"x": None})

    window = {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}
    yield case("Conv", draw(1, 2, 9), {"w": draw(3, 2, 3)}, inputs=("x", "w"), **window)
    yield case("ConvTranspose", draw(1, 3, 9), {"w": draw(3, 2, 3)}, inputs=("x", "w"),
               output_padding=[1], **window)
    for kind in ("MaxPool", "AveragePool", "LpPool"):
        yield case(kind, draw(1, 2, 9), **window)
    yield case("Resize", draw(1, 2, 4, 4), {"s": np.array([2, 2], F32)}, inputs=("x", "", "s"),
               axes=[2, 3], mode="linear", coordinate_transformation_mode="asymmetric")
    yield case("CenterCropPad", draw(1, 5, 6), {"s": np.array([3, 8])}, inputs=("x", "s"),
               axes=[1, 2])
    yield Case("unknown_rank_product_over_nothing", [node("MatMul", ["x", "w"], ["y"])],
               {"x": draw(2, 0)}, {"w": draw(0, 3)}, shapes={"x": None})


def extremes():
    """The smallest and the largest number in slices and ranges."""
    def sliced(name, x, start, end, step, expected, shape):
        places = {"s": np.array([start]), "e": np.array([end]), "a": np.array([0]),
                  "p": np.array([step])}
        slicing = [node("Slice", ["x", "s", "e", "a", "p"], ["y"])]
        yield Case(name, slicing, {"x": x}, places, shapes={"x": shape}, expected=[expected])
        late = {key: places.pop(key) for key in ("s", "e")}
        yield Case(f"{name}_late", slicing, {"x": x, **late}, places, shapes={"x": shape},
                   expected=[expected])

    x = draw(5)
    for name, shape in (("", (5,)), ("_symbolic", ("n",)), ("_unknown", None)):
        yield from sliced(f"slice_reversed{name}", x, -1, LEAST, -1, x[::-1].copy(), shape)
        yield from sliced(f"slice_before_begin{name}", x, -10, LEAST, -1, x[:1], shape)
        yield from sliced(f"slice_every_other{name}", x, MOST, LEAST, -2, x[::-2].copy(), shape)
        yield from sliced(f"slice_least_step{name}", x, -1, LEAST, LEAST, x[-1:], shape)
        yield from sliced(f"slice_most_step{name}", x, 1, MOST, MOST, x[1:2], shape)
        yield from sliced(f"slice_from_least{name}", x, LEAST, 2, 1, x[:2], shape)
        yield from sliced(f"slice_to_least{name}", x, 0, LEAST, 1, x[:0], shape)
    for name, start, limit, delta in (("near_least", LEAST, LEAST + 3, 1), ("down", LEAST + 3, LEAST, -1),
                                      ("least_delta", 0, LEAST, LEAST), ("whole", LEAST, MOST, MOST)):
        numbers = {"a": np.array(start), "b": np.array(limit), "c": np.array(delta)}
        expected = [np.array(range(start, limit, delta), np.int64)]
        counting = [node("Range", ["a", "b", "c"], ["y"])]
        late = {key: numbers[key] for key in ("a", "b")}
        yield Case(f"range_{name}", counting + [node("Add", ["y", "z"], ["u"])],
                   {"z": np.array(0)}, numbers, outputs=("y", "u"), expected=expected * 2)
        yield Case(f"range_{name}_late", counting, late, {"c": numbers["c"]}, expected=expected)


def loops():
    """Loops of no iteration: what they would have collected has the type of a first iteration."""
    def case(name, nodes, v, expected, constants=None, shapes=None):
        flag, count = np.array(True), np.array(0)
        body = helper.make_graph(
            [node("Identity", ["c"], ["more"]), node("Identity", ["v"], ["kept"]), *nodes], "body",
            [port("i", count, ()), port("c", flag, ()), port("v", v)],
            [port("more", flag, ()), port("kept", v), port("s", expected)])
        return Case(f"loop_{name}", [node("Loop", ["n", "", "x"], ["last", "y"], body=body)],
                    {"n": count, "x": v}, constants, ("last", "y"), shapes=shapes,
                    expected=[v, expected])

    x = draw(4)
    for name, shapes in (("", None), ("_of_unknown_rank", {"x": None})):
        yield case(f"none{name}", [node("Unsqueeze", ["v", "axes"], ["u"]),
                                   node("Mul", ["u", "two"], ["s"])], x, np.zeros((0, 4, 2), F32),
                   {"axes": np.array([1]), "two": draw(2)}, shapes)
        yield case(f"none_deferred{name}", [node("Concat", ["v", "v"], ["w"], axis=-1),
                                            node("Reshape", ["w", "shape"], ["s"])], x,
                   np.zeros((0, 4, 2), F32), {"shape": np.array([-1, 2])}, shapes)


def empty():
    """Softmax and Hardmax of tensors without elements, pools without windows."""
    for opset in (11, 12, 13):
        for shape in ((0, 3), (3, 0), (2, 3, 0), (2, 0, 3)):
            for kind in ("Softmax", "LogSoftmax", "Hardmax"):
                for axis in range(len(shape)):
                    name = f"empty_{kind}_{opset}_{'x'.join(map(str, shape))}_{axis}"
                    nodes = [node(kind, ["x"], ["y"], axis=axis)]
                    x = np.zeros(shape, F32)
                    yield Case(name, nodes, {"x": x}, opset=opset)
                    if opset == 11 and axis == 1:
                        symbols = tuple(f"d{i}" for i in range(len(shape)))
                        yield Case(f"{name}_symbolic", nodes, {"x": x}, opset=opset,
                                   shapes={"x": symbols})
    for kind in ("MaxPool", "AveragePool", "LpPool"):
        nodes = [node(kind, ["x"], ["p"], kernel_shape=[3, 3]), node("Relu", ["p"], ["y"])]
        for name, shapes in (("", None), ("_symbolic", {"x": ("n", "c", "h", "w")})):
            yield Case(f"empty_{kind}{name}", nodes, {"x": draw(1, 2, 2, 5)}, shapes=shapes,
                       expected=[np.zeros((1, 2, 0, 3), F32)])


def samePadding():
    """Strides above the kernel: no side is padded by less than nothing (ONNX: max(0, …))."""
    for pads, upper in (("SAME_UPPER", True), ("SAME_LOWER", False)):
        for size, kernel, stride in ((9, 1, 3), (10, 2, 5), (9, 2, 4), (11, 3, 5)):
            count = -(-size // stride)
            total = max(0, (count - 1) * stride + kernel - size)
            begin = total // 2 if upper else total - total // 2
            x = draw(1, 4, size, 2) + 2
            windows = [x[:, :, max(0, i * stride - begin):i * stride - begin + kernel]
                       for i in range(count)]
            window = {"strides": [stride, 1], "auto_pad": pads}
            name = f"{pads.lower()}_{size}_{kernel}_{stride}"
            for kind, take in (("MaxPool", lambda w: w.max(2)), ("AveragePool", lambda w: w.mean(2)),
                               ("LpPool", lambda w: np.sqrt((w * w).sum(2)))):
                yield Case(f"{name}_{kind}", [node(kind, ["x"], ["y"], kernel_shape=[kernel, 1], **window)],
                           {"x": x}, expected=[np.stack([take(w) for w in windows], 2)])
            sums = np.stack([w.sum(2) for w in windows], 2)
            for groups in (1, 4):
                w = np.ones((4, 4 // groups, kernel, 1), F32)
                yield Case(f"{name}_Conv_{groups}",
                           [node("Conv", ["x", "w"], ["y"], group=groups, **window)], {"x": x}, {"w": w},
                           expected=[sums if groups == 4
                                     else np.broadcast_to(sums.sum(1, keepdims=True), sums.shape).copy()])


def logarithms():
    """A softmax over one element is 1 and its logarithm 0; one large element rounds no other."""
    for shape, axis in (((4, 1), 1), ((1, 5), 0), ((2, 1, 3), 1), ((3, 1, 5, 7), 1)):
        for dtype in (F32, np.float16):
            x = (draw(*shape) * 50).astype(dtype)
            name = f"{'x'.join(map(str, shape))}_{np.dtype(dtype).name}"
            yield Case(f"log_of_one_{name}", [node("LogSoftmax", ["x"], ["y"], axis=axis)], {"x": x},
                       expected=[np.zeros_like(x)], tolerance=(0, 0))
            yield Case(f"one_{name}", [node("Softmax", ["x"], ["y"], axis=axis)], {"x": x},
                       expected=[np.ones_like(x)], tolerance=(0, 0))
    for axis in range(4):
        for name, large in (("", 0), ("_large", 10000.25)):
            x = draw(2, 21, 3, 16) * 5
            first = [slice(None)] * 4
            first[axis] = slice(0, 1)
            x[tuple(first)] += F32(large)
            shifted = x.astype(np.float64) - x.max(axis, keepdims=True)
            y = shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))
            yield Case(f"log_along_{axis}{name}", [node("LogSoftmax", ["x"], ["y"], axis=axis)], {"x": x},
                       expected=[y.astype(F32)], tolerance=(5e-7, 0 if large else 5e-7))


def main():
    folder = sys.argv[1]
    for family in (vectors, cells, scans, unknownRanks, extremes, loops, empty, samePadding, logarithms):
        for case in family():
            case.write(folder)


if __name__ == "__main__":
    main()
