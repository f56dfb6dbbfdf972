#!/usr/bin/env python3
"""Prints a cost graph as of a large transformer with branches: large_costs.py OPS [DEVICES].

Its names are what files of others may hold: markup, quotes, control characters, several scripts.
"""

import json
import random
import sys

HOSTILE = ["</script><script>document.title='taken'</script>", "<!--", "\"quoted'`${name}`\\",
           "tab\tand\nline", "\u2028\u202e\u0000", "\U0001f600 图 граф", "&lt;b&gt;", "#op=x&find=y"]


def block(number, before, nodes, tensors, draw):
    """Fourteen nodes after `before`; the last one's name."""
    def node(name, time, inputs, size=4096):
        name = f"layer{number}/{name}"
        times = {"fast": max(1, int(time * draw.uniform(0.8, 1.2))), "slow": int(time * 4)}
        nodes.append({"name": name, "op": "op." + name.split("/")[1].rstrip("0123456789"),
                      "time_ns": times, "weight_bytes": size})
        for reader in inputs:
            tensors.setdefault(reader, []).append(name)
        return name

    norm = node("norm", 2000, [before])
    heads = []
    for head in range(3):
        query = node(f"query{head}", 9000, [norm], 65536)
        scores = node(f"scores{head}", 5000, [query])
        heads.append(node(f"mixed{head}", 5000, [scores, query]))
    joined = node("joined", 1000, heads)
    added = node("added", 1000, [joined, before])
    wide = node("wide", 20000, [added], 262144)
    return node("narrow", 20000, [wide, added], 262144)


def costs(ops, devices):
    """The graph with about `ops` nodes; exactly so many."""
    draw = random.Random(7)
    nodes = [{"name": "input", "op": "op.input", "time_ns": {"fast": 100, "slow": 100}}]
    tensors = {}
    last = "input"
    while len(nodes) + 14 + len(HOSTILE) <= ops:
        last = block(len(nodes) // 14, last, nodes, tensors, draw)
    for i in range(ops - len(nodes)):
        name = HOSTILE[i] if i < len(HOSTILE) else f"tail{i}"
        nodes.append({"name": name, "op": "op.tail", "time_ns": {"fast": 500, "slow": 2000}})
        tensors.setdefault(last, []).append(name)
    fast = [{"name": f"fast:{i}", "worker": f"node{i // 2}", "class": "fast",
             "memory_bytes": 1 << 30} for i in range(devices - 1)]
    slow = {"name": "slow", "worker": "node0", "class": "slow"}
    return {"format": "graphrun-costs", "version": 1, "devices": fast + [slow], "nodes": nodes,
            "tensors": [{"producer": producer, "consumers": consumers, "bytes": 200_000}
                        for producer, consumers in tensors.items()]}


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    print(json.dumps(costs(arguments[0], arguments[1] if len(arguments) > 1 else 4)))
