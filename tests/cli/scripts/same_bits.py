"""Runs a command that leaves output y on one device, of two threads and of one, and on several:
same_bits.py SCRATCH.npy COMMAND…. Fails where the bits differ."""

import subprocess
import sys

WAYS = ("--placement single --threads 2", "--placement single --threads 1",
        "--split 2 --placement random:1 --threads 2", "--split 2 --placement random:2 --threads 2",
        "--split 2 --placement random:3 --threads 2")


def bitsOf(path, command):
    subprocess.run([*command, "--output", f"y=@{path}"], check=True, stdout=subprocess.DEVNULL)
    with open(path, "rb") as file:
        return file.read()


def main(path, *command):
    results = {way: bitsOf(path, [*command, *way.split()]) for way in WAYS}
    differing = [way for way in WAYS if results[way] != results[WAYS[0]]]
    if differing:
        sys.exit(f"{' '.join(command)}: the bits of '{WAYS[0]}' are not those of {differing}")


main(*sys.argv[1:])
