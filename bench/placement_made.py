"""Cost graphs made by bench_graphs: planted optima, and graphs of up to 100,000 nodes.

`--seed` makes other ones.
"""

import json
import os
import subprocess
import sys
import tempfile

import placer
import report

DEVICES = (2, 4, 8, 16)
TASKS = (4, 8, 16)  # a device
GAPS = {0.1: 5, 1: 5, 10: 15}  # %, by communication to computation
# Nodes, devices; seconds of the first plan and of the final one.
SIZES = ((1_000, 8, 0.005, 0.2), (10_000, 16, 0.1, 1), (100_000, 64, 1, 10))
MOST_MIB = 2048
MOST_CHECKED = 10_000  # nodes: the checker takes a minute for ten times as many


def make(args, folder, kind, *options):
    """Graphs in files: rows of bench_graphs."""
    command = [os.path.join(args.bin, "bench_graphs"), kind, folder, *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: exit code {done.returncode} from bench_graphs: {done.stderr}")
    return json.loads(done.stdout)


def gapsOf(args, rows, *options):
    answers = placer.place(args, [row["file"] for row in rows], *options)
    return [100 * (answer["objective"] / row["optimum_ns"] - 1)
            for row, answer in zip(rows, answers)]


def benchPlanted(args, results, ccr, queues):
    """Mean gaps to the optimum, by tasks a device and over all, beside HEFT's."""
    gaps, heft = [], []
    links = "queues" if queues else "no queues"
    count = 1 if args.part is None else 2
    for tasks in TASKS:
        with tempfile.TemporaryDirectory() as folder:
            rows = [row for devices in DEVICES for row in
                    make(args, folder, "planted", "--nodes", tasks * devices, "--devices", devices,
                         "--ccr", ccr, "--seed", args.seed, "--count", count,
                         *(["--queues"] if queues else []))]
            ours = gapsOf(args, rows, "--plan-budget", "1s")
            theirs = gapsOf(args, rows, "--strategy", "heft")
        plantedLine(results, f"CCR {ccr}, {links}, {tasks} tasks a device", ours, theirs)
        gaps, heft = gaps + ours, heft + theirs
    plantedLine(results, f"CCR {ccr}, {links}, all", gaps, heft, GAPS[ccr])


def plantedLine(results, name, gaps, heft, target=None):
    mean = sum(gaps) / len(gaps)
    report.line(results, f"planted, {name}", f"{mean:.1f} % above it in 1 s",
                f"HEFT {sum(heft) / len(heft):.0f} %", f"max {max(gaps):.1f} %",
                target and f"<= {target} %", target and mean <= target)


def benchSize(args, results, kind, nodes, devices, first, final):
    """The time of the first plan, of the final one, and memory with the file that is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = make(args, folder, kind, "--nodes", nodes, "--devices", devices,
                    "--seed", args.seed)[0]["file"]
        steps = {}
        for name, most, options in (("first plan", first, ["--plan-budget", f"{first}s"]),
                                    ("final plan", final, [])):
            (answer,), mib = placer.run(args, [path], options)
            if nodes <= MOST_CHECKED:
                placer.check(path, answer, options)
            steps[name] = answer["objective"] / 1e6
            report.line(results, f"{kind}, {nodes:,} x {devices}, {name}",
                        f"{1e3 * answer['seconds']:.1f} ms", f"step {steps[name]:.4g} ms",
                        answer["strategy"], f"<= {1e3 * most:g} ms", answer["seconds"] <= most)
    report.line(results, f"{kind}, {nodes:,} x {devices}, memory", f"{mib:.0f} MiB", "", "",
                f"<= {MOST_MIB} MiB", mib <= MOST_MIB)


def benchMade(args, results):
    print(f"planted optima, {min(DEVICES)} to {max(DEVICES)} devices, seed {args.seed}")
    for ccr in GAPS:
        for queues in (False, True):
            benchPlanted(args, results, ccr, queues)
    print("speed and scale; the first plan is that of a budget as long as its target")
    for size in SIZES:
        for kind in ("layered", "blocks"):
            benchSize(args, results, kind, *size)
