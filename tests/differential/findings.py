#!/usr/bin/env python3
"""Runs the findings that are kept, each in a line of output. Fails for one that is wrong again, and for
one that is listed as open and passes."""

import argparse
import glob
import os
import sys
import tempfile

import numpy as np

import text_case
from check import Checker
from oracle import Answer, Oracle
from server import Server
from values import dtypeOf


def expectation(variant, expect, oracle):
    """What the finding's text says, else what the peers do."""
    case = variant.case
    if expect is None:
        return oracle.ask("expected", case.model, case.feeds)
    types = {value.name: text_case.typeName(value.type.tensor_type.elem_type)
             for value in case.model.graph.output}
    outputs = [[np.array(line[name]["values"]).astype(dtypeOf(types[name])).reshape(
        line[name]["shape"]) for name in case.outputNames()] for line in expect]
    return Answer("ok", outputs, "the finding")


def outcome(path, checker):
    """("PASS" | "FAIL" | "OPEN" | "MENDED", what to tell)."""
    variant, expect, still = text_case.load(path, checker.paths)
    expected = expectation(variant, expect, checker.oracle)
    if not expected.ok:
        return "FAIL", f"no peer runs it: {expected.why[:200]}"
    expected.refused = False  # by one peer; the finding says that the model is right
    finding = checker.judge(variant, expected)
    if finding is None:
        return ("MENDED", "take the line '# open' off") if still else ("PASS", variant.case.label)
    told = f"{finding.kind}: {finding.message[:200]}"
    return ("OPEN", still) if still else ("FAIL", told)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", required=True, help="the program session_server")
    parser.add_argument("files", nargs="*", help="default: all in the folder findings")
    options = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    files = options.files or sorted(glob.glob(os.path.join(here, "findings", "*.txt")))
    counts = {"PASS": 0, "FAIL": 0, "OPEN": 0, "MENDED": 0}
    with tempfile.TemporaryDirectory() as scratch:
        server, oracle = Server(options.server, scratch), Oracle()
        checker = Checker(server, oracle, scratch)
        try:
            for path in files:
                word, told = outcome(path, checker)
                counts[word] += 1
                print(f"{word} {os.path.basename(path)}: {told}", flush=True)
        finally:
            oracle.close()
            server.close()
    print(", ".join(f"{n} {word.lower()}" for word, n in counts.items()))
    return 1 if counts["FAIL"] or counts["MENDED"] or not counts["PASS"] else 0


if __name__ == "__main__":
    sys.exit(main())
