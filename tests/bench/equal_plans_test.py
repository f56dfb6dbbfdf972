#!/usr/bin/env python3
"""bench/equal_plans.py finds what differs between two builds: here one build, and what its file would be of another."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "equal_plans.py")
# A few cost graphs and a model, each by two strategies, and a run.
ONLY = "made planted_16_2_1_5 (heft|auto)|explain dag90 two latency (heft|random:3)|run wide60 one heft|costs dag90 one"


class EqualPlans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "plans.json")
        nothing = ["--data", "none", "--models", "none", "--cases", "none"]
        cls.made = subprocess.run([sys.executable, "-B", SCRIPT, ARGS.bin, "-o", cls.path, "--share", "1",
                                   "--only", ONLY, *nothing], capture_output=True, text=True, check=False)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def compared(self, change):
        """Compares the file with one that `change` has changed: exit code, what is told."""
        with open(self.path, encoding="utf-8") as file:
            other = json.load(file)
        change(other)
        path = os.path.join(self.folder.name, "other.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(other, file)
        done = subprocess.run([sys.executable, "-B", SCRIPT, "--compare", self.path, path],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def testKeepsWhatIsPlannedAndComputed(self):
        self.assertEqual(self.made.returncode, 0, self.made.stderr)
        self.assertIn("left out: graphs of none", self.made.stderr)
        with open(self.path, encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        self.assertEqual(len(cases), 6)
        plan = cases["explain dag90 two latency heft"]
        self.assertGreater(plan["objective"], 0)
        self.assertEqual(set(plan["memory"]), {"a/cpu:0", "b/cpu:0"})
        self.assertEqual(list(cases["run wide60 one heft"]), ["y.npy"])
        self.assertNotEqual(plan["devices"], cases["explain dag90 two latency random:3"]["devices"])

    def testEqualOnesAreEqual(self):
        code, told = self.compared(lambda other: None)
        self.assertEqual((code, told), (0, "6 cases, 0 differences\n"))

    def testTellsEachDifference(self):
        def change(other):
            other["cases"]["explain dag90 two latency heft"]["objective"] += 1
            other["cases"]["run wide60 one heft"]["y.npy"] = "other bits"
            del other["cases"]["costs dag90 one"]
            other["left_out"].append("a model")

        code, told = self.compared(change)
        self.assertEqual(code, 1)
        self.assertRegex(told, r"explain dag90 two latency heft: objective \d+ and \d+\n")
        self.assertRegex(told, r"run wide60 one heft: y.npy \w+ and other bits\n")
        self.assertRegex(told, r"costs dag90 one: .* and missing\n")
        self.assertIn("4 differences", told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    ARGS, rest = parser.parse_known_args()
    unittest.main(argv=sys.argv[:1] + rest)
