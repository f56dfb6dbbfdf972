"""The same model with wider floats, for peers that lack a type and to see what rounding costs."""

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
