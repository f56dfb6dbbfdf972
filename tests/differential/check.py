"""Runs a case in its variants and judges the results."""

import dataclasses
import os
import re

import numpy as np

import compare
import variants as ways
from case import Case
from values import isFloat, isHalf
from widen import coarse, shaken

WORKER, INTERNAL = 5, 6  # exit codes
SHAKES = 3
# They compute in f32 by default (stash_type), whatever their operands are.
_STASHED = {"LayerNormalization", "GroupNormalization", "RMSNormalization"}


@dataclasses.dataclass
class Finding:
    """Something that GraphRun does wrong. `kind`: "crash", "hang", "internal", "refused", "differs",
    "bits"; `sure`: False where only onnx.reference says so, which has faults of its own."""

    kind: str
    message: str
    variant: ways.Variant
    sure: bool = True

    @property
    def case(self) -> Case:
        return self.variant.case

    def kinds(self):
        return {node.op_type for node in self.case.model.graph.node}

    def what(self):
        """The kind, and the message's first line without names and numbers."""
        if self.kind in ("differs", "bits"):
            return f"{self.kind} {self.variant.name}"
        lines = [line for line in self.message.splitlines() if not line.endswith((":", "problem",
                                                                                  "problems"))]
        text = re.sub(r"'[^']*'|\"[^\"]*\"|/\S+|\d+", "_", lines[0] if lines else "")
        return f"{self.kind} {text[:110]}"

    def signature(self):
        return f"{self.what()} [{' '.join(sorted(self.kinds()))}]"

    def covers(self, other):
        """Whether `other` probably has the same cause; this finding was made small."""
        return self.what() == other.what() and self.kinds() <= other.kinds()


class Checker:
    """Runs cases on GraphRun and on the peers."""

    def __init__(self, server, oracle, scratch):
        self.server = server
        self.oracle = oracle
        self.folder = os.path.join(scratch, "case")
        self.paths = ways.clusters(scratch)
        self.counts = {}
        self.excuses = {}  # of single operations and kinds of graphs: why results were let pass

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def excuse(self, case, why):
        self.count(f"excused by {why}")
        label = f"{case.label.split()[0].split('-')[0]} {why}"
        self.excuses[label] = self.excuses.get(label, 0) + 1
        return True

    def run(self, case, options):
        case.write(self.folder)
        self.count("runs")
        return self.server.run(os.path.join(self.folder, "model.onnx"),
                               case.dataSets(self.folder), options)

    def check(self, case, random, count=2):
        """The first finding of a case and its variants, or None."""
        expected = self.oracle.ask("expected", case.model, case.feeds)
        self.count(f"{expected.how} {expected.peer}".strip())
        first = ways.Variant("plain", case, ways.BASE)
        finding = self.judge(first, expected)
        if finding is not None or not expected.ok or not self.last.ok:
            return finding
        for variant in ways.variants(case, random, self.paths, count):
            finding = self.judge(variant, expected)
            if finding is not None:
                return finding
        return None

    def again(self, variant):
        """A finding of this variant alone, or None."""
        return self.judge(variant, self.oracle.ask("expected", variant.case.model,
                                                   variant.case.feeds))

    def judge(self, variant, expected):
        result = self.last = self.run(variant.case, variant.options)
        if result.code is None:
            return Finding("hang", result.message, variant)
        if result.code < 0 or "crashed:" in result.message[:10]:
            return Finding("crash", result.message, variant)
        if result.code == INTERNAL:
            return Finding("internal", result.message, variant)
        if not result.ok:
            if not expected.ok or expected.refused or \
                    (variant.may and variant.may in result.message):
                return None
            kind = "internal" if result.code == WORKER else "refused"
            return Finding(kind, result.message, variant, sure=expected.peer == "ONNX Runtime")
        if not expected.ok:
            return None
        return self._differs(variant, expected, result) or self._bits(variant, result)

    def _differs(self, variant, expected, result):
        problem = self._difference(variant, result.outputs, expected.outputs)
        if not problem:
            return None
        if self._excused(variant, expected, result):
            return None
        return Finding("differs", problem, variant, sure=expected.peer == "ONNX Runtime")

    def _difference(self, variant, got, want, noises=None):
        case = variant.case
        names = case.outputNames()
        single = any(node.op_type in _STASHED for node in case.model.graph.node)
        for number, (mine, theirs) in enumerate(zip(got, want, strict=True)):
            for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                noise = noises[number][index] if noises else 0.0
                problem = compare.loosely(a, b) if variant.loose else compare.difference(
                    a, b, case.quantized, noise, single)
                if problem:
                    return f"set {number}, output {names[index]}: {problem}"
        return ""

    def _excused(self, variant, expected, result):
        """Whether f64 or the other peer says that GraphRun is right, or as near as the peer is."""
        case = variant.case
        if self._movesAnyway(variant, expected, result):
            return self.excuse(case, "rounding")
        noises = self._conditions(case, expected)
        if noises and not self._difference(variant, result.outputs, expected.outputs, noises):
            return self.excuse(case, "condition")
        exact = self.oracle.ask("exact", case.model, case.feeds)
        if exact.ok and not self._difference(variant, result.outputs, exact.outputs, noises):
            return self.excuse(case, "f64")
        if expected.peer == "ONNX Runtime":
            other = self.oracle.ask("reference", case.model, case.feeds)
            if other.ok and not self._difference(variant, result.outputs, other.outputs):
                return self.excuse(case, "onnx.reference")
        return False

    def _conditions(self, case, expected):
        """What the last bit of the operands does to each element of the outputs; None if unknown."""
        noises = [[np.zeros(np.shape(array)) for array in outputs] for outputs in expected.outputs]
        for seed in range(SHAKES):
            other = self.oracle.ask("expected", *shaken(case.model, case.feeds, seed))
            if not other.ok:
                return None
            for row, mine, theirs in zip(noises, expected.outputs, other.outputs, strict=True):
                for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
                    row[index] = np.maximum(row[index], _moved(a, b))
        # One element may be lucky: what its tensor does as a rule counts too.
        return [[noise + np.median(noise) if noise.size else noise for noise in row]
                for row in noises]

    def _movesAnyway(self, variant, expected, result):
        """Whether rounding to 16 bits alone moves the peer's results as far, or to GraphRun's."""
        case = variant.case
        if variant.loose:
            other = self.oracle.ask("expected", *coarse(case.model, case.feeds))
        elif any(isHalf(array.dtype) for outputs in result.outputs for array in outputs):
            other = self.oracle.ask("rounded", case.model, case.feeds)
        else:
            return False
        return other.ok and (not self._difference(variant, result.outputs, other.outputs) or
                             bool(self._difference(variant, other.outputs, expected.outputs)))

    def _bits(self, variant, result):
        if variant.bits is None:
            return None
        whole = self.run(variant.case, variant.bits)
        if not whole.ok:
            return Finding("internal", f"with {variant.bits}: {whole.message}", variant)
        for mine, theirs in zip(result.outputs, whole.outputs, strict=True):
            for a, b in zip(mine, theirs, strict=True):
                problem = compare.sameBits(a, b)
                if problem:
                    return Finding("bits", f"{problem}; whole: {variant.bits}", variant)
        return None


def _moved(a, b):
    """|a - b| of finite floats of equal shape; 0 for the rest."""
    a, b = np.asarray(a), np.asarray(b)
    if not isFloat(a.dtype) or a.shape != b.shape:
        return np.zeros(a.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(a.astype(np.float64) - b.astype(np.float64))
    return np.where(np.isfinite(error), error, 0)
