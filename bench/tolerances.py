"""How far results of less than 32 bits may be off, for benches and tests in Python; those in C++ have
kBFloat16Norm of tests/devices/cpu/instruction_runner.h."""

import numpy as np

HALF_L2 = 2e-2  # f16, bf16, and what is computed in them: of the relative L2 norm
# The same of the floats that a whole network in bytes gives. A byte that rounds to its neighbour moves all behind it:
# ONNX Runtime with its optimisations is 1.1e-2 from itself without in ResNet-50, 3.6e-2 in BERT's twelve layers.
QUANTIZED_L2 = 5e-2
QUANTIZED_SHARE = 0.01  # integers that were rounded: of the elements may be off by one


def relativeL2(got, want):
    """The L2 norm of the difference over that of `want`; infinite where shapes or what is finite differ."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if got.shape != want.shape or not np.isfinite(got).all() or not np.isfinite(want).all():
        return float("inf")
    difference = float(np.linalg.norm((got - want).ravel()))
    return difference / max(float(np.linalg.norm(want.ravel())), 1e-30) if difference else 0.0
