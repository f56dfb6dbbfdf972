#!/usr/bin/env python3
"""Writes ONNX's own model tests, from the installed onnx package, as folders that `graphrun test` runs.

OUT/light/test_<model>: the nine real networks; inputs as onnx.backend.test.runner makes them. All
their weights are 0.02, so that every class gets the same score: a weak oracle. Hence also
OUT/seeded/test_<model>: the same graphs with seeded random weights and ONNX Runtime's results, for
those whose weights take less than 120 MB.
OUT/{simple,pytorch-converted,pytorch-operator}/test_<case>: as the package has them; with OUT/node
these are the cases of onnx.backend.test.
Does nothing where OUT was made from the same package already.
"""

import argparse
import glob
import json
import os
import shutil
import sys

import onnx
from onnx import numpy_helper
from onnx.backend.test.runner import Runner

import cases
import node_cases
import seeded

KINDS = ("simple", "pytorch-converted", "pytorch-operator")
REVISION = "2\n"  # raise it when this file writes something else


def exportLight(data, path, out):
    """One light model: `path` is its .onnx; tolerances come from the case in data/real."""
    name = os.path.basename(path)[len("light_"):-len(".onnx")]
    case = os.path.join(out, f"test_{name}")
    os.makedirs(case)
    shutil.copyfile(path, os.path.join(case, "model.onnx"))
    model = onnx.load(path)
    inputs = {value.name: Runner.generate_dummy_data(value, seed=0, name=name, random=False)
              for value in cases.fedInputs(model)}
    outputs = {}
    for index, value in enumerate(model.graph.output):
        with open(f"{path[:-len('.onnx')]}_output_{index}.pb", "rb") as file:
            outputs[value.name] = numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))
    cases.writeDataSet(case, 0, inputs, outputs)
    with open(os.path.join(data, "real", f"test_{name}", "data.json"), encoding="utf-8") as file:
        known = json.load(file)
    cases.writeTolerance(case, known["rtol"], known["atol"])


def export(out):
    data = cases.onnxDataFolder()
    for path in sorted(glob.glob(os.path.join(data, "light", "light_*.onnx"))):
        exportLight(data, path, os.path.join(out, "light"))
        seeded.export(path, os.path.join(out, "seeded"))
    for kind in KINDS:
        shutil.copytree(os.path.join(data, kind), os.path.join(out, kind),
                        ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    node_cases.export(os.path.join(out, "node"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    out = os.path.abspath(parser.parse_args().out)
    made = cases.fresh(out, REVISION + cases.packageVersions("onnx", "onnxruntime"), export)
    counts = {kind: len(glob.glob(os.path.join(out, kind, "*", "model.onnx")))
              for kind in ("light", "seeded", "node") + KINDS}
    print(("wrote " if made else "found ") + ", ".join(f"{n} {k}" for k, n in counts.items()))
    return 0 if all(counts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
