"""The models under test, and comparison of what their runs write."""

import copy
import itertools
import json
import os

import numpy as np
import onnx

import programs

SEEDED = ["squeezenet", "shufflenet", "inception_v2", "densenet121", "resnet50"]
_numbers = itertools.count()


class Model:
    """A case of ONNX's form: the options that run it on its data, and its outputs as arrays."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "model.onnx")
        self.feeds = [self.path, "--data", os.path.join(folder, "test_data_set_0")]
        outputs = onnx.load(self.path, load_external_data=False).graph.output
        self.outputs = [value.name for value in outputs]

    def run(self, *options, prefix=(), seconds=60):
        """(Ended, [array for each output]); no arrays if it failed."""
        stem = os.path.join(programs.SCRATCH.name, f"out{next(_numbers)}")
        writes = [part for i, name in enumerate(self.outputs)
                  for part in ("--output", f"{name}=@{stem}_{i}.npy")]
        # ONNX Runtime's outputs lie beside the inputs; sigmoids near 0 differ by more than 1e-7.
        ended = programs.run("run", *self.feeds, "--atol", "1e-4", *writes, *options, prefix=prefix,
                             seconds=seconds)
        if ended.code != 0:
            return ended, []
        return ended, [np.load(f"{stem}_{i}.npy") for i in range(len(self.outputs))]

    def fed(self, arrays):
        """The same model on other inputs: {name: array}."""
        other = copy.copy(self)
        other.feeds = [self.path]
        for name, array in arrays.items():
            path = os.path.join(programs.SCRATCH.name, f"in{next(_numbers)}.npy")
            np.save(path, array)
            other.feeds += ["--input", f"{name}=@{path}"]
        return other

    def whole(self):
        """Its outputs from one process and one device."""
        ended, arrays = self.run("--threads", "1", "--placement", "single")
        assert ended.code == 0, ended
        return arrays

    def explain(self, cluster, *options):
        """The report of `graphrun explain --json`."""
        ended = programs.run("explain", *self.feeds, "--cluster", cluster, "--json", *options)
        assert ended.code == 0, ended
        return json.loads(ended.out)


def seeded(name):
    return Model(os.path.join(programs.CASES, "suite", "seeded", f"test_{name}"))


def ocr(name):
    return Model(os.path.join(programs.CASES, "ocr", f"test_ocr_{name}"))


def difference(got, want):
    """The largest difference of any element, relative to the largest element of its output."""
    worst = 0.0
    for a, b in zip(got, want, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        scale = max(float(np.max(np.abs(b))), np.finfo(np.float32).tiny)
        error = float(np.max(np.abs(a.astype(np.float64) - b))) / scale
        worst = max(worst, error if np.isfinite(error) else float("inf"))
    return worst


def identical(got, want):
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(got, want, strict=True))
