"""What a run tells while it is made ready, at its end and when it fails: progress, a closing line, traces, and what
was measured until somebody ended it."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

import clusters
import models
import programs


def scratch(name):
    return os.path.join(programs.SCRATCH.name, name)


def pickModel():
    """y = Gather(Neg(x), i): fails where an index is out of range. Its path, and options for its inputs."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [5])
    i = helper.make_tensor_value_info("i", TensorProto.INT64, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    nodes = [helper.make_node("Neg", ["x"], ["n"], name="turn"), helper.make_node("Gather", ["n", "i"], ["y"], name="pick")]
    path = scratch("pick.onnx")
    onnx.save(helper.make_model(helper.make_graph(nodes, "pick", [x, i], [y]),
                                opset_imports=[helper.make_opsetid("", 17)]), path)
    np.save(scratch("wrong.npy"), np.array([1, 7]))
    return path, ["--input", "x=random", "--input", f"i=@{scratch('wrong.npy')}"]


class TellingTest(programs.Case):
    def setUp(self):
        super().setUp()
        self.model = models.seeded("squeezenet")

    def unreachable(self):
        return clusters.write({"far": ("127.0.0.1:9", 1)})

    def testProgressLines(self):
        began = time.monotonic()
        ended = programs.run(*self.model.feeds, "--cluster", self.unreachable(), "--timeout", "3s")
        self.assertEqual(ended.code, 5, ended)
        self.assertLess(time.monotonic() - began, 8, "--timeout did not bound joining")
        self.assertRegex(ended.err, r"graphrun: waiting for worker far \(0 of 1 done\), at most [01]\.\d s more\n")
        quiet = programs.run(*self.model.feeds, "--cluster", self.unreachable(), "--timeout", "2500ms", "-q")
        self.assertNotIn("waiting", quiet.err)

    def testProgressOnTerminal(self):
        ours, theirs = pty.openpty()
        command = [programs.GRAPHRUN, *self.model.feeds, "--cluster", self.unreachable(), "--timeout", "1s"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs,
                              env=programs.ENVIRONMENT) as program:
            self.assertEqual(program.wait(30), 5)
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 1 << 16):
                text += part
        except OSError:  # how the end of a terminal is told
            pass
        os.close(ours)
        self.assertIn(b"\r\x1b[K[                        ] waiting for worker far", text)
        self.assertGreater(text.count(b"\r\x1b[K"), 3)

    def testClosingLineAndLatency(self):
        shutil.rmtree(scratch("cache"), ignore_errors=True)
        ended = programs.run("run", *self.model.feeds, "--atol", "1e-4", "--json", "--threads", "1")
        self.assertEqual(ended.code, 0, ended)
        report = json.loads(ended.out)
        self.assertLess(report["latency_ms"]["p50"], report["prepared_ms"], "loading counts as latency")
        line = re.search(r"ran once in ([\d.]+) ms \(predicted [\d.]+ ms\) on local/cpu:0; ready after ([\d.]+) ms", ended.err)
        self.assertTrue(line, ended)
        self.assertAlmostEqual(float(line[1]), report["latency_ms"]["p50"], places=2)
        quiet = programs.run("run", *self.model.feeds, "--atol", "1e-4", "-q")
        self.assertEqual((quiet.code, quiet.err), (0, ""), quiet)

    def testWhoSaysWhat(self):
        cluster, _ = clusters.localProcesses(2)
        ended = programs.run("run", *self.model.feeds, "--atol", "1e-4", "--cluster", cluster, "--placement", "random:1", "-v")
        self.assertEqual(ended.code, 0, ended)
        for worker in ("w0", "w1"):
            self.assertRegex(ended.err, rf"graphrun: \d\d:\d\d:\d\d\.\d\d\d {worker}/worker: info: plan [0-9a-f]+ is ready")
        self.assertIn("graphrun: planning", ended.err)

    def testDryRun(self):
        ended = programs.run("run", self.model.path, "--dry-run", "--threads", "1")
        self.assertEqual(ended.code, 0, ended)
        self.assertRegex(ended.out, r"predicted time of a run: [\d.]+ ms\nlocal/cpu:0: [\d.]+ MiB\n")
        self.assertNotIn("ran once", ended.err)

    def traced(self, *arguments):
        """(Ended, names of the events of its trace)"""
        path = scratch("trace.json")
        if os.path.exists(path):
            os.unlink(path)
        ended = programs.run(*arguments, "--trace", path)
        self.assertNotEqual(ended.code, 0, ended)
        with open(path, encoding="utf-8") as file:
            return ended, {event["name"] for event in json.load(file)["traceEvents"]}

    def testTraceOfFailure(self):
        path, feeds = pickModel()
        for command in ("run", "bench"):
            ended, names = self.traced(command, path, *feeds, "--no-fusion")
            self.assertIn("index 7 at [1] of the indices is out of range, expected -5 to 4", ended.err)
            self.assertTrue([name for name in names if "turn" in name], names)

    def testTraceOfHang(self):
        worker = programs.startWorker("unix:" + scratch("w.sock"))
        cluster = clusters.write({"w": ("unix:" + scratch("w.sock"), 1)})
        path = scratch("hang.json")
        program = programs.Program("bench", *self.model.feeds, "--cluster", cluster, "--duration", "60", "--timeout", "2s",
                                   "--trace", path, "--tune-budget", "0")
        time.sleep(3)
        os.kill(worker.pid, signal.SIGSTOP)
        ended = program.wait(40)
        worker.end()
        self.assertEqual(ended.code, 5, ended)
        with open(path, encoding="utf-8") as file:
            self.assertTrue(json.load(file)["traceEvents"])

    def testEndedByHand(self):
        cluster, _ = clusters.localProcesses(1)
        for options in ([], ["--cluster", cluster]):
            with self.subTest(options=options):
                # A group of its own, all of which gets what Ctrl-C sends.
                command = [programs.GRAPHRUN, "bench", *self.model.feeds, *options, "--duration", "60", "--json", "--warmup", "1",
                           "--tune-budget", "0"]
                with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      env=programs.ENVIRONMENT, start_new_session=True, text=True) as program:
                    time.sleep(4)
                    os.killpg(program.pid, signal.SIGINT)
                    out, err = program.communicate(timeout=30)
                self.assertEqual(program.returncode, 130, err)
                self.assertIn("stops after this run", err)
                report = json.loads(out)
                self.assertGreater(report["runs"], 0)
                self.assertTrue(report["interrupted"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
