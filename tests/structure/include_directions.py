#!/usr/bin/env python3
"""Checks that the include lines follow the layers: no arrow up, vendor headers in one place each.

LAYERS says which folders a folder may include; what those may include comes with them, except that
nothing from the run world ever reaches the compile world. SUBFOLDERS says in which order the
subfolders of a folder stand, BEHIND what lies behind one header. VENDORS says where a library's headers may appear. Prints one line a violation; exit code 1 if there is any.
"""

import fnmatch
import os
import re
import sys

from sources import runCheck

RUN = ["runtime/base", "runtime/yaml", "runtime/cluster", "runtime/data", "runtime/training",
       "runtime/format", "runtime/memory", "runtime/transport", "runtime/control", "runtime/compiler_loader", "devices"]
COMPILE = ["ir", "passes", "placement", "devices/codegen", "devices/compiler", "devices/*/compiler",
           "frontends/builder", "frontends/onnx"]
EVERYTHING = ["ir", "passes", "placement", "placement/*", "runtime", "runtime/*", "devices", "devices/*",
              "devices/codegen", "devices/compiler", "devices/*/compiler", "frontends/*", "tests", "bench"]

# Folder (the first match counts) -> folders it may include beside itself.
LAYERS = {
    "runtime/base": [],
    "runtime/yaml": ["runtime/base"],
    "runtime/cluster": ["runtime/base", "runtime/yaml"],
    "runtime/data": ["runtime/base"],
    "runtime/training": ["runtime/base", "runtime/yaml", "runtime/data"],
    "runtime/format": ["runtime/base"],
    "runtime/memory": ["runtime/base"],
    "runtime/transport": ["runtime/base"],
    "runtime/control": ["runtime/base", "runtime/format"],
    "runtime/compiler_loader": ["runtime/base", "runtime/format", "runtime/training"],
    "devices/executable": ["runtime/base", "runtime/format", "runtime/memory"],
    "devices": ["devices/executable"],
    "devices/functions": [],
    "devices/codegen": ["ir", "passes", "devices/functions"],
    "devices/compiler": ["ir", "passes", "devices"],
    "devices/*": ["devices", "devices/functions", "runtime/base", "runtime/format", "runtime/memory"],
    "runtime/executor": RUN,
    "runtime/worker": RUN + ["devices/*", "runtime/executor"],
    "runtime/session": RUN + ["devices/*", "runtime/executor", "runtime/worker"],
    "runtime/training_loop": ["runtime/base", "runtime/data", "runtime/training", "runtime/session"],
    "ir": ["devices/functions"],
    "passes": ["ir", "runtime/format"],
    "placement": ["ir", "passes", "runtime/cluster", "runtime/memory"],
    "devices/*/compiler": ["ir", "passes", "devices/codegen", "devices/compiler", "{parent}"],
    "frontends/builder": ["ir", "passes", "runtime/training"],
    "frontends/builder/examples": ["frontends/trainer"],
    "frontends/trainer": ["frontends/builder", "runtime/session", "runtime/training_loop"],
    "frontends/package": ["frontends/trainer"],
    "frontends/onnx": ["ir", "passes"],
    "placement/planner": COMPILE + ["runtime/compiler_loader", "runtime/training"],
    "frontends/cli": EVERYTHING,
    "tests": EVERYTHING,
    "bench": EVERYTHING,
}
# Folder -> its subfolders, each of which may include those before it; "." is what lies in it itself.
SUBFOLDERS = {
    "placement": ["text", "cluster", "cost_graph", "rules", "simulator", "problem", "bounds", "list_scheduling",
                  "search", "throughput", "cost_file_searches", "formats", "strategies", "explain", "from_ir", "planner"],
    "passes": [".", "raise", "serialization"],
    "runtime/session": ["profile", "."],
    "devices/cpu": ["threading", "vectors", "base", "reference", "onednn", "kernels", "backward", "runtime", "compiler"],
    "devices/cuda": ["driver", "kernels", "cudnn", "cublaslt", "nccl", "program", "compiler"],
    "devices/cuda/compiler": ["emit", "."],
    "frontends/onnx": [".", "operators"],
}
# Folder -> (its one header that others may include, the folders that may). tests and bench may any.
BEHIND = {"placement/cost_file_searches": ("cost_file_searches.h", ["placement/strategies"])}
# The list of devices names every device, so it stands above them.
# The compile world's half of the device contract lies beside the run world's.
EXTRA = {"devices/registry.*": ["devices/*"], "devices/device_compiler.h": ["ir"]}

COMPILE_FILES = ["devices/device_compiler.h", "ir/*", "passes/*", "placement/*", "devices/codegen/*", "devices/compiler/*",
                 "devices/*/compiler/*", "frontends/builder/*", "frontends/onnx/*",
                 "placement/planner/*", "frontends/cli/graphrun_opt*.cpp"]
# Library -> (pattern of its headers, files that may include them). tests and bench may always.
VENDORS = {
    "MLIR and LLVM": (r"(mlir|mlir-c|llvm|llvm-c|lld|clang)/", COMPILE_FILES),
    "oneDNN": (r"(oneapi/)?dnnl[\w/]*\.", ["devices/cpu/*"]),
    "CUDA": (r"(cuda|cudnn|cublas|nccl|nvml|cupti|curand|cufft|cusolver|cusparse|nvrtc|nvJitLink|driver_types)[\w/]*\.",
             ["devices/cuda/*"]),
    "yaml-cpp": (r"yaml-cpp/", ["runtime/yaml/*", "runtime/cluster/*", "runtime/training/*"]),
    "zlib": (r"zlib\.h", ["runtime/data/*"]),
    "UCX": (r"(ucp|ucs|uct|ucm)/", ["runtime/transport/ucx*"]),
    "gRPC": (r"(grpc|grpcpp|grpc\+\+)/|.*\.grpc\.pb\.h", ["runtime/control/*"]),
    "the ONNX schema": (r"(.*/)?onnx[\w.-]*\.pb\.h|onnx/", ["frontends/onnx/*"]),
}
TOPS = ("ir/", "passes/", "placement/", "runtime/", "devices/", "frontends/", "tests/", "bench/")
SUFFIXES = (".h", ".cpp", ".cu", ".cuh", ".inc", ".td")
INCLUDE = re.compile(r'^\s*#?\s*include\s*(?:<([^>]+)>|"([^"]+)")')


def unitOf(path):
    """The folder of LAYERS that `path` belongs to, as (rule, folder), or None."""
    folder = os.path.dirname(path)
    while folder:
        for rule in LAYERS:
            if fnmatch.fnmatch(folder, rule) and folder.count("/") == rule.count("/"):
                return rule, folder
        folder = os.path.dirname(folder)
    return None


def reach(rule, folder):
    """All folder patterns that `folder`, ruled by `rule`, may include, with what these bring."""
    found, todo = set(), [(rule, folder)]
    while todo:
        rule, folder = todo.pop()
        for target in LAYERS[rule]:
            target = target.replace("{parent}", os.path.dirname(folder))
            if target not in found:
                found.add(target)
                known = unitOf(target + "/x") if "*" not in target else (target, target)
                if known and known[0] in LAYERS:
                    todo.append(known)
    return found


def isVendor(header):
    return any(re.match(pattern, header) for pattern, _ in VENDORS.values())


def includesOf(root, path):
    """(line number, header) of each include; a header beside the file gets its path from the root."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match.group(1) or match.group(2)
            beside = os.path.normpath(os.path.join(os.path.dirname(path), header))
            if match.group(2) and os.path.exists(os.path.join(root, beside)):
                header = beside
            yield number, header


def checkVendor(path, header):
    for vendor, (pattern, places) in VENDORS.items():
        if re.match(pattern, header) and not path.startswith(("tests/", "bench/")):
            if not any(fnmatch.fnmatch(path, place) for place in places):
                return f"header of {vendor}, allowed only in {', '.join(places)}"
    return None


def checkArrow(path, unit, header):
    if not header.startswith(TOPS):
        return None
    target = unitOf(header)
    if target is None:
        return f"'{os.path.dirname(header)}' is no folder of the design"
    rule, folder = unit
    allowed = {folder} | reach(rule, folder)
    for pattern, more in EXTRA.items():
        if fnmatch.fnmatch(path, pattern):
            allowed |= set(more)
    for pattern in allowed:
        if target[1] == "devices/codegen" and pattern == "devices/*":
            continue  # it is no device, and of the compile world
        if fnmatch.fnmatch(target[1], pattern) and target[1].count("/") == pattern.count("/"):
            return None
    return f"{folder} may not include {target[1]}"


def subfolderOf(path, folder):
    """The subfolder of `folder`, among those that have an order, that `path` lies in, or None."""
    below = os.path.relpath(path, folder).split("/")
    name = below[0] if len(below) > 1 else "."
    return name if below[0] != ".." and name in SUBFOLDERS[folder] else None


def checkOrder(path, header):
    for folder, order in SUBFOLDERS.items():
        source, target = subfolderOf(path, folder), subfolderOf(header, folder)
        if source and target and order.index(target) > order.index(source):
            return f"within {folder}, {source} stands below {target}"
    return None


def checkBehind(path, header):
    for folder, (door, users) in BEHIND.items():
        if os.path.dirname(header) == folder and not path.startswith((f"{folder}/", "tests/", "bench/")):
            if os.path.dirname(path) not in users or header != f"{folder}/{door}":
                return f"of {folder} only {', '.join(users)} may include {door}"
    return None


def checkBase(path, header):
    """runtime/base stands on the standard library, POSIX and Abseil only."""
    plain = re.fullmatch(r"[a-z0-9_]+(\.h)?|(sys|netinet|arpa|linux)/[a-z0-9_]+\.h", header)
    if path.startswith("runtime/base/") and not header.startswith(("absl/", "runtime/base/")):
        if not plain:
            return "runtime/base includes the standard library and Abseil only"
    return None


def violations(root, files):
    """One line for each include among `files` (paths below `root`) that breaks a rule."""
    found = []
    for path in files:
        if not path.endswith(SUFFIXES) or not path.startswith(TOPS):
            continue
        unit = unitOf(path)
        if unit is None:
            found.append(f"{path}: '{os.path.dirname(path)}' is no folder of the design; "
                         "add its rule to tests/structure/include_directions.py")
            continue
        for number, header in includesOf(root, path):
            problem = checkVendor(path, header) or checkArrow(path, unit, header)
            problem = problem or checkOrder(path, header) or checkBehind(path, header) or checkBase(path, header)
            if problem:
                found.append(f"{path}:{number}: includes {header}: {problem}")
    return found


if __name__ == "__main__":
    sys.exit(runCheck(__doc__, "include directions", violations))
