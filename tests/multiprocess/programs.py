"""Starts graphrun programs, waits for them, and finds what they leave behind.

Every program started here carries MARK in its environment, and so does whatever it starts: a
process is found by it even when it has left its process group and its parent is gone.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GRAPHRUN = os.environ["GRAPHRUN"]
CASES = os.environ["GRAPHRUN_CASES"]
# Under sanitizers both are another build's.
for needed in (CASES, os.environ.get("GRAPHRUN_COMPILER_LIBRARY", CASES)):
    if not os.path.exists(needed):
        print(f"skipped: no {needed}; build preset release and run its tests first")
        sys.exit(77)

MARK = f"GRAPHRUN_TEST_MARK={os.getpid()}-{time.time_ns()}"
SCRATCH = tempfile.TemporaryDirectory(prefix="graphrun-test-")  # mode 0700: sockets may lie here

ENVIRONMENT = dict(os.environ, XDG_CACHE_HOME=os.path.join(SCRATCH.name, "cache"))
ENVIRONMENT.update([MARK.split("=")])


class Ended:
    """What a program left: its exit code, stdout, stderr and seconds."""

    def __init__(self, command, code, out, err, seconds):
        self.command, self.code, self.out, self.err = command, code, out, err
        self.seconds = seconds

    def __str__(self):
        return (f"{' '.join(self.command)[:1000]}\nended with {self.code} after "
                f"{self.seconds:.1f} s\n{self.out[-1500:]}{self.err[-3000:]}")


class Program:
    """A graphrun program; `prefix` is put before it (`ip netns exec …`)."""

    def __init__(self, *arguments, prefix=()):
        self.command = [*prefix, GRAPHRUN, *arguments]
        self.began = time.monotonic()
        self.ended = None
        self.out = tempfile.TemporaryFile("w+")
        self.err = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.out,
                                        stderr=self.err, env=ENVIRONMENT, cwd=SCRATCH.name)
        self.pid = self.process.pid

    def wait(self, seconds):
        """Its Ended; a program that takes longer is killed, and its code is then -9."""
        if self.ended:
            return self.ended
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read())
            file.close()
        self.ended = Ended(self.command, code, *texts, time.monotonic() - self.began)
        return self.ended

    def said(self):
        """Its stderr so far."""
        return os.pread(self.err.fileno(), 1 << 16, 0).decode()

    def end(self):
        """Asks it to end, as a user does; stopped programs are woken."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGCONT)
        return self.wait(10)


def run(*arguments, prefix=(), seconds=60):
    return Program(*arguments, prefix=prefix).wait(seconds)


def startWorker(listen, *options, prefix=()):
    """A worker that listens at `listen`."""
    worker = Program("worker", "--listen", listen, *options, prefix=prefix)
    until(lambda: worker.said() or worker.process.poll() is not None, 10, f"worker at {listen}")
    if "listening at" not in worker.said():
        raise RuntimeError(f"no worker at {listen}: {worker.end()}")
    return worker


def until(condition, seconds, what):
    """Returns the first true value of condition()."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.02)
    return value


def ours():
    """{pid: command line} of all live processes that this test started, directly or not."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                marked = MARK.encode() in file.read().split(b"\0")
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read().replace(b"\0", b" ").decode()
        except OSError:  # it ended meanwhile, or is another user's
            continue
        if marked and line:  # a zombie has no command line
            found[int(pid)] = line
    return found


def cpuSeconds(pid):
    """CPU time of a process; 0 for one that ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def killRest():
    """For tearDown: ends what a failed test left."""
    for pid in ours():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Case(unittest.TestCase):
    """A test that ends the workers it started, and leaves no process."""

    def setUp(self):
        self.workers = []

    def tearDown(self):
        for worker in self.workers:
            worker.end()
        left = ours()
        killRest()
        self.assertEqual(left, {}, "processes left behind")
