"""What comes before and between runs: a program's start, new shapes, a step, also on workers, doing nothing.

Start: `graphrun MODEL.fb` with nothing cached and again, beside ONNX Runtime through its C interface
(ort_start.cpp, no Python), from the start of the process to its end, in turns. New shapes: the first
run of each signature of a model with open dims, less a later run of it.
"""

import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import large_graphs
import onnx
import onnxruntime
import report
import usage
from models import catalogue
from onnx import TensorProto, helper

TURNS = 5
LARGE = (1000, 10000, 50000)
LARGE_SECONDS, LARGE_MEBIBYTES = 10, 1024
STARTED = ("resnet50", "squeezenet", "bert_base")
TYPES = {"float32": "f32", "int64": "i64", "int32": "i32"}
SHAPES = {"resnet50": [(batch, 3, 224, 224) for batch in (1, 2, 3, 4)],
          "ocr_det": [(1, 3, 320, 320), (1, 3, 320, 480), (1, 3, 480, 480)],
          "ocr_rec": [(1, 3, 48, 320), (1, 3, 48, 480), (1, 3, 48, 640)]}


def run(command, cache, **more):
    """Standard output of a program, and its seconds; what fails ends the bench."""
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                          env=dict(os.environ, GRAPHRUN_CACHE_DIR=cache, **more))
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"bench: exit code {done.returncode} from {' '.join(command)}\n{done.stderr}")
    return done.stdout, seconds


def line(results, name, value, unit, reference="", target=None):
    """One figure; targets are upper bounds."""
    report.line(results, name, f"{value:.2f} {unit}", reference, "",
                None if target is None else f"<= {target:.4g} {unit}",
                target is None or value <= target)


def modelOf(args, name):
    """Path of a model, and its inputs of batch 1 as NAME=DIMSxTYPE."""
    model = catalogue.catalogue()[name]
    path = catalogue.written(model, os.path.join(args.out, "models"))
    feeds = catalogue.feeds(onnx.load(path), (1, *next(iter(model.sizes.values()))))
    return path, [f"{key}={'x'.join(map(str, value.shape))}x{TYPES[str(value.dtype)]}"
                  for key, value in feeds.items()]


def benchStarts(args, results, name, path, inputs):
    """First and second start of one model, each beside ONNX Runtime's."""
    library = glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), "capi",
                                     "libonnxruntime.so.*"))[0]
    cache = os.path.join(args.out, "start_cache")
    compiled = os.path.join(args.out, f"{name}.fb")
    run([args.graphrun, "compile", path, "-o", compiled], cache)
    ours = [args.graphrun, compiled, "--threads", "1"]
    ours += [part for given in inputs for part in ("--input", f"{given}=1")]
    theirs = [os.path.join(args.bin, "ort_start"), library, path, "1", *inputs]
    times = {"first": [], "second": [], "onnxruntime": []}
    for _ in range(TURNS):
        times["onnxruntime"].append(run(theirs, cache, ORT_START_ONCE="1")[1])
        shutil.rmtree(cache, ignore_errors=True)
        times["first"].append(run(ours, cache)[1])
        times["second"].append(run(ours, cache)[1])
    medians = {key: 1e3 * statistics.median(values) for key, values in times.items()}
    reference = f"ONNX Runtime {medians['onnxruntime']:.1f} ms"
    line(results, f"{name}, first start", medians["first"], "ms", reference, medians["onnxruntime"])
    line(results, f"{name}, second start", medians["second"], "ms", reference,
         medians["onnxruntime"])


def benchShapes(args, results, name, path, signatures):
    """What runs of a new signature cost more than later ones, once the model's first was measured."""
    command = [os.path.join(args.bin, "bench_session"), path, "--threads", "1", "--tune-budget", "5000"]
    command += [part for signature in signatures for part in ("--signature", signature)]
    cache = os.path.join(args.out, "shapes_cache")
    shutil.rmtree(cache, ignore_errors=True)
    runs = json.loads(run(command, cache)[0])["sessions"][0]["signatures"]
    prepared = [one["plan_ms"] + one["load_ms"] for one in runs[1:]]
    touched = [one["first_ms"] - one["run_ms"] for one in runs[1:]]
    after = [one["worst_ms"] - one["run_ms"] for one in runs[1:]]
    growth = [new["resident_kib"] - old["resident_kib"] for old, new in zip(runs, runs[1:])]
    line(results, f"{name}, new signature: plan and load", statistics.median(prepared), "ms", "", 50)
    line(results, f"{name}, new signature: first run, extra", statistics.median(touched), "ms")
    line(results, f"{name}, new signature: a later run, extra", statistics.median(after), "ms")
    line(results, f"{name}, new signature: memory", statistics.median(growth) / 1024, "MiB")


def writeAdd(path):
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8]) for name in "xzy"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "z"], ["y"])], "add", value[:2], value[2:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def benchSession(args, results, resnet, inputs):
    """A step, several sessions, and nothing at all."""
    cache = os.path.join(args.out, "start_cache")
    add = os.path.join(args.out, "add.onnx")
    writeAdd(add)
    program = os.path.join(args.bin, "bench_session")
    step = json.loads(run([program, add, "--signature", "x=8,z=8", "--steps", "20000"], cache)[0])
    line(results, "a step of one operation", step["step"]["p50_us"], "us", "", 10)
    text, _ = run([program, resnet, "--signature", inputs[0].removesuffix("xf32"),
                   "--threads", "2", "--sessions", "4", "--idle", "3"], cache)
    all4 = json.loads(text)
    resident = [one["anonymous_kib"] / 1024 for one in all4["sessions"]]
    line(results, "resnet50, memory of a fourth session", resident[3] - resident[2], "MiB")
    line(results, "threads of a process with four sessions", all4["sessions"][3]["threads"], "",
         "2 a kernel", all4["sessions"][0]["threads"])
    line(results, "an idle process, of a core", 100 * all4["idle_share"], "%", "", 2)


def writeChain(path, count):
    """`count` small operations one after the other, step0, step1 …"""
    names = "xty"
    onnx.save(helper.make_model(
        helper.make_graph([helper.make_node("Sqrt", [names[i]], [names[i + 1]], name=f"step{i}")
                           for i in range(count)], "chain",
                          *([helper.make_tensor_value_info(name, TensorProto.FLOAT, [8])]
                            for name in (names[0], names[count]))),
        opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def benchWorkers(args, results):
    """What a step of one small operation a worker costs, on local workers of a core each, over shared memory and TCP."""
    cache = os.path.join(args.out, "start_cache")
    chain, cluster = (os.path.join(args.out, name) for name in ("chain.onnx", "workers.yaml"))
    for count, over, target, chosen in ((1, "", None, {}), (2, "", 30, {}), (2, " over TCP", 60, {"UCX_TLS": "tcp"})):
        writeChain(chain, count)
        workers = [f"  - {{name: w{i}, address: local, devices: [{{cpu: {{cores: {i}}}}}]}}\n"
                   for i in range(count)]
        pins = [f"  - {{nodes: step{i}, device: w{i}/cpu:0}}\n" for i in range(count)]
        with open(cluster, "w") as file:
            file.write("".join(["workers:\n", *workers, "pins:\n", *pins]))
        bench = [args.graphrun, "bench", chain, "--cluster", cluster, "--duration", "3", "--json"]
        where = f"on {count} local worker{'s' if count > 1 else ''}{over}"
        text, _ = run(bench, cache, **chosen)
        line(results, f"a step {where}", 1000 * json.loads(text)["latency_ms"]["p50"], "us", "", target)
        text, _ = run([*bench, "--concurrency", str(count + 1)], cache, **chosen)
        line(results, f"a step {where}, {count + 1} in flight",
             1e6 / json.loads(text)["throughput_per_s"], "us", "", 10)


def measured(command, cache):
    """User seconds and peak memory in MiB of a program, with nothing cached; what fails ends the bench."""
    shutil.rmtree(cache, ignore_errors=True)
    with tempfile.NamedTemporaryFile("r") as told:
        run([*usage.into(told.name), *command], cache)
        used = json.load(told)
    return used["user_s"], used["peak_mib"]


def benchLarge(args, results):
    cache = os.path.join(args.out, "large_cache")
    path = os.path.join(args.out, "large.onnx")
    for shape in large_graphs.SHAPES:
        for count in LARGE:
            onnx.save(large_graphs.model(shape, count), path)
            seconds, mebibytes = measured([args.graphrun, path, "--threads", "1",
                                           "--input", "x=random"], cache)
            isLargest = count == LARGE[-1]
            name = f"{shape} of {count} operations, cold"
            line(results, name, seconds, "s", "", LARGE_SECONDS if isLargest else None)
            line(results, f"{name}, memory", mebibytes, "MiB", "", LARGE_MEBIBYTES if isLargest else None)


def benchStart(args):
    results = {}
    args.bin = os.path.abspath(args.bin)
    benchLarge(args, results)
    for name in STARTED:
        path, inputs = modelOf(args, name)
        benchStarts(args, results, name, path, inputs)
    for name, shapes in SHAPES.items():
        path, inputs = modelOf(args, name)
        key = inputs[0].rsplit("=", 1)[0]
        benchShapes(args, results, name, path,
                    [f"{key}={'x'.join(map(str, shape))}" for shape in shapes])
    benchSession(args, results, *modelOf(args, "resnet50"))
    benchWorkers(args, results)
    report.save(os.path.join(args.out, "start.json"), results)
    return True
