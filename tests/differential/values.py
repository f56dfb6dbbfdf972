"""Random tensors of every element type."""

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

FLOATS = ("float", "double", "float16", "bfloat16")
HALVES = ("float16", "bfloat16")
REDUCED = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "int4", "uint4",
           "float4e2m1", "int2", "uint2")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
# As in "tensor(float)" of ONNX's schemas.
TYPES = FLOATS + INTEGERS + ("bool", "string") + REDUCED

# GraphRun's names of element types, and how the bytes of one are read.
DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
          "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "u64": np.uint64,
          "u32": np.uint32, "u16": np.uint16, "u8": np.uint8, "bool": np.bool_,
          "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
          "f8e5m2": ml_dtypes.float8_e5m2, "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
          "f8e8m0": ml_dtypes.float8_e8m0fnu, "f4e2m1": ml_dtypes.float4_e2m1fn,
          "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4, "i2": ml_dtypes.int2, "u2": ml_dtypes.uint2}


def elementType(name):
    """TensorProto's number of "float", "int64", …"""
    return getattr(TensorProto, name.upper())


def dtypeOf(name):
    return np.dtype(object) if name == "string" else helper.tensor_dtype_to_np_dtype(
        elementType(name))


def isFloat(dtype):
    """Whether it is a type that is computed in."""
    return dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)


def isHalf(dtype):
    return dtype in (np.float16, ml_dtypes.bfloat16)


def _special(random, dtype, shape):
    """Ordinary numbers with the ends of the type's range among them."""
    info = ml_dtypes.finfo(dtype)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, float(info.max), -float(info.max),
                     float(info.tiny), float(info.smallest_subnormal),
                     -float(info.smallest_subnormal), 1.0, -1.0, 0.5, 1e4, -1e4])
    chosen = random.choice(ends, size=shape)
    return np.where(random.random(shape) < 0.4, chosen, random.normal(0, 2, shape)).astype(dtype)


def _integers(random, dtype, shape, low, high):
    info = ml_dtypes.iinfo(dtype)
    low = max(int(info.min), -10 if low is None else int(np.ceil(low)))
    high = min(int(info.max), 10 if high is None else int(np.floor(high)))
    return random.integers(low, max(low, high), size=shape, endpoint=True,
                           dtype=np.int64).astype(dtype)


def tensor(random, typeName, shape, low=None, high=None, special=False):
    """Floats around 0 or in [low, high]; integers in [-10, 10]; `special`: with NaN, Inf and the like."""
    shape = tuple(shape)
    if typeName == "string":
        words = np.array(["a", "b c", "", "é", "abc", "B"], dtype=object)
        return np.asarray(words[random.integers(0, len(words), size=shape)], object).reshape(shape)
    dtype = dtypeOf(typeName)
    if typeName == "bool":
        return random.random(shape) < 0.5
    if typeName in INTEGERS or typeName in ("int4", "uint4", "int2", "uint2"):
        return np.asarray(_integers(random, dtype, shape, low, high), dtype)
    if special and low is None and typeName in FLOATS:
        return np.asarray(_special(random, dtype, shape), dtype)
    if low is None:
        return np.asarray(random.normal(0, 2, shape), dtype)
    return np.asarray(random.uniform(low, high, shape), dtype)
