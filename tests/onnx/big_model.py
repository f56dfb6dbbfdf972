#!/usr/bin/env python3
"""Runs a model with more than 2 GiB of weights, through model.fb and straight from ONNX.

Its table lies in a file beside the model and is all zero but for a few rows, the last of them behind
2 GiB. The weights stay mapped: a copy of them would show in the memory that a run needs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import usage  # noqa: E402

ROWS, WIDTH = 300_000, 2048
BYTES = ROWS * WIDTH * 4
PICKED = [0, 1, ROWS // 2, ROWS - 2, ROWS - 1]
MEMORY = BYTES + (512 << 20)  # resident: each mapped page once, to check it against its checksum


def rowOf(index):
    return np.random.default_rng(index).standard_normal(WIDTH).astype(np.float32)


def writeModel(folder):
    with open(os.path.join(folder, "weights.bin"), "wb") as file:
        file.truncate(BYTES)
        for index in PICKED:
            file.seek(index * WIDTH * 4)
            file.write(rowOf(index).tobytes())
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[ROWS, WIDTH],
                        data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", str(BYTES))):
        table.external_data.add(key=key, value=value)
    mix = np.random.default_rng(7).standard_normal((WIDTH, 8)).astype(np.float32) / WIDTH
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "i"], ["rows"]),
         helper.make_node("MatMul", ["rows", "mix"], ["y"])], "big",
        [helper.make_tensor_value_info("i", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])],
        [table, numpy_helper.from_array(mix, "mix")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save_model(model, os.path.join(folder, "model.onnx"))
    np.save(os.path.join(folder, "i.npy"), np.array(PICKED))
    np.save(os.path.join(folder, "y.npy"), np.stack([rowOf(i) for i in PICKED]) @ mix)


def run(program, *arguments, code=0):
    """What it prints, and its largest resident memory in bytes."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as told:
        done = subprocess.run([*usage.into(told.name), program, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != code:
            raise SystemExit(f"{' '.join(arguments)}: exit code {done.returncode}, expected {code}\n{done.stdout}")
        return done.stdout, json.load(told)["peak_mib"] * 2**20


def checkRun(program, folder, model):
    _, peak = run(program, model, "--input", f"i=@{folder}/i.npy", "--expect", f"y=@{folder}/y.npy")
    print(f"{os.path.basename(model)}: {BYTES / 2**30:.2f} GiB of weights, "
          f"{peak / 2**30:.2f} GiB resident")
    if peak > MEMORY:
        raise SystemExit(f"{model} needs {peak} bytes of memory, expected at most {MEMORY}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphrun", required=True, help="the program")
    parser.add_argument("--folder", required=True, help="where 5 GiB fit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.environ["GRAPHRUN_CACHE_DIR"] = os.path.join(folder, "cache")
        writeModel(folder)
        compiled = os.path.join(folder, "model.fb")
        run(options.graphrun, "compile", os.path.join(folder, "model.onnx"), "-o", compiled)
        if os.path.getsize(compiled) < BYTES:
            raise SystemExit(f"{compiled} has no room for the weights")
        checkRun(options.graphrun, folder, compiled)
        checkRun(options.graphrun, folder, os.path.join(folder, "model.onnx"))
        # Protobuf itself ends at 2 GiB.
        inline = os.path.join(folder, "inline.onnx")
        with open(inline, "wb") as file:
            file.truncate(1 << 31)
        if "external data" not in run(options.graphrun, inline, code=3)[0]:
            raise SystemExit("a file of 2 GiB is not answered with what to do")
    return 0


if __name__ == "__main__":
    sys.exit(main())
