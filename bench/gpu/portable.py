"""Writes a model without its weights: where it is run, numbers of the same spread are drawn again.

model.onnx names offsets in weights.bin, which model.weights() writes; model.json tells those weights, the
inputs and, for networks that PyTorch runs operation by operation, the graph.
"""

import json
import os

import onnx
from onnx import helper, numpy_helper

ALIGNMENT = 64
HIGHEST = {"token_type_ids": 2, "attention_mask": 2}  # of whole numbers; 1000 for others
LOWEST = {"attention_mask": 1}


def isDrawn(tensor):
    """Numbers without dimensions are constants of the graph."""
    return tensor.data_type == onnx.TensorProto.FLOAT and tensor.dims


def drawnWeights(model):
    """Takes the data of weights out of the model; how to draw them, in the model's order."""
    weights, offset = [], 0
    for tensor in filter(isDrawn, model.graph.initializer):
        array = numpy_helper.to_array(tensor)
        weights.append({"name": tensor.name, "shape": list(tensor.dims), "offset": offset,
                        "mean": float(array.mean()), "spread": float(array.std())})
        tensor.ClearField("raw_data")
        tensor.ClearField("float_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", offset), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        offset += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    return weights


def attributes(node):
    """Numbers, lists and strings; networks of PyTorch's side have no others."""
    found = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    return {name: value.decode() if isinstance(value, bytes) else
            value if isinstance(value, (int, float)) else list(value)
            for name, value in found.items()}


def inputs(model):
    fixed = {tensor.name for tensor in model.graph.initializer}
    return [{"name": value.name,
             "dims": [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim],
             "float": value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT,
             "low": LOWEST.get(value.name, 0), "high": HIGHEST.get(value.name, 1000)}
            for value in model.graph.input if value.name not in fixed]


def write(model, folder, network, dims):
    """Writes `model`, whose open dimensions but the batch are `dims`, and which PyTorch runs by
    `network` of networks.py, or not at all (None)."""
    os.makedirs(folder)
    weights = drawnWeights(model)
    spec = {"weights": weights, "inputs": inputs(model), "dims": dims, "network": network,
            "outputs": [value.name for value in model.graph.output]}
    if network == "graph":
        spec["nodes"] = [[node.op_type, list(node.input), list(node.output), attributes(node)]
                         for node in model.graph.node]
        spec["constants"] = {tensor.name: numpy_helper.to_array(tensor).tolist()
                             for tensor in model.graph.initializer if not tensor.external_data}
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    with open(os.path.join(folder, "model.json"), "w", encoding="utf-8") as file:
        json.dump(spec, file)
