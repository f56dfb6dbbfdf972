#!/usr/bin/env python3
"""./dev demo: reads a photographed page on one and on two local workers, and holds predictions to what is.

The model is a page in one step: a detector of text and a recogniser for each line, side by side
(page_model.py). Shown are: calibration, where its operations go on two workers and what that brings, a limit
of memory that only two workers keep, and in the end what was predicted beside what was measured.
Each command is shown before it runs. Ends with 1 where a claim is not true.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys

import numpy as np
import onnx

import cases
import ocr_reference
import page_model

WORKER = "  - {name: %s, address: local, devices: [{cpu: {cores: %s%s}}]}\n"
BENCH_SECONDS = "3"
NOT_PLACED = 4  # exit code
ONE, TWO, ALL = "one worker", "two workers", "one worker, all cores"
# Of the memory that the whole needs: what each worker gets where it must not fit on one.
LIMITED_SHARE = 0.75
# What another way of a kernel may change where memory is short, of the largest element.
LIMITED_DIFFERENCE = 1e-4
# How far a prediction may be off, as a factor: other programs on the same cores are part of it.
TIME_FACTOR, MEMORY_FACTOR = 4, 1.5


def halves():
    """The cores of two workers, as cluster.yaml has them; the same one twice if there is only one."""
    cores = sorted(os.sched_getaffinity(0))
    half = max(1, len(cores) // 2)
    return [",".join(map(str, part)) for part in (cores[:half], cores[half:2 * half] or cores)]


def require(claim, what):
    """Ends the demo where a claim is not true."""
    if not claim:
        sys.exit(f"demo: expected that {what}")


def mebibytes(count):
    return f"{count / 2**20:.1f} MiB"


class Demo:
    """The model, the clusters, and how commands are shown and run."""

    def __init__(self, graphrun, work):
        self.graphrun, self.work = graphrun, work
        self.model = os.path.join(work, "page.onnx")
        self.inputs, self.outputs = page_model.inputs(), page_model.outputs()
        self.environment = {**os.environ, "GRAPHRUN_CACHE_DIR": os.path.join(work, "cache")}
        self.feeds = [word for name in self.inputs
                      for word in ("--input", f"{name}=@{self.path(f'{name}.npy')}")]

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self):
        """The model, its inputs, and clusters: one worker, two with as many cores each, one with all."""
        onnx.save(page_model.model(), self.model)
        for name, array in self.inputs.items():
            np.save(self.path(f"{name}.npy"), array)
        left, right = halves()
        self.cluster("one.yaml", {"left": left})
        self.cluster("two.yaml", {"left": left, "right": right})
        self.cluster("all.yaml", {"both": left if left == right else f"{left},{right}"})

    def cluster(self, name, workers, limit=None):
        memory = "" if limit is None else f", memory: {limit}"
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write("workers:\n" + "".join(WORKER % (worker, f'"{cores}"', memory)
                                              for worker, cores in workers.items()))

    def run(self, *words, expected=0, capture=False):
        """Runs graphrun in the open; its output if that is captured, else it is shown."""
        shown = [word for word in words if word not in self.feeds]
        print("\n$ graphrun " + shlex.join(shown) + (" …" if len(shown) < len(words) else ""),
              flush=True)
        done = subprocess.run([self.graphrun, *words], check=False, timeout=300, text=True,
                              env=self.environment, cwd=self.work,
                              stdout=subprocess.PIPE if capture else None,
                              stderr=subprocess.PIPE if expected else None)
        if expected:
            print(done.stderr, end="")
        require(done.returncode == expected,
                f"this command ends with exit code {expected}, not {done.returncode}")
        return done.stdout

    def onModel(self, command, cluster, *words, **how):
        return self.run(command, "page.onnx", "--cluster", cluster, *self.feeds, *words, **how)

    def explain(self, cluster, *words):
        """What is predicted, as `graphrun explain --json` tells it."""
        return json.loads(self.onModel("explain", cluster, "--json", *words, capture=True))

    def bench(self, cluster):
        return json.loads(self.onModel("bench", cluster, "--json", "--duration", BENCH_SECONDS,
                                       capture=True))

    def results(self, cluster):
        """{part: output}: read by --deterministic, which gives equal bits wherever operations are."""
        files = {part: f"{part}.npy" for part in self.outputs}
        self.onModel("run", cluster, "--deterministic",
                     *[word for part, name in self.outputs.items()
                       for word in ("--output", f"{name}=@{files[part]}")], capture=True)
        return {part: np.load(self.path(name)) for part, name in files.items()}


def readPage(outputs):
    """Prints what the recognisers read; the lines must be those of the picture."""
    for number, (_, printed) in enumerate(ocr_reference.LINES):
        text = ocr_reference.readText(outputs[f"rec{number}"])
        print(f"  line {number}: {text!r}")
        require(text == printed, f"line {number} is {printed!r}")
    print(f"  text on the next page: {100 * np.mean(outputs['det'] > 0.5):.1f} % of its area")


def requireEqual(got, want, difference=0.0):
    """Outputs are the same bits, or differ by no more than so much of their largest element."""
    worst = max(float(np.abs(got[part] - want[part]).max() / np.abs(want[part]).max()) for part in want)
    require(worst <= difference, f"two workers give what one gives, within {difference}, not {worst}")
    print(f"  outputs differ from those of one worker by {worst:.1g} of the largest element")


def operations(report):
    """{device: number of operations} of what explain tells."""
    return {device["device"]: device["ops"] for device in report["devices"]}


def peaks(report):
    return {device["device"]: device["peak_bytes"] for device in report["devices"]}


def compareSpeed(demo):
    """One worker and two, calibrated; {name: what bench measured}."""
    demo.run("doctor", "--calibrate", "page.onnx", "--cluster", "two.yaml", *demo.feeds)
    demo.onModel("explain", "two.yaml", "--html", "page.html")
    one, two = demo.explain("one.yaml"), demo.explain("two.yaml")
    print("  operations:", operations(two))
    require(len(operations(two)) == 2 and min(operations(two).values()) > 0,
            "each of two workers gets an operation")
    if halves()[0] != halves()[1]:
        require(two["step_ns"] < one["step_ns"], "a second worker is predicted to gain")
    return {ONE: demo.bench("one.yaml"), TWO: demo.bench("two.yaml"), ALL: demo.bench("all.yaml")}


def keepLimit(demo, alone):
    """A limit under which one worker refuses the model, which needs so many bytes alone, and two share it."""
    limit = f"{int(LIMITED_SHARE * alone / 2**20)}MiB"
    left, right = halves()
    demo.cluster("small_one.yaml", {"left": left}, limit)
    demo.cluster("small_two.yaml", {"left": left, "right": right}, limit)
    print(f"\nEach worker may use {limit}; one alone would need {mebibytes(alone)}.")
    demo.onModel("explain", "small_one.yaml", expected=NOT_PLACED)
    report = demo.explain("small_two.yaml")
    cut = [edge for edge in report["edges"] if "client" not in (edge["from"], edge["to"])]
    require(min(operations(report).values()) > 0 and cut, "the limit splits the model")
    print("  planned:", {device: mebibytes(peak) for device, peak in peaks(report).items()},
          f"tensors between them: {len(cut)}")
    requireEqual(demo.results("small_two.yaml"), demo.results("one.yaml"), LIMITED_DIFFERENCE)
    return demo.bench("small_two.yaml")


def within(predicted, measured, factor):
    return predicted / factor <= measured <= predicted * factor


def closingTable(rows):
    """Prints predictions beside what was measured, and holds them to generous factors: that of the time to
    the fastest step, which other programs on the same cores delay least."""
    print(f"\n{'':30}{'step: predicted':>18}{'measured':>12}{'memory: predicted':>20}{'held':>12}")
    for name, bench in rows.items():
        step, median = bench["session"]["predicted_step_ms"], bench["latency_ms"]["p50"]
        devices = bench["session"]["devices"]
        planned = sum(device["predicted_bytes"] for device in devices)
        held = sum(device["bytes"] for device in devices)
        print(f"{name:30}{step:15.1f} ms{median:9.1f} ms{mebibytes(planned):>20}{mebibytes(held):>12}")
        require(within(step, bench["latency_ms"]["min"], TIME_FACTOR), f"the step is within a factor {TIME_FACTOR}")
        require(within(planned, held, MEMORY_FACTOR), f"memory is within a factor {MEMORY_FACTOR}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    args = parser.parse_args()
    graphrun = os.path.abspath(os.path.join(args.bin, "graphrun"))
    if not os.access(graphrun, os.X_OK):
        sys.exit(f"demo: {graphrun} is not built; ./dev build makes it")
    work = os.path.abspath(args.work)
    shutil.rmtree(work, ignore_errors=True)  # calibration begins with nothing known
    os.makedirs(work)
    demo = Demo(graphrun, work)
    demo.write()
    rows = compareSpeed(demo)
    outputs = demo.results("two.yaml")
    readPage(outputs)
    requireEqual(outputs, demo.results("one.yaml"))
    limited = keepLimit(demo, rows[ONE]["predicted_peak_bytes"])
    closingTable({ONE: rows[ONE], TWO: rows[TWO], "two workers, limited": limited})
    one, two, everything = (rows[name]["latency_ms"]["p50"] for name in (ONE, TWO, ALL))
    print(f"\ntwo workers of cores {' and '.join(halves())} are {one / two:.2f} times as fast as one of them,"
          f" {everything / two:.2f} times as one worker with all these cores")
    print(f"why each operation is where it is: {demo.path('page.html')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
