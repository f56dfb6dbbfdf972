"""Tables and JSON of the benches, with the machine that they were taken on."""

import json
import math
import os
import platform
import re
from importlib import metadata

GEOMETRIC_MEAN = 1.25  # the target over all models and sizes
SHORT = {"graphrun": "ours", "exact": "exact", "onnxruntime": "ort", "openvino": "ov"}


def host():
    """The machine, its load and what runs on it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = re.findall(r"model name\s*: (.*)", file.read())
    return {"processor": names[0] if names else platform.machine(), "cores": os.cpu_count(),
            "load_average": os.getloadavg()[0], "system": platform.release(),
            "versions": {name: metadata.version(name) for name in ("onnxruntime", "openvino")}}


def save(path, results):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


def verdict(good):
    return "" if good is None else "ok" if good else "falls short"


def line(results, name, figure, reference, value, target=None, good=None):
    """One line of a table of single figures, and its entry in the results."""
    results[name] = {"measured": figure, "reference": reference, "value": value, "target": target,
                     "load": os.getloadavg()[0]}
    if target is not None:
        results[name]["ok"] = bool(good)
    print(f"{name:38}{figure:>22}  {reference:>27}  {value:>10}{target or '':>12}"
          f"  {verdict(good if target else None)}", flush=True)


def each(entry, key, scale, form):
    """One figure of each runtime, `-` for those that gave no result."""
    figures = (entry["runtimes"].get(runtime, {}).get(key) for runtime in SHORT)
    width = len(form.format(0))
    return "".join(f"{form.format(figure / scale) if figure is not None else '-':>{width}}"
                   for figure in figures)


def header(*columns):
    """Two lines above a table: (title, width of a figure, names below it) of each column."""
    above, below = " " * 31, f"{'model':16}{'shape':>11} thr"
    for title, width, names in columns:
        above += f"{title:>{width * len(names)}}"
        below += "".join(f"{name:>{width}}" for name in names)
    print(f"{above}\n{below}")


def start(entry):
    return f"{entry['model']:16}{entry['shape']:>11}{entry['threads']:4}"


def speedHeader():
    names = list(SHORT.values())
    header(("median ms", 10, names), ("P95 ms", 10, names), ("ratio", 8, ["ours", "exact"]))


def speedLine(entry):
    """Medians and P95 of a model, and how many times as fast as the better peer it is, in both modes."""
    ratio = entry.get("ratio")
    good = ratio >= entry["target"] if ratio else None
    both = "".join(f"{f'{entry[key]:.2f}' if key in entry else '-':>8}" for key in ("ratio", "exact_ratio"))
    print(f"{start(entry)}{each(entry, 'p50_ms', 1, '{:10.3f}')}{each(entry, 'p95_ms', 1, '{:10.3f}')}"
          f"{both}  {verdict(good)}", flush=True)
    for runtime, reason in entry["failures"].items():
        print(f"    {runtime}: {reason}", flush=True)


def operationLines(entry):
    for kind in entry["operations"]:
        print(f"{kind['ms']:41.3f}  {kind['share']:4.0%} {kind['kernels']:4} {kind['kind']}", flush=True)


def predictedShare(entry):
    """How far what was planned for devices is off what they hold; the target is 3 %."""
    ours = entry["runtimes"].get("graphrun")
    return f"{100 * ours['predicted_peak_bytes'] / ours['device_bytes'] - 100:+.1f} %" if ours else "-"


def memoryTable(entries):
    """Peak memory, the same less the weights, how far ours was predicted, load time and first run."""
    names = list(SHORT.values())
    print()
    header(("peak MiB", 7, names), ("less weights", 7, names), ("predicted", 10, ["ours"]), ("load ms", 7, names + ["cold"]),
           ("first run ms", 9, names))
    for entry in entries:
        load = entry["cold"].get("load_ms")
        print(f"{start(entry)}{each(entry, 'peak_memory_bytes', 1 << 20, '{:7.0f}')}"
              f"{each(entry, 'peak_less_weights_bytes', 1 << 20, '{:7.0f}')}"
              f"{predictedShare(entry):>10}"
              f"{each(entry, 'load_ms', 1, '{:7.0f}')}{f'{load:.0f}' if load else '-':>7}"
              f"{each(entry, 'first_run_ms', 1, '{:9.1f}')}")


def geometricMean(entries, key):
    ratios = [entry[key] for entry in entries if key in entry]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def meanLine(entries):
    """The geometric mean of all ratios, and that with --exact."""
    mean, exact = geometricMean(entries, "ratio"), geometricMean(entries, "exact_ratio")
    if mean is None:
        return None
    ratios = [entry for entry in entries if "ratio" in entry]
    short = sum(entry["ratio"] < entry["target"] for entry in ratios)
    print(f"\ngeometric mean of {len(ratios)} ratios {mean:.2f} (>= {GEOMETRIC_MEAN})"
          f" {verdict(mean >= GEOMETRIC_MEAN)}; {short} below their target"
          + (f"; with --exact {exact:.2f}" if exact else ""))
    return mean
