"""Runs `graphrun place` on cost graphs and checks every answer with tests/placement/placement_checker.py.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "placement"))
import placement_checker  # noqa: E402


def run(args, paths, options):
    """The answers for some files, in one process, and the MiB that it took; none ends the bench."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([args.graphrun, "place", *paths, "--json", *options],
                                   stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode != 0:
            sys.exit(f"bench: exit code {process.returncode} from graphrun place: "
                     f"{errors.read().decode(errors='replace')}")
        out.seek(0)
        rest = out.read().decode()
    answers = []
    for _ in paths:
        answer, end = json.JSONDecoder().raw_decode(rest)
        rest = rest[end:].lstrip()
        answers.append(answer)
    return answers, usage.ru_maxrss / 1024


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
