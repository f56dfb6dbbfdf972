"""Collectives whose members run in different processes give the bits that they give on one device."""

import os
import re
import subprocess
import unittest

import numpy as np

import clusters
import models
import programs

SEEDS = int(os.environ.get("GRAPHRUN_SEEDS", "4"))
FOLDER = os.path.join(programs.SCRATCH.name, "collectives")


class BuiltModel(models.Model):
    """A model that collective_models wrote, with inputs drawn here."""

    def __init__(self, name):
        stem = os.path.join(FOLDER, name)
        self.path = stem + ".fb"
        self.feeds = [self.path]
        self.outputs = []
        draw = np.random.default_rng(7)
        with open(stem + ".txt", encoding="utf-8") as file:
            for kind, value, *dims in map(str.split, file):
                if kind == "output":
                    self.outputs.append(value)
                    continue
                np.save(f"{stem}.{value}.npy",
                        draw.uniform(-3, 3, [int(dim) for dim in dims]).astype(np.float32))
                self.feeds += ["--input", f"{value}=@{stem}.{value}.npy"]


class CollectivesTest(programs.Case):
    @classmethod
    def setUpClass(cls):
        os.mkdir(FOLDER)
        subprocess.run([os.environ["COLLECTIVE_MODELS"], FOLDER, str(SEEDS)], check=True)

    def check(self, model, whole, cluster, *options):
        ended, got = model.run("--cluster", cluster, *options)
        self.assertEqual(ended.code, 0, ended)
        for name, a, b in zip(model.outputs, got, whole, strict=True):
            self.assertTrue(np.array_equal(a, b), f"{name} differs; {ended}")

    def testEachMemberInItsProcess(self):
        model = BuiltModel("each")
        cluster, devices = clusters.localProcesses(3)
        pins = clusters.pins((pattern, device) for i, device in enumerate(devices)
                             for pattern in (f"m{i}/*", f"*/{i}"))
        pins += clusters.pins([("*/3", devices[0])])
        nodes = model.explain(cluster, *pins)["nodes"]
        steps = {node["node"]: node["device"] for node in nodes if "/reduce" in node["node"]}
        self.assertEqual({name.split("/")[1]: device for name, device in steps.items()},
                         {"0": devices[0], "1": devices[1], "2": devices[2], "3": devices[0]})
        self.check(model, model.whole(), cluster, *pins)

    def testRandomNetworks(self):
        """Nodes anywhere, also a member's away from each other; on processes and threads."""
        for seed in range(SEEDS):
            model = BuiltModel(f"random_{seed}")
            whole = model.whole()
            makeCluster = (clusters.localProcesses, clusters.oneProcess)[seed % 2]
            cluster, devices = makeCluster(2 + seed % 3)
            nodes = clusters.nodesOf(model.explain(cluster))
            for options in (clusters.atRandom(nodes, devices, seed), ["--placement", "heft"]):
                with self.subTest(model=model.path, options=options):
                    self.check(model, whole, cluster, *options)

    def testMembersStayWhereTheirOperandsAre(self):
        """Unless one node makes those of several, as in `large_same`; the last member's are inputs."""
        cluster, devices = clusters.localProcesses(3)
        pins = clusters.pins((f"m{i}/*", device) for i, device in enumerate(devices))
        explained = BuiltModel("each").explain(cluster, *pins, "--placement", "heft")
        found = 0
        for node in explained["nodes"]:
            step = re.fullmatch("(?!.*same)[^/]+/([01])(/reduce|/gather)?", node["node"])
            if step:
                found += 1
                self.assertEqual(node["device"], devices[int(step[1])], node)
        self.assertGreater(found, 50)


if __name__ == "__main__":
    unittest.main(verbosity=2)
