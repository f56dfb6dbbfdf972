#!/usr/bin/env python3
"""Random models on GraphRun and on its peers. Exits with 1 for findings, which it makes small and keeps.

    fuzz.py --server build/bin/session_server --seconds 60                  # today's seed
    fuzz.py --server … --seed 20260101 --case 1234                          # one case of a seed again
    fuzz.py --server … --seconds 3600 --seed 7 --parts single,network       # a night
"""

import argparse
import datetime
import os
import sys
import tempfile
import time
import traceback

import numpy as np

import control
import graphs
import known
import layouts
import operators
import sequences
import text_case
from check import Checker
from oracle import Oracle
from reduce import reduced
from server import Server

PARTS = {"single": operators.single, **graphs.STRATEGIES, **layouts.STRATEGIES,
         **control.STRATEGIES, **sequences.STRATEGIES}
SHARES = {"single": 5}  # of a part among the cases; 1 where it is not here


def today():
    return int(datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True, help="the program session_server")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=today(), help="default: made of the date, UTC")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--operator", help="of the part single: this operation only")
    parser.add_argument("--case", type=int, help="only the case with this number")
    parser.add_argument("--out", default="findings", help="folder for what fails")
    parser.add_argument("--variants", type=int, default=2, help="of a case, besides the plain one")
    parser.add_argument("--keep-going", action="store_true", help="until the time is over, even with findings")
    parser.add_argument("--report", action="store_true", help="also what only onnx.reference says")
    return parser.parse_args()


def generate(options, number):
    """Case `number` of the seed, and the generator that goes on to draw its variants."""
    random = np.random.default_rng([options.seed, number])
    names = [name for name in options.parts.split(",") for _ in range(SHARES.get(name, 1))]
    name = names[random.integers(len(names))]
    if name == "single" and options.operator:
        return operators.single(random, options.operator), random
    return PARTS[name](random), random


class Run:
    """One run of the fuzzer: what was found, each kind of finding once."""

    def __init__(self, options, checker):
        self.options = options
        self.checker = checker
        self.findings = []
        self.known = known.PEERS + known.openFindings()
        self.cases = self.listed = self.unsure = self.again = 0

    def one(self, number):
        try:
            case, random = generate(self.options, number)
        except Exception:
            print(f"case {number} of seed {self.options.seed} cannot be made", flush=True)
            raise
        if case is None:
            return
        self.cases += 1
        finding = self.checker.check(case, random, self.options.variants)
        if finding is None:
            return
        if known.reason(finding, self.known):
            self.listed += 1
            return
        if not finding.sure and not self.options.report:
            self.unsure += 1
            return
        self.keep(number, finding)

    def keep(self, number, finding):
        if any(earlier.covers(finding) for earlier in self.findings):
            self.again += 1
            return
        small = reduced(finding, self.checker)
        if known.reason(small, self.known):
            self.listed += 1
            return
        if any(earlier.covers(small) for earlier in self.findings):
            self.again += 1
            return
        self.findings.append(small)
        folder = os.path.join(self.options.out, f"test_{self.options.seed}_{number}")
        small.case.write(folder)
        text = text_case.dump(small, self.command(number), self.checker.paths)
        with open(os.path.join(folder, "finding.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        print(f"FINDING {small.signature()}\n  {small.message[:300]}\n"
              f"  variant {small.variant.name}: {' '.join(small.variant.options)}\n"
              f"  smallest model: {folder}\n  again: {self.command(number)}", flush=True)

    def command(self, number):
        """What runs this case again, whatever ran before it."""
        options = self.options
        words = ["--server", options.server, "--seed", options.seed, "--parts", options.parts,
                 "--variants", options.variants, "--case", number]
        words += ["--operator", options.operator] if options.operator else []
        return " ".join(str(word) for word in [sys.executable, os.path.abspath(__file__), *words])

    def summary(self, seconds):
        counts = ", ".join(f"{what}: {n}" for what, n in sorted(self.checker.counts.items()))
        print(f"seed {self.options.seed}: {self.cases} cases in {seconds:.0f} s; {counts}; "
              f"known: {self.listed}; only onnx.reference differs: {self.unsure}; "
              f"findings: {len(self.findings)}, met again: {self.again}", flush=True)


    def excuses(self):
        """What was let pass, and why, the most frequent first."""
        ordered = sorted(self.checker.excuses.items(), key=lambda item: -item[1])
        print("excused: " + ", ".join(f"{label}: {n}" for label, n in ordered), flush=True)


def main():
    options = arguments()
    print(f"seed {options.seed}", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        server, oracle = Server(options.server, scratch), Oracle()
        run = Run(options, Checker(server, oracle, scratch))
        try:
            if options.case is not None:
                run.one(options.case)
            else:
                number = 0
                while time.monotonic() - start < options.seconds:
                    run.one(number)
                    number += 1
                    if run.findings and not options.keep_going:
                        break
        except Exception:  # pylint: disable=broad-except  # a fault of the fuzzer is not a finding
            traceback.print_exc()
            return 2
        finally:
            oracle.close()
            server.close()
    run.summary(time.monotonic() - start)
    if options.report:
        run.excuses()
    return 1 if run.findings else 0


if __name__ == "__main__":
    sys.exit(main())
