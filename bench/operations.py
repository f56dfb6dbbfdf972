"""Which kinds of operations take the time of a model's step, from GraphRun's own trace."""

import collections
import json
import os
import re

import onnx


def kinds(name, types):
    """The operations of a kernel that is named after its nodes, the second of a name 'name#2'."""
    if name not in types:
        name = re.sub(r"#\d+$", "", name)
    return "+".join(types.get(part, part.split("@")[0]) for part in name.split("+"))


def slowest(bench, what, threads, count=5):
    """The kinds that take most of the last of some steps: [{kind, kernels, ms, share}]."""
    path = os.path.join(what.folder, "trace.json")
    bench.own(what, threads, "bench", "--iterations", "5", "--trace", path)
    with open(path, encoding="utf-8") as file:
        kernels = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "kernel"]
    os.remove(path)
    types = {node.name: node.op_type for node in onnx.load(what.path).graph.node if node.name}
    last = max(event["args"]["step"] for event in kernels)
    found = collections.defaultdict(list)
    for event in kernels:
        if event["args"]["step"] == last:
            found[kinds(event["name"], types)].append(event["dur"] / 1e3)
    total = sum(map(sum, found.values()))
    order = sorted(found, key=lambda kind: -sum(found[kind]))[:count]
    return [{"kind": kind, "kernels": len(found[kind]), "ms": sum(found[kind]),
             "share": sum(found[kind]) / total} for kind in order]
