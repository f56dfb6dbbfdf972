#!/usr/bin/env python3
"""Checks that the table of DEPENDENCIES.md has the packages that ./dev installs, and no others."""

import argparse
import os
import re
import sys


def installed(dev):
    """Packages of the list in ./dev."""
    return set(re.search(r"^packages=\(\n(.*?)^\)", dev, re.M | re.S).group(1).split())


def told(table):
    """Packages in the first table of DEPENDENCIES.md."""
    rows = re.search(r"^\|---.*\n((?:\|.*\n)+)", table, re.M).group(1).splitlines()
    return {name.strip() for row in rows for name in row.split("|")[1].split(",")}


def problems(dev, table):
    has, tells = installed(dev), told(table)
    return ([f"DEPENDENCIES.md: does not tell what {name} is for" for name in sorted(has - tells)] +
            [f"DEPENDENCIES.md: ./dev does not install {name}" for name in sorted(tells - has)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=".")
    root = parser.parse_args().root
    texts = []
    for name in ("dev", "DEPENDENCIES.md"):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            texts.append(file.read())
    found = problems(*texts)
    print("\n".join(found) or "dependencies: told")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
