#!/usr/bin/env python3
"""Writes models with annotations of devices and layers, and a cluster of two devices: FOLDER/*."""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
rng = np.random.default_rng(4)


def weight(name, *shape):
    return numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)


def branches():
    """Two branches and their sum."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["l"], name="left"),
             helper.make_node("Relu", ["l"], ["lr"], name="left/act"),
             helper.make_node("MatMul", ["x", "v"], ["r"], name="right"),
             helper.make_node("Tanh", ["r"], ["rt"], name="right/act"),
             helper.make_node("Identity", ["rt"], ["ri"], name="nothing"),
             helper.make_node("Add", ["lr", "ri"], ["y"], name="join")]
    return model(nodes, [weight("w", 16, 16), weight("v", 16, 16)])


def model(nodes, weights=(), inputs=(), **more):
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [value("x", FLOAT, [4, 16]), *inputs],
                              [value("y", FLOAT, [4, 16])], list(weights))
    return helper.make_model(graph, opset_imports=more.pop("opsets", [helper.make_opsetid("", 17)]),
                             ir_version=10, **more)


def annotate(made, name, devices, places):
    """`places`: (beginning of a node's name, devices of its outputs)."""
    made.ir_version = 11
    made.configuration.add(name=name, num_devices=len(devices), device=devices)
    for node in made.graph.node:
        for begin, own in places:
            if node.name.startswith(begin):
                annotation = node.device_configurations.add(configuration_id=name)
                annotation.sharding_spec.add(tensor_name=node.output[0], device=own)
                break
    return made


def layers(made, places):
    for node in made.graph.node:
        for begin, layer in places:
            if node.name.startswith(begin):
                node.metadata_props.add(key="layer_ann", value=layer)
                break
    return made


def nested():
    """A function called twice, a branch and a loop."""
    value = helper.make_tensor_value_info
    plain, own = helper.make_opsetid("", 17), helper.make_opsetid("own", 1)
    block = helper.make_function("own", "Block", ["a", "w"], ["b"], [
        helper.make_node("MatMul", ["a", "w"], ["t"], name="product"),
        helper.make_node("Relu", ["t"], ["b"], name="act")], [plain])
    then = helper.make_graph([helper.make_node("Exp", ["p"], ["e"], name="then")], "then", [],
                             [value("e", FLOAT, [4, 16])])
    other = helper.make_graph([helper.make_node("Neg", ["p"], ["e"], name="else")], "else", [],
                              [value("e", FLOAT, [4, 16])])
    body = helper.make_graph(
        [helper.make_node("MatMul", ["s", "w"], ["u"], name="body"),
         helper.make_node("Tanh", ["u"], ["next"], name="body/act"),
         helper.make_node("Identity", ["go"], ["on"])], "body",
        [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("s", FLOAT, [4, 16])],
        [value("on", TensorProto.BOOL, []), value("next", FLOAT, [4, 16])])
    nodes = [helper.make_node("Block", ["x", "w"], ["a"], domain="own", name="first"),
             helper.make_node("Block", ["a", "v"], ["p"], domain="own", name="second"),
             helper.make_node("If", ["yes"], ["q"], name="choice", then_branch=then, else_branch=other),
             helper.make_node("Loop", ["three", "", "q"], ["z"], name="loop", body=body),
             helper.make_node("MatMul", ["z", "w"], ["m"], name="before"),
             helper.make_node("MatMul", ["m", "v"], ["n"], name="after"),
             helper.make_node("Softmax", ["n"], ["y"], name="end")]
    weights = [weight("w", 16, 16), weight("v", 16, 16), numpy_helper.from_array(np.array(3), "three"),
               numpy_helper.from_array(np.array(True), "yes")]
    return model(nodes, weights, opsets=[plain, own], functions=[block])


def twice():
    """Two nodes of one name, which ONNX allows and ONNX Runtime does not."""
    made = branches()
    for node in made.graph.node:
        node.name = node.name.replace("left", "right")
    return made


def main(folder):
    os.makedirs(os.path.join(folder, "elsewhere"), exist_ok=True)
    halves = [("left", [0]), ("", [1])]
    models = {
        "plain": branches(),
        "exact": annotate(branches(), "here", ["here/cpu:0", "here/cpu:1"], halves),
        "foreign": annotate(branches(), "pair", ["gpu0", "gpu1"], halves),
        "sharded": annotate(branches(), "pair", ["gpu0", "gpu1"], [("left", [0, 1])]),
        "layers": layers(branches(), [("left", "encoder.0"), ("right", "encoder.1"), ("join", "head")]),
        "nested": nested(),
        "twice": twice(),
    }
    for name, made in models.items():
        onnx.checker.check_model(made)
        onnx.save(made, os.path.join(folder, name + ".onnx"))
    onnx.save(branches(), os.path.join(folder, "external.onnx"), save_as_external_data=True,
              location="weights.bin", size_threshold=0)
    cores = sorted(os.sched_getaffinity(0))
    with open(os.path.join(folder, "two.yaml"), "w", encoding="utf-8") as file:
        file.write("workers:\n  - name: here\n    address: client\n    devices: "
                   f"[{{cpu: {{cores: {cores[0]}, shared: true}}}}, {{cpu: {{cores: {cores[-1]}, shared: true}}}}]\n")
    with open(os.path.join(folder, "two.yaml"), encoding="utf-8") as file:
        two = file.read()
    with open(os.path.join(folder, "mapped.yaml"), "w", encoding="utf-8") as file:
        file.write(two + "pins: [{annotation: gpu0, device: here/cpu:1}, {annotation: gpu1, device: here/cpu:0}]\n")


main(sys.argv[1])
