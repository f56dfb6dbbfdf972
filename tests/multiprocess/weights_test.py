"""Weights that workers have: out of model files that somebody overwrites, or out of a cache that is damaged or
too small. Results are right, or the worker says what is wrong."""

import os
import shutil
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import cache_test
import clusters
import programs

ROWS = 64
LAYERS = 3


def scratch(name):
    return os.path.join(programs.SCRATCH.name, name)


def compiled(name, seed):
    """The path of a model.fb with products by matrices out of `seed`; of equal length for all seeds."""
    chance = np.random.default_rng(seed)
    weights = [numpy_helper.from_array(chance.standard_normal((ROWS, ROWS), np.float32) / 8, f"w{i}")
               for i in range(LAYERS)]
    values = ["x"] + [f"v{i}" for i in range(1, LAYERS)] + ["y"]
    nodes = [helper.make_node("MatMul", [values[i], f"w{i}"], [values[i + 1]]) for i in range(LAYERS)]
    graph = helper.make_graph(nodes, "products", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", ROWS])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", ROWS])], weights)
    source, target = scratch(f"{name}.onnx"), scratch(f"{name}.fb")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), source)
    ended = programs.run("compile", source, "-o", target)
    assert ended.code == 0, ended
    return target


def overwrite(path, content):
    """Writes into the file that is there, as cp does."""
    with open(content, "rb") as source, open(path, "r+b") as file:
        file.write(source.read())


class WeightsTest(unittest.TestCase):
    def setUp(self):
        self.worker = None
        self.model = compiled("model", 1)
        x = np.linspace(-1, 1, 2 * ROWS, dtype=np.float32).reshape(2, ROWS)
        np.save(scratch("x.npy"), x)
        self.want = self.output("--threads", "1")

    def tearDown(self):
        if self.worker is not None:
            self.worker.end()
        left = programs.ours()
        programs.killRest()
        self.assertEqual(left, {}, "processes left behind")

    def start(self, *options, prefix=()):
        address = "unix:" + scratch("w.sock")
        self.worker = programs.startWorker(address, *options, prefix=prefix)
        return clusters.write({"far": (address, 1)})

    def run_(self, *options):
        return programs.run("run", self.model, "--input", f"x=@{scratch('x.npy')}", "--output", f"y=@{scratch('y.npy')}",
                            *options)

    def output(self, *options):
        ended = self.run_(*options)
        self.assertEqual(ended.code, 0, ended)
        return np.load(scratch("y.npy"))

    def check(self, cluster):
        np.testing.assert_allclose(self.output("--cluster", cluster), self.want, atol=1e-5)

    def testModelOverwrittenUnderAWorker(self):
        """The worker has the weights of another model then, and is sent the right ones."""
        theirs = scratch("theirs.fb")
        shutil.copyfile(self.model, theirs)
        cluster = self.start("--weights-from", theirs)
        self.check(cluster)
        time.sleep(0.05)
        overwrite(theirs, compiled("other", 2))
        self.check(cluster)
        os.truncate(theirs, 100)
        self.check(cluster)

    def testDamagedWeightsAreSentAgain(self):
        cache = scratch("damaged-cache")
        programs.ENVIRONMENT["GRAPHRUN_CACHE_DIR"] = cache
        self.addCleanup(programs.ENVIRONMENT.pop, "GRAPHRUN_CACHE_DIR")
        cluster = self.start()
        self.check(cluster)
        kept = [os.path.join(cache, "weights", name) for name in os.listdir(os.path.join(cache, "weights"))]
        self.assertEqual(len(kept), LAYERS)
        for path in kept:
            with open(path, "r+b") as file:
                file.seek(1000)
                byte = file.read(1)[0]
                file.seek(1000)
                file.write(bytes([byte ^ 16]))
        shutil.rmtree(os.path.join(cache, "executables"))
        self.check(cluster)
        self.assertEqual(self.worker.said().count("is damaged"), LAYERS, self.worker.said())
        self.check(cluster)
        self.assertEqual(self.worker.said().count("is damaged"), LAYERS, self.worker.said())

    def testSendingTellsItsShare(self):
        programs.ENVIRONMENT["GRAPHRUN_CACHE_DIR"] = scratch("empty-cache")
        self.addCleanup(programs.ENVIRONMENT.pop, "GRAPHRUN_CACHE_DIR")
        ended = self.run_("--cluster", self.start(), "-v")
        self.assertEqual(ended.code, 0, ended)
        self.assertRegex(ended.err, r"graphrun: sending [\d.]+ KiB of weights to worker far \(0 % done\)\n")

    @unittest.skipUnless(cache_test.mayMount(), "no disk of its own may be mounted here")
    def testFullDiskIsNoSmallDevice(self):
        """It is told as what it is, and no other plan is made for it."""
        cluster = self.start(prefix=cache_test.smallDisk(48))
        ended = self.run_("--cluster", cluster, "-v")
        self.assertEqual(ended.code, 5, ended)
        self.assertIn("worker far", ended.err)
        self.assertIn("No space left on device", ended.err)
        self.assertEqual(ended.err.count("graphrun: planning"), 1, ended)


if __name__ == "__main__":
    unittest.main(verbosity=2)
