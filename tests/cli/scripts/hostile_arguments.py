#!/usr/bin/env python3
"""hostile_arguments.py GRAPHRUN MODEL CASE COSTS RECIPE SCRATCH: gives every option that --help lists values that nobody
should give, and checks that the program ends by itself with an exit code of its own and a message. Seeded; each
program is bounded in time, memory, and what it writes. A number that is none, or out of range, is wrong usage."""

import argparse
import concurrent.futures
import os
import random
import re
import resource
import shlex
import subprocess
import sys

SECONDS = 20
MEMORY = 6 << 30
FILE = 64 << 20
CODES = set(range(7))
WRONG_USAGE = 2

NO_NUMBERS = ["", " ", "abc", "nan", "inf", "-inf", "1e400", "1,2", "--", "\udcff", "9" * 400, "-1", "½", "%n%s"]
NO_COUNTS = NO_NUMBERS + ["0x10", "1.5", "1s", "1e3", "4294967296", "18446744073709551616", "-18446744073709551615"]
NO_TIMES = NO_NUMBERS + ["1h", "1 s", "s", "1e3s", "99999999999s", "-1ms", "1ss"]
NO_SEEDS = [value for value in NO_COUNTS if value != "4294967296"]  # a seed has 64 bits
EDGES = ["0", "1", "1023", "1024", "4294967295"]
TEXTS = ["", "=", "==", "a=", "=b", "x", "x=", "x=@", "x=@nowhere.npy", "x=@.", "x=@/dev/null", "x=@garbage", "x=@empty",
         "x=random:", "x=random:-1", "x=random", "x=1", "x=f32", "x=f32=", "x=3x4x5xf32", "x=3x4x5xf32=1e999",
         "x=99999999999x64xf32=1", "x=9223372036854775807x2xf32=1", "x=9223372036854775808xf32=1", "x=2xi8=300",
         "x=2xbool=7", "x=100000000000xstring=a", "x=0xf32=1", "x=3x4x5xf64=1", "y=3x4x5xf32=1", "x=" + "1x" * 5000 + "f32=1",
         "x:100000000x64", "x:", ":3", "x:-1x2", "x:0", "x:3x4x5", "x:9223372036854775807x9223372036854775807",
         "y=@", "y=@.", "y=@/dev/full", "y=@nowhere/out.npy", "y=@out.npy", "z=@out.npy",
         "\udcff\udcfe", "*" * 1000, "A" * 100000, "%s%n%x", "..", "../..", "/dev/null", "/dev/full", "/", ".", "nowhere",
         "garbage", "empty", "garbage.json", "nope.json", "heftt", "single", "random:", "random:x", "on:", "on:nothing",
         "cpu:0=999999TiB", "local/cpu:0=1B", "gpu=1GiB", "cpu:0=-1GiB", "*=local/cpu:9", "*=cpu:0", "@g=cpu:0", "[=cpu:0",
         "node:cuda", "node:what", "client:cpu", "100Gbps", "a,b=1GB/s", "1GB/s,1s,1s", "bf16", "latency", "3", "auto", "never",
         "65", "whole,split", "whole,what", "0-99", "unix:" + "a" * 200, "unix:nowhere/x", "host:99999", ":1", "local"]
# Values that do what they say, which takes long.
PATIENT = {"--warmup", "--iterations", "--duration", "--listen", "--concurrency", "--plan-budget"}
# Options that measure for a while even with good values, or start what others test.
LEFT_OUT = {"--help", "--calibrate"}


def bound():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Runner:
    def __init__(self, args):
        self.graphrun = os.path.abspath(args.graphrun)
        # Deep enough that "../.." stays within the scratch folder.
        self.folder = os.path.join(args.scratch, "a", "b", "c")
        os.makedirs(self.folder, exist_ok=True)
        files = (args.model, args.case, args.costs, args.recipe)
        self.model, self.case, self.costs, self.recipe = (os.path.abspath(path) for path in files)
        with open(os.path.join(self.folder, "garbage"), "wb") as file:
            file.write(random.Random(1).randbytes(5000))
        with open(os.path.join(self.folder, "garbage.json"), "w", encoding="utf-8") as file:
            file.write('{"nodes": [{"node": 3}, null, "')
        open(os.path.join(self.folder, "empty"), "wb").close()

    def run(self, arguments):
        """(exit code, stdout, stderr); None as code: it went on until its time was over."""
        command = [os.fsencode(word) for word in [self.graphrun, *arguments]]
        try:
            done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS,
                                  preexec_fn=bound, check=False)
        except subprocess.TimeoutExpired as late:
            return None, late.stdout or b"", late.stderr or b""
        return done.returncode, done.stdout, done.stderr

    def help(self, command):
        code, out, _ = self.run([command, "--help"])
        assert code == 0, command
        return out.decode()

    def commands(self):
        """Command -> arguments with which it does something small."""
        listed = re.findall(r"^  (\w+) +\w", self.run(["--help"])[1].decode(), re.MULTILINE)
        good = {"run": [self.model, "--input", "x=random"], "explain": [self.model], "inspect": [self.model], "check": [self.model],
                "bench": [self.model, "--iterations", "2", "--warmup", "1"], "compile": [self.model, "-o", "out.fb"],
                "place": [self.costs], "test": [self.case], "train": [self.recipe], "worker": [], "doctor": [],
                "certs": ["certs", "n=localhost"], "cache": ["list"]}
        assert set(listed) | {"run"} == set(good), f"a command is not known here: {listed}"
        return good


def optionsOf(text):
    """[(name, type or "")] of a help text."""
    return [(name, kind) for name, kind in re.findall(r"^  (?:-\w,)?(--[\w-]+)(?: ([A-Z]+))?", text, re.MULTILINE)
            if name not in LEFT_OUT]


def valuesOf(name, kind):
    """[(value, whether it must be wrong usage)] for an option of that name and type."""
    if kind == "TIME":
        return [(value, True) for value in NO_TIMES] + [(value, False) for value in EDGES]
    if kind in ("UINT", "INT", "FLOAT"):
        bad = NO_NUMBERS if kind == "FLOAT" else NO_SEEDS if name == "--seed" else NO_COUNTS
        return [(value, True) for value in bad] + [(value, False) for value in EDGES]
    return [(value, False) for value in TEXTS]


def problemOf(option, isUsage, result):
    code, out, err = result
    if code is None:
        return "" if option in PATIENT else f"still runs after {SECONDS} s"
    if code not in CODES:
        return f"ended with {'signal' if code < 0 else 'exit code'} {abs(code)}"
    if code != 0 and not err.strip() + out.strip():  # what is wrong with a case is a result
        return f"exit code {code} without a message"
    if code == 6 and b"internal error" in err:
        return "an internal error"
    if isUsage and code != WRONG_USAGE:
        return f"exit code {code}, expected {WRONG_USAGE}: this is wrong usage"
    return "" if len(out) + len(err) < 1 << 20 else "it says more than anybody reads"


def trials(runner, args):
    """(arguments, the hostile option, whether it must be wrong usage)"""
    chance = random.Random(args.seed)
    found = []
    for command, good in sorted(runner.commands().items()):
        options = optionsOf(runner.help(command))
        assert options or command in ("certs",), command
        for name, kind in options:
            if kind == "":
                found.append(([command, *good, name], name, False))
                continue
            values = valuesOf(name, kind)
            for value, isUsage in chance.sample(values, min(args.values, len(values))):
                found.append(([command, *good, f"{name}={value}"], name, isUsage))
        valued = [option for option in options if option[1]]
        for _ in range(args.pairs if len(valued) > 1 else 0):  # together
            words = [f"{name}={chance.choice(valuesOf(name, kind))[0]}" for name, kind in chance.sample(valued, 2)]
            found.append(([command, *good, *words], "--listen", False))
        for value in chance.sample(TEXTS, args.values):  # in the place of what it is about
            found.append(([command, value, *good[1:]], "--listen", False))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("graphrun", "model", "case", "costs", "recipe", "scratch"):
        parser.add_argument(name)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--values", type=int, default=3, help="of each option")
    parser.add_argument("--pairs", type=int, default=3, help="of options, for each command")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    runner = Runner(args)
    everything = trials(runner, args)
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = pool.map(lambda trial: runner.run(trial[0]), everything)
        for (arguments, option, isUsage), result in zip(everything, results):
            problem = problemOf(option, isUsage, result)
            if problem:
                failures += 1
                words = shlex.join(word if len(word) < 200 else word[:50] + "…" for word in arguments)
                print(f"{problem}: graphrun {words}".encode(errors="replace").decode())
                print("   ", result[2][-500:].decode(errors="replace").strip())
    print(f"{len(everything)} tried with seed {args.seed}, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
