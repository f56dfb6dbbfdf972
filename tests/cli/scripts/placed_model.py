#!/usr/bin/env python3
"""Checks a model that `graphrun explain --write-onnx` wrote: placed_model.py MODEL PLACED EXPLAINED AGAIN [DATA].

MODEL is what it was made from, EXPLAINED the JSON of the placement, AGAIN that of the placement of PLACED
without any pins: each node must be where it was. PLACED must pass onnx.checker and give in ONNX Runtime what
MODEL gives, for the inputs in DATA or random ones; where that refuses MODEL, its reason is printed.
"""

import json
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper


def nodesOf(graph):
    """Nodes with the names that explanations have: the second of a name is "name#2"."""
    seen = {}
    for node in graph.node:
        seen[node.name] = seen.get(node.name, 0) + 1
        yield node, node.name if seen[node.name] == 1 else f"{node.name}#{seen[node.name]}"
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodesOf(attribute.g)


def devicesOf(explained):
    """The device of each of the model's nodes."""
    found = {}
    for row in explained["nodes"]:
        for name in row["members"]:
            found.setdefault(name, set()).add(row["device"])
    return {name: sorted(devices) for name, devices in found.items()}


def checkFile(path, explained):
    onnx.checker.check_model(path)
    placed = onnx.load(path, load_external_data=False)
    assert placed.ir_version >= 11, placed.ir_version
    configuration = placed.configuration[0]
    devices = [row["device"] for row in explained["devices"]]
    assert (configuration.name, list(configuration.device)) == ("graphrun", devices), configuration
    assert configuration.num_devices == len(devices)
    expected = devicesOf(explained)
    count = 0
    for node, name in nodesOf(placed.graph):
        own = [c for c in node.device_configurations if c.configuration_id == "graphrun"]
        shown = {entry.key: entry.value for entry in node.metadata_props}
        assert len(own) == ("graphrun.device" in shown), node
        if own:
            count += 1
            index = own[0].sharding_spec[0].device[0]
            assert shown["graphrun.device"] == devices[index], node
            assert [spec.tensor_name for spec in own[0].sharding_spec] == [output for output in node.output if output]
            assert all(list(spec.device) == [index] and not spec.sharded_dim for spec in own[0].sharding_spec)
            assert "layer_ann" in shown, node
            assert name not in expected or devices[index] in expected[name], node
    assert count > 0
    return count


def outputsOf(path, data):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(7)
    feeds = {}
    for i, given in enumerate(session.get_inputs()):
        if data:
            feeds[given.name] = numpy_helper.to_array(onnx.load_tensor(f"{data}/input_{i}.pb"))
        else:
            feeds[given.name] = rng.random(given.shape, dtype=np.float32)
    return session.run(None, feeds)


def main(original, path, explained, again, data=""):
    with open(explained, encoding="utf-8") as file:
        first = json.load(file)
    with open(again, encoding="utf-8") as file:
        second = json.load(file)
    count = checkFile(path, first)
    before, after = devicesOf(first), devicesOf(second)
    # A node of several operations can be on several devices, which the file cannot say.
    moved = [name for name in before if len(before[name]) == 1 and before[name] != after.get(name)]
    assert 10 * sum(len(devices) > 1 for devices in before.values()) <= len(before), before
    assert not moved, [(name, before[name], after.get(name)) for name in moved]
    try:
        expected = outputsOf(original, data)
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
        print("ONNX Runtime:", error)
        expected = []
    for a, b in zip(expected, outputsOf(path, data) if expected else []):
        np.testing.assert_array_equal(a, b)
    used = len({device for devices in before.values() for device in devices})
    print(f"{count} nodes on {used} devices")


main(*sys.argv[1:])
