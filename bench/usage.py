"""usage.py COMMAND…: runs a program and prints {"user_s", "peak_mib"}; its output goes to standard error.

A process's peak memory starts at that of the process that forked it, so this one stays small: it has
no imports beyond what it needs, and a bench that holds models starts its programs through it.
"""

import json
import os
import subprocess
import sys

child = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, usage = os.wait4(child.pid, 0)
print(json.dumps({"user_s": usage.ru_utime, "peak_mib": usage.ru_maxrss / 1024}))
child.returncode = os.waitstatus_to_exitcode(status)
sys.exit(child.returncode if child.returncode >= 0 else 128 - child.returncode)
