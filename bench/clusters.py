"""Clusters of worker processes on this machine, for prediction.py: shared memory, TCP, a slow link."""

import contextlib
import importlib.util
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# By its path: the folder has modules of the names that some here have.
found = importlib.util.spec_from_file_location("netns", ROOT / "tests" / "multiprocess" / "netns.py")
netns = importlib.util.module_from_spec(found)
found.loader.exec_module(netns)

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

    def forget(self, kept):
        """Makes what is known what it was when `keep` gave this."""
        shutil.rmtree(os.path.join(self.cache, "costs"), ignore_errors=True)
        if kept:
            shutil.copytree(kept, os.path.join(self.cache, "costs"))

    def keep(self):
        costs, kept = os.path.join(self.cache, "costs"), f"{self.cache}-kept"
        if os.path.isdir(costs):
            shutil.copytree(costs, kept, dirs_exist_ok=True)
            return kept
        return None

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
    endpoints = {f"w{i}": f"127.0.0.1:{PORT + i}" for i in range(count)}
    commands = [[args.graphrun, "worker", "--listen", endpoint] for endpoint in endpoints.values()]
    environment = {"UCX_TLS": "tcp,self", "GRAPHRUN_CACHE_DIR": os.path.join(folder, "worker")}
    with workers(commands, environment):
        yield Cluster(folder, f"tcp {count}",
                      {name: (endpoint, *core)
                       for (name, endpoint), core in zip(endpoints.items(), cores(count))})


@contextlib.contextmanager
def slow(args, folder, _):
    """Two network namespaces with a link that is held to RATE."""
    if reason := netns.whyNot():
        raise Failed(reason)
    pair = netns.Pair()
    try:
        for node in pair.nodes:
            node.run("tc", "qdisc", "add", "dev", "veth0", "root", "tbf", "rate", RATE, "burst", "64kb",
                     "latency", "20ms")
        hosts = {f"w{i}": address for i, address in enumerate(pair.ADDRESSES)}
        endpoints = {name: f"{address}:{PORT}" for name, address in hosts.items()}
        certs = os.path.join(folder, "certs")
        subprocess.run([args.graphrun, "certs", certs, *(f"{name}={host}" for name, host in hosts.items())],
                       check=True, stdout=subprocess.DEVNULL)
        commands = [[*node.inside, args.graphrun, "worker", "--listen", endpoint,
                     "--ca", f"{certs}/ca.pem", "--cert", f"{certs}/{name}.pem",
                     "--key", f"{certs}/{name}.key"] for (name, endpoint), node in zip(endpoints.items(), pair.nodes)]
        environment = {"UCX_TLS": "tcp,self", "GRAPHRUN_CACHE_DIR": os.path.join(folder, "worker")}
        with workers(commands, environment):
            yield Cluster(folder, f"tcp {RATE}",
                          {name: (endpoint, *core)
                           for (name, endpoint), core in zip(endpoints.items(), cores(2))},
                          {"ca": f"{certs}/ca.pem", "cert": f"{certs}/coordinator.pem",
                           "key": f"{certs}/coordinator.key"}, pair.nodes[0].inside)
    finally:
        pair.remove()


CLUSTERS = {"shm2": (sharedMemory, 2), "shm3": (sharedMemory, 3), "tcp2": (tcp, 2),
            "slow2": (slow, 2)}
