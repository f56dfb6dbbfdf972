#!/usr/bin/env python3
"""The models of bench/ are well-formed, three runtimes agree on them, and the bench notices if not."""

import argparse
import contextlib
import functools
import io
import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

import measure
import operations
import report
from models import catalogue, convolutional, mobile, quantized, recurrent, transformers

BF16 = "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
SMALL = {"layers": 1, "width": 64, "count": 2}
MODELS = (
    catalogue.Model("bert", functools.partial(transformers.bert, vocabulary=1000, **SMALL),
                    {"24": (24,)}),
    catalogue.Model("gpt2", functools.partial(transformers.gpt2, vocabulary=1000, **SMALL),
                    {"24": (24,)}),
    catalogue.Model("vit", functools.partial(transformers.vit, **SMALL)),
    catalogue.Model("mobilenet_v3", mobile.mobilenetV3),
    catalogue.Model("unet", functools.partial(convolutional.unet, base=8, side=64)),
    catalogue.Model("unet_resize", functools.partial(convolutional.unet, convolutional.resize, 8, 64)),
    catalogue.Model("lstm", functools.partial(recurrent.lstm, length=12)))
LARGER = (mobile.mobilenetV2, mobile.efficientnetB0, convolutional.resnet18)


class ModelsTest(unittest.TestCase):
    """The generators and the comparison before anything is timed."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.bench = measure.Bench(self.graphrun, os.path.join(self.folder.name, "cache"), 0.01)

    def subject(self, model):
        return measure.subject(model, next(iter(model.sizes)), 2, self.folder.name)

    def testCheckerAcceptsEveryModel(self):
        for make in [model.make for model in MODELS] + list(LARGER):
            onnx.checker.check_model(make(), full_check=True)

    def testRuntimesAgree(self):
        for model in MODELS:
            with self.subTest(model.name):
                failures = {}
                found = measure.compare(self.bench, self.subject(model), 1, failures)
                self.assertEqual(failures, {})
                self.assertEqual(set(found), set(measure.RUNTIMES))

    def testWeightsAreScaledSoThatOutputsSaySomething(self):
        for make in [model.make for model in MODELS] + list(LARGER):
            proto = make()
            session = onnxruntime.InferenceSession(proto.SerializeToString())
            for array in session.run(None, catalogue.feeds(proto, (1, 24))):
                self.assertTrue(0.05 < np.std(array) < 50, f"{proto.graph.name}: {np.std(array)}")

    def testDifferingOutputsAreAFailure(self):
        bench = self.bench
        outputs = bench.outputs
        bench.outputs = lambda runtime, *rest: [
            array * (1.01 if runtime == "graphrun" else 1) for array in outputs(runtime, *rest)]
        failures = {}
        measure.compare(bench, self.subject(MODELS[-1]), 1, failures)
        self.assertEqual(list(failures), ["graphrun"])

    def testModelsInBytesAreHeldToANorm(self):
        byBytes = catalogue.Model("bert_dynamic", lambda: quantized.dynamic(MODELS[0].make()), {"24": (24,)})
        subject, failures = self.subject(byBytes), {}
        found = measure.compare(self.bench, subject, 1, failures)
        self.assertEqual(failures, {})
        self.assertEqual(set(found), set(measure.RUNTIMES))
        outputs = self.bench.outputs
        self.bench.outputs = lambda runtime, *rest: [
            array * (1.1 if runtime == "exact" else 1) for array in outputs(runtime, *rest)]
        measure.compare(self.bench, subject, 1, failures)
        self.assertEqual(list(failures), ["exact"])

    @unittest.skipUnless(BF16, "the machine has no products of bf16")
    def testBFloat16IsHeldToOnnxRuntimesFloats(self):
        bench = measure.Bench(self.graphrun, self.bench.cache, 0.01, "bf16")
        failures = {}
        found = measure.compare(bench, self.subject(MODELS[0]), 1, failures)
        self.assertEqual(failures, {})
        self.assertEqual(set(found), set(bench.runtimes))
        self.assertGreater(found["graphrun"], 1e-4)

    def testBothOfOurModesAreSetAgainstTheBetterPeer(self):
        figures = {"graphrun": 2.0, "exact": 4.0, "onnxruntime": 8.0, "openvino": 6.0}
        runtimes = {name: {"p50_ms": ms, "p95_ms": ms} for name, ms in figures.items()}
        self.assertEqual(measure.ratios(runtimes), {"ratio": 3.0, "exact_ratio": 1.5})
        entry = {"model": "m", "shape": "b1", "threads": 1, "target": 1, "failures": {},
                 "runtimes": runtimes, **measure.ratios(runtimes)}
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            report.speedLine(entry)
            report.meanLine([entry])
        self.assertIn("    3.00    1.50  ok", text.getvalue())
        self.assertIn("with --exact 1.50", text.getvalue())
        del runtimes["onnxruntime"], runtimes["openvino"]
        self.assertEqual(measure.ratios(runtimes), {})

    def testTheExactModeIsAskedFor(self):
        asked = []
        self.bench.process = lambda command, threads: asked.append(command) or "{}"
        for runtime in measure.OWN:
            self.bench.turn(runtime, self.subject(MODELS[-1]), 1)
        self.assertEqual([("--exact" in command) for command in asked], [False, True])

    def testPeakMemoryIsNotTheParents(self):
        large = np.ones(1 << 27)  # 1 GiB, touched
        figures = self.bench.turn("graphrun", self.subject(MODELS[-1]), 1)
        self.assertLess(figures["peak_memory_bytes"], large.nbytes // 2)


    def testOperationsAreCountedByKind(self):
        found = operations.slowest(self.bench, self.subject(MODELS[-1]), 1)
        self.assertEqual(found[0]["kind"], "LSTM")
        self.assertAlmostEqual(sum(kind["share"] for kind in found), 1, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphrun", required=True)
    known, rest = parser.parse_known_args()
    ModelsTest.graphrun = known.graphrun
    unittest.main(argv=sys.argv[:1] + rest)
