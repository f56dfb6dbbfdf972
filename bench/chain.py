"""The cost of an operation: a chain of scalar additions, without fusion."""

import json
import os
import subprocess

import onnx
import report
from onnx import helper

CHAIN = 10000
TARGET = 60  # nanoseconds


def writeChain(path):
    """t0 = x + z, t1 = t0 + x, t2 = t1 + z …: nothing to fold."""
    nodes, before = [], "x"
    for i in range(CHAIN):
        after = "y" if i == CHAIN - 1 else f"t{i}"
        nodes.append(helper.make_node("Add", [before, "x" if i % 2 else "z"], [after]))
        before = after
    scalar = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, []) for n in ("x", "z", "y")]
    graph = helper.make_graph(nodes, "chain", scalar[:2], scalar[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)


def benchChain(args):
    path = os.path.join(args.out, "chain.onnx")
    writeChain(path)
    command = [args.graphrun, "bench", path, "--threads", "1", "--duration", "1", "--json",
               "--no-fusion"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    if done.returncode != 0:
        print(f"bench: exit code {done.returncode} from {' '.join(command)}\n{done.stderr}")
        return False
    nanos = json.loads(done.stdout)["latency_ms"]["p50"] * 1e6 / CHAIN
    results = {}
    report.line(results, f"{CHAIN} scalar additions, no fusion", f"{nanos:.1f} ns an op", "",
                f"{nanos:.1f} ns", f"<= {TARGET} ns", nanos <= TARGET)
    report.save(os.path.join(args.out, "chain.json"), results)
    return True
