#!/usr/bin/env python3
"""little_memory.py GRAPHRUN SCRATCH: whatever a model of 64 MiB lacks memory for, be it the file, the compiler, weights
or buffers, the program ends with exit code 5 and tells of memory; with enough it runs."""

import os
import re
import resource
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZE, LAYERS = 2048, 4
MEBIBYTE = 1 << 20
STEP = 40  # MiB
NO_MEMORY = 5
TOLD = re.compile("ulimit -v|address space")


def writeModel(path):
    numbers = np.random.default_rng(1)
    weights = [numpy_helper.from_array(numbers.standard_normal((SIZE, SIZE), np.float32) / SIZE, f"w{i}")
               for i in range(LAYERS)]
    nodes = [helper.make_node("MatMul", [f"y{i}", f"w{i}"], [f"y{i + 1}"]) for i in range(LAYERS)]
    graph = helper.make_graph(nodes, "large", [helper.make_tensor_value_info("y0", TensorProto.FLOAT, [4, SIZE])],
                              [helper.make_tensor_value_info(f"y{LAYERS}", TensorProto.FLOAT, [4, SIZE])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def run(program, limit, *arguments):
    """(exit code, what it says) with `limit` MiB of address space."""
    bytes_ = limit * MEBIBYTE
    done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_)))
    return done.returncode, done.stdout


def main():
    program, scratch = sys.argv[1:]
    model, compiled = (os.path.join(scratch, name) for name in ("large.onnx", "large.fb"))
    writeModel(model)
    subprocess.run([program, "compile", model, "-o", compiled], check=True)
    least = next(limit for limit in range(40, 4000, 20) if run(program, limit, "--version")[0] == 0)
    commands = {"file": ["run", compiled, "--input", "y0=random"], "onnx": ["run", model, "--input", "y0=random"],
                "compile": ["compile", model, "-o", os.path.join(scratch, "again.fb")]}
    for name, command in commands.items():
        os.environ["GRAPHRUN_CACHE_DIR"] = os.path.join(scratch, f"cache_{name}")
        refused = set()
        for limit in range(least, 4000, STEP):
            code, said = run(program, limit, *command)
            if code == 0:
                break
            assert code == NO_MEMORY and TOLD.search(said), f"{name}, {limit} MiB: exit code {code}: {said}"
            refused.add(said.split(": the system")[0])
        else:
            raise AssertionError(f"{name} does not run with {limit} MiB")
        assert len(refused) >= 2, refused
    print("each ended by itself")


main()
