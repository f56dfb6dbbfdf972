"""Runs one model with GraphRun, as it is and with --exact, ONNX Runtime and OpenVINO in turns, each turn
in a process of its own."""

import json
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import onnx

import tolerances
from models import catalogue

OWN = {"graphrun": (), "exact": ("--exact",)}  # our modes, and what the command line says for them
PEER_RUNTIMES = ("onnxruntime", "openvino")
RUNTIMES = (*OWN, *PEER_RUNTIMES)
PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers.py")
TOLERANCE = 1e-3  # of the largest value of an output
LIMIT = 280  # seconds of one process


class Failed(Exception):
    """A program failed; the text says which and how."""


@dataclass
class Subject:
    """A model at one size and batch: files, and what all runtimes are told."""

    model: catalogue.Model
    label: str  # batch and size
    path: str
    folder: str  # of its inputs and outputs
    inputs: dict[str, str]
    symbols: dict[str, int]
    outputs: list[str]
    weights: int  # bytes: the file, which holds little else


def subject(model, size, batch, folder):
    """Writes what is not written yet of the model and its inputs."""
    path = catalogue.written(model, folder)
    proto = onnx.load(path)
    dims = (batch, *model.sizes[size])
    label = " ".join(filter(None, (f"b{batch}", size)))
    here = os.path.join(os.path.dirname(path), label.replace(" ", "_"))
    os.makedirs(here, exist_ok=True)
    inputs = {}
    for number, (name, array) in enumerate(catalogue.feeds(proto, dims).items()):
        inputs[name] = os.path.join(here, f"input_{number}.npy")
        np.save(inputs[name], array)
    return Subject(model, label, path, here, inputs, catalogue.symbols(proto, dims),
                   [value.name for value in proto.graph.output], os.path.getsize(path))


class Bench:
    """How processes are started: the program, the cores, the cache of plans, the precision."""

    def __init__(self, graphrun, cache, seconds, precision="f32"):
        self.graphrun, self.cache, self.seconds = graphrun, cache, seconds
        self.precision = precision
        # ONNX Runtime computes in what the model says.
        self.runtimes = [name for name in RUNTIMES if precision == "f32" or name != "onnxruntime"]
        self.environment = {**os.environ, "GRAPHRUN_CACHE_DIR": cache}

    def process(self, command, threads):
        """Its stdout. All runtimes are held to the same cores, the last `threads` allowed."""
        cores = sorted(os.sched_getaffinity(0))[-threads:]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False,
                                  env=self.environment,
                                  preexec_fn=lambda: os.sched_setaffinity(0, cores))
        except subprocess.TimeoutExpired as error:
            raise Failed(f"no result within {LIMIT} s from {' '.join(command)}") from error
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode} from {' '.join(command)}\n{done.stderr[-2000:]}")
        return done.stdout

    def peer(self, runtime, what, threads, *more):
        command = [sys.executable, PEERS, runtime, what.path, "--threads", str(threads),
                   "--precision", self.precision]
        for name, path in what.inputs.items():
            command += ["--input", name, path]
        for name, size in what.symbols.items():
            command += ["--symbol", name, str(size)]
        return self.process(command + list(more), threads)

    def own(self, what, threads, *more, mode="graphrun"):
        """GraphRun, to bench or to run."""
        command = [self.graphrun, *more[:1], what.path, "--threads", str(threads),
                   "--precision", self.precision, *OWN[mode]]
        for name, path in what.inputs.items():
            command += ["--input", f"{name}=@{path}"]
        return self.process(command + list(more[1:]), threads)

    def outputs(self, runtime, what, threads):
        """The model's outputs by one runtime."""
        paths = [os.path.join(what.folder, f"{runtime}_{i}.npy") for i in range(len(what.outputs))]
        if runtime in OWN:
            pairs = [f"{name}=@{path}" for name, path in zip(what.outputs, paths)]
            self.own(what, threads, "run", *[word for pair in pairs for word in ("--output", pair)],
                     mode=runtime)
        else:
            self.peer(runtime, what, threads, *[word for path in paths for word in ("--output", path)])
        arrays = [np.load(path) for path in paths]
        for path in paths:
            os.remove(path)
        return arrays

    def turn(self, runtime, what, threads):
        """The figures of one turn."""
        more = ("--duration", str(self.seconds))
        if runtime in OWN:
            return json.loads(self.own(what, threads, "bench", "--json", *more, mode=runtime))
        return json.loads(self.peer(runtime, what, threads, *more))


def deviation(arrays, reference):
    """The largest difference of two runtimes' outputs, relative to the largest value of each."""
    worst = 0.0
    for ours, theirs in zip(arrays, reference, strict=True):
        if ours.shape != theirs.shape or not np.isfinite(theirs).all():
            return float("inf")
        difference = np.abs(ours.astype(np.float64) - theirs).max(initial=0)
        worst = max(worst, float(difference / max(np.abs(theirs).max(initial=0), 1e-30)))
    return worst if np.isfinite(worst) else float("inf")


def cold(bench, what, threads, failures):
    """GraphRun's load and first run where no plan is cached yet."""
    shutil.rmtree(bench.cache, ignore_errors=True)
    try:
        figures = json.loads(bench.own(what, threads, "bench", "--json", "--warmup", "1",
                                       "--iterations", "1"))
    except Failed as error:
        failures["graphrun"] = str(error)
        return {}
    return {key: figures[key] for key in ("load_ms", "first_run_ms")}


def distance(arrays, reference):
    """The largest relative L2 norm of two runtimes' outputs."""
    return max(map(tolerances.relativeL2, arrays, reference), default=0.0)


def compare(bench, what, threads, failures):
    """{runtime: how far it is} from the first peer that gives a result, of those that do: of the largest
    value, or for models in bytes and in bf16, which each runtime rounds elsewhere, by L2. bf16 is held
    to f32."""
    arrays = {}
    for runtime in dict.fromkeys([*bench.runtimes, "onnxruntime"]):
        if runtime in failures:
            continue
        try:
            arrays[runtime] = bench.outputs(runtime, what, threads)
        except Failed as error:
            failures[runtime] = str(error)
    peers = PEER_RUNTIMES if bench.precision == "f32" else ("onnxruntime",)  # which has f32 alone
    reference = next((name for name in peers if name in arrays), None)
    if reference is None:
        return {}
    measureOf, most, name = (distance, tolerances.HALF_L2, "by L2")
    if what.model.isQuantized:
        most = tolerances.QUANTIZED_L2
    elif bench.precision == "f32":
        measureOf, most, name = (deviation, TOLERANCE, "of the largest value")
    found = {runtime: measureOf(arrays[runtime], arrays[reference]) for runtime in bench.runtimes
             if runtime in arrays}
    for runtime, value in found.items():
        if not value <= most:
            failures[runtime] = f"differs from {reference} by {value:.1e} {name}"
    return found


def summary(turns, weights):
    """The figures of one runtime over its turns."""
    latency = [turn["latency_ms"] for turn in turns]
    highest = max(turns, key=lambda turn: turn["peak_memory_bytes"])
    peak = highest["peak_memory_bytes"]
    found = {"p50_ms": statistics.median(entry["p50"] for entry in latency),
             "p95_ms": statistics.median(entry["p95"] for entry in latency),
             "load_ms": statistics.median(turn["load_ms"] for turn in turns),
             "first_run_ms": statistics.median(turn["first_run_ms"] for turn in turns),
             "peak_memory_bytes": peak, "peak_less_weights_bytes": peak - weights,
             "turns_p50_ms": [entry["p50"] for entry in latency]}
    if "predicted_peak_bytes" in highest:
        found["predicted_peak_bytes"] = highest["predicted_peak_bytes"]
        found["device_bytes"] = sum(device["bytes"] for device in highest["session"]["devices"])
    return found


def takeTurns(bench, what, threads, count, failures):
    """{runtime: figures of its turns}; who begins changes from turn to turn."""
    turns = {runtime: [] for runtime in bench.runtimes if runtime not in failures}
    for number in range(count):
        order = list(turns)
        first = number % max(len(order), 1)
        for runtime in order[first:] + order[:first]:
            try:
                turns[runtime].append(bench.turn(runtime, what, threads))
            except Failed as error:
                failures[runtime] = str(error)
                del turns[runtime]
    return turns


def measure(bench, what, threads, count):
    """One entry of the results: outputs compared, then `count` turns of each runtime that agrees."""
    entry = {"model": what.model.name, "shape": what.label, "threads": threads,
             "precision": bench.precision, "target": what.model.target, "weights_bytes": what.weights, "failures": {},
             "load_average": os.getloadavg()[0], "runtimes": {}}
    entry["cold"] = cold(bench, what, threads, entry["failures"])
    entry["deviation"] = compare(bench, what, threads, entry["failures"])
    turns = takeTurns(bench, what, threads, count, entry["failures"])
    entry["runtimes"] = {runtime: summary(each, what.weights) for runtime, each in turns.items()}
    entry.update(ratios(entry["runtimes"]))
    return entry


def ratios(runtimes):
    """How many times as fast as the better peer we are, in each of our modes that gave a result."""
    peers = [runtimes[name]["p50_ms"] for name in PEER_RUNTIMES if name in runtimes]
    return {"ratio" if mode == "graphrun" else f"{mode}_ratio": min(peers) / runtimes[mode]["p50_ms"]
            for mode in OWN if mode in runtimes and peers}
