"""The main oracle across machines: namespaces, veth links, mutual TLS; links that are cut."""

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
# A lost peer is noticed within 3 s; the rest is what the steps' end and the programs' take.
NOTICED_SECONDS = 3 + 1.5


class NetworkTest(programs.Case):
    def setUp(self):
        super().setUp()
        self.nets = None

    def start(self, nets, here, nodes, addresses):
        """Workers w0, w1 … on these nodes; the client is to run on `here`."""
        self.nets = nets
        self.addCleanup(nets.remove)
        self.here = here.inside
        certs = os.path.join(programs.SCRATCH.name, self.id())
        made = programs.run("certs", certs, *(f"w{i}={a}" for i, a in enumerate(addresses)))
        self.assertEqual(made.code, 0, made)
        endpoints = [f"{address}:{PORT}" for address in addresses]
        self.workers = [
            programs.startWorker(endpoint, *workerSecurity(certs, f"w{i}"), prefix=node.inside)
            for i, (endpoint, node) in enumerate(zip(endpoints, nodes))]
        self.cluster = clusters.write({f"w{i}": (endpoint, 1) for i, endpoint in enumerate(endpoints)},
                                      clientSecurity(certs))

    def startPair(self, **options):
        pair = netns.Pair(**options)
        self.start(pair, pair.nodes[0], pair.nodes, pair.ADDRESSES)

    def checkCut(self, loop, cut):
        """The program, which runs steps, ends in time once `cut` was called."""
        programs.until(lambda: programs.cpuSeconds(self.workers[1].pid) > 1 or
                       loop.process.poll() is not None, 30, "steps")
        self.assertIsNone(loop.process.poll(), "ended before the cut")
        cut()
        began = time.monotonic()
        ended = loop.wait(30)
        self.assertEqual(ended.code, 5, ended)
        self.assertLess(time.monotonic() - began, NOTICED_SECONDS, ended)
        return ended

    def testSplitEqualsWhole(self):
        self.startPair()
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

    def checkTensorsTakeTheLink(self):
        """A run sends an input of 600 KB to the other node."""
        model = models.seeded("squeezenet")
        node = self.nets.nodes[0]
        before = node.sentBytes("veth0")
        ended = programs.run("bench", *model.feeds, "--cluster", self.cluster, "--pin",
                             "*=w1/cpu:0", "--iterations", "40", prefix=self.here)
        self.assertEqual(ended.code, 0, ended)
        self.assertGreater(node.sentBytes("veth0") - before, 40 * 600_000, ended)

    def testTensorsTakeTheLink(self):
        self.startPair()
        self.checkTensorsTakeTheLink()

    def testTensorsTakeTheLinkWhereIpcIsShared(self):
        """Shared memory would carry them, but wake nobody in another network."""
        self.startPair(sharesMemory=True)
        self.checkTensorsTakeTheLink()

    def testCutLink(self):
        self.startPair()
        model = models.seeded("squeezenet")
        loop = programs.Program("bench", *model.feeds, "--cluster", self.cluster, "--placement",
                                "heft", "--pin", "*=w1/cpu:0", "--duration", "60",
                                prefix=self.here)
        self.assertIn("worker w1", self.checkCut(loop, self.nets.cut).err)

    def testCutLinkBetweenWorkers(self):
        """The client, which forwards between them, still reaches both."""
        star = netns.Star()
        self.start(star, star.middle, star.nodes[1:], star.ADDRESSES)
        model = models.seeded("squeezenet")
        local, devices = clusters.localProcesses(2)
        nodes = clusters.nodesOf(model.explain(local))
        loop = programs.Program("bench", *model.feeds, "--cluster", self.cluster,
                                *clusters.inTurn(nodes, devices), "--duration", "60",
                                prefix=self.here)
        ended = self.checkCut(loop, lambda: star.forward(False))
        self.assertRegex(ended.err, r"worker w[01] is lost: nothing was heard from it for 2.5 s")

    def testCutLinkWhileWeightsAreSent(self):
        """What waits in the socket is given up with the worker."""
        self.startPair()
        table = numpy_helper.from_array(np.random.default_rng(1).standard_normal((1 << 19, 16), np.float32), "table")
        graph = helper.make_graph([helper.make_node("Gather", ["table", "i"], ["y"])], "pick",
                                  [helper.make_tensor_value_info("i", TensorProto.INT64, [16])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [16, 16])], [table])
        path = os.path.join(programs.SCRATCH.name, "table.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
        self.nets.slow("80mbit")
        program = programs.Program("run", path, "--input", "i=16xi64=1", "--cluster", self.cluster, "--pin", "*=w1/cpu:0",
                                   prefix=self.here)
        programs.until(lambda: "sending 32.00 MiB" in program.said(), 30, "weights on their way")
        time.sleep(1)
        self.nets.cut()
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
