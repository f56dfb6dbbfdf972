#!/usr/bin/env python3
"""same_placement.py ONE OTHER: whether `explain --json` of a model and `place --json` of its cost
graph, or two of a kind, tell the same devices, times and bound."""

import json
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def told(answer):
    """Device and times by node, and those of the whole by ""."""
    suffix = "_ns" if "step_ns" in answer else ""
    nodes = {row["node"]: (row["device"], row[f"start{suffix}"], row[f"finish{suffix}"])
             for row in answer["nodes"]}
    return nodes | {"": (answer[f"objective{suffix}"], answer[f"lower_bound{suffix}"])}


def main():
    one, other = (told(load(path)) for path in sys.argv[1:3])
    for node in sorted(one.keys() | other.keys()):
        if one.get(node) != other.get(node):
            print(f"{node or 'step and bound'}: {one.get(node)} and {other.get(node)}")
    same = one == other
    print("the same" if same else "not the same")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
