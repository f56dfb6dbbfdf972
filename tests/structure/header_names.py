#!/usr/bin/env python3
"""A header whose functions one .cpp of its folder defines, all of them, has that .cpp's name.

Headers with definitions in several files are no such. Prints one line a header; exit code 1 if there is any.
"""

import os
import re
import sys

from sources import runCheck

PRODUCT = ("ir/", "passes/", "placement/", "runtime/", "devices/", "frontends/")
# A function that is declared, or defined, at the beginning of a line.
DECLARED = re.compile(r"^(?! |return|using|typedef|inline|constexpr|static|extern)[\w:<>,*& ]*?\b(\w+)\([^;{}]*\)\s*;", re.M)
DEFINED = re.compile(r"^(?! |return|using|typedef|else)[\w:<>,*& ]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)


def misnamed(texts):
    """(header, its functions' file) of `texts`, by path, where the names differ."""
    found = []
    for header in sorted(path for path in texts if path.endswith(".h")):
        stem = header[:-2]
        declared = set(DECLARED.findall(re.sub(r"//.*", "", texts[header])))
        sources = [path for path in texts if path.endswith((".cpp", ".cu")) and f'"{header}"' in texts[path]]
        homes = {path for path in sources if declared & set(DEFINED.findall(texts[path]))}
        if len(homes) != 1 or not declared <= set(DEFINED.findall(texts[next(iter(homes))])):
            continue
        home = homes.pop()
        own = os.path.splitext(home)[0]
        isElsewhere = os.path.dirname(home) != os.path.dirname(header) or own == stem or own.startswith(stem + "_")
        if not isElsewhere and f"{stem}.cpp" not in texts and f"{own}.h" not in texts:
            found.append((header, home))
    return found


def problems(root, files):
    texts = {}
    for path in files:
        if path.startswith(PRODUCT) and path.endswith((".h", ".cpp", ".cu")):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                texts[path] = file.read()
    return [f"{header}: all of its functions are in {home}; expected one name for both"
            for header, home in misnamed(texts)]


if __name__ == "__main__":
    sys.exit(runCheck(__doc__, "header names", problems))
