"""Placements of public graphs beside what others found, of graphs whose optimum is known, and speed.

DNN graphs of dnn-partitioning: the period of throughput, contiguous and not, beside the contiguous
optimum that the authors' dynamic programming finds, PipeDream and an expert; the step of latency
beside their greedy one. Standard task graphs: the mean gap to the best known makespans, and the share
that is proved to be the best. Every answer is checked by tests/placement/placement_checker.py.
"""

import json
import os
import pathlib
import subprocess
import sys

import placement_made
import report
from placer import place

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data" / "placement"

# Ms: contiguous optimum, PipeDream, expert; the first two by the reference's own program. None: it
# did not end within two minutes, or there is no expert.
PERIODS = {"layer_bert24_inference": (17.79, 17.79, 20.08),
           "layer_bert24_training": (41.75, 187.9, 49.40),
           "layer_gnmt_inference": (32.91, 33.03, 46.21),
           "layer_gnmt_training": (107.0, 294.9, 137.2),
           "layer_inceptionv3_inference": (None, 60.42, 102.5),
           "layer_inceptionv3_training": (None, 128.3, 213.7),
           "layer_resnet50_inference": (33.77, 39.40, 43.92),
           "layer_resnet50_training": (78.63, 83.67, 112.1),
           "operator_bert_l-3_inference": (27.92, 37.46, None),
           "operator_bert_l-3_training": (65.30, 123.0, None),
           "operator_bert_l-6_inference": (29.58, 65.56, None),
           "operator_bert_l-6_training": (72.87, 192.9, None),
           "operator_bert_l-12_inference": (147.5, 642.8, None),
           "operator_bert_l-12_training": (438.0, 43510, None),
           "operator_resnet50_inference": (124.3, 129.2, None),
           "operator_resnet50_training": (255.2, 684.9, None)}
# Ms: greedy. The experts break the memory limits.
STEPS = {"layer_bert24_inference": 100.2, "layer_gnmt_inference": 268.5,
         "layer_inceptionv3_inference": 2485, "layer_resnet50_inference": 4197,
         "operator_bert_l-3_inference": 416.2, "operator_bert_l-6_inference": 494.1,
         "operator_bert_l-12_inference": 867.8, "operator_resnet50_inference": 839.5}
DIGITS = 5e-4  # of the references' figures, which have four
SECONDS = 2  # for throughput of a DNN graph
STEP_GAIN = 0.95  # of the greedy step
PROCESSORS = (2, 4, 8, 16)
GAP = 0.05  # %
SHARE = 97  # %
QUICK = 6  # of so many task graphs one, when all benches run
RATIO = 20  # a full simulation beside a change


def dnnLine(results, name, answer, reference, target, reached):
    bound = "proved" if answer["proved"] else f"bound {answer['lower_bound']:.4g}"
    report.line(results, name, f"{answer['objective']:.2f} ms in {answer['seconds']:.2f} s",
                reference, bound, target, reached)


def benchPeriod(args, results, path):
    """Both kinds of throughput of one graph."""
    name = path.stem.replace("_L-", "_l-")
    known = PERIODS.get(name, (None, None, None))
    told = " / ".join("-" if one is None else f"{one:.4g}" for one in known)
    contiguous, free = (place(args, [path], "--objective", "throughput", *more)[0]
                        for more in (["--contiguous"], []))
    most = known[0] or known[1]
    dnnLine(results, f"{name}, parts", contiguous, told, most and f"<= {most:.4g}",
            most and contiguous["objective"] <= most * (1 + DIGITS) and
            contiguous["seconds"] <= SECONDS)
    dnnLine(results, f"{name}, any", free, told, f"<= {contiguous['objective']:.4g}",
            free["objective"] <= contiguous["objective"] and free["seconds"] <= SECONDS)
    return free["objective"] < contiguous["objective"] * (1 - DIGITS)


def benchStep(args, results, path):
    """The step of one graph: 5 % better than greedy, where the bound leaves room for that."""
    greedy = STEPS.get(path.stem)
    answer = place(args, [path], "--objective", "latency")[0]
    most = greedy and STEP_GAIN * greedy
    told = f"greedy {greedy}" if greedy else ""
    if most and most < answer["lower_bound"]:
        most, told = greedy, f"{told}, no 5 % to gain"
    dnnLine(results, f"{path.stem}, step", answer, told, most and f"<= {most:.4g}",
            most and answer["objective"] <= most * (1 + DIGITS))


def benchGraphs(args, results):
    print("throughput, period in ms; reference: contiguous optimum / PipeDream / expert")
    paths = sorted((args.data / "dnn" / "throughput").glob("*.json"))
    better = sum([benchPeriod(args, results, path) for path in paths])
    report.line(results, "better where parts need not be contiguous", f"{better} of {len(paths)}",
                "", "")
    print("latency, step in ms; an accelerator runs all its nodes in one call")
    for path in sorted((args.data / "dnn" / "latency").glob("*.json")):
        benchStep(args, results, path)


def bestKnown(data, processors):
    """File to makespan."""
    rows = [line.split(",") for line in
            (data / "stg" / f"Case50_{processors}_OPT.csv").read_text().split()]
    return {pathlib.Path(row[0]).name: int(row[-1]) for row in rows}


def benchTasks(args, results, processors):
    """Gaps in 50 ms, and how many are proved; what is not at once has 10 s for it."""
    known = bestKnown(args.data, processors)
    paths = sorted((args.data / "stg" / "50").glob("*.stg"))[::QUICK if args.part is None else 1]
    devices = ("--devices", str(processors))
    first = place(args, paths, *devices, "--plan-budget", "50ms")
    gaps = [100 * (answer["objective"] / known[path.name] - 1)
            for path, answer in zip(paths, first)]
    left = [path for path, answer in zip(paths, first) if not answer["proved"]]
    second = place(args, left, *devices, "--plan-budget", "10s") if left else []
    proved = len(paths) - len(left) + sum(answer["proved"] for answer in second)
    taskLines(results, f"task graphs on {processors}", gaps, proved)
    return gaps, proved


def taskLines(results, name, gaps, proved, targets=False):
    gap, share = sum(gaps) / len(gaps), 100 * proved / len(gaps)
    name = f"{len(gaps)} {name}"
    report.line(results, f"{name}, mean gap in 50 ms", f"{gap:.3f} %", "to the best known",
                f"max {max(gaps):.2f} %", f"<= {GAP} %" if targets else None, gap <= GAP)
    report.line(results, f"{name}, proved in 10 s", f"{share:.1f} %", "", "",
                f">= {SHARE} %" if targets else None, share >= SHARE)


def benchEvaluator(args, results):
    """What a changed placement costs beside a full simulation."""
    done = subprocess.run([os.path.join(args.bin, "bench_evaluator")], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench: exit code {done.returncode} from bench_evaluator: {done.stderr}")
    for row in json.loads(done.stdout):
        report.line(results, f"{row['nodes']} ops, {row['devices']} devices on {row['workers']}, "
                    f"{row['start'].split(':')[0]}", f"{row['change_us']:.1f} us a change",
                    f"all {row['full_us']:.0f} us", f"{row['ratio']:.0f} x", f">= {RATIO}",
                    row["ratio"] >= RATIO)


def benchPlacement(args):
    args.data = pathlib.Path(args.data).resolve()
    if not (args.data / "dnn").is_dir() and not (args.data / "stg").is_dir():
        print(f"bench: no placement data in {args.data} (--data); the rest is measured")
    results = {}
    if (args.data / "dnn").is_dir():
        benchGraphs(args, results)
    if (args.data / "stg").is_dir():
        parts = [benchTasks(args, results, processors) for processors in PROCESSORS]
        taskLines(results, "task graphs in all", [gap for gaps, _ in parts for gap in gaps],
                  sum(proved for _, proved in parts), targets=True)
    placement_made.benchMade(args, results)
    benchEvaluator(args, results)
    report.save(os.path.join(args.out, "placement.json"), results)
    return True
