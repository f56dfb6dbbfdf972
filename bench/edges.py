"""Edges between two processes: bench/transport.sh, beside ucx_perftest."""

import os
import re
import subprocess

import report

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "transport.sh")
LINE = r"(.*?) +ours +(\S+) (\S+) +ucx_perftest +(\S+) \S+ +(above|ratio) (\S+)"


def addLine(results, name, mine, unit, other, kind, value):
    target, good = (("<= 3 us", float(value) <= 3) if kind == "above"
                    else (">= 0.8 x", float(value) >= 0.8))
    if name.startswith("8 B") and "tcp" in name:
        target = None  # for information
    report.line(results, name, f"{mine} {unit}", f"ucx_perftest {other} {unit}",
                f"+{value} us" if kind == "above" else f"{value} x", target, good)


def benchEdges(args):
    build = os.path.dirname(os.path.dirname(args.graphrun))
    done = subprocess.run(["sh", SCRIPT, build, "3"], capture_output=True, text=True, timeout=240,
                          check=False)
    lines = [re.match(LINE, line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or not all(lines):
        print(f"bench: {SCRIPT} failed or was not understood\n{done.stdout}{done.stderr}")
        return False
    results = {}
    for found in lines:
        addLine(results, *found.groups())
    report.save(os.path.join(args.out, "edges.json"), results)
    return True
