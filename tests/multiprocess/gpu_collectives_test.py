"""Collectives that GPUs carry out together, on simulated ones: of one process and of several."""

import json
import os
import re
import signal
import subprocess
import unittest

import numpy as np

import clusters
import programs
import strikes
from collectives_test import BuiltModel, FOLDER

MEMBERS = 3


def gpuWorkers(count, gpus, given):
    """`count` local workers with so many GPUs each: (file, device names). Each has GPUs of its own: what is simulated in
    one process is no other's. `given`: the file lists the devices."""
    devices = [{"cuda": {"index": i}} for i in range(gpus)]
    workers = [{"name": f"w{i}", "address": "local", **({"devices": devices} if given else {})}
               for i in range(count)]
    return clusters.writeWorkers(workers), [f"w{i}/cuda:{k}" for i in range(count)
                                            for k in range(gpus)]


class GpuCollectivesTest(strikes.StrikeCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(FOLDER, exist_ok=True)
        subprocess.run([os.environ["COLLECTIVE_MODELS"], FOLDER, "2"], check=True)

    def pins(self, devices):
        return clusters.pins((pattern, device) for i, device in enumerate(devices)
                             for pattern in (f"m{i}/*", f"*/{i}"))

    def check(self, model, devices, *options, together):
        """Runs it with a member on each device. What they do together is launched by its own name on each."""
        expected = model.whole()
        trace = os.path.join(programs.SCRATCH.name, "trace.json")
        ended, got = model.run(*self.pins(devices), "--trace", trace, *options)
        self.assertEqual(ended.code, 0, ended)
        for name, a, b in zip(model.outputs, got, expected, strict=True):
            # The GPUs' library rounds each sum to the type.
            error = (2.0 ** -6 if "bf16" in name else 1e-6) * np.max(np.abs(b.astype(np.float64)))
            self.assertTrue(np.allclose(a, b, rtol=0, atol=error), f"{name} differs; {ended}")
        with open(trace, encoding="utf-8") as file:
            names = {event.get("name", "") for event in json.load(file)["traceEvents"]}
        launched = {name for name in names if name.startswith("launch ")}
        whole = re.compile("launch (all_reduce|all_gather|reduce_scatter)_[0-9]+")
        self.assertEqual(any(whole.fullmatch(name) for name in launched), together, launched)

    def testOfOneProcess(self):
        model = BuiltModel("random_0")
        self.check(model, [f"cuda:{i}" for i in range(MEMBERS)], together=True)

    def testOfSeveralProcesses(self):
        model = BuiltModel("each")
        for given in (False, True):
            with self.subTest(given=given):
                cluster, devices = gpuWorkers(MEMBERS, 1, given)
                self.check(model, devices, "--cluster", cluster, together=True)

    def testTwoInOneProcessAndOneInAnother(self):
        cluster, devices = gpuWorkers(2, 2, given=True)
        self.check(BuiltModel("random_1"), devices[:MEMBERS], "--cluster", cluster, together=True)

    def testDeterministicRunsCombineInOrder(self):
        cluster, devices = gpuWorkers(MEMBERS, 1, given=True)
        self.check(BuiltModel("random_0"), devices, "--cluster", cluster, "--deterministic",
                   together=False)

    def testMemberIsStruck(self):
        """Others wait for it within a collective, and are told."""
        for how in (signal.SIGKILL, signal.SIGSTOP):
            with self.subTest(how=how.name):
                cluster, devices = gpuWorkers(MEMBERS, 1, given=True)
                model = BuiltModel("random_0")
                loop = programs.Program("bench", *model.feeds, "--cluster", cluster,
                                        *self.pins(devices), "--duration", "60")
                ended = self.strike(loop, self.localVictim("w1"), how)
                self.assertIn("worker w1", ended.err)
                programs.until(lambda: not programs.ours(), 5, "no process left")


if __name__ == "__main__":
    unittest.main(verbosity=2)
