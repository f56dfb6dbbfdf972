"""Single operations, as they occur in networks, beside ONNX Runtime.

Each case is a model of one operation (or a few that belong together) with random weights.
GraphRun and ONNX Runtime take turns on the same model, input and threads; the medians of the
turns count. The table is sorted, the worst ratio (theirs / ours; above 1 is faster) first.
"""

import json
import math
import os
import shutil
import statistics
import subprocess
import time

import numpy as np
import onnx
import onnxruntime
import report
from onnx import TensorProto, helper, numpy_helper

SECONDS = 0.2  # a turn of one program
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.uint8): TensorProto.UINT8,
         np.dtype(np.int8): TensorProto.INT8, np.dtype(np.bool_): TensorProto.BOOL}
RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


def pixels(*shape):
    return RANDOM.integers(0, 256, shape, dtype=np.uint8)


def ints(*values):
    return np.array(values, dtype=np.int64)


class Case:
    """A model under construction: `op` adds a node and gives the name of its first result."""

    def __init__(self, name, **inputs):
        self.name, self.feeds, self.nodes, self.weights = name, inputs, [], []

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def op(self, kind, *operands, results=1, **attributes):
        names = [x if isinstance(x, str) else self.weight(x) for x in operands]
        made = [f"t{len(self.nodes)}_{i}" for i in range(results)]
        self.nodes.append(helper.make_node(kind, names, made, **attributes))
        return made[0] if results == 1 else made

    def model(self, result):
        """The model file, with `result` (a name or several) as outputs."""
        outputs = [result] if isinstance(result, str) else result
        inputs = [helper.make_tensor_value_info(n, TYPES[a.dtype], a.shape)
                  for n, a in self.feeds.items()]
        graph = helper.make_graph(self.nodes, "op", inputs,
                                  [onnx.ValueInfoProto(name=n) for n in outputs], self.weights)
        deforms = any(node.op_type == "DeformConv" for node in self.nodes)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19 if deforms else 17)], ir_version=8)
        made = onnx.shape_inference.infer_shapes(made)
        known = {v.name: v for v in [*made.graph.value_info, *made.graph.output]}
        del made.graph.output[:]
        made.graph.output.extend(known[n] for n in outputs)
        return made.SerializeToString()


CASES = {}


def case(name, build, **inputs):
    """Registers the case `name`: `build(case)` gives the name of the result."""
    def make():
        made = Case(name, **{n: a() if callable(a) else a for n, a in inputs.items()})
        return made.feeds, made.model(build(made))
    CASES[name] = make


def one(name, kind, *operands, results=1, x=None, **attributes):
    """A case of one operation on the input x and constant operands."""
    case(name, lambda c: c.op(kind, "x", *operands, results=results, **attributes), x=x)


def convolutions():
    def conv(name, shape, filters, kernel, groups=1, stride=1, pad=None, then=None, size=1):
        pad = kernel // 2 if pad is None else pad
        filter_ = floats(filters, shape[1] // groups, kernel, kernel) * 0.1

        def build(c):
            y = c.op("Conv", "x", filter_, floats(filters), kernel_shape=[kernel] * 2, group=groups,
                     strides=[stride] * 2, pads=[pad] * 4)
            return c.op(then, y) if then else y
        case("conv " + name, build, x=floats(size, *shape[1:]))

    conv("3x3 64>64 56", (1, 64, 56, 56), 64, 3, then="Relu")
    conv("3x3 first 3>32 s2 224", (1, 3, 224, 224), 32, 3, stride=2, then="Relu")
    conv("7x7 first 3>64 s2 224", (1, 3, 224, 224), 64, 7, stride=2, then="Relu")
    conv("1x1 256>64 56", (1, 256, 56, 56), 64, 1)
    conv("1x1 on 1x1, 1024>1000", (1, 1024, 1, 1), 1000, 1)
    conv("1x1 on 1x1, 96>384", (1, 96, 1, 1), 384, 1, then="HardSigmoid")
    conv("3x3 256>256 7", (1, 256, 7, 7), 256, 3)
    conv("dw 3x3 96 56", (1, 96, 56, 56), 96, 3, groups=96, then="HardSwish")
    conv("dw 5x5 s2 100 28", (1, 100, 28, 28), 100, 5, groups=100, stride=2)
    conv("dw 3x3 24 112", (1, 24, 112, 112), 24, 3, groups=24)
    conv("dw 3x3 136 28", (1, 136, 28, 28), 136, 3, groups=136)
    conv("grouped 1x1 g4 24>112 56", (1, 24, 56, 56), 112, 1, groups=4, then="Relu")
    conv("grouped 1x1 g4 136>136 28", (1, 136, 28, 28), 136, 1, groups=4, then="Relu")
    conv("grouped 3x3 g32 128>128 56", (1, 128, 56, 56), 128, 3, groups=32)

    def transposed(name, shape, filters, kernel, stride, pad=0, groups=1, then=None):
        filter_ = floats(shape[1], filters // groups, kernel, kernel) * 0.1

        def build(c):
            y = c.op("ConvTranspose", "x", filter_, floats(filters), group=groups,
                     strides=[stride] * 2, pads=[pad] * 4)
            return c.op(then, y) if then else y
        case("conv_transpose " + name, build, x=floats(*shape))

    transposed("2x2 s2 24>24 48x96", (1, 24, 48, 96), 24, 2, 2, then="Relu")
    transposed("2x2 s2 24>1 96x192", (1, 24, 96, 192), 1, 2, 2, then="Sigmoid")
    transposed("2x2 s2 256>128 28", (1, 256, 28, 28), 128, 2, 2)
    transposed("4x4 s2 p1 128>64 16", (1, 128, 16, 16), 64, 4, 2, 1, then="Relu")
    transposed("4x4 s2 p1 64>3 64", (1, 64, 64, 64), 3, 4, 2, 1, then="Tanh")
    transposed("3x3 s2 p1 64>32 32", (1, 64, 32, 32), 32, 3, 2, 1)
    transposed("3x3 s1 p1 64>64 28", (1, 64, 28, 28), 64, 3, 1, 1)
    transposed("4x4 s2 p1 dw 21 32", (1, 21, 32, 32), 21, 4, 2, 1, groups=21)


def pooling():
    for name, shape in (("64 112", (1, 64, 112, 112)), ("192 28", (1, 192, 28, 28))):
        one("max_pool 3x3 s2 " + name, "MaxPool", x=floats(*shape), kernel_shape=[3, 3],
            strides=[2, 2], pads=[1, 1, 1, 1])
        one("avg_pool 3x3 s1 " + name, "AveragePool", x=floats(*shape), kernel_shape=[3, 3],
            pads=[1, 1, 1, 1])
    one("global avg 2048x7x7", "GlobalAveragePool", x=floats(1, 2048, 7, 7))
    one("global avg 64x56x56", "GlobalAveragePool", x=floats(1, 64, 56, 56))
    one("global avg 8x2048x7x7", "GlobalAveragePool", x=floats(8, 2048, 7, 7))
    one("global max 512x14x14", "GlobalMaxPool", x=floats(1, 512, 14, 14))
    one("lrn 96x55x55", "LRN", x=floats(1, 96, 55, 55), size=5)


def reductions():
    x = floats(8, 128, 768)
    for kind in ("ReduceMean", "ReduceMax", "ReduceL2"):
        one(f"{kind} last axis 1024x768", kind, x=x, axes=[-1])
        one(f"{kind} axis 1 of 3", kind, x=x, axes=[1])
    one("ReduceSum all", "ReduceSum", x=x, keepdims=0)
    one("ReduceMean axis 0", "ReduceMean", x=floats(64, 64, 256), axes=[0])
    one("ReduceMean spatial 256x28x28", "ReduceMean", x=floats(1, 256, 28, 28), axes=[2, 3])
    one("ReduceProd last", "ReduceProd", x=x, axes=[-1])
    one("ReduceLogSumExp last", "ReduceLogSumExp", x=x, axes=[-1])
    one("ArgMax last 128x6625", "ArgMax", x=floats(128, 6625), axis=-1)
    one("ArgMax axis 1, 21x256x256", "ArgMax", x=floats(1, 21, 256, 256), axis=1)
    one("CumSum 64x1024", "CumSum", ints(1)[0], x=floats(64, 1024))
    one("TopK 5 of 1000", "TopK", ints(5), results=2, x=floats(16, 1000))
    one("TopK 200 of 20000", "TopK", ints(200), results=2, x=floats(1, 20000))


def normalizations():
    one("softmax last 12x128x128", "Softmax", x=floats(1, 12, 128, 128), axis=-1)
    one("softmax last 137x6625", "Softmax", x=floats(137, 6625), axis=-1)
    one("softmax axis 1, 21x128x128", "Softmax", x=floats(1, 21, 128, 128), axis=1)
    one("log_softmax 32x1000", "LogSoftmax", x=floats(32, 1000), axis=-1)
    one("layer_norm 128x768", "LayerNormalization", floats(768), floats(768), x=floats(1, 128, 768))
    one("instance_norm 64x56x56", "InstanceNormalization", floats(64), floats(64),
        x=floats(1, 64, 56, 56))
    one("batch_norm 64x56x56", "BatchNormalization", floats(64), floats(64), floats(64),
        np.abs(floats(64)) + 1, x=floats(1, 64, 56, 56))

    def groupNorm(c):
        y = c.op("Reshape", "x", ints(1, 32, -1))
        y = c.op("InstanceNormalization", y, np.ones(32, np.float32), np.zeros(32, np.float32))
        y = c.op("Reshape", y, ints(1, 256, 28, 28))
        return c.op("Add", c.op("Mul", y, floats(256, 1, 1)), floats(256, 1, 1))
    case("group_norm spelled out 256x28x28", groupNorm, x=floats(1, 256, 28, 28))
    one("l2 norm 128x512", "LpNormalization", x=floats(128, 512), axis=-1, p=2)


def products():
    def gemm(name, rows, depth, columns):
        one("gemm " + name, "Gemm", floats(columns, depth) * 0.1, floats(columns),
            x=floats(rows, depth), transB=1)
    gemm("1x2048x1000", 1, 2048, 1000)
    gemm("1x9216x4096", 1, 9216, 4096)
    gemm("8x1024x1024", 8, 1024, 1024)
    gemm("128x768x768", 128, 768, 768)
    case("matmul 128x768x3072 gelu", lambda c: c.op(
        "Mul", c.op("Mul", c.op("Add", c.op("Erf", c.op(
            "Div", c.op("MatMul", "x", floats(768, 3072) * 0.05), np.float32(math.sqrt(2)))),
            np.float32(1)), "t0_0"), np.float32(0.5)), x=floats(1, 128, 768))
    case("matmul batched 12x128x64x128", lambda c: c.op("MatMul", "x", "y"),
         x=floats(1, 12, 128, 64), y=floats(1, 12, 64, 128))
    case("matmul batched 64x16x16x16", lambda c: c.op("MatMul", "x", "y"),
         x=floats(64, 16, 16), y=floats(64, 16, 16))
    case("matmul of inputs 256x256x256", lambda c: c.op("MatMul", "x", "y"),
         x=floats(256, 256), y=floats(256, 256))
    case("einsum bhid,bhjd", lambda c: c.op("Einsum", "x", "y", equation="bhid,bhjd->bhij"),
         x=floats(1, 8, 128, 64), y=floats(1, 8, 128, 64))

    def attention(c):
        q, k, v = (c.op("Transpose", c.op("Reshape", c.op("MatMul", "x", floats(384, 384) * 0.05),
                                          ints(1, 128, 6, 64)), perm=p)
                   for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = c.op("Softmax", c.op("Div", c.op("MatMul", q, k), np.float32(8)), axis=-1)
        return c.op("Transpose", c.op("MatMul", scores, v), perm=[0, 2, 1, 3])
    case("attention 128x384, 6 heads", attention, x=floats(1, 128, 384))


def recurrent():
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for name, steps, batch, inputs, hidden, ways in (("64x1x256>256", 64, 1, 256, 256, 1),
                                                         ("32x8x128>128 both", 32, 8, 128, 128, 2)):
            case(f"{kind} {name}", lambda c, kind=kind, gates=gates, inputs=inputs, hidden=hidden,
                 ways=ways: c.op(kind, "x", floats(ways, gates * hidden, inputs) * 0.05,
                                 floats(ways, gates * hidden, hidden) * 0.05,
                                 floats(ways, 2 * gates * hidden) * 0.05, hidden_size=hidden,
                                 direction="bidirectional" if ways == 2 else "forward"),
                 x=floats(steps, batch, inputs))


def movement():
    one("transpose 0213 128x12x64", "Transpose", x=floats(1, 128, 12, 64), perm=[0, 2, 1, 3])
    one("transpose 1024x1024", "Transpose", x=floats(1024, 1024), perm=[1, 0])
    one("transpose to channels last 64x56x56", "Transpose", x=floats(1, 64, 56, 56),
        perm=[0, 2, 3, 1])
    one("transpose from channels last 224x224x3", "Transpose", x=floats(1, 224, 224, 3),
        perm=[0, 3, 1, 2])
    one("transpose bytes from channels last 224x224x3", "Transpose", x=pixels(1, 224, 224, 3),
        perm=[0, 3, 1, 2])
    one("transpose bytes to channels last 64x56x56", "Transpose", x=pixels(1, 64, 56, 56),
        perm=[0, 2, 3, 1])
    one("transpose bytes 1024x1024", "Transpose", x=pixels(1024, 1024), perm=[1, 0])
    one("transpose i64 512x512", "Transpose", x=pixels(512, 512).astype(np.int64), perm=[1, 0])
    case("channel shuffle 240x28x28", lambda c: c.op("Reshape", c.op(
        "Transpose", c.op("Reshape", "x", ints(1, 3, 80, 28, 28)), perm=[0, 2, 1, 3, 4]),
        ints(1, 240, 28, 28)), x=floats(1, 240, 28, 28))
    case("concat channels 4 x 64x28x28", lambda c: c.op("Concat", "x", "y", "z", "u", axis=1),
         **{n: floats(1, 64, 28, 28) for n in "xyzu"})
    case("concat last 2 x 512x64", lambda c: c.op("Concat", "x", "y", axis=-1),
         x=floats(512, 64), y=floats(512, 64))
    case("concat last 2 x 4096x1", lambda c: c.op("Concat", "x", "y", axis=-1),
         x=floats(4096, 1), y=floats(4096, 1))
    case("split channels 3 x 64x28x28", lambda c: c.op("Split", "x", results=3, axis=1),
         x=floats(1, 192, 28, 28))
    case("split last 3 x 128x768", lambda c: c.op("Split", "x", results=3, axis=-1),
         x=floats(128, 2304))
    one("slice middle 64x56x56", "Slice", ints(2, 2), ints(50, 50), ints(2, 3),
        x=floats(1, 64, 56, 56))
    one("slice step 2 64x56x56", "Slice", ints(0, 0), ints(56, 56), ints(2, 3), ints(2, 2),
        x=floats(1, 64, 56, 56))
    one("pad 1 64x56x56", "Pad", ints(0, 0, 1, 1, 0, 0, 1, 1), x=floats(1, 64, 56, 56))
    one("pad reflect 64x56x56", "Pad", ints(0, 0, 3, 3, 0, 0, 3, 3), x=floats(1, 64, 56, 56),
        mode="reflect")
    case("gather rows 30522x384, 128", lambda c: c.op("Gather", floats(30522, 384), "x", axis=0),
         x=RANDOM.integers(0, 30522, (1, 128)))
    one("gather axis 1", "Gather", ints(*range(0, 64, 2)), x=floats(64, 64, 64), axis=1)
    case("gather_elements 64x1000", lambda c: c.op("GatherElements", "x", "i", axis=1),
         x=floats(64, 1000), i=RANDOM.integers(0, 1000, (64, 1000)))
    case("gather_elements i32 8x300x4", lambda c: c.op("GatherElements", "x", "i", axis=1),
         x=floats(8, 1000, 4), i=RANDOM.integers(0, 1000, (8, 300, 4)).astype(np.int32))
    case("gather_nd 4096 of 64x64x64", lambda c: c.op("GatherND", "x", "i"),
         x=floats(64, 64, 64), i=RANDOM.integers(0, 64, (4096, 2)))
    case("scatter_nd 1024 rows", lambda c: c.op("ScatterND", "x", "i", "u"), x=floats(4096, 64),
         i=RANDOM.permutation(4096)[:1024].reshape(1024, 1).astype(np.int64), u=floats(1024, 64))
    one("depth_to_space 64x56x56", "DepthToSpace", x=floats(1, 64, 56, 56), blocksize=2)
    one("space_to_depth 64x56x56", "SpaceToDepth", x=floats(1, 64, 56, 56), blocksize=2)
    one("expand 1x64x1 to 128x64x64", "Expand", ints(128, 64, 64), x=floats(1, 64, 1))
    one("tile 1x64x28x28 by 8", "Tile", ints(8, 1, 1, 1), x=floats(1, 64, 28, 28))
    one("tile 64x64 by 4x4", "Tile", ints(4, 4), x=floats(64, 64))
    case("one_hot 1024 of 128", lambda c: c.op("OneHot", "x", ints(128)[0],
                                               np.array([0, 1], np.float32)),
         x=RANDOM.integers(0, 128, (1024,)))
    one("cast f32 i64 100k", "Cast", x=floats(100000), to=TensorProto.INT64)
    one("non_zero 256x256", "NonZero", x=(floats(256, 256) > 1).astype(np.float32))


def resizing():
    def resize(name, shape, scale, **attributes):
        scales = np.array([1, 1, scale, scale], np.float32)
        one("resize " + name, "Resize", "", scales, x=floats(*shape), **attributes)
    resize("nearest x2 96x24x48", (1, 96, 24, 48), 2, mode="nearest",
           coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    resize("nearest x8 24x12x12", (1, 24, 12, 12), 8, mode="nearest",
           coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    resize("nearest x2 8x64x28x28", (8, 64, 28, 28), 2, mode="nearest",
           coordinate_transformation_mode="half_pixel")
    resize("linear x2 64x56x56", (1, 64, 56, 56), 2, mode="linear",
           coordinate_transformation_mode="half_pixel")
    resize("linear x2 corners 64x56x56", (1, 64, 56, 56), 2, mode="linear",
           coordinate_transformation_mode="align_corners")
    resize("linear x0.5 3x224x224", (1, 3, 224, 224), 0.5, mode="linear")
    resize("linear x1.7 3x224x224", (1, 3, 224, 224), 1.7, mode="linear")
    resize("cubic x2 3x112x112", (1, 3, 112, 112), 2, mode="cubic")

    def behindConv(c):
        y = c.op("Conv", "x", floats(96, 96, 1, 1) * 0.1)
        return c.op("Resize", y, "", np.array([1, 1, 2, 2], np.float32), mode="nearest",
                    coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    case("conv 1x1, resize nearest x2 96x24x48", behindConv, x=floats(1, 96, 24, 48))
    case("grid_sample 32x64x64", lambda c: c.op("GridSample", "x", "g"), x=floats(1, 32, 64, 64),
         g=np.tanh(floats(1, 64, 64, 2)))
    case("roi_align 256x50x50, 64 boxes", lambda c: c.op(
        "RoiAlign", "x", "r", np.zeros(64, np.int64), output_height=7, output_width=7,
        sampling_ratio=2, spatial_scale=0.25), x=floats(1, 256, 50, 50),
        r=np.sort(RANDOM.uniform(0, 200, (64, 2, 2)).astype(np.float32), axis=1).reshape(64, 4))


    def deformed(c):
        return c.op("DeformConv", "x", floats(64, 64, 3, 3) * 0.05, "o", floats(64),
                    kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    case("deform_conv 3x3 64>64 28", deformed, x=floats(1, 64, 28, 28), o=floats(1, 18, 28, 28))


def elementwise():
    x = floats(1, 64, 112, 112)
    for kind in ("Relu", "Sigmoid", "Tanh", "Exp", "Erf", "HardSwish", "Softplus", "Sqrt", "Sin"):
        one(f"{kind} 800k", kind, x=np.abs(x) if kind == "Sqrt" else x)
    one("add bias by channel 800k", "Add", floats(64, 1, 1), x=x)
    one("pow 2 800k", "Pow", np.float32(2), x=x)
    one("clip 800k", "Clip", np.float32(0), np.float32(6), x=x)
    case("add 800k", lambda c: c.op("Add", "x", "y"), x=x, y=x)
    case("where 512x512", lambda c: c.op("Where", "m", "x", np.float32(-1e9)),
         m=floats(512, 512) > 0, x=floats(512, 512))
    case("equal and cast 512x512", lambda c: c.op("Cast", c.op("Greater", "x", np.float32(0.3)),
                                                  to=TensorProto.FLOAT), x=floats(512, 512))


def quantized():
    point, scale = np.uint8(128), np.float32(0.02)

    def bytes_(*shape):
        return RANDOM.integers(-100, 100, shape).astype(np.int8)

    def qlinearConv(c):
        return c.op("QLinearConv", c.op("QuantizeLinear", "x", scale, point), scale, point,
                    bytes_(64, 64, 3, 3), np.float32(0.01), np.int8(0), np.float32(0.1), point)
    case("quantize, qlinear_conv 3x3 64>64 28", qlinearConv, x=floats(1, 64, 28, 28))
    one("quantize_linear 800k", "QuantizeLinear", scale, point, x=floats(1, 64, 112, 112))
    one("dequantize_linear 800k", "DequantizeLinear", scale, point,
        x=RANDOM.integers(0, 255, (1, 64, 112, 112)).astype(np.uint8))
    case("dynamic quantize, matmul_integer 128x768x768", lambda c: c.op(
        "MatMulInteger", "x", bytes_(768, 768), point),
        x=RANDOM.integers(0, 255, (128, 768)).astype(np.uint8))


def theirTime(path, feeds, threads):
    """Median latency of ONNX Runtime in microseconds."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    times, end = [], time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        times.append(1e6 * (time.perf_counter() - start))
    return statistics.median(times)


def ourTimes(program, path, folder, threads, seconds):
    """Latencies of graphrun in milliseconds; None, and its message, where it fails."""
    command = [program, "bench", path, "--data", folder, "--threads", str(threads), "--duration",
               str(seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    if done.returncode != 0:
        print(f"bench: exit code {done.returncode} from {' '.join(command)}\n{done.stderr}")
        return None
    return json.loads(done.stdout)["latency_ms"]


def writeCase(name, folder):
    """Writes the case's model and inputs; gives the model's path and the inputs."""
    feeds, model = CASES[name]()
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = os.path.join(folder, "op.onnx")
    with open(path, "wb") as file:
        file.write(model)
    for i, (key, array) in enumerate(feeds.items()):
        with open(os.path.join(folder, f"input_{i}.pb"), "wb") as file:
            file.write(numpy_helper.from_array(np.ascontiguousarray(array), key).SerializeToString())
    return path, feeds


def measureCase(args, name, threads):
    folder = os.path.join(args.out, "op")
    path, feeds = writeCase(name, folder)
    ours, theirs = [], []
    for _ in range(args.turns):
        theirs.append(theirTime(path, feeds, threads))
        times = ourTimes(args.graphrun, path, folder, threads, SECONDS)
        if times is None:
            return None
        ours.append(1e3 * times["p50"])
    mine, other = statistics.median(ours), statistics.median(theirs)
    return {"name": name, "threads": threads, "ours_us": mine, "theirs_us": other,
            "ratio": other / mine}


def benchOps(args):
    """Cases whose name has one of `--only`'s texts; all without it."""
    for family in (convolutions, pooling, reductions, normalizations, products, recurrent,
                   movement, resizing, elementwise, quantized):
        family()
    names = [n for n in CASES if not args.only or any(text in n for text in args.only)]
    rows = [measureCase(args, name, threads) for threads in args.threads for name in names]
    good = sorted((row for row in rows if row), key=lambda row: row["ratio"])
    print(f"{'operation':44}{'threads':>8}{'GraphRun':>13}{'ONNX Runtime':>14}{'ratio':>8}")
    for row in good:
        print(f"{row['name']:44}{row['threads']:>8}{row['ours_us']:>10.1f} us"
              f"{row['theirs_us']:>11.1f} us{row['ratio']:>8.2f}")
    report.save(os.path.join(args.out, "ops.json"), good)
    return len(good) == len(rows)
