#!/usr/bin/env python3
"""Steps of training of one of bench_training's networks by PyTorch: eager or compiled.

    training_peer.py resnet18 FOLDER --threads 2 --steps 40 [--compile]

FOLDER is what `bench_training NETWORK --dump FOLDER` wrote: inputs, target and first values, so that both
compute the same. One line of JSON as bench_training's.
"""

import argparse
import json
import pathlib
import re
import sys
import time

import numpy as np
import torch
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "training"))
import networks  # noqa: E402


def load(model, folder):
    """Sets the parameters, which both make in one order."""
    with torch.no_grad():
        for i, (parameter, transposed) in enumerate(networks.stored(model)):
            value = torch.from_numpy(np.load(f"{folder}/{i}.npy"))
            parameter.copy_(value.t() if transposed else value)


def peak():
    with open("/proc/self/status", encoding="utf-8") as file:
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=networks.MAKERS)
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = networks.make(args.network, "full").module
    load(model, args.folder)
    x = torch.from_numpy(np.load(f"{args.folder}/x.npy"))
    target = torch.from_numpy(np.load(f"{args.folder}/target.npy"))
    optimizer = torch.optim.SGD(networks.trained(model), lr=0.01, momentum=0.9)
    run = torch.compile(model) if args.compile else model
    losses, millis = [], []
    for _ in range(args.steps):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(run(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        millis.append((time.perf_counter() - begin) * 1e3)
    settled = sorted(millis[min(args.steps - 1, 2):])
    print(json.dumps({"network": args.network, "batch": len(x), "threads": args.threads,
                      "step_ms": settled[len(settled) // 2], "best_ms": settled[0],
                      "losses": losses, "bytes": peak(), "version": torch.__version__}))


if __name__ == "__main__":
    main()
