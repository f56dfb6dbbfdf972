"""The main oracle: a model split over devices and processes gives what it gives whole."""

import json
import os
import subprocess
import sys
import unittest

import clusters
import models
import programs

# Of the largest element of an output. A part may take other kernels than the whole, which sum in another
# order: 1.3e-4 apart were seen, where ONNX Runtime was 3.5e-5 away.
TOLERANCE = 3e-4
HERE = os.path.dirname(os.path.abspath(__file__))
BRANCHES = os.path.join(HERE, "..", "cli", "scripts", "branches_model.py")
QUANTIZED = os.path.join(HERE, "quantized_product.py")
# No instruction of it multiplies bytes exactly.
OLDER = ("env", "GRAPHRUN_MAX_ISA=avx2")


class SplitTest(programs.Case):
    def checkSplit(self, model, whole, cluster, devices, *options):
        """Runs it split; returns the outputs."""
        explained = model.explain(cluster, *options)
        used = {node["device"] for node in explained["nodes"]}
        self.assertLessEqual(used, set(devices))
        ended, got = model.run("--cluster", cluster, *options)
        self.assertEqual(ended.code, 0, ended)
        self.assertLessEqual(models.difference(got, whole), TOLERANCE, ended)
        return got, used

    def splitsOf(self, model, cluster, devices, seed):
        nodes = clusters.nodesOf(model.explain(cluster))
        yield "in turn", clusters.inTurn(nodes, devices)
        yield "at random", clusters.atRandom(nodes, devices, seed)
        yield "in spans", clusters.inSpans(nodes, devices)
        yield "greedy", ["--placement", "greedy"]
        yield "heft", ["--placement", "heft"]

    def checkAll(self, model, place, counts, splits):
        whole = model.whole()
        for count in counts:
            cluster, devices = place(count)
            for name, options in self.splitsOf(model, cluster, devices, seed=count):
                if name not in splits:
                    continue
                with self.subTest(model=model.path, devices=devices, split=name):
                    _, used = self.checkSplit(model, whole, cluster, devices, *options)
                    if "--pin" in options:
                        self.assertEqual(used, set(devices))

    def testDevicesOfOneProcess(self):
        for name, counts in (("squeezenet", [2, 3, 4]), ("inception_v2", [4]), ("shufflenet", [4])):
            self.checkAll(models.seeded(name), clusters.oneProcess, counts,
                          ["in turn", "at random", "heft"])

    def testLocalProcesses(self):
        for name, counts in (("squeezenet", [2, 3, 4]), ("inception_v2", [3]),
                             ("shufflenet", [2])):
            self.checkAll(models.seeded(name), clusters.localProcesses, counts,
                          ["in turn", "at random", "heft", "greedy"])

    def testLargeModelsOverLocalProcesses(self):
        for name, count in (("resnet50", 2), ("densenet121", 4)):
            self.checkAll(models.seeded(name), clusters.localProcesses, [count], ["at random"])

    def testOcrOverLocalProcesses(self):
        self.checkAll(models.ocr("rec"), clusters.localProcesses, [3],
                      ["in turn", "in spans", "heft"])

    @unittest.skipUnless(os.environ.get("GRAPHRUN_SLOW"), "every model, split and count: slow")
    def testEverything(self):
        every = [models.seeded(name) for name in models.SEEDED]
        every += [models.ocr(name) for name in ("cls", "det", "rec")]
        for model in every:
            for place in (clusters.oneProcess, clusters.localProcesses):
                self.checkAll(model, place, [2, 3, 4],
                              ["in turn", "at random", "in spans", "greedy", "heft"])

    def testStagesForThroughput(self):
        """Two stages of equal weight, on workers or on devices of one; several steps in flight give
        what one does."""
        path = os.path.join(programs.SCRATCH.name, "chain.onnx")
        subprocess.run([sys.executable, BRANCHES, path, "1", "8", "256"], check=True)
        whole = os.path.join(programs.SCRATCH.name, "chain.npy")
        feed = [path, "--input", "x=random:3"]
        self.assertEqual(programs.run("run", *feed, "--output", f"y=@{whole}").code, 0)
        for place in (clusters.localProcesses, clusters.oneProcess):
            cluster, devices = place(2)
            options = ["--cluster", cluster, "--objective", "throughput", "--no-learn"]
            explained = programs.run("explain", *feed, *options, "--json")
            self.assertEqual(explained.code, 0, explained)
            used = [node["device"] for node in json.loads(explained.out)["nodes"]]
            self.assertEqual([used.count(device) for device in devices], [4, 4])
            ended = programs.run("run", *feed, *options, "--expect", f"y=@{whole}", "--atol", "1e-4")
            self.assertEqual(ended.code, 0, ended)
            self.assertRegex(ended.err, r"predicted [\d.]+ ms; [\d.]+ steps/s with several in flight")
            ended = programs.run("bench", *feed, *options, "--concurrency", "3", "--iterations", "60")
            self.assertEqual(ended.code, 0, ended)
            self.assertRegex(ended.out, r"predicted with as many in flight as use all workers: [\d.]+")

    def testWorkersStartedByHand(self):
        """Unix socket and loopback TCP, one worker joined late; the same bits as local ones."""
        model = models.seeded("squeezenet")
        local, devices = clusters.localProcesses(3)
        nodes = clusters.nodesOf(model.explain(local))
        split = clusters.atRandom(nodes, devices, 7)
        want, _ = self.checkSplit(model, model.whole(), local, devices, *split)
        places = [f"unix:{programs.SCRATCH.name}/w0.sock", f"127.0.0.1:{clusters.freePort()}",
                  f"127.0.0.1:{clusters.freePort()}"]
        cluster = clusters.write({f"w{i}": (place, 1) for i, place in enumerate(places)})
        for order in ([2, 0, 1], [0, 1, 2]):
            self.checkOrder(model, want, cluster, split, [places[i] for i in order])

    def checkOrder(self, model, want, cluster, split, places):
        """The last worker starts after the coordinator; then the same workers serve again."""
        workers = [programs.startWorker(place) for place in places[:-1]]
        outputs = [part for i, name in enumerate(model.outputs)
                   for part in ("--output", f"{name}=@late_{i}.npy")]
        early = programs.Program("run", *model.feeds, "--cluster", cluster, *split, *outputs)
        workers.append(programs.startWorker(places[-1]))
        ended = early.wait(60)
        self.assertEqual(ended.code, 0, ended)
        ended, got = model.run("--cluster", cluster, *split)
        self.assertEqual(ended.code, 0, ended)
        self.assertTrue(models.identical(got, want), models.difference(got, want))
        for worker in workers:
            ended = worker.end()
            self.assertEqual(ended.code, 0, ended)

    def nodesRun(self, model, cluster, prefix=()):
        """What a run says that its nodes are."""
        report = os.path.join(programs.SCRATCH.name, "nodes.json")
        ended = programs.run("run", model, "--input", "x=random:1", "--cluster", cluster, "--no-learn",
                             "--iterations", "3", "--report", report, prefix=prefix)
        self.assertEqual(ended.code, 0, ended)
        with open(report, encoding="utf-8") as file:
            return [node["node"] for node in json.load(file)["times"]["nodes"]]

    def testWorkersOfOtherInstructions(self):
        """Whether products of bytes are made is the workers' affair, not that of who plans."""
        model = os.path.join(programs.SCRATCH.name, "quantized.onnx")
        subprocess.run([sys.executable, QUANTIZED, model], check=True)
        local, _ = clusters.localProcesses(1)
        floats, here = (self.nodesRun(model, local, prefix) for prefix in (OLDER, ()))
        if floats == here:
            self.skipTest("this machine has no instructions for products of bytes")
        place = f"unix:{programs.SCRATCH.name}/older.sock"
        clustersOf = [clusters.write({"w0": (place, 1)}),
                      clusters.writeWorkers([{"name": "w0", "address": place}])]
        for prefix, planner, nodes in ((OLDER, (), floats), ((), OLDER, here)):
            worker = programs.startWorker(place, prefix=prefix)
            for cluster in clustersOf:
                with self.subTest(worker=prefix, cluster=cluster):
                    self.assertEqual(self.nodesRun(model, cluster, planner), nodes)
            self.assertEqual(worker.end().code, 0)

    def testWorkersWithCertificatesOnLoopback(self):
        model = models.seeded("squeezenet")
        certs = os.path.join(programs.SCRATCH.name, "certs")
        made = programs.run("certs", certs, "w0=127.0.0.1", "w1=127.0.0.1")
        self.assertEqual(made.code, 0, made)
        places = [f"127.0.0.1:{clusters.freePort()}" for _ in range(2)]
        workers = [programs.startWorker(place, *workerSecurity(certs, f"w{i}"))
                   for i, place in enumerate(places)]
        cluster = clusters.write({f"w{i}": (place, 1) for i, place in enumerate(places)},
                                 clientSecurity(certs))
        ended, got = model.run("--cluster", cluster, "--placement", "heft")
        self.assertEqual(ended.code, 0, ended)
        self.assertLessEqual(models.difference(got, model.whole()), TOLERANCE)
        self.assertEqual([worker.end().code for worker in workers], [0, 0])


def workerSecurity(certs, name):
    return ["--ca", f"{certs}/ca.pem", "--cert", f"{certs}/{name}.pem", "--key", f"{certs}/{name}.key"]


def clientSecurity(certs):
    return {"ca": f"{certs}/ca.pem", "cert": f"{certs}/coordinator.pem",
            "key": f"{certs}/coordinator.key"}


if __name__ == "__main__":
    unittest.main(verbosity=2)
