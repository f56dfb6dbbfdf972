#!/usr/bin/env python3
"""place_all.py GRAPHRUN DATA: places every instance of the placement data and checks the answers.

DATA holds stg/50/*.stg with stg/Case50_P_OPT.csv (best known makespans), and dnn/throughput and
dnn/latency with graphs of dnn-partitioning. Each answer must be right (placement_checker.py), and no
lower bound above, nor a task graph's makespan below, what is known. Prints `skipped:` with the
reason when there is no such folder.
"""

import json
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import placement_checker

PROCESSORS = (2, 4, 8, 16)


def place(graphrun, path, options):
    """What is wrong with the answer, and the answer."""
    done = subprocess.run([graphrun, "place", path, "--json", *options], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        return [f"exit code {done.returncode}: {done.stderr}"], None
    answer = json.loads(done.stdout)
    named = dict(zip(options[::2], options[1::2]))
    problem = placement_checker.readProblem(
        path, int(named.get("--devices", 0)), named.get("--objective"), "--contiguous" in options)
    return placement_checker.check(problem, answer), answer


def known(data):
    """(file, processors) to the least and the most that its best makespan can be."""
    makespans = {}
    for p in PROCESSORS:
        for line in (data / "stg" / f"Case50_{p}_OPT.csv").read_text().split():
            name, processors, *bounds = line.split(",")
            makespans[pathlib.Path(name).name, int(processors)] = (int(bounds[0]), int(bounds[-1]))
    return makespans


def taskGraph(graphrun, path, processors, bounds):
    problems, answer = place(graphrun, path, ["--devices", str(processors)])
    if answer is not None and answer["objective"] < bounds[0]:
        problems.append(f"makespan {answer['objective']} is below {bounds[0]}")
    if answer is not None and answer["lower_bound"] > bounds[1]:
        problems.append(f"bound {answer['lower_bound']} is above {bounds[1]}")
    return [f"{path.name} on {processors}: {problem}" for problem in problems]


def dnnGraph(graphrun, path, objective, contiguous):
    options = ["--objective", objective] + ["--contiguous"] * contiguous
    problems, _ = place(graphrun, path, options)
    return [f"{path.name} {options[1:]}: {problem}" for problem in problems]


def main():
    graphrun, data = sys.argv[1], pathlib.Path(sys.argv[2])
    if not (data / "stg").is_dir() or not (data / "dnn").is_dir():
        print(f"skipped: there is no placement data in {data} (-D GRAPHRUN_PLACEMENT_DATA=…)")
        return 0
    makespans = known(data)
    with ThreadPoolExecutor(2) as pool:
        waiting = []
        for i, path in enumerate(sorted((data / "stg" / "50").glob("*.stg"))):
            processors = PROCESSORS[i % len(PROCESSORS)]
            waiting.append(pool.submit(taskGraph, graphrun, path, processors,
                                       makespans[path.name, processors]))
        for path in sorted((data / "dnn").glob("*/*.json")):
            for objective in ("throughput", "latency"):
                for contiguous in (False, True):
                    waiting.append(pool.submit(dnnGraph, graphrun, path, objective, contiguous))
        problems = [problem for one in waiting for problem in one.result()]
    print("\n".join(problems) or f"{len(waiting)} placements are right")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
