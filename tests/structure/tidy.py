#!/usr/bin/env python3
"""Runs clang-tidy on the compiled files that differ from main (with --all: on all of them).

On main itself nothing differs: there it takes those of the last commits. It fails when no file was
checked. With --seconds it starts no file after that many seconds and says how many it left out.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

from sources import trackedFiles

# Compile commands are g++'s: warning flags that clang does not know are no finding, nor is what g++'s
# own library uses of itself (std::stable_sort a deprecated buffer).
CLANG_TIDY = ["clang-tidy-19", "--quiet", "--extra-arg=-Wno-unknown-warning-option",
              "--extra-arg=-Wno-deprecated-declarations"]
# A file is read without precompiled headers, which are g++'s: it includes what it uses.
PRECOMPILED = re.compile(r" -Winvalid-pch| -fpch-preprocess| -include \S+cmake_pch\.hxx")
# What a unit of several files consists of.
INCLUDED = re.compile(r'^#include "(.*)"$', re.MULTILINE)
# Commits of main whose files are checked on main itself.
COMMITS = 20


def git(root, *arguments):
    """The lines that git prints; none where it fails."""
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True,
                          check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def touchedFiles(root, commits):
    """Files of the last commits, newest commit first."""
    return [name for name in git(root, "log", f"-{commits}", "--name-only", "--format=") if name]


def differingFiles(root):
    """Files that differ from main, committed or not; None where there is no branch main."""
    for name in ("origin/main", "main"):
        base = git(root, "merge-base", name, "HEAD")
        if base:
            return (git(root, "diff", "--name-only", base[0])
                    + git(root, "ls-files", "-o", "--exclude-standard"))
    return None


def changedFiles(root, compiled):
    """The files of `compiled` that differ from main; where none does, those of the last commits, of
    as many as it takes to find one. Those of the newest commit come first."""
    differing = differingFiles(root)
    if differing is None:
        sys.exit("clang-tidy: found no branch main to compare with; use ./dev lint --all")
    newest = [name for name in touchedFiles(root, 1) if name in differing]
    found = [name for name in dict.fromkeys(newest + differing) if name in compiled]
    commits, history = COMMITS, int(git(root, "rev-list", "--count", "HEAD")[0])
    while not found and commits < 2 * max(history, COMMITS):
        found = [name for name in dict.fromkeys(touchedFiles(root, commits)) if name in compiled]
        commits *= 2
    return found


def joinedFiles(path):
    """The files that a unit of several includes; none where `path` is no such unit."""
    if os.path.basename(os.path.dirname(path)) != "Unity" or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return INCLUDED.findall(file.read())


def readCommands(build):
    """The compile commands of a build, as clang-tidy takes them: one for each file, also of those that
    are compiled together."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    single = []
    for entry in entries:
        command = PRECOMPILED.sub("", entry["command"])
        single += [{**entry, "file": path, "command": command.replace(entry["file"], path)}
                   for path in joinedFiles(entry["file"]) or [entry["file"]]]
    return single


def writeCommands(entries, folder):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(entries, file)


def tidy(root, commands, path, deadline):
    """Its exit code and what it printed; None where it was too late to start it."""
    if deadline and time.monotonic() > deadline:
        return None
    done = subprocess.run(CLANG_TIDY + ["-p", commands, path], cwd=root, capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout.strip() or done.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--build", required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=0)
    args = parser.parse_args()
    root, build = os.path.realpath(args.root), os.path.abspath(args.build)
    entries, commands = readCommands(build), os.path.join(build, "tidy")
    writeCommands(entries, commands)
    compiled = {os.path.relpath(entry["file"], root) for entry in entries}
    files = ([name for name in trackedFiles(root) if name in compiled] if args.all
             else changedFiles(root, compiled))
    deadline = time.monotonic() + args.seconds if args.seconds else None
    bad = left = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for result in pool.map(lambda path: tidy(root, commands, path, deadline), files):
            left += result is None
            if result and result[0]:
                bad += 1
                print(result[1])
    checked = len(files) - left
    print(f"clang-tidy: {checked} of {len(files)} {'compiled' if args.all else 'changed'} files"
          f" checked, {bad} with findings"
          + (f"; {left} not started within {args.seconds:.0f} s: ./dev lint does them" if left
             else ""))
    if checked == 0:
        print(f"clang-tidy: not one file was checked; {build}/compile_commands.json lists "
              f"{len(compiled)} files of this tree, give it more time or build first")
    return 1 if bad or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
