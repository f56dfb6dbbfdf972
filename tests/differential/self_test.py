#!/usr/bin/env python3
"""Tests of the fuzzer's own parts: planted faults must be seen, reduced models must keep failing."""

import dataclasses
import os
import tempfile
import unittest

import ml_dtypes
import numpy as np
from onnx import helper, numpy_helper

import compare
import gradients
import graphs
import known
import operators
import text_case
from check import Finding
from reduce import reduced
from server import Result
from variants import BASE, Variant
from widen import shaken

# What operators.py has no generator for, and who makes it instead.
ELSEWHERE = {
    "If", "Loop", "Scan",  # control.py
    "Constant",  # a node without operands
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
    "RandomUniformLike",  # random: no peer gives the same
    "ImageDecoder",  # not supported
    "BitCast", "CausalConvWithState", "LinearAttention", "FlexAttention",  # no peer has them yet
    "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt",
    "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SequenceMap", "SplitToSequence",  # operands that are no tensors
    "MaxUnpool", "StringNormalizer", "TfIdfVectorizer",
}


class Peer:
    """In place of an oracle: knows nothing."""

    def ask(self, *_):
        return dataclasses.make_dataclass("Nothing", ["ok"])(False)


class Planted:
    """In place of a checker: a model fails as long as it holds `kind`."""

    oracle = Peer()

    def __init__(self, kind):
        self.kind = kind

    def again(self, variant):
        found = any(node.op_type == self.kind for node in variant.case.model.graph.node)
        return Finding("differs", "planted", variant) if found else None


class CompareTest(unittest.TestCase):
    def testFloats(self):
        want = np.array([1.0, 0.0, np.nan, np.inf], np.float32)
        self.assertEqual(compare.difference(want, want), "")
        for index, value in ((0, 1.001), (1, 1e-5), (2, 0.0), (3, 3e38), (0, np.nan)):
            got = want.copy()
            got[index] = value
            self.assertIn("1 of 4", compare.difference(got, want), (index, value))

    def testAnInputsSizeHidesNothing(self):
        want = np.array([1e6, 0.0], np.float32)
        self.assertNotEqual(compare.difference(want + np.float32([0, 1e-3]), want), "")

    def testShapesAndIntegers(self):
        self.assertIn("shape", compare.difference(np.zeros((2, 1)), np.zeros(2)))
        a = np.arange(300, dtype=np.int8)
        b = a.copy()
        b[:3] += 1
        self.assertNotEqual(compare.difference(b, a), "")
        self.assertEqual(compare.difference(b, a, quantized=True), "")
        b[:4] = a[:4] + 1
        self.assertNotEqual(compare.difference(b, a, quantized=True), "")
        b = a.copy()
        b[0] += 2
        self.assertNotEqual(compare.difference(b, a, quantized=True), "")

    def testHalves(self):
        want = np.linspace(1, 2, 100).astype(ml_dtypes.bfloat16)
        self.assertEqual(compare.difference(want, want), "")
        self.assertIn("L2", compare.difference((want * 1.05).astype(want.dtype), want))

    def testBits(self):
        a = np.array([1, np.nan, 0.0], np.float32)
        self.assertEqual(compare.sameBits(a, a.copy()), "")
        self.assertNotEqual(compare.sameBits(a, np.array([1, np.nan, -0.0], np.float32)), "")
        self.assertNotEqual(compare.sameBits(a, np.nextafter(a, np.float32(9))), "")


class ShakenTest(unittest.TestCase):
    def testWhatDecidesShapesStays(self):
        scales = np.array([1, 1.3], np.float32)
        weights = numpy_helper.from_array(np.ones(3, np.float32), "w")
        model = helper.make_model(helper.make_graph(
            [helper.make_node("Resize", ["x", "", "s"], ["r"]), helper.make_node("Mul", ["r", "w"], ["y"])],
            "g", [helper.make_tensor_value_info("x", 1, [2, 3])],
            [helper.make_tensor_value_info("y", 1, [2, 3])],
            [numpy_helper.from_array(scales, "s"), weights]))
        copy, feeds = shaken(model, [{"x": np.ones((2, 3), np.float32)}], 0)
        kept, moved = (numpy_helper.to_array(one) for one in copy.graph.initializer)
        self.assertTrue((kept == scales).all())
        self.assertTrue((moved != 1).all() and (feeds[0]["x"] != 1).all())


class GeneratorTest(unittest.TestCase):
    def testEveryOperationIsMadeSomewhere(self):
        self.assertEqual(set(operators.uncovered()) - ELSEWHERE, set())
        self.assertEqual(ELSEWHERE & set(operators.GENERATORS), set())

    def testCasesFollowFromTheSeed(self):
        for make in (operators.single, graphs.elementwise):
            one, two = (make(np.random.default_rng([7, 1])) for _ in range(2))
            self.assertEqual(one.model.SerializeToString(), two.model.SerializeToString())

    def testEveryOperationCanBeMade(self):
        for name in sorted(operators.GENERATORS):
            made = [operators.single(np.random.default_rng(seed), name) for seed in range(5)]
            self.assertTrue(any(case is not None for case in made), name)


class KnownTest(unittest.TestCase):
    def testOnlyWhatIsOpenIsPassedOver(self):
        finding = Finding("differs", "got 1, expected 2", Variant("plain", graphs.elementwise(
            np.random.default_rng(1)), BASE))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "one.txt")
            for text, words in (("# open: soon\n# like: differs * expected 2\n", "one.txt: soon"),
                                ("# open: soon\n# like: differs Conv expected 2\n", ""),
                                ("# open: soon\n# like: crash * expected 2\n", "")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertEqual(known.reason(finding, known.openFindings(folder)), words)
            with open(path, "w", encoding="utf-8") as file:
                file.write("# like: differs * expected 2\n")
            self.assertRaises(ValueError, known.openFindings, folder)

    def testTheFindingsAreReadable(self):
        known.openFindings()


class ReduceTest(unittest.TestCase):
    def testLittleIsLeft(self):
        seed = next(seed for seed in range(100) if any(
            node.op_type == "Sin" for node in
            graphs.elementwise(np.random.default_rng(seed)).model.graph.node))
        case = graphs.elementwise(np.random.default_rng(seed))
        finding = Finding("differs", "planted", Variant("plain", case, BASE))
        small = reduced(finding, Planted("Sin"))
        self.assertEqual([node.op_type for node in small.case.model.graph.node], ["Sin"])


class TextTest(unittest.TestCase):
    def testBackAndForth(self):
        case = operators.single(np.random.default_rng(5), "Softmax")
        finding = Finding("differs", "planted", Variant("plain", case, ["--threads", "3"]))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "finding.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text_case.dump(finding, "again", {}))
            variant, expect, still = text_case.load(path, {})
        self.assertEqual(variant.options, ["--threads", "3"])
        self.assertEqual((expect, still), (None, ""))
        for name, array in case.feeds[0].items():
            np.testing.assert_array_equal(variant.case.feeds[0][name], array)
        self.assertEqual([node.op_type for node in variant.case.model.graph.node], ["Softmax"])


class Answering:
    """In place of a server: answers every model with the same derivatives."""

    def __init__(self, slopes, code=0):
        self.result = Result(code, "planted", [slopes])

    def run(self, *_):
        return self.result


class GradientsTest(unittest.TestCase):
    def setUp(self):
        self.graph = next(graph for graph in map(self.drawn, range(100)) if len(graph.nodes) > 3)
        self.slopes = [np.array(slope) for slope in self.graph.expected()]

    @staticmethod
    def drawn(number):
        return gradients.Graph(np.random.default_rng([7, number]))

    def problem(self, slopes, code=0):
        with tempfile.TemporaryDirectory() as folder:
            return gradients.check(self.graph, Answering(slopes, code), folder)

    def testRightOnesPass(self):
        self.assertEqual(self.problem(self.slopes), "")

    def testFaultsAreSeen(self):
        for fault in (1e-6, np.nan):
            self.slopes[-1].flat[0] += fault * max(1, np.abs(self.slopes[-1]).max())
            self.assertIn("from the expected derivative", self.problem(self.slopes))
        self.assertIn("shape", self.problem([slope[..., None] for slope in self.slopes]))
        self.assertIn("planted", self.problem(self.slopes, code=3))


if __name__ == "__main__":
    unittest.main()
