"""bench/gpu.sh run: all that is to be known of GraphRun on this machine's GPU, in a given time.

Parts run in order of importance, each up to its share of the time; what a part leaves is the next
one's. A part that cannot run, or fails, is recorded with its reason, and the rest goes on. RESULTS gets
results.json (kept up to date while it runs) and log.txt, peers.txt.
"""

import argparse
import json
import os
import sys
import time

import parts
import timing
from program import COMPILING, Failed, GraphRun, Peers, clocks

# name, share of the time, whether it needs a GPU, whether it measures, function
PARTS = (("doctor", 0.02, False, False, parts.doctor), ("devices", 0.03, False, False, parts.devices),
         ("checks", 0.16, True, False, parts.checks), ("operations", 0.14, True, False, parts.operations),
         ("mixed", 0.05, True, False, parts.mixed), ("sanitizer", 0.06, True, False, parts.sanitizer),
         ("launches", 0.03, True, True, timing.launches), ("edges", 0.03, True, True, timing.edges),
         ("elementwise", 0.03, True, True, timing.elementwise),
         ("attention", 0.05, True, True, timing.attention),
         ("collectives", 0.03, True, True, timing.collectives), ("float8", 0.03, True, True, timing.float8),
         ("models", 0.26, True, True, timing.models), ("placement", 0.08, True, True, timing.automatic))


class Run:
    """What the parts share: programs, options, the time that is left, and what was found."""

    def __init__(self, options):
        self.options = options
        os.makedirs(options.results, exist_ok=True)
        self.graphrun = GraphRun(options.results)
        self.peers = Peers(os.path.join(options.results, "peers.txt"))
        self.begin = self.end = time.monotonic()
        self.part = None
        self.noGpu = "graphrun doctor was not run"
        self.found = {"machine": {"processors": len(os.sched_getaffinity(0)), "gpu": clocks()}, "parts": [],
                      "rows": []}

    def left(self):
        """Seconds that the part still has."""
        return self.end - time.monotonic()

    def row(self, name, ours, target=None, ok=None, **more):
        """One figure: `more` may hold peer, ratio, unit, error and what else there is to know."""
        entry = {"part": self.part, "name": name, "ours": ours, "target": target, "ok": ok, **more}
        self.found["rows"].append(entry)
        verdict = "" if ok is None else "  ok" if ok else "  falls short"
        told = more.get("error") or " ".join(f"{key} {short(value)}" for key, value in more.items())
        print(f"{self.part:12} {name}: {short(ours)}  {told}{verdict}", flush=True)
        self.save()

    def save(self):
        path = os.path.join(self.options.results, "results.json")
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(self.found, file, indent=1)
            file.write("\n")
        os.replace(f"{path}.new", path)

    def run(self, name, needsGpu, measures, function):
        """One part; its end is settled. What measures waits for peers that are not ready."""
        self.part = name
        if measures:
            begin = time.monotonic()
            self.peers.settle(COMPILING)
            self.end += time.monotonic() - begin
        begin = time.monotonic()
        state, reason = "done", None
        try:
            if needsGpu and self.noGpu:
                state, reason = "skipped", self.noGpu
            elif self.left() <= 0:
                state, reason = "skipped", "no time left"
            else:
                reason = function(self)
                state = "skipped" if reason else "done"
        except Failed as error:
            state, reason = "failed", str(error)
        except Exception as error:  # the other parts are wanted all the same
            state, reason = "failed", f"{type(error).__name__}: {error}"
        self.found["parts"].append({"name": name, "state": state, "reason": reason,
                                    "seconds": round(time.monotonic() - begin, 1)})
        print(f"{name:12} {state}{f': {reason}' if reason else ''}", flush=True)
        self.save()


def short(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def arguments():
    def names(text):
        return text.split(",")
    parser = argparse.ArgumentParser(prog="gpu.sh run", description=__doc__.splitlines()[0])
    parser.add_argument("results", type=os.path.abspath)
    parser.add_argument("--seconds", type=float, default=570, help="for everything")
    parser.add_argument("--parts", type=names, default=[part[0] for part in PARTS], metavar="NAME,…")
    parser.add_argument("--models", type=names, metavar="NAME,…", help="of checks and models")
    parser.add_argument("--precisions", type=names, default=["f32", "bf16", "tf32"], metavar="NAME,…")
    parser.add_argument("--batches", type=lambda text: [int(word) for word in text.split(",")],
                        default=[1, 8, 64], metavar="N,…")
    options = parser.parse_args()
    unknown = set(options.parts) - {part[0] for part in PARTS}
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(p[0] for p in PARTS)}")
    return options


def main():
    run = Run(arguments())
    chosen = [part for part in PARTS if part[0] in run.options.parts]
    whole = sum(part[1] for part in chosen)
    for name, share, needsGpu, measures, function in chosen:
        run.end += run.options.seconds * share / whole
        run.run(name, needsGpu, measures, function)
        if name == "doctor" and not run.noGpu and "models" in run.options.parts:
            timing.prepare(run)
    run.peers.close()
    run.found["machine"]["gpu_at_end"] = clocks()
    run.found["machine"]["seconds"] = round(time.monotonic() - run.begin, 1)
    run.save()


if __name__ == "__main__":
    sys.exit(main())
