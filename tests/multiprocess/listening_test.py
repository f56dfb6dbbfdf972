"""A cluster that lies on this machine listens on no address beyond it, on either plane."""

import re
import shutil
import subprocess
import sys
import unittest

import clusters
import models
import programs

MODEL = models.seeded("squeezenet")


def listening():
    """{pid: the TCP addresses on which it listens} of the processes that this test started."""
    lines = subprocess.run(["ss", "-Hltnp"], check=True, capture_output=True, text=True).stdout
    ours = programs.ours()
    found = {}
    for line in lines.splitlines():
        for pid in {int(pid) for pid in re.findall(r"pid=(\d+)", line)} & set(ours):
            found.setdefault(pid, set()).add(line.split()[3].rpartition(":")[0])
    return found


class ListeningTest(programs.Case):
    def check(self, cluster, devices, count):
        """`count` processes share a model by `devices`, and listen on loopback only."""
        nodes = clusters.nodesOf(MODEL.explain(cluster))
        loop = programs.Program("bench", *MODEL.feeds, "--cluster", cluster, *clusters.inTurn(
            nodes, devices), "--duration", "60")
        self.workers.append(loop)
        found = programs.until(lambda: len(found := listening()) == count and found, 40,
                               f"{count} processes that listen for tensors")
        for address in set.union(*found.values()):
            self.assertRegex(address, r"^(127\.|\[::1\]$|\[::ffff:127\.)")

    def testLocalWorkers(self):
        self.check(*clusters.localProcesses(2), count=3)

    def testWorkersStartedByHand(self):
        addresses = [f"unix:{programs.SCRATCH.name}/w0.sock", f"127.0.0.1:{clusters.freePort()}"]
        self.workers = [programs.startWorker(address) for address in addresses]
        cluster = clusters.write({f"w{i}": (address, 1) for i, address in enumerate(addresses)})
        self.check(cluster, ["w0/cpu:0", "w1/cpu:0"], count=3)


if __name__ == "__main__":
    if not shutil.which("ss"):
        print("SKIPPED: the program ss (Debian package iproute2) is needed")
        sys.exit(77)
    unittest.main(verbosity=2)
