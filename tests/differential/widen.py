"""The same model with wider floats, for peers that lack a type and to see what rounding costs."""

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from values import isFloat

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
_TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype")


def _tensor(proto, wide):
    if proto.data_type in _FLOATS:
        array = numpy_helper.to_array(proto).astype(wide)
        proto.CopyFrom(numpy_helper.from_array(array, proto.name))


def _value(info, number):
    if info.type.tensor_type.elem_type in _FLOATS:
        info.type.tensor_type.elem_type = number


def _graph(graph, wide, number):
    for tensor in graph.initializer:
        _tensor(tensor, wide)
    for info in [*graph.input, *graph.output]:
        _value(info, number)
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in _TYPE_ATTRIBUTES and attribute.i in _FLOATS:
                attribute.i = number
            if attribute.HasField("t"):
                _tensor(attribute.t, wide)
            if attribute.HasField("g"):
                _graph(attribute.g, wide, number)


def widened(model, feeds, wide):
    """(model, feeds) with all floats as `wide`, np.float32 or np.float64."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    number = TensorProto.FLOAT if wide == np.float32 else TensorProto.DOUBLE
    _graph(copy.graph, wide, number)
    return copy, [{name: array.astype(wide) if isFloat(array.dtype) else array
                   for name, array in feed.items()} for feed in feeds]


def floatTypes(model, feeds):
    """dtypes of floats that a model is fed with or holds."""
    found = {array.dtype for feed in feeds for array in feed.values() if isFloat(array.dtype)}
    for tensor in model.graph.initializer:
        if tensor.data_type in _FLOATS:
            found.add(numpy_helper.to_array(tensor).dtype)
    return found


def _valueTypes(graph):
    return {info.name: info.type.tensor_type.elem_type
            for info in [*graph.value_info, *graph.output, *graph.input]}


def rounded(model, feeds):
    """The model in f32 with each result of the outer graph rounded to its 16-bit type, as a runtime
    that keeps 16 bits between operations has it."""
    kinds = _valueTypes(onnx.shape_inference.infer_shapes(model).graph)
    copy, feeds = widened(model, feeds, np.float32)
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in copy.graph.node]
    del copy.graph.node[:]
    for node in nodes:
        casts = []
        for place, name in enumerate(node.output):
            kind = kinds.get(name)
            if kind in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
                node.output[place] = f"{name}_wide"
                casts += [onnx.helper.make_node("Cast", [f"{name}_wide"], [f"{name}_half"], to=kind),
                          onnx.helper.make_node("Cast", [f"{name}_half"], [name],
                                                to=TensorProto.FLOAT)]
        copy.graph.node.extend([node] + casts)
    return copy, feeds


def coarse(model, feeds):
    """f32 operands with the bits of bf16 only: what --precision bf16 does to them at least."""
    def cut(array):
        if array.dtype != np.float32:
            return array
        with np.errstate(over="ignore"):
            return array.astype(ml_dtypes.bfloat16).astype(np.float32)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for one in copy.graph.initializer:
        one.CopyFrom(numpy_helper.from_array(cut(numpy_helper.to_array(one)), one.name))
    return copy, [{name: cut(array) for name, array in feed.items()} for feed in feeds]


# Float operands that decide the result's shape.
_SHAPING = {"Range": (0, 1, 2), "Resize": (1, 2), "Upsample": (1,)}


def _shaping(graph):
    """Names of what decides shapes, in nested graphs too."""
    names = {node.input[place] for node in graph.node for place in _SHAPING.get(node.op_type, ())
             if place < len(node.input)}
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                names |= _shaping(attribute.g)
    return names


def shaken(model, feeds, seed):
    """f32 and f64 operands with their last bit changed at random: what no algorithm can be held to. Those
    that decide shapes stay."""
    random = np.random.default_rng(seed)
    kept = _shaping(model.graph)

    def shake(name, array):
        if name in kept or array.dtype not in (np.float32, np.float64):
            return array
        step = np.finfo(array.dtype).eps * random.choice([-1, 1], size=array.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            return (array * (1 + step)).astype(array.dtype)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for one in copy.graph.initializer:
        one.CopyFrom(numpy_helper.from_array(shake(one.name, numpy_helper.to_array(one)), one.name))
    return copy, [{name: shake(name, array) for name, array in feed.items()} for feed in feeds]
