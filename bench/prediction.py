"""Predicted steps and memory beside measured ones, on clusters of worker processes.

Each cluster starts with nothing known. `graphrun doctor --calibrate` measures it with each model;
then the model runs as it is placed: by `auto`, and by the heuristics that `auto` begins with. A search
takes the placement whose prediction is the lowest, so also the one that errs most on the low side: it
is these that are judged. With `--placements` it also runs by so many placements drawn at random, every
other one with each operation on a device of its own, the others in a few long parts. Of each the
plan's prediction, made before the run, stands beside the median step and the memory that was
allocated. What `auto` chose also stands beside the best single device, both measured. `--calibration set` measures the cluster
once, without a model, and `none` not at all: then every run is that of a model not seen before.

A shared machine is not as fast in one minute as in the next. A product of two matrices is timed on
the same cores before and after what is measured, and errors are told twice: of the prediction as it
was made, and of one that is normalised, multiplied by how much longer the product took than when the
times were learnt. Each placement is run again after the others of its model: how far its second step
is off the first is what no prediction can be better than, and what errors are told beyond. Where other processes took cores away, so that one step in ten took CALM times the
median, the run is made again, at most TRIES times, and the calmest one counts; the mean over those that were
calm is told beside the mean over all.
"""

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import clusters
import measure
import report
from models import catalogue

MODELS = {"bvlc_alexnet": "", "densenet121": "", "inception_v1": "", "inception_v2": "",
          "resnet50": "", "shufflenet": "", "squeezenet": "", "vgg19": "", "zfnet512": "",
          "ocr_det": "320x320", "ocr_rec": "48x160", "ocr_cls": "48x96"}
CHOSEN = ("auto", "heft", "etf", "peft")
ERROR, ERROR_95 = 5, 12  # %, beyond repeatability: of chosen placements, mean and 95th percentile
CORRELATION = 0.98  # of ranks
SINGLE = 1.02  # times the best single device's step that `auto` may take
DRAWN_ERROR = 8  # %, mean of placements drawn at random
DRAWN_CORRELATION = 0.95
MEMORY = 3  # %, mean
RUNS, SECONDS = 30, 2  # of a run: so many steps, or a third of them if they take that long
CALM, TRIES = 1.25, 3
SHARE = 0.25  # of a run in what is known after it: kShare of runtime/session/profile/cost_profile.cpp


class Reference:
    """How long a product of two matrices takes on each core, by now and when times were learnt."""

    SIZE, SECONDS = 64, 0.02  # small enough for one thread

    def __init__(self):
        self.matrix = np.random.default_rng(0).random((self.SIZE, self.SIZE), dtype=np.float32)
        self.known = None

    def now(self):
        allowed = os.sched_getaffinity(0)
        times = []
        try:
            for core in allowed:
                os.sched_setaffinity(0, {core})
                times.append(self.once())
        finally:
            os.sched_setaffinity(0, allowed)
        return statistics.mean(times)

    def once(self):
        times, began = [], time.perf_counter()
        while time.perf_counter() - began < self.SECONDS:
            start = time.perf_counter()
            self.matrix @ self.matrix
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    def during(self, what):
        """What `what` returns, and the time of the product before and after it."""
        before = self.now()
        result = what()
        return result, (before + self.now()) / 2

    def learn(self, seconds, share):
        self.known = seconds if self.known is None else (
            self.known * (1 - share) + seconds * share)


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


def stepErrors(entries, predicted="predicted_ms"):
    return [abs(e[predicted] / e["step_ms"] - 1) * 100 for e in entries]


def memoryErrors(entries):
    return [abs(told / held - 1) * 100
            for e in entries for told, held in zip(e["predicted_bytes"], e["bytes"])]


def excessErrors(entries):
    """Of predictions, beyond what the same step is off when it is measured again."""
    return [max(0.0, error - again) for error, again
            in zip(stepErrors(entries), stepErrors(entries, "again_ms"))]


def percentile95(values):
    return sorted(values)[int(0.95 * (len(values) - 1))]


def mean(values):
    return sum(values) / len(values) if values else 0.0


def rankCorrelation(entries):
    return correlation([e["predicted_ms"] for e in entries], [e["step_ms"] for e in entries])


class Model:
    """One model on one cluster."""

    def __init__(self, args, cluster, subject, reference):
        self.args, self.cluster, self.subject = args, cluster, subject
        self.reference, self.runs = reference, RUNS
        self.feeds = [word for name, path in subject.inputs.items()
                      for word in ("--input", f"{name}=@{path}")]

    def calibrate(self):
        """Seconds that it took."""
        began = time.monotonic()
        _, speed = self.reference.during(lambda: self.cluster.run(
            self.args.graphrun, "doctor", "--calibrate", self.subject.path, *self.feeds))
        self.reference.learn(speed, 1)
        return time.monotonic() - began

    def nodes(self):
        """Their names; finds out how many steps a run is to have."""
        explained = json.loads(self.cluster.run(self.args.graphrun, "explain", self.subject.path,
                                                *self.feeds, "--json"))
        steps = int(SECONDS * 1e9 / explained["latency_ns"])
        self.runs = min(max(steps, RUNS // 3), RUNS)
        return explained["nodes"]

    def once(self, placement):
        """An entry, its unrest (what the slowest steps took of the median) and the speed."""
        ended, speed = self.reference.during(lambda: self.cluster.run(
            self.args.graphrun, self.subject.path, *self.feeds, "--placement", placement,
            "--iterations", str(self.runs), "--json"))
        ended = json.loads(ended)
        return entryOf(ended), ended["latency_ms"]["p90"] / ended["latency_ms"]["p50"], speed

    def entry(self, placement):
        """The calmest run, with the first one's prediction: the others know what that took."""
        entry, unrest, speed = first = self.once(placement)
        for _ in range(TRIES - 1):
            if unrest <= CALM:
                break
            entry, unrest, speed = min((entry, unrest, speed), self.once(placement),
                                       key=lambda run: run[1])
        predicted = first[0]["predicted_ms"]
        slower = speed / self.reference.known if self.reference.known else 1
        return {**entry, "predicted_ms": predicted, "unrest": unrest, "slower": slower,
                "normalised_ms": predicted * slower}, speed


def placementsOf(nodes, cluster, args, chance, folder):
    """(kind, placement) of each run: those that are chosen, each device alone, those that are drawn."""
    places = [("chosen", strategy) for strategy in CHOSEN]
    places += [("single", f"on:{device}") for device in cluster.devices]
    for number in range(args.placements):
        placement = f"random:{chance.randrange(1 << 30)}"
        if number % 2:
            placement = longParts(nodes, cluster.devices, chance,
                                  os.path.join(folder, f"placement{number}.json"))
        places.append(("drawn", placement))
    return places


def slowdown(entries):
    """What `auto` took, over what the best single device took; of the two runs of each the shorter."""
    shorter = [min(entry["step_ms"], entry["again_ms"]) for entry in entries]
    single = min(ms for ms, entry in zip(shorter, entries) if entry["kind"] == "single")
    return next(ms for ms, entry in zip(shorter, entries) if entry["placement"] == "auto") / single


def measureModel(model, args, chance, folder):
    """Entries of the placements that are chosen and of as many others as are asked for."""
    cluster, learns = model.cluster, args.calibration == "model"
    seconds = model.calibrate() if learns else 0.0
    nodes = model.nodes()
    kept = cluster.keep()
    entries, places = [], []
    for kind, placement in placementsOf(nodes, cluster, args, chance, folder):
        entry, speed = model.entry(placement)
        if learns:
            model.reference.learn(speed, SHARE)
        else:
            cluster.forget(kept)
        places.append(placement)
        entries.append({"cluster": cluster.name, "model": model.subject.model.name, "kind": kind,
                        "placement": placement if kind != "drawn" else "", "calibration": args.calibration, "calibration_s": seconds, **entry})
    for placement, entry in zip(places, entries):
        entry["again_ms"] = model.once(placement)[0]["step_ms"]
        if not learns:
            cluster.forget(kept)
    ratio = slowdown(entries)
    for entry in entries:
        entry["auto_to_single"] = ratio if entry["placement"] == "auto" else None
    chosen = [entry for entry in entries if entry["kind"] == "chosen"]
    print(f"{cluster.name:10} {model.subject.model.name:14}{len(nodes):6}{seconds:9.1f}"
          f"{mean(stepErrors(chosen)):9.1f}{mean(stepErrors(chosen, 'normalised_ms')):9.1f}"
          f"{mean(stepErrors(chosen, 'again_ms')):9.1f}{mean(memoryErrors(entries)):9.1f}"
          f"{rankCorrelation(entries):9.2f}{ratio:9.2f}", flush=True)
    return entries


def calibrateCluster(args, cluster, reference):
    """Without a model, if that is asked for."""
    if args.calibration == "set":
        began = time.monotonic()
        _, speed = reference.during(lambda: cluster.run(args.graphrun, "doctor", "--calibrate"))
        reference.learn(speed, 1)
        print(f"{cluster.name:10} calibrated without a model in {time.monotonic() - began:.1f} s",
              flush=True)


def measureCluster(args, name, models, save):
    """Calls `save` with the entries of each of the models."""
    known = catalogue.catalogue()
    reference = Reference()
    folder = tempfile.mkdtemp(prefix="graphrun-bench-")
    make, count = clusters.CLUSTERS[name]
    try:
        with make(args, folder, count) as cluster:
            calibrateCluster(args, cluster, reference)
            for model in models:
                subject = measure.subject(known[model], MODELS.get(model, ""), 1,
                                          os.path.join(args.out, "models"))
                chance = random.Random(f"{args.seed} {name} {model}")
                save([{"piece": [name, model], **entry} for entry in measureModel(
                    Model(args, cluster, subject, reference), args, chance, folder)])
    except (clusters.Failed, subprocess.SubprocessError) as error:
        sys.exit(f"bench: {name}: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def figuresOf(entries):
    """The table's last lines."""
    figures = {}
    chosen = [entry for entry in entries if entry["kind"] == "chosen"]
    judgeChosen(figures, chosen)
    ratios = [entry["auto_to_single"] for entry in entries if entry["auto_to_single"]]
    report.line(figures, "auto over the best single device", f"worst of {len(ratios)}", "",
                f"{max(ratios):.3f}", f"<= {SINGLE}", max(ratios) <= SINGLE)
    drawn = [entry for entry in entries if entry["kind"] == "drawn"]
    if drawn:
        error, rank = mean(stepErrors(drawn)), rankCorrelation(drawn)
        report.line(figures, "drawn at random, mean error", f"{len(drawn)} placements", "",
                    f"{error:.1f} %", f"<= {DRAWN_ERROR} %", error <= DRAWN_ERROR)
        report.line(figures, "drawn at random, rank correlation", "", "", f"{rank:.3f}",
                    f">= {DRAWN_CORRELATION}", rank >= DRAWN_CORRELATION)
    memory = memoryErrors(entries)
    report.line(figures, "predicted memory, mean error", f"{len(memory)} devices", "",
                f"{mean(memory):.1f} %", f"<= {MEMORY} %", mean(memory) <= MEMORY)
    return figures


def judgeChosen(figures, chosen):
    excess, rank = excessErrors(chosen), rankCorrelation(chosen)
    report.line(figures, "predicted step, mean error", f"{len(chosen)} placements", "",
                f"{mean(stepErrors(chosen)):.1f} %")
    report.line(figures, "predicted step, normalised", "", "",
                f"{mean(stepErrors(chosen, 'normalised_ms')):.1f} %")
    report.line(figures, "the same step, measured again", "", "",
                f"{mean(stepErrors(chosen, 'again_ms')):.1f} %")
    report.line(figures, "error beyond that, mean", "", "", f"{mean(excess):.1f} %",
                f"<= {ERROR} %", mean(excess) <= ERROR)
    report.line(figures, "error beyond that, 95th percentile", "", "",
                f"{percentile95(excess):.1f} %", f"<= {ERROR_95} %",
                percentile95(excess) <= ERROR_95)
    calm = [entry for entry in chosen if entry["unrest"] <= CALM]
    report.line(figures, "error beyond that, of calm runs", f"{len(calm)} placements", "",
                f"{mean(excessErrors(calm)):.1f} %")
    report.line(figures, "predicted step, rank correlation", "", "", f"{rank:.3f}",
                f">= {CORRELATION}", rank >= CORRELATION)


def benchPrediction(args):
    """All clusters and models; with --resume those that the results do not have yet."""
    path = os.path.join(args.out, "prediction.json")
    results = {"host": report.host(), "entries": []}
    if args.resume and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
    done = {tuple(entry["piece"]) for entry in results["entries"]}

    def save(entries):
        results["entries"] += entries
        report.save(path, results)

    print(f"{'cluster':10} {'model':14}{'nodes':>6}{'cal. s':>9}{'step %':>9}{'norm. %':>9}"
          f"{'again %':>9}{'memory %':>9}{'rank':>9}{'to one':>9}")
    for name in args.clusters:
        models = [model for model in args.only or MODELS if (name, model) not in done]
        if models:
            measureCluster(args, name, models, save)
    results["figures"] = figuresOf(results["entries"])
    report.save(path, results)
    return True
