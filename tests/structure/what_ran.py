#!/usr/bin/env python3
"""Holds a test run to the list of what it must not leave out (tests/must_run.txt).

Reads the JUnit file of ctest (--output-junit). A line of the list names a test, or a part of one, that
must have run and passed: a test that was not even configured, as its tool is missing, is found too.
Whatever a test says that it skipped must be in the list's part of what may be skipped.
"""

import argparse
import fnmatch
import os
import re
import sys
import xml.etree.ElementTree as xml

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# What tests print of what they left out: a line of their own, or one of Python's unittest; and lit's list.
SKIPPED = re.compile(r"(?:^\s*|.* \.\.\. )skipped:? (.+)", re.IGNORECASE)
UNSUPPORTED = re.compile(r"^Unsupported Tests .*\n((?:  .+\n?)+)", re.MULTILINE)


def readList(path):
    """(patterns of tests that must run, texts that may be skipped with their reasons)."""
    must, may = [], []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split("#", 1)[0].split(None, 1)
            if not words:
                continue
            if len(words) < 2 or words[0] not in ("must", "may"):
                sys.exit(f"{path}:{number}: expected `must PATTERN` or `may TEXT`, got {line.strip()!r}")
            (must if words[0] == "must" else may).append(words[1].strip())
    return must, may


def readRun(path):
    """{test: (status, output)} of a JUnit file; status is run, fail, notrun or disabled."""
    return {case.get("name"): (case.get("status"), case.findtext("system-out") or "")
            for case in xml.parse(path).getroot().iter("testcase")}


def skippedBy(output):
    """What a test's output says that it skipped."""
    found = [match[1] for match in map(SKIPPED.match, output.split("\n")) if match]
    for listed in UNSUPPORTED.findall(output):
        found += [line.strip() for line in listed.splitlines()]
    return found


def unmet(must, run):
    """Demands of the list that this run did not meet, a line each."""
    found = []
    for pattern in must:
        names = fnmatch.filter(run, pattern)
        found += [] if names else [f"{pattern}: no such test was configured"]
        found += [f"{name}: did not run ({run[name][0]})" for name in names if run[name][0] != "run"]
    return found


def skips(may, run):
    """What was skipped, in two lists of lines: what the list allows, and the rest."""
    lists = [], []
    for name, (_, output) in run.items():
        for text in skippedBy(output):
            allowed = any(part in text for part in may)
            lists[0 if allowed else 1].append(f"{name}: skipped {text}")
    return lists


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", required=True, help="the JUnit file of ctest")
    parser.add_argument("--list", default=os.path.join(ROOT, "tests", "must_run.txt"))
    args = parser.parse_args()
    must, may = readList(args.list)
    run = readRun(args.run)
    allowed, wrong = skips(may, run)
    wrong += unmet(must, run)
    for line in allowed:
        print(f"left out, which {os.path.relpath(args.list, ROOT)} allows: {line}")
    for line in wrong:
        print(f"left out: {line}")
    print(f"what ran: {len(run)} tests, {len(must)} demands; left out {len(allowed)} that may be, "
          f"{len(wrong)} that may not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
