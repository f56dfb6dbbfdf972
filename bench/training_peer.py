#!/usr/bin/env python3
"""Steps of training of one of bench_training's networks by PyTorch: eager or compiled.

    training_peer.py resnet18 FOLDER --threads 2 --steps 40 [--compile]

FOLDER is what `bench_training NETWORK --dump FOLDER` wrote: inputs, target and first values, so that both
compute the same. One line of JSON as bench_training's.
"""

import argparse
import json
import re
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, inner, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, channels, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.down = None
        if stride != 1:
            self.down = nn.Sequential(nn.Conv2d(inner, channels, 1, stride, bias=False),
                                      nn.BatchNorm2d(channels))

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return functional.relu(y + (x if self.down is None else self.down(x)))


class Encoder(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.norm1 = nn.LayerNorm(width)
        self.first = nn.Linear(width, inner)
        self.back = nn.Linear(inner, width)
        self.norm2 = nn.LayerNorm(width)

    def forward(self, x):
        batch, length, width = x.shape
        apart = lambda y: y.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        seen = functional.scaled_dot_product_attention(apart(self.q(x)), apart(self.k(x)),
                                                       apart(self.v(x)))
        y = self.norm1(x + self.out(seen.transpose(1, 2).reshape(batch, length, width)))
        return self.norm2(y + self.back(functional.relu(self.first(y))))


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(dim=1)


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def mlp():
    sizes = [784, 1024, 1024, 1024]
    layers = []
    for inner, outer in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inner, outer), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(1024, 10))


def cnn20():
    layers = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
              nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    inner = 1568
    for _ in range(20):
        layers += [nn.Linear(inner, 966), nn.ReLU()]
        inner = 966
    return nn.Sequential(*layers, nn.Linear(966, 10))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
              nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for stage in range(4):
        for block in range(2):
            layers.append(Block(inner, 64 << stage, 2 if stage > 0 and block == 0 else 1))
            inner = 64 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def transformer():
    return nn.Sequential(Encoder(512, 8, 2048), Encoder(512, 8, 2048), Mean(), nn.Linear(512, 10))


NETWORKS = {"lenet": lenet, "mlp": mlp, "cnn20": cnn20, "resnet18": resnet18,
            "transformer": transformer}


def load(model, folder):
    """Sets the parameters, which both make in one order; a matrix is in x out there."""
    with torch.no_grad():
        for i, parameter in enumerate(model.parameters()):
            value = torch.from_numpy(np.load(f"{folder}/{i}.npy"))
            parameter.copy_(value.t() if parameter.dim() == 2 else value)


def peak():
    with open("/proc/self/status", encoding="utf-8") as file:
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=NETWORKS)
    parser.add_argument("folder")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--compile", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = NETWORKS[args.network]()
    load(model, args.folder)
    x = torch.from_numpy(np.load(f"{args.folder}/x.npy"))
    target = torch.from_numpy(np.load(f"{args.folder}/target.npy"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
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
