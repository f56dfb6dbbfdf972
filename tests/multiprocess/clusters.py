"""Cluster files, and pins that split a model by hand."""

import itertools
import json
import os
import random
import socket

import programs

CORES = sorted(os.sched_getaffinity(0))
_numbers = itertools.count()


def cpu(core, shared):
    cores = {"cores": str(core), "shared": True} if shared else {"cores": str(core)}
    return {"cpu": {**cores, "memory": "1GiB"}}


def write(workers, security=None):
    """The path of a cluster file with {name: (address, number of devices)}; JSON is YAML.

    A worker with more devices than there are cores shares them."""
    cores = itertools.cycle(CORES)
    return writeWorkers([{"name": name, "address": address,
                          "devices": [cpu(next(cores), count > len(CORES)) for _ in range(count)]}
                         for name, (address, count) in workers.items()], security)


def limited(limits):
    """Local workers with {name of a device: KiB}; all devices share the first core."""
    devices = {}
    for name, limit in limits.items():
        cpu = {"cores": str(CORES[0]), "shared": True, "memory": f"{limit}KiB"}
        devices.setdefault(name.split("/")[0], []).append({"cpu": cpu})
    return writeWorkers([{"name": name, "address": "local", "devices": given}
                         for name, given in devices.items()])


def writeWorkers(workers, security=None):
    content = {"workers": workers}
    if security:
        content["security"] = security
    path = os.path.join(programs.SCRATCH.name, f"cluster{next(_numbers)}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)
    return path


def localProcesses(count):
    """`count` workers that graphrun starts itself, with one device each: (file, device names)."""
    names = [f"w{i}" for i in range(count)]
    return write({name: ("local", 1) for name in names}), [f"{name}/cpu:0" for name in names]


def oneProcess(count):
    """One worker with `count` devices: (file, device names)."""
    return write({"w": ("local", count)}), [f"w/cpu:{i}" for i in range(count)]


def freePort():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def nodesOf(explanation):
    """The names of the nodes, in the order of execution."""
    return [node["node"] for node in explanation["nodes"]]


def inTurn(nodes, devices):
    """Node i on device i modulo their number: nearly every tensor crosses."""
    return pins(zip(nodes, itertools.cycle(devices)))


def atRandom(nodes, devices, seed):
    choose = random.Random(seed)
    return pins((node, choose.choice(devices)) for node in nodes)


def inSpans(nodes, devices):
    """A pipeline: the first nodes on the first device, and so on."""
    return pins((node, devices[i * len(devices) // len(nodes)]) for i, node in enumerate(nodes))


def pins(pairs):
    return [part for node, device in pairs for part in ("--pin", f"{node}={device}")]
