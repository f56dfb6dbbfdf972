#!/usr/bin/env python3
"""Checks that a shared library shows what it is meant to show, and nothing else.

    exported_symbols.py --nm NM LIBRARY NAME…    NAME: a C function, or a C++ namespace as "graphrun::"
"""

import argparse
import re
import subprocess
import sys

KINDS = re.compile(r"^(typeinfo for|typeinfo name for|vtable for|VTT for|guard variable for|"
                   r"non-virtual thunk to|virtual thunk to) ")


def namesIn(listing):
    """Demangled names of what `nm -D --defined-only` lists."""
    for line in listing.splitlines():
        parts = line.split(None, 2)  # address, kind, name
        if len(parts) == 3 and parts[1] != "A":  # A: the name of a version
            yield parts[2]


def foreign(names, allowed):
    """Those of `names` that are none of `allowed`."""
    functions = {name for name in allowed if not name.endswith("::")}
    spaces = tuple(name for name in allowed if name.endswith("::"))
    return [name for name in names
            if name not in functions and not (spaces and KINDS.sub("", name).startswith(spaces))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("library")
    parser.add_argument("allowed", nargs="+")
    options = parser.parse_args()
    listing = subprocess.run([options.nm, "-D", "--defined-only", "-C", options.library],
                             check=True, capture_output=True, text=True).stdout
    names = list(namesIn(listing))
    others = foreign(names, options.allowed)
    missing = [name for name in options.allowed if all(foreign([each], [name]) for each in names)]
    for name in others[:20]:
        print(f"{options.library}: shows {name}, expected only {', '.join(options.allowed)}")
    for name in missing:
        print(f"{options.library}: shows nothing of {name}")
    print(f"{options.library}: {len(names)} symbols, {len(others)} of others")
    return 1 if others or missing else 0


if __name__ == "__main__":
    sys.exit(main())
