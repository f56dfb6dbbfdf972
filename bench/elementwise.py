"""Chains of element-wise operations over tensors much larger than the caches, beside a copy.

Each chain is one generated kernel, bound by memory. Its bandwidth, bytes of its operands and result
over its shortest time, is compared with that of memmove over a tensor of the same size on as many
threads, in turns. The shortest times count, because whatever else uses the memory only adds to them.
"""

import ctypes
import os
import threading
import time

import numpy as np
import ops
import report

MEBIBYTES = 64  # of a tensor
SECONDS = 0.5   # a turn
TARGET = 0.9    # of the copy's bandwidth


def chains(mebibytes):
    """{name: (operands, model with its inputs)}; channels of 64 planes."""
    shape = (1, 64, 64, mebibytes * 64)
    x, y = ops.floats(*shape), ops.floats(*shape)
    scale, shift = np.abs(ops.floats(64, 1, 1)), ops.floats(64, 1, 1)

    def scaled(c, kind):
        return c.op(kind, c.op("Add", c.op("Mul", "x", scale), shift))

    def gated(c):
        return c.op("Mul", c.op("Sigmoid", c.op("Add", "x", shift)), "y")
    return {
        "relu": (1, lambda c: c.op("Relu", "x"), {"x": x}),
        "scale, shift, relu": (1, lambda c: scaled(c, "Relu"), {"x": x}),
        "scale, shift, hard swish": (1, lambda c: scaled(c, "HardSwish"), {"x": x}),
        "add, relu": (2, lambda c: c.op("Relu", c.op("Add", "x", "y")), {"x": x, "y": y}),
        "shift, sigmoid, multiply": (2, gated, {"x": x, "y": y}),
    }


class Copy:
    """Copies a tensor on some threads, each a part of its own, which start and end together."""

    def __init__(self, mebibytes, threads):
        self.size = mebibytes << 20
        self.source, self.target = (np.ones(self.size, np.uint8) for _ in range(2))
        self.threads = threads

    def part(self, index, barrier, times):
        begin, end = (self.size * i // self.threads for i in (index, index + 1))
        addresses = [array.ctypes.data + begin for array in (self.target, self.source)]
        finish = time.perf_counter() + SECONDS
        # All threads stop after the same number of copies: the first one tells.
        while True:
            if index == 0:
                self.going = len(times) < 5 or time.perf_counter() < finish
            barrier.wait()
            if not self.going:
                return
            start = time.perf_counter()
            ctypes.memmove(*addresses, end - begin)  # without Python's lock
            barrier.wait()
            if index == 0:
                times.append(time.perf_counter() - start)

    def bandwidth(self):
        """Bytes read and written in a second."""
        times, barrier = [], threading.Barrier(self.threads)
        others = [threading.Thread(target=self.part, args=(i, barrier, times))
                  for i in range(1, self.threads)]
        for thread in others:
            thread.start()
        self.part(0, barrier, times)
        for thread in others:
            thread.join()
        return 2 * self.size / min(times)


def measure(args, name, operands, path, folder, threads):
    copy = Copy(MEBIBYTES, threads)
    ours, theirs = [], []
    for _ in range(args.turns):
        theirs.append(copy.bandwidth())
        times = ops.ourTimes(args.graphrun, path, folder, threads, SECONDS)
        if times is None:
            return None
        ours.append((operands + 1) * copy.size / (1e-3 * times["min"]))
    mine, other = max(ours), max(theirs)
    return {"name": name, "threads": threads, "ours_gb_s": mine / 1e9, "copy_gb_s": other / 1e9,
            "ratio": mine / other}


def benchElementwise(args):
    rows = []
    print(f"{'chain':28}{'threads':>8}{'GraphRun':>13}{'copy':>13}{'ratio':>8}")
    for name, (operands, build, feeds) in chains(MEBIBYTES).items():
        if args.only and not any(text in name for text in args.only):
            continue
        ops.case(name, build, **feeds)
        folder = os.path.join(args.out, "op")
        path, _ = ops.writeCase(name, folder)
        for threads in args.threads:
            row = measure(args, name, operands, path, folder, threads)
            rows.append(row)
            if row:
                verdict = "ok" if row["ratio"] >= TARGET else "falls short"
                print(f"{name:28}{threads:>8}{row['ours_gb_s']:>8.1f} GB/s{row['copy_gb_s']:>8.1f} GB/s"
                      f"{row['ratio']:>8.2f}  {verdict}")
    report.save(os.path.join(args.out, "elementwise.json"), [row for row in rows if row])
    return all(rows)
