#!/usr/bin/env python3
"""Figures of the tree: files a folder, longest files, lines of code and comments, READMEs, private members.

Without an argument it prints them; `--check` exits with 1 where a bound of BOUNDS is passed.
"""

import argparse
import collections
import os
import re
import sys

from sources import trackedFiles

CODE = (".h", ".cpp", ".cu", ".td", ".fbs", ".proto")
PRODUCT = ("ir/", "passes/", "placement/", "runtime/", "devices/", "frontends/")
# Folders of test data, a file a case.
DATA = ("tests/fuzz/corpus/", "tests/differential/findings")

# A declaration of a variable whose name ends in "_", with a value or without.
MEMBER = re.compile(r"[^()={;]*\b\w+_(?:\s*(?:=|\{).*)?;\s*$")

BOUNDS = {"files in a folder": 60, "lines of a file": 500, "words of a README": 450, "private members of a class": 25}


def folderSizes(files):
    """Files of each folder but of those with test data."""
    return collections.Counter(os.path.dirname(path) for path in files if not path.startswith(DATA))


def privateMembers(text):
    """(class, members whose names end in "_") of each class; nested ones count for theirs."""
    found, stack, depth = [], [], 0
    for line in text.split("\n"):
        line = re.sub(r"//.*", "", line)
        opened = re.match(r"\s*(?:class|struct)\s+(?:\[\[\w+\]\]\s+)?(\w+)[^;()]*\{", line)
        if opened:
            stack.append([opened.group(1), depth, 0])
        elif stack and depth == stack[-1][1] + 1 and MEMBER.match(line):
            stack[-1][2] += 1
        depth += line.count("{") - line.count("}")
        while stack and depth <= stack[-1][1]:
            name, _, members = stack.pop()
            found.append((name, members))
    return found


def measure(root, files):
    """Figures as (name, value, where), the largest first within a name."""
    texts = {}
    for path in files:
        if path.endswith(CODE + (".md",)):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                texts[path] = file.read()
    product = {path: text for path, text in texts.items() if path.startswith(PRODUCT) and path.endswith(CODE)}
    rows = [("files in a folder", count, folder) for folder, count in folderSizes(files).most_common()]
    rows += sorted((("lines of a file", text.count("\n"), path) for path, text in product.items()), reverse=True)
    rows += sorted((("words of a README", len(text.split()), path) for path, text in texts.items()
                    if os.path.basename(path) == "README.md"), reverse=True)
    members = [("private members of a class", count, f"{path}: {name}") for path, text in product.items()
               for name, count in privateMembers(text)]
    rows += sorted(members, reverse=True)
    lines = [line.strip() for text in product.values() for line in text.split("\n") if line.strip()]
    comments = sum(line.startswith(("//", "///")) for line in lines)
    rows += [("lines of the product", len(lines), ""), ("of these comments", comments, "")]
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    root = os.path.abspath(arguments.root)
    rows = measure(root, trackedFiles(root))
    if arguments.check:
        passed = [row for row in rows if row[1] > BOUNDS.get(row[0], row[1])]
        for name, value, where in passed:
            print(f"{where}: {name}: {value}, at most {BOUNDS[name]}")
        print("figures: ok" if not passed else "figures: bounds are passed")
        return 1 if passed else 0
    shown = collections.Counter()
    for name, value, where in rows:
        shown[name] += 1
        if shown[name] <= 8:
            print(f"{value:8} {name:28} {where}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
