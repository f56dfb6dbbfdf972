#!/usr/bin/env python3
"""Writes torch_results.json: what PyTorch computes of the small networks of networks.py, in f64.

    torch_results.py [--check]

It holds the losses, the gradients of all parameters, and the losses of 100 steps of optimizers. Inputs and first
values are made of streams of numbers, which networks_test.cpp makes again. `--check` compares the file with what
would be written.
"""

import argparse
import json
import math
import os
import sys

import networks
import numpy as np
import torch
from torch import nn

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_results.json")
BATCH = 16
STEPS = 100
BATCHES = 5  # the steps take these batches in turn
SAMPLES = 16  # so many elements of a gradient are written out
# Networks whose curves are compared, and how: optimizer and options of torch.optim. With Adam's usual eps rounding of
# gradients near zero becomes steps: PyTorch's own f32 then leaves its f64 by 2 % with LeNet, else by 1e-6.
CURVES = ["mlp", "lenet", "lstm", "transformer", "decoder"]
OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 0.05}),
    "momentum": (torch.optim.SGD, {"lr": 0.005, "momentum": 0.9}),
    "adam": (torch.optim.Adam, {"lr": 2e-4, "eps": 1e-4}),
}
MASK = (1 << 64) - 1


def stream(number, count):
    """`count` numbers in [0, 1): SplitMix64 (Steele, Lea, Flood, 2014) from 2^40 * number on."""
    with np.errstate(over="ignore"):
        z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z += np.uint64((number << 40) & MASK)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def fed(feed, number):
    """Input `number` as networks_test.cpp makes it: numbers in [-1, 1), or classes."""
    dims = [BATCH, *feed.sample]
    values = stream(number, math.prod(dims)).reshape(dims)
    if feed.classes:
        return torch.from_numpy(np.floor(values * feed.classes).astype(np.int64))
    return torch.from_numpy((2 * values - 1).astype(np.float32).astype(np.float64))


def bounds(module, parameter):
    """The range of a parameter's first values."""
    for part in module.modules():
        if isinstance(part, (nn.LayerNorm, nn.BatchNorm2d)) and parameter is part.weight:
            return 0.8, 1.2
    bound = round(1.5 / math.sqrt(math.prod(parameter.shape[1:])), 3) if parameter.dim() > 1 else 0.1
    return -bound, bound


def first(module):
    """Sets the parameters; returns the ranges and dims that networks_test.cpp wants."""
    ranges = []
    with torch.no_grad():
        for i, (parameter, transposed) in enumerate(networks.stored(module)):
            low, high = bounds(module, parameter)
            dims = list(parameter.shape)[::-1] if transposed else list(parameter.shape)
            values = low + (high - low) * stream(100 + i, math.prod(dims)).reshape(dims)
            value = torch.from_numpy(values.astype(np.float32).astype(np.float64))
            parameter.copy_(value.t() if transposed else value)
            ranges.append({"dims": dims, "low": low, "high": high})
    return ranges


def summary(gradient):
    """What of a gradient is written: its size, its largest element, and some elements."""
    values = gradient.reshape(-1)
    at = sorted({i * (len(values) - 1) // (SAMPLES - 1) for i in range(SAMPLES)})
    return {"norm": values.norm().item(), "largest": values.abs().max().item(),
            "samples": [[i, values[i].item()] for i in at]}


def gradients(name):
    network = networks.make(name, "small")
    module = network.module.double().train()
    result = {"parameters": first(module), "objectives": []}
    transposed = {id(parameter): turned for parameter, turned in networks.stored(module)}
    x, target = fed(network.x, 0), fed(network.target, 1)
    for loss, parameters in network.objectives(module, x, target):
        slopes = torch.autograd.grad(loss, parameters, retain_graph=True)
        result["objectives"].append({
            "loss": loss.item(),
            "gradients": [summary(slope.t() if transposed[id(parameter)] else slope)
                          for parameter, slope in zip(parameters, slopes)]})
    return result


def curve(name, optimizer):
    network = networks.make(name, "small")
    module = network.module.double().train()
    first(module)
    kind, options = OPTIMIZERS[optimizer]
    stepper = kind(networks.trained(module), **options)
    losses = []
    for step in range(STEPS):
        batch = step % BATCHES
        stepper.zero_grad()
        (loss, _), = network.objectives(module, fed(network.x, 2 * batch), fed(network.target, 2 * batch + 1))
        loss.backward()
        stepper.step()
        losses.append(loss.item())
    return losses


def results():
    small = [name for name in networks.MAKERS if name not in networks.FULL_ONLY]
    return {
        "batch": BATCH,
        "networks": {name: gradients(name) for name in small},
        "curves": [{"network": name, "optimizer": optimizer, **OPTIMIZERS[optimizer][1],
                    "batches": BATCHES, "losses": curve(name, optimizer)}
                   for name in CURVES for optimizer in OPTIMIZERS],
    }


def close(a, b):
    """Equal but for the rounding of another machine."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-9 * max(1, abs(a))
    return a == b


def rounded(value):
    """Twelve digits of each number."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def text(made):
    """JSON with a line for each network and curve."""
    def line(value):
        return json.dumps(rounded(value), separators=(",", ":"))

    networks_text = ",\n".join(f"{line(name)}:{line(value)}" for name, value in made["networks"].items())
    curves_text = ",\n".join(map(line, made["curves"]))
    return f'{{"batch":{made["batch"]},\n"networks":{{\n{networks_text}}},\n"curves":[\n{curves_text}]}}\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    made = results()
    if args.check:
        with open(FILE, encoding="utf-8") as file:
            if not close(json.load(file), made):
                sys.exit(f"{FILE} is not what PyTorch {torch.__version__} computes: run {sys.argv[0]}")
        return
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(text(made))


if __name__ == "__main__":
    main()
