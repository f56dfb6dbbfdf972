#!/usr/bin/env python3
"""bench/gpu.sh makes a package that needs nothing of the machine but a shell, tar and Python, and
runs it: without a GPU all that needs one is skipped with the reason, and on the simulated one it runs."""

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np
import onnx
from onnx import helper

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "..", "bench", "gpu.sh")
sys.path.insert(0, os.path.join(HERE, "..", "onnx"))

import cases

TOOLS = ("sh", "tar", "mktemp", "dirname", "basename", "rm")
LIBRARIES = ("libgraphrun-compiler.so", "libgraphrun-control.so", "libucp.so.0")


def writeCase(folder):
    """One case of ONNX's tests: y = -x."""
    here = os.path.join(folder, "test_negation")
    os.makedirs(here)
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "negation", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              os.path.join(here, "model.onnx"))
    values = np.array([1, -2, 3], np.float32)
    cases.writeDataSet(here, 0, {"x": values}, {"y": -values})


class GpuTest(unittest.TestCase):
    """One package for all cases; no variable of the environment and no other program gets to it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        writeCase(os.path.join(cls.folder, "cases"))
        cls.package = os.path.join(cls.folder, "gpu.tar.xz")
        cls.packed = subprocess.run(
            [SCRIPT, "pack", cls.build, cls.package, "--models", "tiny_bert,chain", "--cases",
             os.path.join(cls.folder, "cases")], capture_output=True, text=True, check=False,
            env={**os.environ, "XZ_OPT": "-0 -T0", "GRAPHRUN_PYTHON": sys.executable})
        cls.path, cls.unpacker = (os.path.join(cls.folder, name) for name in ("bin", "xz"))
        for folder, names in ((cls.path, TOOLS), (cls.unpacker, ("xz",))):
            os.makedirs(folder)
            for name in names:
                os.symlink(shutil.which(name), os.path.join(folder, name))
        with open(os.path.join(cls.path, "python3"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        os.chmod(file.name, 0o755)

    def setUp(self):
        self.assertEqual(self.packed.returncode, 0, self.packed.stdout + self.packed.stderr)

    def packageRun(self, libraries, *more, path=None):
        """results.json of a run with `libraries` in the place of CUDA's; without xz unless `path` has it."""
        results = os.path.join(self.folder, self.id())
        done = subprocess.run(["sh", SCRIPT, "run", self.package, results, *more], cwd="/", check=False,
                              env={"PATH": path or self.path, "GRAPHRUN_CUDA_LIBRARIES": libraries},
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(results, "results.json"), encoding="utf-8") as file:
            return json.load(file)

    def testAnswersThatComeTogetherAreAllRead(self):
        sys.path.insert(0, os.path.join(HERE, "..", "..", "bench", "gpu"))
        from program import LEAST, PeerProcess

        peers = PeerProcess(os.path.join(self.folder, "peers.txt"))
        self.addCleanup(peers.close)
        for _ in range(3):
            peers.post(do="versions")
        time.sleep(3)  # all three answers are there
        begin = time.monotonic()
        peers.settle(begin + 60)
        self.assertIsInstance(peers.ask(60, do="versions"), dict)
        self.assertLess(time.monotonic() - begin, 2 * LEAST)  # three answers in one read took LEAST each

    def testPackageTellsItsSize(self):
        self.assertRegex(self.packed.stdout, r"gpu.tar.xz: \d+\.\d MiB, at most 60")

    def testNothingOfTheMachineIsLoaded(self):
        folder = os.path.join(self.folder, "unpacked")
        os.makedirs(folder)
        subprocess.run(["tar", "-xf", self.package, "-C", folder], check=True)
        library = os.path.join(folder, "lib")
        for file in [f"programs/{name}" for name in os.listdir(os.path.join(folder, "programs"))] + \
                [f"lib/{name}" for name in LIBRARIES]:
            text = subprocess.run([os.path.join(library, "ld-linux-x86-64.so.2"), "--library-path", library,
                                   "--list", os.path.join(folder, file)], check=True, env={},
                                  capture_output=True, text=True).stdout
            for line in text.splitlines():
                if "linux-vdso" not in line:
                    self.assertIn(library, line, f"{file} loads it from the machine")

    def testWithoutGpuEveryPartThatNeedsOneIsSkipped(self):
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            found = self.packageRun("", path=f"{self.path}:{self.unpacker}")
        else:
            self.skipTest("this machine has NVIDIA's driver")
        parts = {part["name"]: part for part in found["parts"]}
        self.assertEqual(parts.pop("doctor")["state"], "done")
        self.assertEqual(len(parts), 13)
        for part in parts.values():
            self.assertEqual(part["state"], "skipped", part)
            self.assertRegex(part["reason"], r"driver: libcuda.so.1 is missing; .*; install")
        self.assertRegex(found["rows"][0]["ours"], "All tests passed")

    def testOnTheSimulatedGpu(self):
        if not os.path.isdir(self.simulator):
            self.skipTest("built without CUDA")
        names = ("doctor", "devices", "checks", "collectives", "mixed", "models", "placement", "operations")
        found = self.packageRun(self.simulator, "--parts", ",".join(names), "--models", "tiny_bert",
                                "--seconds", "180", "--batches", "1", "--precisions", "f32")
        rows = {row["name"]: row for row in found["rows"]}
        self.assertTrue(rows["device conformance"]["ok"])
        self.assertEqual(rows["ONNX's test cases"]["ours"], 1)
        self.assertEqual(rows["ONNX's test cases"]["failures"], {})
        self.assertTrue(rows["tiny_bert: nodes on the GPU"]["ok"])
        self.assertTrue(rows["tiny_bert beside CPU"]["ok"])
        self.assertTrue(any(row["ok"] for row in found["rows"] if row["part"] == "mixed"))
        self.assertGreater(rows["tiny_bert b1 f32"]["ours"], 0)
        placed = [row for row in found["rows"] if row["part"] == "placement"]
        self.assertGreater(placed[0]["ratio"], 0)
        self.assertTrue(placed[-1]["ok"], placed[-1])
        self.assertEqual({part["name"]: part["state"] for part in found["parts"]},
                         {**dict.fromkeys(names, "done"), "collectives": "skipped"})
        self.assertEqual([part["reason"] for part in found["parts"] if part["state"] == "skipped"],
                         ["it takes two GPUs, this machine has 1"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--simulator", required=True, help="its folder")
    known, rest = parser.parse_known_args()
    GpuTest.build, GpuTest.simulator = known.build, known.simulator
    unittest.main(argv=sys.argv[:1] + rest)
