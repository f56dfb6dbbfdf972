"""`--deterministic`: the same bits on one thread, two and three, on one device, on two devices of a
worker and on two workers, and in each process anew."""

import itertools
import os
import subprocess
import sys
import unittest

import clusters
import models
import numpy as np
import onnx
import programs

FOLDER = os.path.join(programs.SCRATCH.name, "networks")
NETWORKS = ("bert", "vit", "unet", "lstm")
SEEDED = ("squeezenet",)
IMAGES = ("unet", "vit")  # of convolutions, and a transformer, both of images


def setUpModule():
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "small_networks.py")
    subprocess.run([sys.executable, script, FOLDER], check=True)


def network(name):
    return models.Model(os.path.join(FOLDER, f"test_{name}"))


def onImages(name, change):
    """A network of images on two random ones, after `change`."""
    model = network(name)
    graph = onnx.load(model.path).graph
    dims = graph.input[0].type.tensor_type.shape.dim
    shape = [2] + [dim.dim_value for dim in dims[1:]]
    images = np.random.default_rng(7).normal(size=shape).astype(np.float32)
    return model.fed({graph.input[0].name: change(images)})


def firstMembers(explanation):
    """The nodes of the model that begin what is placed as one, each once: a node of a model may become
    several ("name#2"), and several one ("first+second")."""
    names = [name.partition("+")[0].partition("#")[0] for name in clusters.nodesOf(explanation)]
    return list(dict.fromkeys(names))


def pins(nodes, devices):
    return clusters.pins((pattern, device) for node, device in zip(nodes, devices)
                         for pattern in (node, f"{node}#*"))


def inTurn(nodes, devices):
    return pins(nodes, itertools.cycle(devices))


def inSpans(nodes, devices):
    return pins(nodes, [devices[i * len(devices) // len(nodes)] for i in range(len(nodes))])


class DeterministicTest(programs.Case):
    def outputs(self, model, *options):
        ended, arrays = model.run("--deterministic", *options)
        self.assertEqual(ended.code, 0, ended)
        self.assertGreater(len(arrays), 0)
        return arrays

    def check(self, model, want, *options):
        with self.subTest(model=os.path.basename(os.path.dirname(model.path)), options=options[:4]):
            got = self.outputs(model, *options)
            self.assertTrue(models.identical(got, want), models.difference(got, want))

    def everyWay(self, model):
        want = self.outputs(model, "--threads", "1", "--placement", "single")
        for threads in ("1", "2", "3"):
            self.check(model, want, "--threads", threads)
        for makeCluster in (clusters.oneProcess, clusters.localProcesses):
            cluster, devices = makeCluster(2)
            nodes = firstMembers(model.explain(cluster))
            for split in (inTurn(nodes, devices), inSpans(nodes, devices)):
                used = {node["device"] for node in model.explain(cluster, *split)["nodes"]}
                self.assertEqual(used, set(devices))
                self.check(model, want, "--cluster", cluster, *split)

    def someWays(self, model):
        want = self.outputs(model, "--threads", "1", "--placement", "single")
        for threads in ("2", "3"):
            self.check(model, want, "--threads", threads)
        for makeCluster, split in ((clusters.oneProcess, inTurn), (clusters.localProcesses, inSpans)):
            cluster, devices = makeCluster(2)
            self.check(model, want, "--cluster", cluster, *split(firstMembers(model.explain(cluster)), devices))
        return want

    def testNumbersThatAreNone(self):
        """Of two images one has a NaN and infinities: the other's results are numbers."""
        def broken(images):
            images[0].flat[100:400:100] = (np.nan, np.inf, -np.inf)
            return images

        for name in IMAGES:
            want = self.someWays(onImages(name, broken))
            self.assertTrue(any(np.isnan(array[0]).any() for array in want))
            self.assertTrue(all(np.isfinite(array[1]).all() for array in want))

    def testDenormals(self):
        for name in IMAGES:
            self.someWays(onImages(name, lambda images: images * np.float32(1e-39)))

    def testSmallNetworks(self):
        for name in NETWORKS:
            self.everyWay(network(name))

    def testSeededNetworks(self):
        for name in SEEDED:
            self.everyWay(models.seeded(name))


if __name__ == "__main__":
    unittest.main(verbosity=2)
