"""Devices with little memory: what is planned keeps to every limit when it runs, or is refused with advice
that holds. Networks and limits are drawn at random."""

import collections
import json
import math
import os
import random
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import clusters
import models
import programs

CLUSTERS = int(os.environ.get("GRAPHRUN_MEMORY_CLUSTERS", "12"))
SEED = int(os.environ.get("GRAPHRUN_SEED", "1"))
NOT_PLACED = 4  # exit code
MOST_CHANGES = 2  # a plan for the planner's change may need a little more on another device
TOLERANCE = 3e-4  # of the largest element: parts take other kernels than the whole
UNITS = {"B": 1 / 1024, "KiB": 1, "MiB": 1 << 10}


class Network:
    """Convolutions, products and element-wise operations with random branches, as an ONNX file."""

    def __init__(self, chance, path):
        self.chance, self.path = chance, path
        self.weights, self.nodes = [], []
        self.numbers = np.random.default_rng(chance.randrange(1 << 30))
        size = chance.choice([14, 28, 56])
        values = [("x", 16)]  # name and channels; all of one size
        for _ in range(chance.randint(5, 25)):
            values.append(self.layer(values[-chance.randint(1, min(3, len(values))):]))
        pooled = self.node("GlobalAveragePool", [values[-1][0]])
        flat = self.node("Flatten", [pooled])
        units = chance.choice([10, 1000, 4000])
        self.output = result = self.node("MatMul", [flat, self.weight(values[-1][1], units)])
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, size, size])]
        outputs = [helper.make_tensor_value_info(result, TensorProto.FLOAT, [1, units])]
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
        self.input = self.numbers.standard_normal((1, 16, size, size), np.float32)

    def node(self, kind, inputs, **attributes):
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        scale = np.float32(1 / np.sqrt(np.prod(shape[1:])))
        content = self.numbers.standard_normal(shape, np.float32) * scale
        self.weights.append(numpy_helper.from_array(content, name))
        return name

    def layer(self, choice):
        (value, channels), kind = choice[0], self.chance.random()
        if kind < 0.5:
            wide, kernel = self.chance.choice([16, 64, 192]), self.chance.choice([1, 3])
            return self.node("Conv", [value, self.weight(wide, channels, kernel, kernel)],
                             pads=[kernel // 2] * 4), wide
        if kind < 0.7:
            return self.node("Concat", [name for name, _ in choice], axis=1), sum(c for _, c in choice)
        if kind < 0.8:
            return self.node("MaxPool", [value], kernel_shape=[3, 3], pads=[1] * 4), channels
        return self.node(self.chance.choice(["Relu", "Sigmoid", "Tanh"]), [value]), channels


def someDevices(chance):
    """Names, of up to three workers with one or two devices each."""
    return [f"w{worker}/cpu:{index}" for worker in range(chance.randint(1, 3))
            for index in range(chance.randint(1, 2))]


def kibibytes(text):
    number, unit = text.split()
    return math.ceil(float(number) * UNITS[unit])


def run(network, output, *options):
    """(Ended, {device: KiB that it holds})."""
    ended = programs.run("run", network.path, "--input", f"x=@{network.path}.npy", "--output",
                         f"{network.output}=@{output}", "--json", *options)
    if ended.code != 0:
        return ended, {}
    return ended, {device["device"]: device["bytes"] / 1024
                   for device in json.loads(ended.out)["devices"]}


class MemoryTest(programs.Case):
    def testRandomLimits(self):
        chance = random.Random(SEED)
        outcomes = collections.Counter()
        for number in range(CLUSTERS):
            with self.subTest(number=number, seed=SEED):
                outcomes[self.oneCluster(chance, number)] += 1
        print(dict(outcomes))

    def oneCluster(self, chance, number):
        """Runs a network within random limits, or within those that the refusal says are enough."""
        stem = os.path.join(programs.SCRATCH.name, f"memory{number}")
        network = Network(chance, f"{stem}.onnx")
        np.save(f"{network.path}.npy", network.input)
        ended, held = run(network, f"{stem}_whole.npy", "--threads", "1")
        self.assertEqual(ended.code, 0, ended)
        limits = {device: int(max(held.values()) * chance.uniform(0.1, 1.1))
                  for device in someDevices(chance)}
        ended, held = run(network, f"{stem}.npy", "--cluster", clusters.limited(limits))
        refused = ended.code == NOT_PLACED
        for _ in range(MOST_CHANGES):
            if ended.code == NOT_PLACED:
                limits.update([self.advised(ended, limits)])
                ended, held = run(network, f"{stem}.npy", "--cluster", clusters.limited(limits))
        self.assertEqual(ended.code, 0, f"{limits}\n{ended}")
        for device, limit in limits.items():
            self.assertLessEqual(held.get(device, 0), limit, f"{device}\n{ended}")
        got, want = [[np.load(f"{stem}{end}.npy")] for end in ("", "_whole")]
        self.assertLessEqual(models.difference(got, want), TOLERANCE, ended)
        used = len(held.keys() & limits.keys())
        return f"{'refused, then ' if refused else ''}on {used} device{'s' if used > 1 else ''}"

    def advised(self, ended, limits):
        """(Device, KiB that are said to be enough): the planner's advice, or that of who loaded the plan."""
        loader = re.search(r"(\S+): needs .*; give it (\d+) more(?:, and (\d+))?", ended.err)
        if loader:
            more = int(loader[2]) + int(loader[3] or 0)
            return loader[1], limits[loader[1]] + math.ceil(more / 1024)
        planner = re.search(r"give (\S+) ([\d.]+ \w+),", ended.err)
        self.assertIsNotNone(planner, ended)
        return planner[1], kibibytes(planner[2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
