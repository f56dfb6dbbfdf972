#!/usr/bin/env python3
"""Writes test cases of three trained OCR models, with ONNX Runtime's results on a real photograph.

Models: the PyPI package rapidocr-onnxruntime (detection, recognition, classification of text).
Picture: page.png of the PyPI package scikit-image, a photograph of a printed page.
OUT/test_ocr_det has the picture at two sizes, OUT/test_ocr_rec two lines of different width,
OUT/test_ocr_cls one line. The pictures are prepared as the models were trained: BGR, values from
-1 to 1, lines 48 pixels high and padded with 0. Does nothing where OUT is up to date.
"""

import argparse
import importlib.util
import os
import shutil
import sys

import numpy as np
import onnx
import onnxruntime
from PIL import Image

import cases

PACKAGES = ("rapidocr-onnxruntime", "scikit-image", "onnxruntime", "onnx", "pillow")
REVISION = "1\n"  # raise it when this file writes something else
MODELS = {"det": "ch_PP-OCRv4_det_infer.onnx", "rec": "ch_PP-OCRv4_rec_infer.onnx",
          "cls": "ch_ppocr_mobile_v2.0_cls_infer.onnx"}
DET_SIZES = ((192, 384), (384, 768))  # height, width: multiples of 32
# left, top, right, bottom in the picture, and the text that stands there
LINES = (((7, 10, 292, 35), "Region-based segmentation"),
         ((5, 115, 173, 138), "histogram of grey values:"))
LINE_HEIGHT, REC_MIN_WIDTH, CLS_WIDTH = 48, 320, 192
# Deep networks of float32: other orders of summation differ by some 1e-5 of the range.
RTOL, ATOL = 1e-3, 1e-4


def packageFolder(name):
    """Folder of an installed package, found without importing it (its imports may be missing)."""
    return importlib.util.find_spec(name).submodule_search_locations[0]


def modelPath(kind):
    return os.path.join(packageFolder("rapidocr_onnxruntime"), "models", MODELS[kind])


def picture():
    return Image.open(os.path.join(packageFolder("skimage"), "data", "page.png")).convert("RGB")


def normalised(image):
    """1x3xHxW float32, BGR, from -1 to 1."""
    pixels = np.asarray(image, dtype=np.float32)[:, :, ::-1].transpose(2, 0, 1)
    return np.ascontiguousarray((pixels / 255 - 0.5) / 0.5)[np.newaxis]


def lineInput(box, width):
    """The line in `box` scaled to LINE_HEIGHT, cut at or padded to `width` (None: its own, >= 320)."""
    line = picture().crop(box)
    own = int(np.ceil(LINE_HEIGHT * line.width / line.height))
    width = width or max(own, REC_MIN_WIDTH)
    pixels = normalised(line.resize((min(own, width), LINE_HEIGHT), Image.BILINEAR))
    return np.pad(pixels, ((0, 0), (0, 0), (0, 0), (0, width - pixels.shape[3])))


def inputsOf(kind):
    if kind == "det":
        return [normalised(picture().resize((width, height), Image.BILINEAR))
                for height, width in DET_SIZES]
    if kind == "rec":
        return [lineInput(box, None) for box, _ in LINES]
    return [lineInput(LINES[0][0], CLS_WIDTH)]


def characters():
    """What each class of the recogniser stands for; class 0 is the blank between characters."""
    model = onnx.load(modelPath("rec"))
    known = {entry.key: entry.value for entry in model.metadata_props}
    return [""] + known["character"].splitlines() + [" "]


def outputNames(kind):
    return [value.name for value in onnx.load(modelPath(kind)).graph.output]


def readText(scores):
    """The text of one line: the best class of each column, without repeats and blanks."""
    best = scores.reshape(-1, scores.shape[-1]).argmax(axis=1)
    kept = [c for previous, c in zip([-1, *best[:-1]], best) if c != previous]
    table = characters()
    return "".join(table[c] for c in kept)


def export(out):
    for kind in MODELS:
        case = os.path.join(out, f"test_ocr_{kind}")
        os.makedirs(case)
        shutil.copyfile(modelPath(kind), os.path.join(case, "model.onnx"))
        cases.writeTolerance(case, RTOL, ATOL)
        session = onnxruntime.InferenceSession(modelPath(kind), providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_outputs()]
        feed = session.get_inputs()[0].name
        for number, pixels in enumerate(inputsOf(kind)):
            results = session.run(names, {feed: pixels})
            cases.writeDataSet(case, number, {feed: pixels}, dict(zip(names, results)))
            if kind == "rec" and readText(results[0]) != LINES[number][1]:
                sys.exit(f"ONNX Runtime reads {readText(results[0])!r} in line {number},"
                         f" expected {LINES[number][1]!r}: the input is not prepared as it should")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    out = os.path.abspath(parser.parse_args().out)
    key = REVISION + cases.packageVersions(*PACKAGES)
    print("wrote" if cases.fresh(out, key, export) else "found", "3 OCR models with 5 inputs in",
          os.path.relpath(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
