#!/usr/bin/env python3
"""./dev demo: reads lines of a photographed page with an OCR model on two local workers.

Compiles the model, explains where its operations go, runs it on this machine and on the cluster,
and prints the text that both read. Each command is shown before it runs.
"""

import argparse
import os
import shlex
import subprocess
import sys
import time

import numpy as np

import cases
import ocr_reference

CLUSTER = """\
workers:
  - {name: left, address: local, devices: [{cpu: {cores: %s}}]}
  - {name: right, address: local, devices: [{cpu: {cores: %s}}]}
"""


def clusterText():
    """Two local workers, each with half of the cores at hand (both with the one, if there is one)."""
    cores = sorted(os.sched_getaffinity(0))
    half = max(1, len(cores) // 2)
    halves = cores[:half], cores[half:] or cores
    # cluster.yaml takes ranges; halves of an affinity mask with holes are cut at the first hole.
    ranges = []
    for part in halves:
        last = next((c for c in part if c + 1 not in part))
        ranges.append(f"{part[0]}-{last}" if last > part[0] else f"{last}")
    return CLUSTER % tuple(ranges)


def run(command):
    """Runs one command in the open; ends the demo where it fails."""
    print("\n$ " + shlex.join(command), flush=True)
    start = time.monotonic()
    code = subprocess.run(command, check=False, timeout=300).returncode
    if code != 0:
        sys.exit(f"demo: this command ended with exit code {code}")
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    args = parser.parse_args()
    graphrun = os.path.join(args.bin, "graphrun")
    if not os.access(graphrun, os.X_OK):
        sys.exit(f"demo: {graphrun} is not built; ./dev build makes it")
    case = os.path.join(args.work, "ocr", "test_ocr_rec")
    cases.fresh(os.path.join(args.work, "ocr"),
                ocr_reference.REVISION + cases.packageVersions(*ocr_reference.PACKAGES),
                ocr_reference.export)
    model, cluster = os.path.join(args.work, "rec.fb"), os.path.join(args.work, "cluster.yaml")
    with open(cluster, "w", encoding="utf-8") as file:
        file.write(clusterText())
    output = ocr_reference.outputNames("rec")[0]
    data = ["--data", os.path.join(case, "test_data_set_0")]
    run([graphrun, "compile", os.path.join(case, "model.onnx"), "-o", model])
    run([graphrun, "explain", model, "--cluster", cluster, *data])
    for where, options in (("this machine", []), ("two workers", ["--cluster", cluster])):
        for number, (_, printed) in enumerate(ocr_reference.LINES):
            result = os.path.join(args.work, f"line{number}.npy")
            seconds = run([graphrun, model, *options, "--data",
                           os.path.join(case, f"test_data_set_{number}"),
                           "--output", f"{output}=@{result}"])
            text = ocr_reference.readText(np.load(result))
            print(f"  {where}, line {number}: {text!r} in {seconds:.2f} s, start to end")
            if text != printed:
                sys.exit(f"demo: expected {printed!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
