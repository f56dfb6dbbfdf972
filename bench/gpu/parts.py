"""Whether GraphRun works on the GPU: what it finds, the device's contract, every operation, models."""

import json
import os
import random
import re
import shutil

import numpy as np

from program import COLD, CPU, GPU, PACKAGE, Failed, Model, given

# Of the largest value of an output, by precision.
TOLERANCE = {"f32": 1e-3, "tf32": 0.03, "bf16": 0.15}
CASES = 640  # at a time: the first ones of a process wait for its GPU to be opened
IMPORT = 60  # seconds that PyTorch may take to be read from a cold disk
CONFORMANCE = os.path.join(PACKAGE, "bin", "device_conformance_test")


def deviation(arrays, reference):
    """The largest difference of outputs, relative to the largest value of each; None: not comparable."""
    worst = 0.0
    for ours, theirs in zip(arrays, reference, strict=True):
        if ours.shape != theirs.shape or not (np.isfinite(ours).all() and np.isfinite(theirs).all()):
            return None
        difference = np.abs(ours.astype(np.float64) - theirs).max(initial=0)
        worst = max(worst, float(difference / max(np.abs(theirs).max(initial=0), 1e-30)))
    return worst


def doctor(run):
    """What graphrun finds; whether there is a GPU, and why not."""
    try:
        text = run.graphrun.start("doctor", seconds=COLD)
    except Failed:
        text = run.graphrun.start("doctor", seconds=COLD)  # by now the libraries are in memory
    run.found["machine"]["doctor"] = text.splitlines()
    driver = re.search(r"^  (driver.*)", text, re.MULTILINE)
    if re.search(r"^  cuda:0 ", text, re.MULTILINE):
        run.noGpu = None
    else:
        run.noGpu = driver.group(1) if driver else "built without CUDA"
    run.found["machine"]["peers"] = run.peers.ask(max(run.left(), IMPORT), do="versions")


def devices(run):
    """The conformance test of devices; without a GPU it tests the CPU and says why not more."""
    text = run.graphrun.process([CONFORMANCE], run.left())
    onGpu = "skipped: device test/cuda:0" not in text
    run.row("device conformance", re.search(r"All tests passed.*|$", text).group(0),
            target="passes on the GPU", ok=True if onGpu else None)
    return None if onGpu else run.noGpu or "the test saw no GPU"


def expectedFailures():
    with open(os.path.join(PACKAGE, "expected.txt"), encoding="utf-8") as file:
        return {line.split()[0] for line in file if line.strip() and not line.startswith("#")}


def operations(run):
    """ONNX's test cases in an order drawn once, so that a part of them is a sample of all."""
    folder, expected = os.path.join(PACKAGE, "cases"), expectedFailures()
    names = sorted(name for name in os.listdir(folder) if name not in expected)
    random.Random(1).shuffle(names)
    report = os.path.join(run.graphrun.scratch, "cases.json")
    passed, failures, error = 0, {}, None
    options = ["--placement", f"on:{GPU}", "--jobs", str(run.found["machine"]["processors"]),
               "--threads", "1", "--json", report, "--time-limit", "30"]
    while names and run.left() > 5:
        some = [os.path.join(folder, name) for name in names[:CASES]]
        try:
            run.graphrun.start("test", *some, *options, seconds=run.left() + 30, codes=range(7))
        except Failed as problem:
            error = str(problem)
            break
        names = names[CASES:]
        with open(report, encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        bad = {case["name"]: (case["message"] or case["why"])[:300] for case in cases
               if case["outcome"] == "failed"}
        passed += len(cases) - len(bad)
        failures |= bad
    run.row("ONNX's test cases", passed, target="none fails", ok=not (failures or names or error),
            unit="cases passed", not_run=len(names), error=error, failures=failures)


def checks(run):
    """Outputs of every model on the GPU beside those on the CPU and PyTorch's."""
    for name in chosenModels(run):
        if run.left() < 1:
            return "no time for all models"
        model = Model(name)
        try:
            nodes = run.graphrun.placed(model, run.left())
            ours = run.graphrun.outputs(model, f"on:{GPU}", run.left())
        except Failed as error:
            run.row(name, None, target=TOLERANCE["f32"], ok=False, error=str(error))
            continue
        elsewhere = [node for node, device in nodes if device != GPU]
        run.row(f"{name}: nodes on the GPU", len(nodes) - len(elsewhere), target="all", ok=not elsewhere,
                elsewhere=elsewhere)
        for peer, outputs in (("CPU", lambda: run.graphrun.outputs(model, f"on:{CPU}", run.left())),
                              ("PyTorch", lambda: peerOutputs(run, model, "f32"))):
            compared(run, f"{name} beside {peer}", ours, outputs, "f32")
    return None


def compared(run, name, ours, outputs, precision):
    """A row for the deviation of `ours` from what `outputs` gives; whether it is small."""
    try:
        value = deviation(ours, outputs())
    except Failed as error:
        run.row(name, None, error=str(error))
        return False
    good = value is not None and value <= TOLERANCE[precision]
    run.row(name, value, target=TOLERANCE[precision], ok=good, unit="of the largest value")
    return good


def peerOutputs(run, model, precision, way="eager"):
    peer = run.peers.of(model, precision, run.left())
    return peer.outputs(way, os.path.join(run.graphrun.scratch, "peer.npz"), run.left())


def chosenModels(run):
    """Models with a network in PyTorch, the ones that matter most first."""
    first = ("bert_base", "vit_b16", "gpt2_block", "resnet50")
    there = os.listdir(os.path.join(PACKAGE, "models"))
    names = [name for name in there if name in (run.options.models or there) and network(name)]
    return sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))


def network(name):
    with open(os.path.join(PACKAGE, "models", name, "model.json"), encoding="utf-8") as file:
        return json.load(file)["network"]


def mixed(run):
    """Every third node of the GPU's on the CPU instead: the same outputs as on the CPU alone."""
    for name in chosenModels(run)[:4]:
        model = Model(name)
        try:
            nodes = run.graphrun.placed(model, run.left())
            moved = [each for each in nodes if each[1] == GPU][::3]
            for each in moved:
                each[1] = CPU
            ours = run.graphrun.outputs(model, run.graphrun.place(nodes), run.left())
        except Failed as error:
            run.row(name, None, target=TOLERANCE["f32"], ok=False, error=str(error))
            continue
        compared(run, f"{name}, {len(moved)} of {len(nodes)} nodes moved to the CPU", ours,
                 lambda model=model: run.graphrun.outputs(model, f"on:{CPU}", run.left()), "f32")


def sanitizer(run):
    """NVIDIA's checker of memory accesses over the device's test and a model."""
    tool = shutil.which("compute-sanitizer", path=f"{os.environ.get('PATH', '')}:/usr/local/cuda/bin")
    if not tool:
        return "there is no compute-sanitizer"
    subjects = {"device conformance": [CONFORMANCE]}
    for name in chosenModels(run)[-1:]:
        model = Model(name)
        subjects[name] = [os.path.join(PACKAGE, "bin", "graphrun"), model.path,
                          "--placement", f"on:{GPU}", *given(model)]
    for name, command in subjects.items():
        try:
            # Calls that fail are no errors of memory: the libraries ask for what this GPU may not have.
            text = run.graphrun.process([tool, "--target-processes", "all", "--report-api-errors", "no",
                                         "--error-exitcode", "9", *command], run.left())
            run.row(name, re.search(r"ERROR SUMMARY: .*|$", text).group(0), target="no errors", ok=True)
        except Failed as error:
            run.row(name, None, target="no errors", ok=False, error=str(error))
    return None
