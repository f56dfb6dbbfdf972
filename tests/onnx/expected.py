#!/usr/bin/env python3
"""Brings expected.txt in line with results of `graphrun test --json RESULTS`.

Takes the cases that pass off the list. --add: also puts those on it that fail, with the first
diagnostic as the reason, and renews the reasons of the others: only for a new onnx package.
"""

import argparse
import json
import os
import re
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected.txt")
HEAD = """\
# Cases of onnx.backend.test that do not pass: name, reason. `ctest -R onnx_suite` fails for a case
# that fails and is not here, and for one that is here and passes. The list only ever shrinks:
# expected.py takes cases off.
"""
LONGEST = 110


def reasonOf(why):
    """The diagnostic without what differs from case to case."""
    why = re.sub(r'^node "[^"]*" \(([^,)]+), opset (\d+)\): ', r"\1-\2: ", why)
    why = re.sub(r"^test_data_set_0: ", "", why)
    why = re.sub(r" \(and \d+ more\)$", "", why)
    return why if len(why) <= LONGEST else why[:LONGEST - 1].rstrip() + "…"


def readList():
    with open(LIST, encoding="utf-8") as file:
        lines = [line.split(None, 1) for line in file if line.strip() and line[0] != "#"]
    return {name: reason.strip() for name, reason in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("--add", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.results, encoding="utf-8") as file:
        cases = {case["name"]: case for case in json.load(file)["cases"]}
    failing = {name: case["why"] for name, case in cases.items() if case["outcome"] != "passed"}
    old = readList() if os.path.exists(LIST) else {}
    new = {name: reason for name, reason in old.items() if name in failing or name not in cases}
    if arguments.add:
        new |= {name: reasonOf(why) for name, why in failing.items()}
    with open(LIST, "w", encoding="utf-8") as file:
        file.write(HEAD)
        file.writelines(f"{name}  {reason}\n" for name, reason in sorted(new.items()))
    missing = sorted(failing.keys() - new.keys())
    print(f"{len(old)} listed before, {len(new)} now; {len(missing)} failing cases are not listed")
    for name in missing:
        print(f"  {name}: {failing[name]}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
