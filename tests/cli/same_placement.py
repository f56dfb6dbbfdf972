#!/usr/bin/env python3
"""same_placement.py EXPLAINED PLACED: whether `explain --json` of a model and `place --json` of its
cost graph tell the same devices, times and bound."""

import json
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    model, costs = load(sys.argv[1]), load(sys.argv[2])
    explained = {row["node"]: (row["device"], row["start_ns"], row["finish_ns"])
                 for row in model["nodes"]}
    placed = {row["node"]: (row["device"], row["start"], row["finish"]) for row in costs["nodes"]}
    for node in sorted(explained.keys() | placed.keys()):
        if explained.get(node) != placed.get(node):
            print(f"{node}: {explained.get(node)} and {placed.get(node)}")
    same = explained == placed and model["step_ns"] == costs["objective"]
    same = same and model["lower_bound_ns"] == costs["lower_bound"]
    print("the same" if same else "not the same")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
