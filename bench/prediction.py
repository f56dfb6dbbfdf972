"""Predicted steps and memory beside measured ones, on clusters of worker processes.

Each cluster starts with nothing known. `graphrun doctor --calibrate` measures it with each model;
then the model runs by placements drawn at random, every other one with each operation on a device of
its own, the others in a few long parts. Of each the plan's prediction, made before the run, stands
beside the median step and the memory that was allocated.
"""

import contextlib
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import measure
import report
from models import catalogue

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "multiprocess"))
import netns  # noqa: E402

MODELS = {"bvlc_alexnet": "", "densenet121": "", "inception_v1": "", "inception_v2": "",
          "resnet50": "", "shufflenet": "", "squeezenet": "", "vgg19": "", "zfnet512": "",
          "ocr_det": "320x320", "ocr_rec": "48x160", "ocr_cls": "48x96"}
ERROR = 8  # %, mean of the step
CORRELATION = 0.95  # of ranks
MEMORY = 3  # %, mean
RUNS = 30
RATE = "2gbit"  # of the slow link
PORT = 7171


class Failed(Exception):
    """A program did not do what it should."""


class Cluster:
    """Workers, and how the programs that use them are started."""

    def __init__(self, folder, name, workers, security=None, prefix=()):
        self.name, self.prefix = name, prefix
        self.devices = [f"{worker}/cpu:0" for worker in workers]
        self.cache = os.path.join(folder, "cache")
        self.path = os.path.join(folder, "cluster.yaml")
        content = {"workers": [
            {"name": worker, "address": address,
             "devices": [{"cpu": {"cores": str(core), **shared}}]}
            for worker, (address, core, shared) in workers.items()]}
        if security:
            content["security"] = security
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(content, file)  # JSON is YAML

    def run(self, graphrun, *arguments):
        done = subprocess.run([*self.prefix, graphrun, *arguments, "--cluster", self.path],
                              capture_output=True, text=True, check=False, timeout=600,
                              env={**os.environ, "GRAPHRUN_CACHE_DIR": self.cache})
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode} from graphrun {' '.join(arguments)}\n"
                         f"{done.stderr[-2000:]}")
        return done.stdout


def cores(count):
    """(core, what cluster.yaml says beside it) for each of `count` devices."""
    allowed = sorted(os.sched_getaffinity(0))
    shared = {"shared": True} if count > len(allowed) else {}
    return [(core, shared) for core in itertools.islice(itertools.cycle(allowed), count)]


@contextlib.contextmanager
def sharedMemory(_, folder, count):
    yield Cluster(folder, f"shm {count}",
                  {f"w{i}": ("local", *core) for i, core in enumerate(cores(count))})


@contextlib.contextmanager
def workers(commands, environment):
    """Worker processes, ended at the end."""
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env={**os.environ, **environment}) for command in commands]
    try:
        time.sleep(1)
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)


@contextlib.contextmanager
def tcp(args, folder, count):
    """Tensors go through TCP sockets of this machine."""
    places = {f"w{i}": f"127.0.0.1:{PORT + i}" for i in range(count)}
    commands = [[args.graphrun, "worker", "--listen", place] for place in places.values()]
    environment = {"UCX_TLS": "tcp,self", "GRAPHRUN_CACHE_DIR": os.path.join(folder, "worker")}
    with workers(commands, environment):
        yield Cluster(folder, f"tcp {count}",
                      {name: (place, *core)
                       for (name, place), core in zip(places.items(), cores(count))})


@contextlib.contextmanager
def slow(args, folder, _):
    """Two network namespaces with a link that is held to RATE."""
    if reason := netns.whyNot():
        raise Failed(reason)
    pair = netns.Pair()
    try:
        for name in (pair.left, pair.right):
            subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "veth0", "root", "tbf", "rate",
                            RATE, "burst", "1mb", "latency", "100ms"], check=True)
        places = {"w0": f"{pair.LEFT_ADDRESS}:{PORT}", "w1": f"{pair.RIGHT_ADDRESS}:{PORT}"}
        certs = os.path.join(folder, "certs")
        subprocess.run([args.graphrun, "certs", certs, f"w0={pair.LEFT_ADDRESS}",
                        f"w1={pair.RIGHT_ADDRESS}"], check=True, stdout=subprocess.DEVNULL)
        sides = zip(places.items(), (pair.left, pair.right))
        commands = [[*pair.inside(side), args.graphrun, "worker", "--listen", place,
                     "--ca", f"{certs}/ca.pem", "--cert", f"{certs}/{name}.pem",
                     "--key", f"{certs}/{name}.key"] for (name, place), side in sides]
        with workers(commands, {"GRAPHRUN_CACHE_DIR": os.path.join(folder, "worker")}):
            yield Cluster(folder, f"tcp {RATE}",
                          {name: (place, *core)
                           for (name, place), core in zip(places.items(), cores(2))},
                          {"ca": f"{certs}/ca.pem", "cert": f"{certs}/coordinator.pem",
                           "key": f"{certs}/coordinator.key"}, pair.inside(pair.left))
    finally:
        pair.remove()


CLUSTERS = {"shm2": (sharedMemory, 2), "shm3": (sharedMemory, 3), "tcp2": (tcp, 2),
            "slow2": (slow, 2)}


def longParts(nodes, devices, chance, path):
    """A placement file: the order of execution in 2 to 6 parts."""
    cuts = sorted(chance.sample(range(1, len(nodes)), min(chance.randint(1, 5), len(nodes) - 1)))
    places = {}
    for begin, end in zip([0, *cuts], [*cuts, len(nodes)]):
        device = chance.choice(devices)
        places.update((node["node"], device) for node in nodes[begin:end])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(places, file)
    return path


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    places = [0] * len(values)
    for rank, index in enumerate(order):
        places[index] = rank
    return places


def correlation(a, b):
    """Spearman's, of distinct values."""
    n = len(a)
    distance = sum((x - y) ** 2 for x, y in zip(ranks(a), ranks(b)))
    return 1 - 6 * distance / (n * (n * n - 1)) if n > 1 else 1.0


def entryOf(ended):
    """Predicted and measured of one run; devices that hold next to nothing do not count."""
    devices = [(device["predicted_bytes"], device["bytes"]) for device in ended["devices"]
               if device["bytes"] > 1 << 20]
    return {"step_ms": ended["latency_ms"]["p50"], "predicted_ms": ended["predicted_step_ms"],
            "bytes": [held for _, held in devices], "predicted_bytes": [told for told, _ in devices]}


def stepErrors(entries):
    return [abs(e["predicted_ms"] / e["step_ms"] - 1) * 100 for e in entries]


def memoryErrors(entries):
    return [abs(told / held - 1) * 100
            for e in entries for told, held in zip(e["predicted_bytes"], e["bytes"])]


def mean(values):
    return sum(values) / len(values) if values else 0.0


def measureModel(args, cluster, subject, chance, folder):
    feeds = [word for name, path in subject.inputs.items()
             for word in ("--input", f"{name}=@{path}")]
    began = time.monotonic()
    cluster.run(args.graphrun, "doctor", "--calibrate", subject.path, *feeds)
    seconds = time.monotonic() - began
    nodes = json.loads(cluster.run(args.graphrun, "explain", subject.path, *feeds, "--json"))["nodes"]
    entries = []
    for number in range(args.placements):
        placement = f"random:{chance.randrange(1 << 30)}"
        if number % 2:
            placement = longParts(nodes, cluster.devices, chance,
                                  os.path.join(folder, f"placement{number}.json"))
        ended = cluster.run(args.graphrun, subject.path, *feeds, "--placement", placement,
                            "--iterations", str(RUNS), "--json")
        entries.append(entryOf(json.loads(ended)))
    print(f"{cluster.name:10} {subject.model.name:14}{len(nodes):6}{seconds:9.1f}"
          f"{mean(stepErrors(entries)):9.1f}{mean(memoryErrors(entries)):9.1f}"
          f"{correlation([e['predicted_ms'] for e in entries], [e['step_ms'] for e in entries]):9.2f}",
          flush=True)
    return [{"cluster": cluster.name, "model": subject.model.name, "calibration_s": seconds, **entry}
            for entry in entries]


def benchPrediction(args):
    """All clusters and models."""
    known = catalogue.catalogue()
    chance = random.Random(args.seed)
    print(f"{'cluster':10} {'model':14}{'nodes':>6}{'cal. s':>9}{'step %':>9}{'memory %':>9}{'rank':>9}")
    entries = []
    for name in args.clusters:
        folder = tempfile.mkdtemp(prefix="graphrun-bench-")
        try:
            make, count = CLUSTERS[name]
            with make(args, folder, count) as cluster:
                for model in args.only or MODELS:
                    subject = measure.subject(known[model], MODELS.get(model, ""), 1,
                                              os.path.join(args.out, "models"))
                    entries += measureModel(args, cluster, subject, chance, folder)
        except (Failed, subprocess.SubprocessError) as error:
            sys.exit(f"bench: {name}: {error}")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    steps, memory = stepErrors(entries), memoryErrors(entries)
    rank = correlation([e["predicted_ms"] for e in entries], [e["step_ms"] for e in entries])
    results = {"host": report.host(), "entries": entries, "figures": {}}
    figures = results["figures"]
    report.line(figures, "predicted step, mean error", f"{len(entries)} placements", "",
                f"{mean(steps):.1f} %", f"<= {ERROR} %", mean(steps) <= ERROR)
    report.line(figures, "predicted step, 95th percentile", "", "",
                f"{sorted(steps)[int(0.95 * (len(steps) - 1))]:.1f} %")
    report.line(figures, "predicted step, rank correlation", "", "", f"{rank:.3f}",
                f">= {CORRELATION}", rank >= CORRELATION)
    report.line(figures, "predicted memory, mean error", f"{len(memory)} devices", "",
                f"{mean(memory):.1f} %", f"<= {MEMORY} %", mean(memory) <= MEMORY)
    report.save(os.path.join(args.out, "prediction.json"), results)
    return True
