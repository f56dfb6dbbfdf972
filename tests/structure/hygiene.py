#!/usr/bin/env python3
"""Checks what no compiler sees: stray marks, tabs, trailing space, guards, length of the READMEs."""

import os
import re
import sys

from sources import runCheck

TEXT = (".h", ".cpp", ".cu", ".td", ".fbs", ".proto", ".mlir", ".test", ".py", ".cmake", ".txt",
        ".md", ".in", ".yaml", ".yml", ".json", ".js", ".css", ".html")
CODE = (".h", ".cpp", ".cu", ".td", ".fbs", ".proto")
FOLDERS = ("ir/", "passes/", "placement/", "runtime/", "devices/", "frontends/")
README_LINES = 60
FIRST_LINES = 80  # of the README.md that all read first, with what holds for the whole tree
MARK = "DO NOT" + " SUBMIT"  # in two pieces, so that this file passes its own check


def textProblems(path, text):
    """Problems of one text file, as (line number, what)."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if MARK in line:
            yield number, f"'{MARK}' left in"
        if "\t" in line:
            yield number, "tab; use spaces"
        if line != line.rstrip():
            yield number, "trailing white space"
        if path.endswith(CODE) and re.search(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))", line):
            yield number, "a TODO names its issue: TODO(#12)"
    if text and not text.endswith("\n"):
        yield len(lines), "no newline at the end"
    most = FIRST_LINES if path == "README.md" else README_LINES
    if os.path.basename(path) == "README.md" and text.count("\n") > most:
        yield 1, f"{text.count(chr(10))} lines; this README has at most {most}"
    if path.endswith(".h"):
        guard = "GRAPHRUN_" + re.sub(r"\W", "_", path.upper()) + "_"
        if f"#ifndef {guard}\n" not in text or f"#define {guard}\n" not in text:
            yield 1, f"include guard must be {guard}"


def missingReadmes(files):
    """Folders of the product that hold source but no README.md."""
    folders = {os.path.dirname(path) for path in files
               if path.startswith(FOLDERS) and path.endswith(CODE)}
    return sorted(folder for folder in folders if f"{folder}/README.md" not in files)


def problems(root, files):
    """One line a problem among `files` (paths below `root`)."""
    found = [f"{folder}: has no README.md (what it is for, its files, how to add one thing)"
             for folder in missingReadmes(set(files))]
    for path in files:
        if path.endswith(TEXT) or os.path.basename(path) in ("dev", "run"):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                found += [f"{path}:{number}: {what}" for number, what in
                          textProblems(path, file.read())]
    return found


if __name__ == "__main__":
    sys.exit(runCheck(__doc__, "hygiene", problems))
