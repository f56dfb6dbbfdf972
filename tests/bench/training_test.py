#!/usr/bin/env python3
"""training_test.py: what bench/training.py calls equal losses, and what it says without PyTorch."""

import argparse
import contextlib
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import training  # noqa: E402


class Compared(unittest.TestCase):
    def test_rounding_is_no_difference(self):
        self.assertEqual(training.difference([3.0, 2.5, 2.0, 9.0], [3.00001, 2.51, 2.04, 1.0]), "")

    def test_another_first_loss_is_one(self):
        self.assertIn("step 1 has the loss 3.001", training.difference([3.001, 2.0], [3.0, 2.0]))

    def test_another_step_is_one(self):
        self.assertIn("step 2 has the loss 2.5", training.difference([3.0, 2.5], [3.0, 2.0]))

    def test_nan_is_one(self):
        self.assertIn("step 1", training.difference([float("nan")], [3.0]))
        self.assertIn("step 2", training.difference([3.0, 2.0], [3.0, float("nan")]))

    def test_a_missing_peer_is_told(self):
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(training.available(argparse.Namespace(torch="false")), [])
        self.assertIn("SKIPPED", said.getvalue())


if __name__ == "__main__":
    unittest.main()
