#!/usr/bin/env python3
"""Checks that a kind of device is data: that its name stands in its own folder and in the two
registries, and that the core of the contract with devices stays small.

A kind is a folder of devices/ with a record NAME_kind.h. Comments may name kinds, as examples.
Prints one line a violation; exit code 1 if there is any.
"""

import os
import re
import sys

from sources import runCheck

FOLDERS = ("ir/", "passes/", "placement/", "runtime/", "devices/", "frontends/")
CODE = (".h", ".cpp", ".cu", ".td", ".fbs", ".proto", ".json", ".inc")
# The machine's own cores, which the user's process has in any case, and the skeleton, whose name is
# a word of the language.
UNCHECKED = {"cpu", "null"}
# File -> why it may name kinds.
ALLOWED = {
    "devices/registry.cpp": "the run world's list, a row a kind",
    "placement/planner/device_compilers.cpp": "the compile world's list, a row a kind",
    "runtime/transport/ucx.cpp": "the network library's own numbers of kinds of memory",
    "frontends/cli/graphrun_opt.cpp": "the developers' tool that prints what one compiler makes",
    "frontends/cli/command_line.cpp": "help: examples of devices",
    "frontends/cli/explain_command.cpp": "help: examples of devices",
    "ir/gr_dialect.td": "the dialect's documentation: an example of an attribute",
}
CONTRACT = "devices/device.h"
CLASSES = ("Device", "Program")
MOST_VIRTUALS = 12
LITERAL_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def withoutComments(text):
    """`text` with its comments blanked, and as many lines; what only looks like one in a literal
    stays."""
    def blank(match):
        found = match.group(0)
        return found if found.startswith('"') else "\n" * found.count("\n")
    return LITERAL_OR_COMMENT.sub(blank, text)


def kindsOf(files):
    """The kinds that have a folder: name -> folder."""
    kinds = {}
    for path in files:
        match = re.fullmatch(r"(devices/(\w+)/)\2_kind\.h", path)
        if match and match.group(2) not in UNCHECKED:
            kinds[match.group(2)] = match.group(1)
    return kinds


def namings(path, text, kinds):
    """(line number, what) for each line of code that names a kind."""
    for number, line in enumerate(withoutComments(text).split("\n"), 1):
        for name, folder in kinds.items():
            if name in line.lower() and not path.startswith(folder):
                yield number, (f"names the kind '{name}': what it is or can do is in its record "
                               f"({folder}{name}_kind.h), which comes in a table")


def virtualsOf(text, name):
    """Names of the virtual functions of a class but its destructor, or None where it is not there."""
    match = re.search(rf"^class {name}\b[^;{{]*\{{(.*?)^\}};", withoutComments(text),
                      re.DOTALL | re.MULTILINE)
    if match is None:
        return None
    return re.findall(r"\bvirtual\s+(?!~)[^;{(]*?(\w+)\s*\(", match.group(1))


def contractProblems(text):
    for name in CLASSES:
        virtuals = virtualsOf(text, name)
        if virtuals is None:
            yield f"{CONTRACT}: there is no class {name}"
        elif len(virtuals) > MOST_VIRTUALS:
            yield (f"{CONTRACT}: {name} has {len(virtuals)} virtual functions, the core of the "
                   f"contract has at most {MOST_VIRTUALS}; put what not every kind does into an "
                   "interface of its own, as devices/direct_transfers.h")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def violations(root, files):
    """One line a violation among `files` (paths below `root`)."""
    found = []
    kinds = kindsOf(files)
    for path in files:
        if path.startswith(FOLDERS) and path.endswith(CODE) and path not in ALLOWED:
            found += [f"{path}:{number}: {what}"
                      for number, what in namings(path, read(root, path), kinds)]
    if CONTRACT in files:
        found += contractProblems(read(root, CONTRACT))
    return found


def problems(root, files):
    found = violations(root, files)
    if not kindsOf(files):
        found.append("devices: no record of a kind was found, expected devices/NAME/NAME_kind.h")
    return found


if __name__ == "__main__":
    sys.exit(runCheck(__doc__, "device kinds", problems))
