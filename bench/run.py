#!/usr/bin/env python3
"""./dev bench: measures what the README claims, each beside its reference in the same run.

Networks: `graphrun bench` and ONNX Runtime take turns on the same model, input and threads; the best
median of three turns each counts, which leaves out what else the machine did. Programs: every
bench_* in the build's bin folder is run; each prints its own reference.
"""

import argparse
import glob
import json
import os
import platform
import statistics
import subprocess
import sys
import time

import numpy as np
import onnxruntime

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TURNS = 3


def runtimeReference(model, feeds, threads, seconds):
    """Median latency of ONNX Runtime in milliseconds."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    times, end = [], time.perf_counter() + seconds
    session.run(None, feeds)
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        session.run(None, feeds)
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def graphrunLatency(program, model, case, threads, seconds):
    """Median latency of graphrun in milliseconds."""
    command = [program, "bench", model, "--data", os.path.join(case, "test_data_set_0"),
               "--threads", str(threads), "--duration", str(seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: exit code {done.returncode} from {' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)["latency_ms"]["p50"]


def feedsOf(case, model):
    import onnx
    from onnx import numpy_helper

    with open(os.path.join(case, "test_data_set_0", "input_0.pb"), "rb") as file:
        array = numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))
    fixed = {tensor.name for tensor in model.graph.initializer}
    return {next(v.name for v in model.graph.input if v.name not in fixed): np.array(array)}


def benchNetwork(program, case, threads, seconds):
    """{graphrun, onnxruntime, ratio} of one test case."""
    import onnx

    path = os.path.join(case, "model.onnx")
    feeds = feedsOf(case, onnx.load(path))
    ours, theirs = [], []
    for _ in range(TURNS):
        theirs.append(runtimeReference(path, feeds, threads, seconds))
        ours.append(graphrunLatency(program, path, case, threads, seconds))
    return {"graphrun_ms": min(ours), "onnxruntime_ms": min(theirs), "ratio": min(ours) / min(theirs)}


def benchNetworks(args, results):
    names = [os.path.basename(case)[len("test_"):]
             for case in sorted(glob.glob(os.path.join(args.cases, "seeded", "test_*")))]
    print(f"{'network, batch 1':24}{'threads':>8}{'graphrun':>12}{'ONNX Runtime':>14}{'ratio':>8}")
    for name in names if args.all else ["resnet50"]:
        for threads in args.threads:
            case = os.path.join(args.cases, "seeded", f"test_{name}")
            got = benchNetwork(os.path.join(args.bin, "graphrun"), case, threads, args.seconds)
            results[f"{name}/threads:{threads}"] = got
            print(f"{name:24}{threads:>8}{got['graphrun_ms']:>9.2f} ms{got['onnxruntime_ms']:>11.2f} ms"
                  f"{got['ratio']:>8.2f}", flush=True)


def benchPrograms(args):
    for program in sorted(glob.glob(os.path.join(args.bin, "bench_*"))):
        print(f"\n{os.path.basename(program)}", flush=True)
        if subprocess.run([program], timeout=600, check=False).returncode != 0:
            sys.exit(f"bench: {program} failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--cases", default=os.path.join(ROOT, "build", "tests", "onnx", "cases",
                                                        "suite"))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=3, help="a turn of one program")
    parser.add_argument("--all", action="store_true", help="all networks, not only ResNet-50")
    parser.add_argument("--json", help="also write the networks' figures here")
    args = parser.parse_args()
    if not os.access(os.path.join(args.bin, "graphrun"), os.X_OK):
        sys.exit(f"bench: {args.bin}/graphrun is not built; ./dev build makes it")
    export = os.path.join(ROOT, "tests", "onnx", "export_suite.py")
    subprocess.run([sys.executable, export, "--out", args.cases], check=True)
    results = {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    benchNetworks(args, results)
    benchPrograms(args)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
