"""Signals to workers while steps run."""

import os
import time

import programs

NOTICED_SECONDS = 10


class StrikeCase(programs.Case):
    def strike(self, loop, victim, how):
        """Sends the signal once steps run; graphrun's Ended, checked."""
        programs.until(lambda: programs.cpuSeconds(victim) > 1 or loop.process.poll() is not None,
                       40, "steps on the worker")
        self.assertIsNone(loop.process.poll(), "ended before the fault")
        os.kill(victim, how)
        began = time.monotonic()
        ended = loop.wait(40)
        self.assertEqual(ended.code, 5, ended)
        self.assertLess(time.monotonic() - began, NOTICED_SECONDS, ended)
        return ended

    def localVictim(self, name):
        """The process of the local worker `name`, by the name of its socket."""
        return programs.until(lambda: [pid for pid, line in programs.ours().items()
                                       if f"/{name}.sock" in line], 20, f"worker {name}")[0]
