"""A worker that dies, stops, is absent or shows a wrong certificate ends graphrun with code 5."""

import os
import re
import signal
import unittest

import clusters
import models
import programs
import strikes
from split_test import clientSecurity, workerSecurity

MODEL = models.seeded("squeezenet")


def limited(kibibytes):
    """A prefix for a program with so little address space."""
    return ("prlimit", f"--as={kibibytes << 10}")


class FaultTest(strikes.StrikeCase):
    def startLoop(self, cluster, devices, callers=1, options=("--duration", "60"), prefix=()):
        """graphrun running steps over all the devices, as many in flight as it has callers, for a
        minute if nothing happens."""
        nodes = clusters.nodesOf(MODEL.explain(cluster))
        return programs.Program("bench", *MODEL.feeds, "--cluster", cluster, *clusters.inTurn(
            nodes, devices), *options, "--concurrency", str(callers), prefix=prefix)

    def testLocalWorkerIsStruck(self):
        for how, callers in ((signal.SIGKILL, 1), (signal.SIGSTOP, 1), (signal.SIGKILL, 3)):
            with self.subTest(how=how.name, callers=callers):
                loop = self.startLoop(*clusters.localProcesses(3), callers)
                ended = self.strike(loop, self.localVictim("w1"), how)
                self.assertIn("worker w1", ended.err)
                programs.until(lambda: not programs.ours(), 5, "no process left")

    def testWorkerStartedByHandIsStruck(self):
        for how in (signal.SIGKILL, signal.SIGSTOP):
            with self.subTest(how=how.name):
                self.checkByHand(how)

    def strikeSecond(self, how):
        """The second of two workers that were started by hand; how the loop ended, their addresses and processes."""
        addresses = [f"127.0.0.1:{clusters.freePort()}" for _ in range(2)]
        started = [programs.startWorker(address) for address in addresses]
        self.workers += started
        cluster = clusters.write({f"w{i}": (address, 1) for i, address in enumerate(addresses)})
        loop = self.startLoop(cluster, ["w0/cpu:0", "w1/cpu:0"])
        ended = self.strike(loop, started[1].pid, how)
        self.assertIn("worker w1", ended.err)
        return ended, addresses, started

    def checkByHand(self, how):
        ended, addresses, _ = self.strikeSecond(how)
        self.assertNotIn("worker w0", ended.err)
        self.survivorServes(addresses[0])

    def testWorkerIsAskedToEnd(self):
        """It says so itself, and why, before it goes."""
        for how in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(how=how.name):
                self.checkAskedToEnd(how)

    def checkAskedToEnd(self, how):
        ended, _, started = self.strikeSecond(how)
        self.assertIn("its process was told to end", ended.err)
        self.assertEqual(started[1].wait(10).code, 0)

    def testWorkerTellsThatItsCoordinatorIsGone(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how=how.name):
                address = f"127.0.0.1:{clusters.freePort()}"
                worker = programs.startWorker(address, "-v")
                self.workers.append(worker)
                loop = self.startLoop(clusters.write({"w0": (address, 1)}), ["w0/cpu:0"])
                programs.until(lambda: programs.cpuSeconds(worker.pid) > 1, 40, "steps")
                loop.process.send_signal(how)
                loop.wait(10)
                told = rf"job \w+ of coordinator \S+:{loop.pid} ends: " + (
                    "the session ended" if how == signal.SIGTERM else "lost coordinator")
                programs.until(lambda t=told: re.search(t, worker.said()), 10, told)

    def survivorServes(self, address):
        """The worker that was not struck takes the next job."""
        ended, _ = MODEL.run("--cluster", clusters.write({"again": (address, 1)}))
        self.assertEqual(ended.code, 0, ended)

    def testUserEndsTheLoop(self):
        """No local worker outlives a coordinator that ends by any signal."""
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how=how.name):
                loop = self.startLoop(*clusters.localProcesses(2))
                victim = self.localVictim("w0")
                programs.until(lambda: programs.cpuSeconds(victim) > 0.5, 40, "steps")
                loop.process.send_signal(how)
                loop.wait(10)
                programs.until(lambda: not programs.ours(), 5, "no process left")

    def testTerminalIsGone(self):
        """It tells all that run in it by SIGHUP: the client ends with what it measured, and then its workers, unless
        it was started by nohup."""
        for prefix, code in ((), 130), (("nohup",), 0):
            with self.subTest(prefix=prefix):
                loop = self.startLoop(*clusters.localProcesses(2), options=("--duration", "3", "-v"),
                                      prefix=(*prefix, "setsid"))
                victim = self.localVictim("w0")
                programs.until(lambda at=loop: "measuring" in at.said(), 40, "measuring")
                before = programs.cpuSeconds(victim)
                programs.until(lambda v=victim, b=before: programs.cpuSeconds(v) > b + 0.2, 20, "steps")
                os.killpg(loop.pid, signal.SIGHUP)
                ended = loop.wait(20)
                self.assertEqual(ended.code, code, ended)
                self.assertIn("throughput", ended.out)
                programs.until(lambda: not programs.ours(), 5, "no process left")

    def testWorkerWithoutTerminal(self):
        address = f"127.0.0.1:{clusters.freePort()}"
        worker = programs.startWorker(address, prefix=("nohup",))
        self.workers.append(worker)
        for _ in range(2):  # before libraries are loaded, which may take the signal over, and after
            worker.process.send_signal(signal.SIGHUP)
            self.survivorServes(address)

    def testFewFileDescriptors(self):
        """What the hard limit allows is used; where that is too little the number is told, and nothing hangs."""
        cluster, _ = clusters.localProcesses(2)
        command = ["run", *MODEL.feeds, "--atol", "1e-4", "--cluster", cluster, "--placement", "random:1"]
        for hard, code in ((24, 5), (256, 0)):
            ended = programs.run(*command, prefix=("prlimit", f"--nofile=16:{hard}"), seconds=20)
            self.assertEqual(ended.code, code, ended)
            if code != 0:
                self.assertRegex(ended.err, r"a cluster of 2 workers needs \d+ open files .* the limit is 24; allow \d+")

    def testLittleAddressSpace(self):
        """Libraries would abort: client and worker refuse before they are loaded, and what they ask for is enough. A
        worker that has no more than that ends when it is told to."""
        said = r"needs \d+ MiB of address space beyond the \d+ MiB .* the limit is \d+ MiB; allow \d+ MiB \(`ulimit -v (\d+)`\)"
        cluster, _ = clusters.localProcesses(2)
        command = ["run", *MODEL.feeds, "--atol", "1e-4", "--cluster", cluster, "--placement", "random:1"]
        address = f"127.0.0.1:{clusters.freePort()}"
        byHand = ["run", *MODEL.feeds, "--atol", "1e-4", "--cluster", clusters.write({"w0": (address, 1)})]
        self.assertEqual(programs.run(*command).code, 0)  # from now on plans and kernels are in the cache
        for words, start in (("a cluster of 2 workers", command), ("a worker", ["worker", "--listen", address])):
            refused = programs.run(*start, prefix=limited(256 << 10), seconds=20)
            self.assertEqual(refused.code, 5, refused)
            self.assertRegex(refused.err, f"{words} {said}")
            enough = int(re.search(said, refused.err)[1])
            if start == command:
                ended = programs.run(*start, prefix=limited(enough))
                self.assertEqual(ended.code, 0, ended)
        worker = programs.startWorker(address, prefix=limited(enough))
        ended = programs.run(*byHand)
        worker.process.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(10).code, 0)
        self.assertEqual(ended.code, 0, ended)

    def testManyJobsOnTheSameWorkers(self):
        """None holds one worker and waits for the other, whatever they are called."""
        addresses = [f"127.0.0.1:{clusters.freePort()}" for _ in range(2)]
        self.workers += [programs.startWorker(address) for address in addresses]
        jobs = []
        for job in range(6):
            order = addresses if job % 2 == 0 else addresses[::-1]
            cluster = clusters.write({f"w{i}": (address, 1) for i, address in enumerate(order)})
            jobs.append(programs.Program("run", *MODEL.feeds, "--atol", "1e-4", "--cluster", cluster,
                                         "--placement", "random:1"))
        for job in jobs:
            ended = job.wait(60)
            self.assertEqual(ended.code, 0, ended)

    def testAbsentWorkerAndWrongCertificate(self):
        """Both wait out the time to join, side by side."""
        absent = f"127.0.0.1:{clusters.freePort()}"
        waiting = programs.Program("run", *MODEL.feeds, "--cluster",
                                   clusters.write({"w0": (absent, 1)}))
        folder = programs.SCRATCH.name
        for name in ("ours", "theirs"):
            made = programs.run("certs", f"{folder}/{name}", "w0=127.0.0.1")
            self.assertEqual(made.code, 0, made)
        address = f"127.0.0.1:{clusters.freePort()}"
        self.workers = [programs.startWorker(address, *workerSecurity(f"{folder}/ours", "w0"))]
        refused = [programs.Program("run", *MODEL.feeds, "--cluster",
                                    clusters.write({"w0": (address, 1)}, security))
                   for security in (None, clientSecurity(f"{folder}/theirs"))]
        for program, word in ((waiting, absent), (refused[0], "certificate"),
                              (refused[1], "certificate")):
            ended = program.wait(45)
            self.assertEqual(ended.code, 5, ended)
            self.assertIn("w0", ended.err)
            self.assertIn(word, ended.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
