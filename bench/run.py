#!/usr/bin/env python3
"""./dev bench: measures what the README claims, each beside its reference in the same run.

Networks: graphrun and ONNX Runtime take turns on the same model, input and threads; the medians of
the turns count. Operations: a chain of scalar additions without fusion. Edges: bench/transport.sh
beside ucx_perftest. Figures go to build/bench/*.json, a table with targets to stdout; a target that
was missed does not make the exit code 1, a program that failed does.
"""

import argparse
import glob
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHAIN = 10000


def referenceLatency(model, feeds, threads, seconds):
    """Median latency of ONNX Runtime in milliseconds."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    for _ in range(3):
        session.run(None, feeds)
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def graphrunLatency(program, model, seconds, threads, *more):
    """Median latency of graphrun in milliseconds."""
    command = [program, "bench", model, "--threads", str(threads), "--duration", str(seconds),
               "--json", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: exit code {done.returncode} from {' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)["latency_ms"]["p50"]


def feedsOf(case, model):
    with open(os.path.join(case, "test_data_set_0", "input_0.pb"), "rb") as file:
        array = numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))
    fixed = {tensor.name for tensor in model.graph.initializer}
    return {next(v.name for v in model.graph.input if v.name not in fixed): np.array(array)}


def table(results, name, figure, reference, value, target=None, good=None):
    """One line of the table, and its entry in the results."""
    verdict = "" if target is None else "ok" if good else "falls short"
    results[name] = {"measured": figure, "reference": reference, "value": value, "target": target,
                     "load": os.getloadavg()[0]}
    if target is not None:
        results[name]["ok"] = bool(good)
    print(f"{name:38}{figure:>22}  {reference:>27}  {value:>10}{target or '':>12}  {verdict}", flush=True)


def benchNetwork(args, results, name, case, threads, turns, seconds, target=None):
    path = os.path.join(case, "model.onnx")
    feeds = feedsOf(case, onnx.load(path))
    data = ("--data", os.path.join(case, "test_data_set_0"))
    ours, theirs = [], []
    for _ in range(turns):
        theirs.append(referenceLatency(path, feeds, threads, seconds))
        ours.append(graphrunLatency(args.graphrun, path, seconds, threads, *data))
    mine, other = statistics.median(ours), statistics.median(theirs)
    ratio = mine / other
    table(results, f"{name}, {threads} threads" if threads > 1 else f"{name}, 1 thread",
          f"{mine:.2f} ms", f"ONNX Runtime {other:.2f} ms", f"{ratio:.2f} x",
          f"<= {target} x" if target else None, target and ratio <= target)


def casesOf(cases):
    """{name: folder} of the networks: seeded weights where they are there, and the OCR models."""
    found = {}
    for folder in ("suite/light", "suite/seeded", "ocr"):
        for case in sorted(glob.glob(os.path.join(cases, folder, "test_*"))):
            found[os.path.basename(case)[len("test_"):]] = case
    return found


def benchNetworks(args, results):
    cases = casesOf(args.cases)
    if "resnet50" not in cases:
        sys.exit(f"bench: no ResNet-50 under {args.cases}")
    for threads in args.threads:
        benchNetwork(args, results, "resnet50", cases["resnet50"], threads, args.turns,
                     args.seconds, 1.1)
    for name in sorted(cases) if not args.quick else []:
        for threads in args.threads if name != "resnet50" else []:
            benchNetwork(args, results, name, cases[name], threads, 1, args.seconds / 2)


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


def benchChain(args, results):
    path = os.path.join(args.out, "chain.onnx")
    writeChain(path)
    nanos = graphrunLatency(args.graphrun, path, 1, 1, "--no-fusion") * 1e6 / CHAIN
    table(results, f"{CHAIN} scalar additions, no fusion", f"{nanos:.1f} ns an op", "",
          f"{nanos:.1f} ns", "<= 150 ns", nanos <= 150)


def benchEdges(args, results):
    script = os.path.join(ROOT, "bench", "transport.sh")
    done = subprocess.run(["sh", script, os.path.dirname(os.path.abspath(args.bin)), "3"],
                          capture_output=True, text=True, timeout=240, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {script} failed\n{done.stdout}{done.stderr}")
    for line in done.stdout.splitlines():
        found = re.match(r"(.*?) +ours +(\S+) (\S+) +ucx_perftest +(\S+) \S+ +(above|ratio) (\S+)",
                         line)
        if not found:
            sys.exit(f"bench: a line of {script} was not understood: {line}")
        name, mine, unit, other, kind, value = found.groups()
        target, good = (("<= 3 us", float(value) <= 3) if kind == "above"
                        else (">= 0.8 x", float(value) >= 0.8))
        if name.startswith("8 B") and "tcp" in name:
            target = None  # for information
        table(results, name, f"{mine} {unit}", f"ucx_perftest {other} {unit}",
              f"+{value} us" if kind == "above" else f"{value} x", target, good)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--cases", default=os.path.join(ROOT, "build", "tests", "onnx", "cases"))
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "bench"))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=1.5, help="a turn of one program")
    parser.add_argument("--turns", type=int, default=5, help="turns with ResNet-50")
    parser.add_argument("--quick", action="store_true", help="only what has a target")
    parser.add_argument("--only", choices=["networks", "chain", "edges"])
    args = parser.parse_args()
    args.graphrun = os.path.join(args.bin, "graphrun")
    if not os.access(args.graphrun, os.X_OK):
        sys.exit(f"bench: {args.graphrun} is not built; ./dev build makes it")
    os.makedirs(args.out, exist_ok=True)
    export = os.path.join(ROOT, "tests", "onnx", "export_suite.py")
    subprocess.run([sys.executable, export, "--out", os.path.join(args.cases, "suite")], check=True)
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for part, run in (("networks", benchNetworks), ("chain", benchChain), ("edges", benchEdges)):
        if args.only in (None, part):
            results = {}
            run(args, results)
            with open(os.path.join(args.out, f"{part}.json"), "w", encoding="utf-8") as file:
                json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
