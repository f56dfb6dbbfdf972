"""GraphRun in a process that serves many models (session_server.cpp)."""

import dataclasses
import json
import os
import select
import signal
import subprocess

import numpy as np

from values import DTYPES

SECONDS = 20
MODELS = 400  # that a process serves before a fresh one takes its place


@dataclasses.dataclass
class Result:
    """`code`: the exit code that `graphrun` would have; negative: the signal of a crash; None: a hang."""

    code: int
    message: str
    outputs: list  # one list of arrays a data set

    @property
    def ok(self):
        return self.code == 0


def _decode(sets, data):
    offset, outputs = 0, []
    for entries in sets:
        arrays = []
        for entry in entries:
            if entry["type"] == "string":
                array = np.empty(len(entry["strings"]), dtype=object)
                array[:] = entry["strings"]
            else:
                array = np.frombuffer(data[offset:offset + entry["bytes"]], DTYPES[entry["type"]])
                offset += entry["bytes"]
            arrays.append(array.reshape(entry["dims"]))
        outputs.append(arrays)
    return outputs


class Server:
    """Runs models one by one; replaces the process when one crashes it."""

    def __init__(self, program, scratch):
        self.program = program
        self.scratch = scratch
        self.out = os.path.join(scratch, "outputs.bin")
        self.log = os.path.join(scratch, "stderr.txt")
        self.logged = 0
        self.process = None
        self.served = 0

    def _start(self):
        environment = dict(os.environ, GRAPHRUN_CACHE_DIR=os.path.join(self.scratch, "cache"),
                           XDG_CACHE_HOME=os.path.join(self.scratch, "cache"))
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=log, env=environment)
        self.served = 0

    def close(self):
        """Ends the process; its exit status if it ended by itself."""
        if self.process is None:
            return 0
        self.process.stdin.close()
        try:
            status = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.process.stdout.close()
        self.process = None
        return status

    def _lastWords(self):
        """What the process wrote to stderr since the request."""
        with open(self.log, encoding="utf-8", errors="replace") as log:
            log.seek(self.logged)
            return log.read()[-2000:].strip()

    def _died(self):
        status = self.process.wait()
        self.close()
        name = signal.Signals(-status).name if status < 0 else f"exit {status}"
        return Result(status if status < 0 else 6, f"crashed: {name} {self._lastWords()}", [])

    def run(self, model, sets, options):
        """Runs the data sets through one session of the model at `model`; a Result."""
        if self.process is not None and self.served >= MODELS:
            self.close()
        if self.process is None:
            self._start()
        self.served += 1
        self.logged = os.path.getsize(self.log)
        request = {"model": model, "options": options, "sets": sets, "out": self.out}
        try:
            self.process.stdin.write((json.dumps(request) + "\n").encode())
            self.process.stdin.flush()
        except OSError:
            return self._died()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        if not ready:
            self.process.kill()
            self.close()
            return Result(None, f"took over {SECONDS} s", [])
        line = self.process.stdout.readline()
        if not line:
            return self._died()
        reply = json.loads(line)
        data = b""
        if reply["sets"]:
            with open(self.out, "rb") as file:
                data = file.read()
        return Result(reply["code"], reply["message"], _decode(reply["sets"], data))
