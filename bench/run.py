#!/usr/bin/env python3
"""./dev bench: measures times and memory, each beside its reference in the same run.

Models: GraphRun, ONNX Runtime and OpenVINO in turns. Chain: scalar additions without fusion. Edges:
bench/transport.sh beside ucx_perftest. Ops: single operations beside ONNX Runtime. Elementwise: chains
beside a copy. Placement: public graphs beside known results. Prediction: predicted steps and memory
beside measured ones. Training: steps beside PyTorch. Figures go to build/bench/*.json, a table with
targets to stdout. A target that was missed does not make the exit code 1; a program that failed,
or outputs that differ, do.
"""

import argparse
import os
import signal
import sys

import chain
import clusters
import edges
import elementwise
import measure
import operations
import ops
import placement
import prediction
import report
import start
import training
from models import catalogue

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def chosen(args):
    known = catalogue.catalogue()
    names = args.only or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"bench: no model {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names]


def benchModels(args):
    """Every chosen model at every size, batch and number of threads."""
    bench = measure.Bench(args.graphrun, os.path.join(args.out, "cache"), args.seconds,
                          args.precision)
    results = {"host": report.host(), "seconds": args.seconds, "turns": args.turns, "entries": []}
    report.speedHeader()
    for model in chosen(args):
        for size in model.sizes:
            for batch in args.batch:
                what = measure.subject(model, size, batch, os.path.join(args.out, "models"))
                for threads in args.threads:
                    entry = measure.measure(bench, what, threads, args.turns)
                    report.speedLine(entry)
                    if args.operations and "graphrun" in entry["runtimes"]:
                        entry["operations"] = operations.slowest(bench, what, threads)
                        report.operationLines(entry)
                    results["entries"].append(entry)
                    report.save(os.path.join(args.out, "models.json"), results)
    report.memoryTable(results["entries"])
    results["geometric_mean"] = report.meanLine(results["entries"])
    report.save(os.path.join(args.out, "models.json"), results)
    return not any(entry["failures"] for entry in results["entries"])


PARTS = {"models": benchModels, "chain": chain.benchChain, "edges": edges.benchEdges,
         "start": start.benchStart, "ops": ops.benchOps,
         "elementwise": elementwise.benchElementwise, "placement": placement.benchPlacement,
         "prediction": prediction.benchPrediction, "training": training.benchTraining}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=list(PARTS), help="default: all, models by --quick")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "bench"))
    parser.add_argument("--data", default=placement.DATA, help="graphs for placement")
    parser.add_argument("--seed", type=int, default=1,
                        help="of the graphs that placement makes, and of prediction's placements")
    cluster = parser.add_argument_group("prediction")
    cluster.add_argument("--clusters", type=lambda names: names.split(","),
                          default=list(clusters.CLUSTERS), metavar="NAME,…")
    cluster.add_argument("--placements", type=int, default=0,
                         help="drawn at random, beside those that are chosen, of each model on each cluster")
    cluster.add_argument("--calibration", choices=["model", "set", "none"], default="model",
                          help="with each model, once without one, or not at all")
    cluster.add_argument("--resume", action="store_true", help="keeps the results that there are")
    parser.add_argument("--torch", default=os.environ.get("GRAPHRUN_TORCH_PYTHON", sys.executable), metavar="PYTHON",
                        help="a Python that has PyTorch, for training; default: $GRAPHRUN_TORCH_PYTHON, else this one")
    models = parser.add_argument_group("models")
    models.add_argument("--only", type=lambda names: names.split(","), metavar="NAME,…")
    models.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    models.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    models.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    models.add_argument("--turns", type=int, default=3, help="processes of each runtime")
    models.add_argument("--seconds", type=float, default=1.5, help="measured in each")
    models.add_argument("--quick", action="store_true", help="1 thread, batch 1, one turn")
    models.add_argument("--operations", action="store_true", help="also what takes our time")
    args = parser.parse_args()
    if args.quick or not args.part:
        args.threads, args.batch, args.turns = [1], [1], 1
    args.graphrun = os.path.join(os.path.abspath(args.bin), "graphrun")
    args.out = os.path.abspath(args.out)
    return args


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: ended by a signal"))  # tidies up
    args = arguments()
    if not os.access(args.graphrun, os.X_OK):
        sys.exit(f"bench: {args.graphrun} is not built; ./dev build makes it")
    os.makedirs(args.out, exist_ok=True)
    machine = report.host()
    print(f"{machine['processor']}, {machine['cores']} cores, load {machine['load_average']:.1f}")
    good = [run(args) for part, run in PARTS.items() if args.part in (None, part)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
