#!/usr/bin/env python3
"""Four times as many operations take at most five times as many instructions to compile.

Passes and placement are those of `graphrun explain`; what devices compile is in a run without fusion,
which generates no kernels: how many of those a graph gets is limited, and does not grow with it.
Instructions do not depend on what else a machine does, as seconds do. `perf` counts them where it can,
else valgrind; without either the test is skipped (exit code 77).
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import onnx

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))

import large_graphs

SKIPPED = 77
EXPLAIN, RUN = ("explain",), ("run", "--no-fusion")
SUBJECTS = (("constants", RUN), ("wide", EXPLAIN), ("dag", EXPLAIN), ("constants", EXPLAIN), ("chain", EXPLAIN))
SMALLEST, FEW, TIMES = 8, 300, 4
MOST_GROWTH = 5


def counted(command, pattern):
    """What a counter says in its standard error while a program does its work, with nothing cached."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=250,
                              env={**os.environ, "LC_ALL": "C", "GRAPHRUN_CACHE_DIR": cache})
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode} from {' '.join(command)}\n{done.stderr[-3000:]}")
    return sum(int(number) for number in re.findall(pattern, done.stderr, re.MULTILINE))


def byPerf(command):
    return counted(["perf", "stat", "-x", ",", "-e", "instructions:u", *command],
                   r"^(\d+),.*instructions:u")


def byValgrind(command):
    return counted(["valgrind", "--tool=exp-bbv", "--instr-count-only=yes", "--bb-out-file=/dev/null",
                    "--pc-out-file=/dev/null", *command], r"Total instructions: (\d+)")


def counter():
    """The first of the counters that counts; None if there is none."""
    for count in (byPerf, byValgrind):
        try:
            if count(["true"]) > 0:
                return count
        except (OSError, RuntimeError):
            pass  # not installed, or of no use here
    return None


class Subject:
    """One shape of graphs, and what is done with it."""

    def __init__(self, graphrun, count, shape, command):
        self.graphrun, self.count, self.shape, self.command = graphrun, count, shape, command

    def instructions(self, operations):
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            onnx.save(large_graphs.model(self.shape, operations), file.name)
            return self.count([self.graphrun, self.command[0], file.name, *self.command[1:],
                               "--threads", "1", "--input", "x=random"])

    def growth(self):
        """How many times as many instructions the larger graph takes, both without a start's own."""
        start, few, many = (self.instructions(count) for count in (SMALLEST, FEW, TIMES * FEW))
        grown = (many - start) / (few - start)
        print(f"{' '.join(self.command)}, {self.shape}: {start / 1e6:.0f} million instructions for {SMALLEST}"
              f" operations, {few / 1e6:.0f} for {FEW}, {many / 1e6:.0f} for {TIMES * FEW}:"
              f" {grown:.2f} times as many", flush=True)
        return grown


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphrun", required=True)
    args = parser.parse_args()
    count = counter()
    if count is None:
        print("skipped: neither perf nor valgrind counts instructions here")
        return SKIPPED
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        grown = list(pool.map(lambda subject: Subject(args.graphrun, count, *subject).growth(), SUBJECTS))
    steep = [f"{' '.join(command)}, {shape}" for (shape, command), growth in zip(SUBJECTS, grown)
             if growth > MOST_GROWTH]
    for subject in steep:
        print(f"{subject}: more than {MOST_GROWTH} times as many for {TIMES} times the operations")
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
