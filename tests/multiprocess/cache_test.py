"""The cache under what happens to it: programs that start together, are killed, find it damaged, cut
short, full or not theirs. Results stay right; there are warnings at most."""

import json
import os
import random
import shutil
import subprocess
import time
import unittest

import models
import programs

# Below it the first program has its own folder for files mounted over the usual one.
NAMESPACE = ("unshare", "--mount", "--map-root-user")
KILLS = 12


def smallDisk(size):
    """What runs a program where the cache and all temporary files are on one disk of so many KiB."""
    folder = os.path.join(programs.SCRATCH.name, "disk")
    os.makedirs(folder, exist_ok=True)
    mount = f'mount -t tmpfs -o size={size}k small {folder} && export TMPDIR={folder} ' \
            f'GRAPHRUN_CACHE_DIR={folder}/cache && exec "$0" "$@"'
    return (*NAMESPACE, "sh", "-c", mount)


def mayMount():
    done = subprocess.run([*smallDisk(64), "true"], capture_output=True, check=False)
    return done.returncode == 0


class CacheTest(programs.Case):
    def setUp(self):
        super().setUp()
        self.model = models.seeded("squeezenet")
        self.cache = os.path.join(programs.SCRATCH.name, "shared")
        programs.ENVIRONMENT["GRAPHRUN_CACHE_DIR"] = self.cache
        shutil.rmtree(self.cache, ignore_errors=True)

    def start(self, name):
        output = f"{self.model.outputs[0]}=@{name}.npy"
        return programs.Program("run", *self.model.feeds, "--atol", "1e-4", "--threads", "1",
                                "--deterministic", "--output", output)

    def check(self, prefix=()):
        """Runs the model, which compares with what ONNX Runtime gives."""
        ended, _ = self.model.run("--threads", "1", prefix=prefix)
        self.assertEqual(ended.code, 0, ended)
        return ended

    def files(self):
        return [os.path.join(folder, name) for folder, _, names in os.walk(self.cache) for name in names]

    def testProgramsThatStartTogether(self):
        started = [self.start(f"together{i}") for i in range(4)]
        for program in started:
            ended = program.wait(120)
            self.assertEqual(ended.code, 0, ended)
        texts = [open(os.path.join(programs.SCRATCH.name, f"together{i}.npy"), "rb").read()
                 for i in range(4)]
        self.assertEqual(len(set(texts)), 1)

    def testKilledWriters(self):
        chance = random.Random(1)
        began = time.monotonic()
        self.check()
        whole = time.monotonic() - began
        for _ in range(KILLS):
            shutil.rmtree(self.cache)
            program = self.start("killed")
            time.sleep(chance.uniform(0, whole))
            program.process.kill()
            program.wait(10)
            self.check()

    def damaged(self, change):
        """Damages every file of the cache, then runs twice: what was damaged is made anew."""
        self.check()
        files = self.files()
        self.assertGreaterEqual(len(files), 3)
        for path in files:
            with open(path, "rb") as file:
                content = bytearray(file.read())
            change(content)
            with open(path, "wb") as file:
                file.write(content)
        ended = self.check()
        self.assertIn("damaged", ended.err)
        self.assertNotIn("damaged", self.check().err)

    def testTurnedBits(self):
        for share in (0.02, 0.5, 0.99):
            with self.subTest(share=share):
                def turn(content, share=share):
                    content[int(share * len(content))] ^= 16
                self.damaged(turn)
                shutil.rmtree(self.cache)

    def testFilesCutShort(self):
        for share in (0, 0.01, 0.5, 0.999):
            with self.subTest(share=share):
                def cut(content, share=share):
                    del content[int(share * len(content)):]
                self.damaged(cut)
                shutil.rmtree(self.cache)

    @unittest.skipUnless(mayMount(), "no disk of its own may be mounted here")
    def testFullDisk(self):
        for size in (4, 64, 1024, 6144):
            with self.subTest(KiB=size):
                self.check(smallDisk(size))

    def testFolderThatCannotBeMade(self):
        programs.ENVIRONMENT["GRAPHRUN_CACHE_DIR"] = "/proc/graphrun"
        ended = self.check()
        self.assertEqual(ended.err.count("warning"), 1, ended)
        self.assertIn("GRAPHRUN_CACHE_DIR", ended.err)

    def loaded(self, *options):
        """(Ended, whether a plan or an executable came from the cache)"""
        path = os.path.join(programs.SCRATCH.name, "report.json")
        ended, _ = self.model.run("--threads", "1", "--report", path, *options)
        self.assertEqual(ended.code, 0, ended)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        devices = [device["executable_from_cache"] for device in report["devices"]]
        return ended, report["plans"]["from_disk"] > 0 or any(devices) or not report["imported"]

    def testFolderThatOthersMayWriteTo(self):
        self.check()
        self.assertTrue(self.loaded()[1])
        for folder in (self.cache, os.path.join(self.cache, "executables")):
            os.chmod(folder, 0o777)
            ended, found = self.loaded()
            if folder == self.cache:
                self.assertFalse(found, "code of a folder that anybody may write to was loaded")
            self.assertEqual(ended.err.count("others than its owner may write"), 1, ended)
            self.assertIn(f"chmod go-w '{folder}'", ended.err)
            os.chmod(folder, 0o700)
        self.assertTrue(self.loaded()[1])

    def testFolderOfSomebodyElse(self):
        """Below /tmp, where there is no home, anybody may make the folder first."""
        self.check()
        for variable in ("GRAPHRUN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            self.addCleanup(programs.ENVIRONMENT.__setitem__, variable, programs.ENVIRONMENT[variable])
            del programs.ENVIRONMENT[variable]
        programs.ENVIRONMENT["TMPDIR"] = programs.SCRATCH.name
        self.addCleanup(programs.ENVIRONMENT.pop, "TMPDIR")
        theirs = os.path.join(programs.SCRATCH.name, f"graphrun-{os.geteuid()}")
        os.rename(self.cache, theirs)
        self.addCleanup(shutil.rmtree, theirs, ignore_errors=True)
        self.assertTrue(self.loaded()[1])
        if os.geteuid() != 0:
            self.skipTest("only root can give folders away")
        os.chown(theirs, 12345, 12345)
        ended, found = self.loaded()
        self.assertFalse(found, "code out of somebody else's folder was loaded")
        self.assertIn("belongs to user 12345, not to user 0", ended.err)
        self.assertEqual(ended.err.count("warning"), 1, ended)


if __name__ == "__main__":
    unittest.main(verbosity=2)
