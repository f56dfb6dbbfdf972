"""Whether results are what they should be: tolerances by type that do not grow with the inputs."""

import os
import sys

import ml_dtypes
import numpy as np

from values import isFloat, isHalf

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from tolerances import HALF_L2, QUANTIZED_SHARE  # noqa: E402

# f32 and f64: rtol·|expected| + atol, and this times `noise`, what an element moves when the last bit of
# all operands does.
RTOL = {np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-9}
ATOL = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
NOISE = 8


def _text(values, index):
    return str(values[index]) if values.ndim else str(values[()])


def _where(wrong, got, want):
    index = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} differ, the first at {list(index)}: got " \
           f"{_text(got, index)}, expected {_text(want, index)}"


def _nonFinite(got, want):
    """A problem where NaN or Inf are not in the same places."""
    wrong = np.isnan(got) != np.isnan(want)
    infinite = np.isinf(got) | np.isinf(want)
    with np.errstate(invalid="ignore"):
        wrong |= infinite & (got != want) & ~(np.isnan(got) & np.isnan(want))
    return f"NaN or Inf: {_where(wrong, got, want)}" if wrong.any() else ""


def _halves(got, want, dtype):
    """16-bit floats by their relative L2 norm; what lies near the end of the range may overflow."""
    limit = 0.9 * float(ml_dtypes.finfo(dtype).max)
    with np.errstate(invalid="ignore"):
        inside = ~(np.abs(want) > limit)
    got, want = np.where(inside, got, 0), np.where(inside, want, 0)
    problem = _nonFinite(got, want)
    if problem:
        return problem
    finite = np.isfinite(want)
    error = np.linalg.norm((got - want)[finite])
    scale = np.linalg.norm(want[finite])
    smallest = float(ml_dtypes.finfo(dtype).tiny) * np.sqrt(max(1, finite.sum()))
    if error <= HALF_L2 * scale + smallest:
        return ""
    return f"relative L2 {error / max(scale, smallest):.3g}; " + _where(
        np.abs(got - want) > HALF_L2 * np.abs(want), got, want)


def _floats(got, want, dtype, noise):
    dtype = np.dtype(dtype)
    problem = _nonFinite(got, want)
    if problem:
        return problem
    finite = np.isfinite(want)
    allowed = RTOL[dtype] * np.abs(want) + ATOL[dtype] + NOISE * noise
    with np.errstate(invalid="ignore", over="ignore"):
        wrong = finite & (np.abs(got - want) > allowed)
    return _where(wrong, got, want) if wrong.any() else ""


def _integers(got, want, quantized):
    wrong = got != want
    if quantized and wrong.any():
        step = np.abs(got.astype(np.float64) - want.astype(np.float64)) <= 1
        if step.all() and wrong.sum() <= max(1, QUANTIZED_SHARE * wrong.size):
            return ""
    return _where(wrong, got, want) if wrong.any() else ""


def difference(got, want, quantized=False, noise=0.0, single=False):
    """What differs, in words; "" if nothing does. `noise`: what rounding may add, as absolutes,
    a number or one an element; `single`: f64 results may be computed in f32."""
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype == object or want.dtype.kind in "OUS":
        want = want.astype(object)
        if got.shape != want.shape:
            return f"shape {got.shape}, expected {want.shape}"
        wrong = np.asarray(got != want)
        return _where(wrong, got, want) if wrong.any() else ""
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if got.size == 0:
        return ""
    if isFloat(got.dtype):
        a, b = got.astype(np.float64), want.astype(np.float64)
        if isHalf(got.dtype):
            return _halves(a, b, got.dtype)
        return _floats(a, b, np.float32 if single else got.dtype, noise)
    if got.dtype.kind in "iub":
        return _integers(got, want.astype(got.dtype), quantized)
    a, b = got.astype(np.float64), want.astype(np.float64)  # 8 bits and less: stored, not computed
    wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)))
    return _where(wrong, got, want) if wrong.any() else ""


def sameBits(got, want):
    """What differs in bits; NaN payloads count as equal."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} and {want.dtype}{want.shape}"
    if got.dtype == object:
        wrong = np.asarray(got != want)
    else:
        a, b = (np.ascontiguousarray(x).reshape(-1).view(np.uint8).reshape(
            x.size, x.dtype.itemsize) for x in (got, want))
        wrong = (a != b).any(axis=1).reshape(got.shape)
        if got.dtype.kind in "fV":
            with np.errstate(invalid="ignore"):
                wrong &= ~((got != got) & (want != want))
    return f"bits: {_where(wrong, got, want)}" if wrong.any() else ""


def loosely(got, want):
    """For --precision bf16: f32 results by their relative L2 norm, others not at all."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if got.dtype != np.float32 or got.size == 0:
        return ""
    return _halves(got.astype(np.float64), want.astype(np.float64), np.dtype(ml_dtypes.bfloat16))
