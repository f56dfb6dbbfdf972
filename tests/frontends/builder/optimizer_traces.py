#!/usr/bin/env python3
"""Writes optimizer_traces.json: what 100 steps of each optimizer make of a small model, in f64.

The formulas are those of PyTorch's documentation (torch.optim.SGD, Adam, AdamW), written once more and
by hand, with the gradients of the model. `--check` compares the file with what would be written.
"""

import argparse
import json
import math
import os
import sys

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "optimizer_traces.json")
STEPS = (1, 2, 10, 100)
# The model: y = x w + b, with the mean of squares of y - target as its loss.
X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [-1.0, 2.0, 0.5], [0.0, 1.0, -1.5]]
TARGET = [1.0, -2.0, 0.5, 3.0]
FIRST = [0.1, -0.2, 0.3, 0.05]  # w, then b
CASES = [
    ("sgd", {"lr": 0.05}),
    ("sgd", {"lr": 0.05, "weight_decay": 0.1}),
    ("sgd", {"lr": 0.02, "momentum": 0.9}),
    ("sgd", {"lr": 0.02, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("adam", {"lr": 0.05}),
    ("adam", {"lr": 0.02, "betas": [0.8, 0.95], "eps": 1e-3, "weight_decay": 0.1}),
    ("adamw", {"lr": 0.05, "weight_decay": 0.01}),
    ("adamw", {"lr": 0.01, "betas": [0.5, 0.9], "eps": 1e-6, "weight_decay": 0.2}),
]


def gradient(p):
    """Loss and its derivatives by w and b."""
    rows = [row + [1.0] for row in X]
    errors = [sum(a * b for a, b in zip(row, p)) - t for row, t in zip(rows, TARGET)]
    loss = sum(e * e for e in errors) / len(errors)
    return loss, [2 / len(rows) * sum(e * row[i] for e, row in zip(errors, rows)) for i in range(4)]


def sgd(state, p, g, options):
    mu = options.get("momentum", 0)
    g = [gi + options.get("weight_decay", 0) * pi for gi, pi in zip(g, p)]
    if mu:
        # PyTorch begins with g; with zeros and no dampening that is the same.
        state["v"] = [mu * v + gi for v, gi in zip(state.get("v", [0] * 4), g)]
        g = [gi + mu * v for gi, v in zip(g, state["v"])] if options.get("nesterov") else state["v"]
    return [pi - options["lr"] * gi for pi, gi in zip(p, g)]


def adam(state, p, g, options, decoupled=False):
    b1, b2 = options.get("betas", (0.9, 0.999))
    eps, decay, lr = options.get("eps", 1e-8), options.get("weight_decay", 0), options["lr"]
    t = state["t"] = state.get("t", 0) + 1
    if decoupled:
        p = [pi - lr * decay * pi for pi in p]
    else:
        g = [gi + decay * pi for gi, pi in zip(g, p)]
    state["m"] = [b1 * m + (1 - b1) * gi for m, gi in zip(state.get("m", [0] * 4), g)]
    state["v"] = [b2 * v + (1 - b2) * gi * gi for v, gi in zip(state.get("v", [0] * 4), g)]
    sizes = [math.sqrt(v) / math.sqrt(1 - b2 ** t) + eps for v in state["v"]]
    return [pi - lr / (1 - b1 ** t) * m / s for pi, m, s in zip(p, state["m"], sizes)]


def adamw(state, p, g, options):
    return adam(state, p, g, options, decoupled=True)


def trace(name, options):
    state, p, found = {}, list(FIRST), []
    for step in range(1, STEPS[-1] + 1):
        loss, g = gradient(p)
        p = globals()[name](state, p, g, options)
        if step in STEPS:
            found.append({"step": step, "loss": loss, "parameters": p})
    return {"optimizer": name, "options": options, "trace": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    lines = ",\n".join(json.dumps(trace(name, options)) for name, options in CASES)
    data = json.dumps({"x": X, "target": TARGET, "first": FIRST})
    text = f'{data[:-1]}, "cases": [\n{lines}\n]}}\n'
    if not check:
        with open(FILE, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(FILE, encoding="utf-8") as file:
        old, new = json.load(file), json.loads(text)
    if [case["options"] for case in old["cases"]] != [case["options"] for case in new["cases"]]:
        print("optimizer_traces.json has other cases; run optimizer_traces.py")
        return 1
    for was, now in zip(old["cases"], new["cases"]):
        for a, b in zip(was["trace"], now["trace"]):
            for x, y in zip(a["parameters"] + [a["loss"]], b["parameters"] + [b["loss"]]):
                if not math.isclose(x, y, rel_tol=1e-12):  # powers differ by a bit between machines
                    print(f"{was['optimizer']} {was['options']} at step {a['step']}: {x}, expected {y}")
                    return 1
    print(f"{len(old['cases'])} traces are those of the formulas")
    return 0


if __name__ == "__main__":
    sys.exit(main())
