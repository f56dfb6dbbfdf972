#!/usr/bin/env python3
"""Runs clang-tidy on the compiled files that differ from main (with --all: on all of them).

With --seconds it starts no file after that many seconds and says how many it left out.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time

from sources import trackedFiles

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Compile commands are g++'s: warning flags that clang does not know are no finding, nor is what g++'s
# own library uses of itself (std::stable_sort a deprecated buffer).
CLANG_TIDY = ["clang-tidy-19", "--quiet", "--extra-arg=-Wno-unknown-warning-option",
              "--extra-arg=-Wno-deprecated-declarations"]


def git(*arguments):
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True,
                          check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def changedFiles():
    """Files that differ from the point where this branch left main, newest commit's files first."""
    for name in ("origin/main", "main"):
        base = git("merge-base", name, "HEAD")
        if base:
            last = git("diff", "--name-only", "HEAD~1") or []
            rest = (git("diff", "--name-only", base[0]) or []) + (
                git("ls-files", "-o", "--exclude-standard") or [])
            return list(dict.fromkeys([name for name in last if name in rest] + rest))
    return None


def compiledFiles(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        return {os.path.relpath(entry["file"], ROOT) for entry in json.load(file)}


def tidy(build, path, deadline):
    if deadline and time.monotonic() > deadline:
        return None
    done = subprocess.run(CLANG_TIDY + ["-p", build, path], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout.strip() or done.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=0)
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    wanted = trackedFiles(ROOT) if args.all else changedFiles()
    if wanted is None:
        sys.exit("clang-tidy: found no branch main to compare with; use ./dev lint --all")
    compiled = compiledFiles(build)
    files = [path for path in wanted if path in compiled]
    deadline = time.monotonic() + args.seconds if args.seconds else None
    bad = left = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for result in pool.map(lambda path: tidy(build, path, deadline), files):
            left += result is None
            if result and result[0]:
                bad += 1
                print(result[1])
    checked = len(files) - left
    print(f"clang-tidy: {checked} of {len(files)} {'compiled' if args.all else 'changed'} files"
          f" checked, {bad} with findings"
          + (f"; {left} not started within {args.seconds:.0f} s: ./dev lint does them" if left
             else ""))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
