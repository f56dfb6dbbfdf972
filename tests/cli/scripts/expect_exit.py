#!/usr/bin/env python3
"""expect_exit.py CODE COMMAND…: runs the command; fails unless it ends with exactly CODE.

Output and errors pass through, so that FileCheck can read them.
"""

import subprocess
import sys


def main():
    expected = int(sys.argv[1])
    code = subprocess.run(sys.argv[2:], check=False).returncode
    if code != expected:
        got = f"signal {-code}" if code < 0 else f"exit code {code}"
        print(f"expect_exit: got {got}, expected exit code {expected}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
