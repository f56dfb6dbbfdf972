"""usage.py FILE COMMAND…: runs a program, and writes {"user_s", "peak_mib"} to FILE.

A process's peak memory starts at that of the process that forked it, so this one stays small: it has
no imports beyond what it needs, and a bench that holds models starts its programs through it.
"""

import json
import os
import subprocess
import sys


def into(path):
    """Goes before a command: what the command used is written to `path`."""
    return [sys.executable, os.path.abspath(__file__), path]


def main():
    child = subprocess.Popen(sys.argv[2:])
    _, status, usage = os.wait4(child.pid, 0)
    with open(sys.argv[1], "w") as file:
        json.dump({"user_s": usage.ru_utime, "peak_mib": usage.ru_maxrss / 1024}, file)
    child.returncode = os.waitstatus_to_exitcode(status)
    sys.exit(child.returncode if child.returncode >= 0 else 128 - child.returncode)


if __name__ == "__main__":
    main()
