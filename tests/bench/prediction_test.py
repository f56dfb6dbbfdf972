#!/usr/bin/env python3
"""prediction_test.py: what bench/prediction.py judges: the placements that are chosen, beyond what the
machine itself repeats, and `auto` beside the best single device."""

import argparse
import contextlib
import io
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import prediction  # noqa: E402


def entry(kind, placement, predicted, step, again, ratio=None):
    return {"kind": kind, "placement": placement, "predicted_ms": predicted, "normalised_ms": predicted,
            "step_ms": step, "again_ms": again, "unrest": 1, "auto_to_single": ratio, "bytes": [],
            "predicted_bytes": []}


class Cluster:
    devices = ["w0/cpu:0", "w1/cpu:0"]


class Judged(unittest.TestCase):
    def figures(self, entries):
        with contextlib.redirect_stdout(io.StringIO()):
            return prediction.figuresOf(entries)

    def testWhatIsChosenRuns(self):
        args = argparse.Namespace(placements=0)
        places = prediction.placementsOf([], Cluster, args, random.Random(1), "")
        self.assertEqual(places[0], ("chosen", "auto"))
        self.assertNotIn("drawn", [kind for kind, _ in places])
        self.assertEqual([place for kind, place in places if kind == "single"],
                         ["on:w0/cpu:0", "on:w1/cpu:0"])

    def testErrorsAreBeyondRepeatability(self):
        chosen = [entry("chosen", "auto", 11.6, 15.0, 15.0, 1.0), entry("chosen", "heft", 9, 10, 11)]
        self.assertAlmostEqual(prediction.excessErrors(chosen)[0], 100 * (1 - 11.6 / 15))
        self.assertAlmostEqual(prediction.excessErrors(chosen)[1], 0)
        figures = self.figures(chosen + [entry("drawn", "", 1, 100, 100)])
        self.assertEqual(figures["error beyond that, mean"]["value"], "11.3 %")
        self.assertFalse(figures["error beyond that, mean"]["ok"])

    def testAutoIsBesideTheBestSingleDevice(self):
        entries = [entry("chosen", "auto", 11.6, 15.0, 15.2), entry("single", "on:w0/cpu:0", 14, 14.1, 14),
                   entry("single", "on:w1/cpu:0", 14, 20, 20)]
        self.assertAlmostEqual(prediction.slowdown(entries), 15 / 14)
        entries[0]["auto_to_single"] = prediction.slowdown(entries)
        self.assertFalse(self.figures(entries)["auto over the best single device"]["ok"])
        entries[0]["auto_to_single"] = 1.0
        self.assertTrue(self.figures(entries)["auto over the best single device"]["ok"])


if __name__ == "__main__":
    unittest.main()
