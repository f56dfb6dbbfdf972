#!/usr/bin/env python3
"""Runs an example that trains, for some steps: its loss falls, and a second run gives the same.

    training_examples.py --program BUILD/bin/train_mlp --run BUILD/bin/graphrun

The digits are drawn here, of seven segments with noise, colours tell the other classes, and the text is
sentences of few words.
"""

import argparse
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

SIDE = 28
DIGITS = ["abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg"]
SEGMENTS = {"a": (0, 0, 1, 0), "b": (1, 0, 1, 1), "c": (1, 1, 1, 2), "d": (0, 2, 1, 2), "e": (0, 1, 0, 2),
            "f": (0, 0, 0, 1), "g": (0, 1, 1, 1)}
# program -> (steps, the most that the mean loss of the last tenth may be of the first tenth's)
LIMITS = {"train_mlp": (60, 0.3), "train_lenet": (40, 0.5), "train_resnet": (12, 0.7), "train_lstm": (60, 0.6),
          "train_denoising_autoencoder": (60, 0.7), "train_gan": (60, 0.8), "train_transformer": (40, 0.6)}


def picture(draw, digit):
    """28 x 28 bytes: strokes of three pixels at a place that differs."""
    pixels = bytearray(draw.randrange(40) for _ in range(SIDE * SIDE))
    left, top = 6 + draw.randrange(5), 3 + draw.randrange(5)
    for segment in DIGITS[digit]:
        x0, y0, x1, y1 = SEGMENTS[segment]
        for step in range(9):
            x = left + x0 * 8 + (x1 - x0) * step
            y = top + y0 * 8 + (y1 - y0) * step
            for offset in (0, 1):
                pixels[y * SIDE + x + offset] = pixels[(y + 1) * SIDE + x + offset] = 200 + draw.randrange(56)
    return bytes(pixels)


def writeDigits(folder, count):
    """Paths of two IDX files."""
    draw = random.Random(1)
    labels = bytes(i * 7 % 10 for i in range(count))
    pictures = b"".join(picture(draw, label) for label in labels)
    files = {"images": struct.pack(">4B3I", 0, 0, 8, 3, count, SIDE, SIDE) + pictures,
             "labels": struct.pack(">4BI", 0, 0, 8, 1, count) + labels}
    for name, content in files.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    return [os.path.join(folder, name) for name in files]


def writeText(folder):
    draw = random.Random(2)
    words = [["the dog", "a cat", "my king"], ["sees", "hears", "loves"], ["the moon", "a song", "no one"]]
    path = os.path.join(folder, "text")
    with open(path, "w", encoding="ascii") as file:
        for _ in range(2000):
            file.write(" ".join(draw.choice(choices) for choices in words) + ".\n")
    return [path]


def writeColours(folder, count):
    """Paths of .npy files: pictures of 32 x 32 whose colours tell the class, and labels, twice."""
    draw = random.Random(3)
    labels = [i * 7 % 10 for i in range(count)]
    pictures = b"".join(bytes(min(255, 20 * label + 20 * colour + draw.randrange(60)) for colour in range(3)
                              for _ in range(1024)) for label in labels)
    files = {"x": ("|u1", f"({count}, 3, 32, 32)", pictures), "y": ("<i8", f"({count},)", struct.pack(f"<{count}q", *labels))}
    for name, (kind, dims, content) in files.items():
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {dims}, }}"
        head += " " * (117 - len(head)) + "\n"
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + content)
    return [os.path.join(folder, name) for name in ("x", "y", "x", "y")]


def writeFiles(name, folder):
    if name == "train_transformer":
        return writeText(folder)
    return writeColours(folder, 256) if name == "train_resnet" else writeDigits(folder, 640)


def train(program, files, output, steps, folder):
    """The lines that it writes."""
    environment = dict(os.environ, GRAPHRUN_CACHE_DIR=os.path.join(folder, "cache"))
    done = subprocess.run([program, *files, output, str(steps)], env=environment, capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{program} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def checkLosses(name, lines, steps, most):
    losses = [float(match) for match in re.findall(r"^step \d+: loss ([0-9.]+)", lines, re.MULTILINE)]
    if len(losses) != steps:
        sys.exit(f"{name} told the loss of {len(losses)} steps, expected {steps}: {lines}")
    tenth = max(steps // 10, 1)
    first, last = sum(losses[:tenth]) / tenth, sum(losses[-tenth:]) / tenth
    print(f"{name}: loss {first:.4f} fell to {last:.4f} in {steps} steps")
    if not last <= most * first:
        sys.exit(f"expected {most * first:.4f} at most")


def checkOutput(run, output, folder):
    """A picture has more than one shade; a model is run."""
    if output.endswith(".pgm"):
        with open(output, "rb") as file:
            head, pixels = re.match(rb"P5\n\d+ \d+\n255\n", content := file.read()), set(content[20:])
        if not head or len(pixels) < 10:
            sys.exit(f"{output} is no picture")
        return
    environment = dict(os.environ, GRAPHRUN_CACHE_DIR=os.path.join(folder, "cache"))
    inspected = subprocess.run([run, "inspect", output], env=environment, capture_output=True, text=True, check=False)
    if inspected.returncode != 0:
        sys.exit(f"{output} is no model: {inspected.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--run", required=True, help="the program graphrun")
    options = parser.parse_args()
    name = os.path.basename(options.program)
    steps, most = LIMITS[name]
    with tempfile.TemporaryDirectory() as folder:
        files = writeFiles(name, folder)
        ending = ".pgm" if name in ("train_denoising_autoencoder", "train_gan") else ".fb"
        outputs = [os.path.join(folder, f"{i}{ending}") for i in (1, 2)]
        lines = [train(options.program, files, output, steps, folder) for output in outputs]
        checkLosses(name, lines[0], steps, most)
        if lines[0] != lines[1]:
            sys.exit(f"two runs differ:\n{lines[0]}\n{lines[1]}")
        checkOutput(options.run, outputs[0], folder)


if __name__ == "__main__":
    main()
