"""Runs `graphrun place` on cost graphs and checks every answer with tests/placement/placement_checker.py.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import usage

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "placement"))
import placement_checker  # noqa: E402


def run(args, paths, options):
    """The answers for some files, in one process, and the MiB that it took; none ends the bench."""
    with tempfile.NamedTemporaryFile("r") as told:
        done = subprocess.run([*usage.into(told.name), args.graphrun, "place", *paths, "--json",
                               *options], capture_output=True, check=False)
        if done.returncode != 0:
            sys.exit(f"bench: exit code {done.returncode} from graphrun place: "
                     f"{done.stderr.decode(errors='replace')}")
        peak = json.load(told)["peak_mib"]
    rest = done.stdout.decode()
    answers = []
    for _ in paths:
        answer, end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:].lstrip()
        answers.append(answer)
    return answers, peak


def check(path, answer, options):
    """A wrong answer ends the bench."""
    named = dict(zip(options, options[1:]))
    problem = placement_checker.readProblem(path, int(named.get("--devices", 0)),
                                            named.get("--objective"), "--contiguous" in options)
    problems = placement_checker.check(problem, answer)
    if problems:
        sys.exit("bench: wrong answer for " + "\n".join([str(path), *problems]))


def place(args, paths, *options):
    """The answers for some files, in one process, all checked."""
    answers, _ = run(args, paths, options)
    for path, answer in zip(paths, answers):
        check(path, answer, options)
    return answers
