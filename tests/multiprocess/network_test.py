"""The main oracle across two machines: network namespaces, a veth link, mutual TLS."""

import os
import sys
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import clusters
import models
import netns
import programs
from split_test import TOLERANCE, clientSecurity, workerSecurity

REASON = netns.whyNot()
PORT = 7070


class NetworkTest(unittest.TestCase):
    def setUp(self):
        self.pair = netns.Pair()
        self.here = self.pair.inside(self.pair.left)
        self.there = self.pair.inside(self.pair.right)
        self.addCleanup(self.pair.remove)
        self.certs = os.path.join(programs.SCRATCH.name, self.id())
        made = programs.run("certs", self.certs, f"w0={self.pair.LEFT_ADDRESS}",
                            f"w1={self.pair.RIGHT_ADDRESS}")
        self.assertEqual(made.code, 0, made)
        places = [f"{self.pair.LEFT_ADDRESS}:{PORT}", f"{self.pair.RIGHT_ADDRESS}:{PORT}"]
        self.workers = [
            programs.startWorker(place, *workerSecurity(self.certs, f"w{i}"), prefix=prefix)
            for i, (place, prefix) in enumerate(zip(places, (self.here, self.there)))]
        self.cluster = clusters.write({f"w{i}": (place, 1) for i, place in enumerate(places)},
                                      clientSecurity(self.certs))

    def tearDown(self):
        for worker in self.workers:
            worker.end()
        left = programs.ours()
        programs.killRest()
        self.assertEqual(left, {}, "processes left behind")

    def testSplitEqualsWhole(self):
        for model in (models.seeded("squeezenet"), models.seeded("inception_v2"),
                      models.ocr("rec")):
            whole = model.whole()
            local, devices = clusters.localProcesses(2)
            nodes = clusters.nodesOf(model.explain(local))
            for split in (clusters.atRandom(nodes, devices, 3), ["--placement", "heft"]):
                with self.subTest(model=model.path, split=split[:2]):
                    ended, got = model.run("--cluster", self.cluster, *split, prefix=self.here)
                    self.assertEqual(ended.code, 0, ended)
                    self.assertLessEqual(models.difference(got, whole), TOLERANCE)
                    if "--pin" in split:
                        _, same = model.run("--cluster", local, *split)
                        self.assertTrue(models.identical(got, same))

    def testCutLink(self):
        model = models.seeded("squeezenet")
        loop = programs.Program("bench", *model.feeds, "--cluster", self.cluster, "--placement",
                                "heft", "--pin", "*=w1/cpu:0", "--duration", "60",
                                prefix=self.here)
        programs.until(lambda: programs.cpuSeconds(self.workers[1].pid) > 1, 30, "steps")
        self.pair.cut()
        began = time.monotonic()
        ended = loop.wait(30)
        self.assertEqual(ended.code, 5, ended)
        self.assertLess(time.monotonic() - began, 10, ended)
        self.assertIn("worker w1", ended.err)

    def testCutLinkWhileWeightsAreSent(self):
        """What waits in the socket is given up with the worker."""
        table = numpy_helper.from_array(np.random.default_rng(1).standard_normal((1 << 19, 16), np.float32), "table")
        graph = helper.make_graph([helper.make_node("Gather", ["table", "i"], ["y"])], "pick",
                                  [helper.make_tensor_value_info("i", TensorProto.INT64, [16])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [16, 16])], [table])
        path = os.path.join(programs.SCRATCH.name, "table.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
        self.pair.slow("80mbit")
        program = programs.Program("run", path, "--input", "i=16xi64=1", "--cluster", self.cluster, "--pin", "*=w1/cpu:0",
                                   prefix=self.here)
        programs.until(lambda: "sending 32.00 MiB" in program.said(), 30, "weights on their way")
        time.sleep(1)
        self.pair.cut()
        began = time.monotonic()
        ended = program.wait(40)
        self.assertEqual(ended.code, 5, ended)
        self.assertLess(time.monotonic() - began, 15, ended)
        self.assertIn("worker w1", ended.err)


if __name__ == "__main__":
    if REASON:
        print(f"SKIPPED: {REASON}")
        sys.exit(77)
    unittest.main(verbosity=2)
