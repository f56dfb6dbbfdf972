"""Other ways to say or run the same thing: what they give must not depend on it."""

import copy
import dataclasses
import os

import onnx
from onnx import numpy_helper

from case import Case, describe

BASE = ["--threads", "1", "--tune-budget", "0"]


@dataclasses.dataclass
class Variant:
    """A case and options; `bits`: options of a run that must give the same bits; `loose`: bf16;
    `may`: what a refusal may say."""

    name: str
    case: Case
    options: list
    bits: list = None
    loose: bool = False
    may: str = ""


def _copied(case, label):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    return dataclasses.replace(case, label=f"{case.label} {label}", model=model,
                               feeds=copy.copy(case.feeds))


def flipped(case, random):
    """Some initialisers as inputs, and some inputs as initialisers."""
    other = _copied(case, "flipped")
    graph, feeds = other.model.graph, [dict(feed) for feed in case.feeds]
    for tensor in list(graph.initializer):
        if random.random() < 0.5:
            array = numpy_helper.to_array(tensor)
            graph.input.append(describe(tensor.name, array))
            graph.initializer.remove(tensor)
            for feed in feeds:
                feed[tensor.name] = array
    for value in list(graph.input) if len(feeds) == 1 else []:
        if value.name in case.feeds[0] and random.random() < 0.5:
            graph.initializer.append(numpy_helper.from_array(feeds[0].pop(value.name), value.name))
            graph.input.remove(value)
    del graph.value_info[:]
    other.feeds = feeds
    return other


def opened(case, random):
    """Inputs with symbolic dims or without a rank; outputs without shapes."""
    other = _copied(case, "opened")
    graph = other.model.graph
    ranks = random.random() < 0.5
    for value in graph.input:
        kind = value.type.tensor_type
        if ranks and random.random() < 0.5:
            kind.ClearField("shape")
            continue
        for index, dim in enumerate(kind.shape.dim):
            if random.random() < 0.7:
                dim.Clear()
                if random.random() < 0.5:
                    dim.dim_param = f"{value.name}_{index}"
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    return other


def clusters(folder):
    """Writes cluster files; {kind: path}. Two devices of one process, and two worker processes."""
    lines = {"devices": ["workers:", "  - name: here", "    address: client",
                         "    devices: [{cpu: {cores: 0, shared: true}}, {cpu: {cores: 0, shared: true}}]"],
             "workers": ["workers:"] + [text for name in ("a", "b") for text in (
                 f"  - name: {name}", "    address: local",
                 "    devices: [{cpu: {cores: 0, shared: true}}]")]}
    paths = {}
    for kind, text in lines.items():
        paths[kind] = f"{folder}/{kind}.yaml"
        with open(paths[kind], "w", encoding="utf-8") as file:
            file.write("\n".join(text) + "\n")
    return paths


def _split(case, random, paths):
    """Over two devices, rarely two processes: each operation on one drawn by a seed, or some pinned."""
    kind, device = ("workers", "b/cpu:0") if random.random() < 0.02 else ("devices", "here/cpu:1")
    options = ["--deterministic", "--tune-budget", "0"]
    whole = options + ["--threads", "1"]
    options += ["--cluster", paths[kind]]
    if random.random() < 0.7:
        seed = int(random.integers(1, 1 << 30))
        return Variant(f"split over {kind}", case, options + ["--placement", f"random:{seed}"], whole)
    names = [node.name for node in case.model.graph.node if random.random() < 0.3]
    pins = [word for name in names for word in ("--pin", f"{name}={device}")]
    # A node that the importer replaced cannot be pinned.
    return Variant(f"pins over {kind}", case, options + pins, whole, may="matches no node")


def _options(case, random):
    threads = int(random.integers(1, 4))
    chosen = ["--threads", str(threads), "--tune-budget", "0"]
    for words, share in ((["--exact"], 0.3), (["--no-fusion"], 0.4),
                         (["--memory-limit", "local/cpu:0=1GiB"], 0.1)):
        chosen += words if random.random() < share else []
    if random.random() < 0.2:
        chosen += ["--placement", ("heft", "greedy", "single")[random.integers(3)]]
    elif threads == 2 and len(os.sched_getaffinity(0)) > 1:
        chosen += ["--split", "2"]
    return Variant("options", case, chosen)


def _bf16(case, random):
    return Variant("bf16", case, BASE + ["--precision", "bf16"], loose=True)


def _threads(case, random):
    options = ["--deterministic", "--tune-budget", "0"]
    return Variant("threads", case, options + ["--threads", "2"], bits=options + ["--threads", "1"])


def variants(case, random, paths, count=2):
    """Some of the ways to run a case, drawn; two at most."""
    made = []
    for _ in range(count):
        roll = random.random()
        if roll < 0.25:
            made.append(Variant("flipped", flipped(case, random), BASE))
        elif roll < 0.5:
            made.append(Variant("opened", opened(case, random), BASE))
        elif roll < 0.75:
            made.append(_split(case, random, paths))
        elif roll < 0.88:
            made.append(_options(case, random))
        elif roll < 0.95 or not case.smooth:
            made.append(_threads(case, random))
        else:
            made.append(_bf16(case, random))
    return made
