"""The files of the project: what git tracks or would track, or all files where there is no git."""

import argparse
import os
import subprocess


def trackedFiles(root):
    """Paths below `root`, sorted, that exist and that git does not ignore."""
    command = ["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        names = set(listing.stdout.split("\0")) - {""}
    else:
        names = {os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, files in os.walk(root) for name in files}
    return sorted(name for name in names if os.path.isfile(os.path.join(root, name)))


def runCheck(doc, name, problems):
    """Prints what `problems(root, files)` finds, or that it is nothing; the exit code."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    root = os.path.abspath(parser.parse_args().root)
    found = problems(root, trackedFiles(root))
    print("\n".join(found) if found else f"{name}: ok")
    return 1 if found else 0
