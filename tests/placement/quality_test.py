#!/usr/bin/env python3
"""quality_test.py GRAPHRUN DATA: how good placements are, held on a sample of the placement data.

Standard task graphs, a tenth of them, each on one number of processors: the mean gap to the best known
makespan and the share that is proved to be the best. DNN graphs of dnn-partitioning: the period beside
the contiguous optimum. Nothing has a budget of time, so that each run gives the same. The gates must
refuse what a part of the search alone makes of the same graphs: otherwise they could not fail.
Prints `skipped:` with the reason when there is no such folder.
"""

import argparse
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from placement import DIGITS, PERIODS, PROCESSORS, bestKnown  # noqa: E402
from placer import place  # noqa: E402

EACH = 10  # of so many task graphs one
GAP = 0.1  # %, mean
PROVED = 90  # %
NETWORKS = ("layer_bert24_inference", "layer_resnet50_inference", "operator_bert_l-3_inference")


def taskGraphs(args, *options):
    """Mean gap and share of proofs, both in %."""
    paths = sorted((args.data / "stg" / "50").glob("*.stg"))[::EACH]
    gaps, proved = [], 0
    for i, processors in enumerate(PROCESSORS):
        known = bestKnown(args.data, processors)
        sample = paths[i::len(PROCESSORS)]
        for path, answer in zip(sample, place(args, sample, "--devices", str(processors), *options)):
            gaps.append(100 * (answer["objective"] / known[path.name] - 1))
            proved += answer["proved"]
    return sum(gaps) / len(gaps), 100 * proved / len(gaps)


def networks(args, *options):
    """The largest of the periods, each divided by its optimum."""
    paths = [args.data / "dnn" / "throughput" / f"{name}.json" for name in NETWORKS]
    answers = place(args, paths, "--objective", "throughput", "--contiguous", *options)
    return max(answer["objective"] / PERIODS[path.stem][0] for path, answer in zip(paths, answers))


def main():
    args = argparse.Namespace(graphrun=sys.argv[1], data=pathlib.Path(sys.argv[2]))
    if not (args.data / "stg").is_dir() or not (args.data / "dnn").is_dir():
        print(f"skipped: there is no placement data in {args.data} (-D GRAPHRUN_PLACEMENT_DATA=…)")
        return 0
    (gap, proved), worst = taskGraphs(args), networks(args)
    print(f"task graphs: mean gap {gap:.3f} % (at most {GAP}), {proved:.0f} % proved (at least {PROVED}); "
          f"networks: {worst:.4f} of the optimum (at most {1 + DIGITS})")
    good = gap <= GAP and proved >= PROVED and worst <= 1 + DIGITS
    (plainGap, _), plainWorst = (taskGraphs(args, "--strategy", "heft"),
                                 networks(args, "--strategy", "balance"))
    print(f"HEFT alone: mean gap {plainGap:.3f} %; balance alone: {plainWorst:.4f} of the optimum; both must be "
          f"refused")
    return 0 if good and plainGap > GAP and plainWorst > 1 + DIGITS else 1


if __name__ == "__main__":
    sys.exit(main())
