#!/usr/bin/env python3
"""Writes small ONNX files and what their import must give.

OUT/<case>/model.onnx and expect.txt: the first line is "imports" or "fails"; each other line is a text
that the printed module, or the error, must hold. A line that starts with "not " must be absent.
"""

import argparse
import hashlib
import os
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
# What lies beside each model whose weights are outside.
FILES = {"w.bin": np.array([1, 2], np.float32).tobytes(),
         "deep/v.bin": np.array([9, 3, 4, 5, 6], np.float32).tobytes(),
         "large.bin": np.arange(8208, dtype=np.float32).tobytes()}


def tensor(name, shape, dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17, ir=8, opsets=None, **graph):
    made = helper.make_graph(nodes, "g", inputs, outputs, list(initializers), **graph)
    imports = opsets or [helper.make_opsetid("", opset)]
    return helper.make_model(made, opset_imports=imports, ir_version=ir)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=attributes.pop("name", "n"), **attributes)


def const(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype=dtype), name)


def single(op, shape=(2, 3), extra=(), opset=17, dtype=FLOAT, initializers=(), **attributes):
    """One node on input x (and `extra` names) that makes y."""
    return model([node(op, ["x", *extra], ["y"], **attributes)], [tensor("x", shape, dtype)],
                 [onnx.ValueInfoProto(name="y")], initializers, opset)


def bad(name, made, *texts):
    return name, made, "fails", texts


def good(name, made, *texts):
    return name, made, "imports", texts


def lowerings():
    """Each row: what a version of an operation becomes."""
    yield good("names_and_symbols", model(
        [node("Relu", ["x"], ["y"], name="act")],
        [tensor("x", ["batch", 3, "?", "?", None])], [tensor("y", None)]),
        'gr.name = "x"', 'gr.name = "y"', 'gr.symbols = ["batch", "x.2", "x.3", "x.4"]',
        "(s0, 3, s1, s2, s3)", 'loc("act")')
    yield good("unnamed_node", model([helper.make_node("Relu", ["x"], ["y"])], [tensor("x", [2])],
                                     [tensor("y", [2])]), 'loc("Relu_0")')
    yield good("dim_minus_one", single("Relu", (-1, 3)), 'gr.symbols = ["x.0"]')
    yield good("unsorted", model(
        [node("Relu", ["t"], ["y"], name="second"), node("Exp", ["x"], ["t"], name="first")],
        [tensor("x", [2])], [tensor("y", [2])]), 'gr.exp', 'gr.relu')
    yield good("initializer_as_input", model(
        [node("Add", ["x", "w"], ["y"])], [tensor("x", [2]), tensor("w", [2])], [tensor("y", [2])],
        [const("w", [1, 2], np.float32)], ir=3), "%arg0", "not %arg1", "dense<[1.000000e+00, 2.0")
    yield from oddFiles()
    yield good("large_weight", model([node("Add", ["x", "w"], ["y"])], [tensor("x", [5000])],
                                     [tensor("y", [5000])],
                                     [const("w", range(5000), np.float32)]), "dense_resource<w>")
    yield good("splat_weight", model([node("Add", ["x", "w"], ["y"])], [tensor("x", [5000])],
                                     [tensor("y", [5000])],
                                     [const("w", [2] * 5000, np.float32)]),
               "dense<2.000000e+00> : tensor<5000xf32>")
    yield good("add_6_axis", model(
        [node("Add", ["x", "b"], ["y"], broadcast=1, axis=1)],
        [tensor("x", [2, 3, 4, 5]), tensor("b", [3])], [tensor("y", [2, 3, 4, 5])], opset=6),
        "gr.unsqueeze", "axes = array<i64: 1, 2>")
    yield good("greater", single("Greater", extra=["x"]), "gr.less %arg0, %arg0")
    yield good("pow_mixed", single("Pow", extra=["e"], initializers=[const("e", 2)]),
               "gr.cast", "gr.pow", "-> tensor<2x3xf32>")
    yield good("clip_6", single("Clip", opset=6, min=0.0, max=6.0), "gr.clip", "high = 6.0")
    yield good("clip_11", single("Clip", extra=["lo", "hi"], opset=11,
                                 initializers=[const("lo", 0, np.float32),
                                               const("hi", 6, np.float32)]),
               "gr.clip", "low = 0.0")
    yield good("clip_11_runtime", model(
        [node("Clip", ["x", "", "hi"], ["y"])], [tensor("x", [2]), tensor("hi", [])],
        [tensor("y", [2])], opset=13), "gr.min", "not gr.clip", "not gr.max")
    yield good("cast_like", single("CastLike", extra=["t"], initializers=[const("t", 1)]),
               "{to = i64}")
    yield good("cast_1", single("Cast", opset=1, to="DOUBLE"), "{to = f64}")
    yield good("abs_1", single("Abs", opset=1, consumed_inputs=[0]), "gr.abs")
    yield good("mod", single("Mod", extra=["x"]), "gr.mod %arg0, %arg0 :")
    yield good("fmod", single("Mod", extra=["x"], fmod=1), "truncate = true")
    yield good("bit_shift", single("BitShift", extra=["x"], dtype=TensorProto.UINT8,
                                   direction="RIGHT"), "gr.shift_right")
    yield good("bitwise_not", single("BitwiseNot", dtype=INT64, opset=18), "gr.not")
    yield good("is_nan", single("IsNaN"), "gr.equal %arg0, %arg0", "gr.not")
    yield good("is_inf_negative", single("IsInf", detect_positive=0), "0xFF800000", "not gr.abs")
    yield bad("is_inf_integers", single("IsInf", dtype=TensorProto.INT8), "an operand is i8[2x3]", "never inf; expected floats")
    yield good("celu", single("Celu", alpha=2.0), "gr.min", "gr.div", "gr.expm1", "gr.mul", "gr.max")
    yield good("mish", single("Mish", opset=18), "gr.softplus", "gr.tanh", "gr.mul")
    yield good("swish", single("Swish", opset=24), "gr.swish %arg0")
    yield good("swiglu", single("SwiGLU", extra=["x"], opset=28, alpha=2.0), "gr.swish", "gr.mul")
    yield good("thresholded_relu", single("ThresholdedRelu"), "gr.less", "gr.where")
    yield good("reduce_l2_int", single("ReduceL2", axes=[1], dtype=INT64), "{to = f64}", "{to = i64}")
    yield good("global_lp_pool", single("GlobalLpPool", (1, 3, 4, 4), p=3), "gr.pow",
               "axes = array<i64: 2, 3>")
    yield good("lp_pool_ceil", single("LpPool", (1, 1, 5), opset=18, kernel_shape=[2], strides=[2],
                                      ceil_mode=1, p=1), "gr.lp_pool",
               "ceil_mode = true", "tensor<1x1x3xf32>")
    yield good("layer_norm_statistics", model(
        [node("LayerNormalization", ["x", "s"], ["y", "m", "i"])], [tensor("x", [2, 3], TensorProto.FLOAT16)],
        [tensor("y", None, TensorProto.FLOAT16), tensor("m", [2, 1]), tensor("i", [2, 1])],
        [const("s", [1, 2, 3], np.float16)]), "gr.reciprocal", "not gr.layer_norm")
    yield good("rms_norm", single("RMSNormalization", extra=["s"], opset=23, initializers=[
        const("s", [1, 2, 3], np.float32)]), 'kind = "mean"', "gr.sqrt", "gr.div")
    yield good("group_norm_18", single("GroupNormalization", (1, 4, 2), ["s", "s"], opset=18,
                                       num_groups=2, initializers=[const("s", [1, 2], np.float32)]),
               "gr.instance_norm", "tensor<1x2x4xf32>", "not gr.mul")
    yield good("group_norm_21", single("GroupNormalization", (1, 4, 2), ["s", "s"], opset=21,
                                       num_groups=2,
                                       initializers=[const("s", [1, 2, 3, 4], np.float32)]),
               "gr.instance_norm", "gr.mul", "gr.add")
    yield good("lp_norm", single("LpNormalization", p=1, axis=0), "gr.abs", "gr.where")
    yield good("mean_variance_norm", single("MeanVarianceNormalization", (2, 3, 4, 4)),
               "axes = array<i64: 0, 2, 3>")
    yield good("batch_norm_training", model(
        [node("BatchNormalization", ["x", *"abcd"], ["y", "m", "v"], training_mode=1)],
        [tensor("x", [4, 2, 3])], [tensor("y", None), tensor("m", [2]), tensor("v", [2])],
        [const(c, [1, 2], np.float32) for c in "abcd"]), "axes = array<i64: 0, 2>",
        "not gr.batch_norm")
    yield good("batch_norm_7_elements", single(
        "BatchNormalization", (4, 2, 3), list("abcd"), opset=7, spatial=0,
        initializers=[const(c, np.ones((2, 3)), np.float32) for c in "abcd"]), "not gr.batch_norm",
        "gr.sqrt")
    yield good("nll_loss", model(
        [node("NegativeLogLikelihoodLoss", ["x", "t", "w"], ["y"], ignore_index=-1)],
        [tensor("x", [2, 3, 4]), tensor("t", [2, 4], INT64)], [tensor("y", [])],
        [const("w", [1, 2, 3], np.float32)]), "gr.gather", "gr.div")
    yield good("nll_loss_far_index", model(
        [node("NegativeLogLikelihoodLoss", ["x", "t"], ["y"], ignore_index=2**63 - 1)],
        [tensor("x", [2, 3, 4]), tensor("t", [2, 4], INT64)], [tensor("y", [])]),
        "dense<9223372036854775807>", "gr.equal")
    yield good("cross_entropy", model(
        [node("SoftmaxCrossEntropyLoss", ["x", "t"], ["y", "p"], reduction="none")],
        [tensor("x", [2, 3]), tensor("t", [2], INT64)], [tensor("y", [2]), tensor("p", [2, 3])]),
        "log = true", "return", "tensor<2xf32>, tensor<2x3xf32>")
    yield good("attention_shared_heads", model(
        [node("Attention", ["q", "k", "k"], ["y"], is_causal=1)],
        [tensor("q", [2, 6, 4, 8]), tensor("k", [2, 3, 5, 8])], [tensor("y", [2, 6, 4, 8])],
        opset=23), "tensor<2x3x2x4x8xf32>", "gr.less_equal", "gr.softmax", "not gr.expand")
    yield good("attention_half", single("Attention", (1, 2, 4, 6), ["x", "x"], opset=23,
                                        dtype=TensorProto.FLOAT16),
               "(tensor<1x2x4x6xf16>) -> tensor<1x2x4x6xf32>",
               "(tensor<1x2x4x6xf32>) -> tensor<1x2x4x6xf16>")
    yield good("attention_packed", single("Attention", (2, 4, 6), ["x", "x"], opset=23,
                                          q_num_heads=3, kv_num_heads=3), "tensor<2x3x4x2xf32>",
               "-> tensor<2x4x6xf32>", "not gr.where")
    yield good("rotary_embedding", model(
        [node("RotaryEmbedding", ["x", "c", "c", "p"], ["y"], rotary_embedding_dim=4)],
        [tensor("x", [2, 3, 5, 8]), tensor("c", [9, 2]), tensor("p", [2, 5], INT64)],
        [tensor("y", [2, 3, 5, 8])], opset=23), "gr.gather", "gr.split", "gr.concat")
    yield good("causal_conv", model(
        [node("CausalConvWithState", ["x", "w"], ["y", "s"], activation="silu")],
        [tensor("x", [1, 2, 5]), tensor("w", [2, 1, 3])], [tensor("y", [1, 2, 5]), tensor("s", [1, 2, 2])],
        opset=27), "gr.pad", "groups = 2", "gr.sigmoid")
    yield good("linear_attention", model(
        [node("LinearAttention", ["q", "k", "k", "", "g"], ["y", "s"], q_num_heads=4, kv_num_heads=2,
              update_rule="gated")],
        [tensor("q", [1, 3, 16]), tensor("k", [1, 3, 8]), tensor("g", [1, 3, 2])],
        [tensor("y", [1, 3, 16]), tensor("s", [1, 2, 4, 4])], opset=27),
        "gr.linear_attention", "gr.exp", "tensor<1x2x3x1xf32>")
    yield good("gemm", model(
        [node("Gemm", ["a", "b", "c"], ["y"], transB=1, alpha=0.5, beta=2.0)],
        [tensor("a", [2, 3]), tensor("b", [4, 3]), tensor("c", [4])], [tensor("y", [2, 4])]),
        "gr.matmul", "transpose_rhs = true", "gr.mul", "gr.add")
    yield good("softmax_7", single("Softmax", (2, 3, 4), opset=7), "tensor<2x12xf32>", "axis = 1")
    yield good("softmax_13", single("Softmax", (2, 3, 4), opset=13), "axis = 2", "not gr.reshape")
    yield good("flatten_dynamic", single("Flatten", ("n", 3, 4)), "(s0, 12)")
    yield good("flatten_two_dynamic", single("Flatten", ("n", "m", "k"), axis=2), "(s0 * s1, s2)")
    yield good("squeeze_all", single("Squeeze", (1, 3, 1)), "axes = array<i64: 0, 2>")
    yield good("unsqueeze_13", single("Unsqueeze", extra=["a"], initializers=[const("a", [-1, 0])]),
               "tensor<1x2x3x1xf32>")
    yield good("reduce_l2", single("ReduceL2", axes=[1], keepdims=0), "gr.mul", 'kind = "sum"',
               "gr.sqrt", "-> tensor<2xf32>")
    yield good("reduce_sum_noop", single("ReduceSum", noop_with_empty_axes=1), "not gr.reduce",
               "return %arg0")
    yield good("reduce_all", single("ReduceMean"), "axes = array<i64: 0, 1>", "tensor<1x1xf32>")
    yield good("global_pool", single("GlobalAveragePool", (1, 3, "h", "w")), 'kind = "mean"',
               "axes = array<i64: 2, 3>")
    yield good("conv_same", model(
        [node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2])],
        [tensor("x", [1, 3, 9, 9]), tensor("w", [4, 3, 3, 3])], [tensor("y", [1, 4, 5, 5])]),
        'padding = "same_upper"')
    yield good("constant_of_shape", model(
        [node("ConstantOfShape", ["s"], ["t"], value=helper.make_tensor("v", FLOAT, [1], [0.5])),
         node("Add", ["x", "t"], ["y"], name="m")], [tensor("x", [3])], [tensor("y", [3])],
        [const("s", [3])]), "dense<5.000000e-01> : tensor<3xf32>", "not gr.fill")
    yield good("shape_arithmetic", model(
        [node("Shape", ["x"], ["s"], name="a"),
         node("Gather", ["s", "zero"], ["n"], name="b"),
         node("Unsqueeze", ["n", "axis"], ["n1"], name="c"),
         node("Concat", ["n1", "rest"], ["shape"], name="d", axis=0),
         node("Reshape", ["x", "shape"], ["y"], name="e")],
        [tensor("x", ["n", 3, 4])], [tensor("y", None)],
        [const("zero", 0), const("axis", [0]), const("rest", [12])]), "(s0, 12)")
    yield good("reshape_to_scalar", single("Reshape", (1,), ["s"], initializers=[const("s", [])]),
               "-> tensor<f32>")
    yield good("pad_18_axes", single("Pad", (2, 3, 4), ["p", "", "a"], opset=18, initializers=[
        const("p", [1, 2, 3, 4]), const("a", [2, 0])]), "tensor<8x3x8xf32>")
    yield good("resize_18_axes", single("Resize", (1, 3, 4, 5), ["", "", "s"], opset=18,
                                        initializers=[const("s", [8, 10])], axes=[2, 3]),
               "tensor<1x3x8x10xf32>")
    yield good("upsample_7", single("Upsample", (1, 1, 2, 2), opset=7, scales=[1.0, 1.0, 2.0, 3.0]),
               "tensor<1x1x4x6xf32>", 'coordinates = "asymmetric"', 'rounding = "floor"')
    yield good("split_18", model(
        [node("Split", ["x"], ["a", "b"], num_outputs=2)], [tensor("x", [5])],
        [tensor("a", [3]), tensor("b", [2])], opset=18), "tensor<3xf32>", "tensor<2xf32>")
    yield good("dropout_mask", model(
        [node("Dropout", ["x"], ["y", "mask"])], [tensor("x", [2])],
        [tensor("y", [2]), tensor("mask", [2], TensorProto.BOOL)], opset=13), "dense<true>")
    yield good("overflowing_dim", single("Tile", extra=["r"], initializers=[const("r", [2**62, 8])]),
               "tensor<?x24xf32>")
    yield good("prelu_6", model([node("PRelu", ["x", "s"], ["y"])],
                                [tensor("x", [2, 3, 4]), tensor("s", [3])],
                                [tensor("y", [2, 3, 4])], opset=6), "gr.unsqueeze",
               "array<i64: 1>")


def deferredNodes():
    """What cannot be imported before more is known waits, and so does what reads an untyped value."""
    yield good("runtime_axes", model(
        [node("ReduceMean", ["x", "a"], ["y"])], [tensor("x", [2, 3]), tensor("a", [1], INT64)],
        [tensor("y", None)], opset=18), "gr.deferred %arg0, %arg1", "tensor<*xf32>", "not gr.reduce")
    yield good("unknown_rank", single("Softmax", None), "gr.deferred %arg0")
    yield good("squeeze_dynamic", single("Squeeze", ("n", 1)), "gr.deferred %arg0")
    yield good("slice_of_unknown_length", model(
        [node("Slice", ["x", "b", "e"], ["y"])],
        [tensor("x", [2, 3]), tensor("b", ["n"], INT64), tensor("e", ["n"], INT64)],
        [tensor("y", None)], opset=13), "gr.deferred %arg0, %arg1, %arg2")
    yield good("deferred_chain", model(
        [node("ReduceMean", ["x", "a"], ["t"]), node("Exp", ["t"], ["y"])],
        [tensor("x", [2, 3]), tensor("a", [1], INT64)], [tensor("y", None)], opset=18),
        "tensor<*xindex>", "not gr.exp")


def lists():
    """Sequences and optionals whose elements are known vanish; others wait."""
    x, y, place = tensor("x", [2]), tensor("y", None), tensor("i", [], INT64)
    made = node("SequenceConstruct", ["x", "e"], ["s"])
    exp = node("Exp", ["x"], ["e"])
    one = const("one", 1)
    yield good("sequence_at", model([exp, made, node("SequenceAt", ["s", "one"], ["y"])],
                                    [x], [y], [one]), "gr.exp", "not gr.deferred")
    yield good("sequence_at_runtime", model([exp, made, node("SequenceAt", ["s", "i"], ["y"])],
                                            [x, place], [y]), "gr.sequence", "gr.deferred")
    yield good("sequence_length", model([exp, made, node("SequenceLength", ["s"], ["y"])],
                                        [x], [tensor("y", [], INT64)]), "dense<2>", "not gr.deferred")
    yield good("sequence_insert_erase", model(
        [made, node("SequenceInsert", ["s", "x"], ["t"]), node("SequenceErase", ["t", "one"], ["u"]),
         node("ConcatFromSequence", ["u"], ["y"], axis=0, new_axis=1), exp], [x], [y], [one]),
        "gr.concat", "tensor<2x2xf32>")
    yield good("split_to_sequence", model(
        [node("SplitToSequence", ["x"], ["s"], keepdims=0), node("SequenceAt", ["s", "one"], ["y"])],
        [x], [tensor("y", [])], [one]), "sizes = array<i64: 1, 1>", "gr.squeeze")
    yield good("sequence_input", model(
        [node("SequenceLength", ["x"], ["y"])], [helper.make_tensor_sequence_value_info("x", FLOAT, [2])],
        [tensor("y", [], INT64)]), "tensor<*x!gr.sequence>", "gr.deferred")
    yield good("optional", model(
        [node("Optional", ["x"], ["o"]), node("OptionalHasElement", ["o"], ["h"]),
         node("OptionalGetElement", ["o"], ["y"])], [x], [y, tensor("h", [], TensorProto.BOOL)], opset=18),
        "dense<true>", "return %arg0")
    yield good("sequence_map", model(
        [node("SequenceMap", ["x"], ["y"], body=helper.make_graph(
            [node("Neg", ["v"], ["w"])], "body", [tensor("v", [2])], [tensor("w", [2])]))],
        [helper.make_tensor_sequence_value_info("x", FLOAT, [2])],
        [helper.make_tensor_sequence_value_info("y", FLOAT, [2])]), "gr.loop", "SequenceInsert", "Neg")


def controlFlow():
    def graph(nodes, inputs, outputs):
        return helper.make_graph(nodes, "body", inputs, outputs)

    y, condition = tensor("y", [2]), tensor("c", [], TensorProto.BOOL)
    negated = graph([node("Neg", ["x"], ["n"])], [], [tensor("n", [2])])
    halved = graph([node("Mul", ["x", "half"], ["h"])], [], [tensor("h", [2])])
    half = const("half", [0.5], np.float32)
    yield good("if", model([node("If", ["c"], ["y"], then_branch=negated, else_branch=halved)],
                           [tensor("x", [2]), condition], [y], [half]),
               "gr.if %arg1 {", "gr.neg %arg0", "} else {", "gr.mul %arg0")
    yield bad("if_counts", model(
        [node("If", ["c"], ["y", "z"], then_branch=negated, else_branch=halved)],
        [tensor("x", [2]), condition], [y], [half]), '"then_branch" has 1 outputs, expected 2')
    yield bad("if_without_branch", model(
        [node("If", ["c"], ["y"], then_branch=negated)], [tensor("x", [2]), condition], [y], [half]),
        'else_branch')
    yield bad("if_unknown_name", model(
        [node("If", ["c"], ["y"], then_branch=graph([node("Neg", ["lost"], ["n"])], [], [tensor("n", [2])]),
              else_branch=halved)],
        [tensor("x", [2]), condition], [y], [half]), 'input 0 is "lost"')
    body = graph([node("Add", ["v", "x"], ["w"])],
                 [tensor("i", [], INT64), tensor("go", [], TensorProto.BOOL), tensor("v", [2])],
                 [tensor("go", [], TensorProto.BOOL), tensor("w", [2]), tensor("w", [2])])
    yield good("loop", model([node("Loop", ["m", "", "x"], ["y", "all"], body=body)],
                             [tensor("x", [2]), tensor("m", [], INT64)], [y, tensor("all", None)]),
               "gr.loop", "carried(%arg0)", "gr.add %arg4, %arg0")
    yield bad("loop_inputs", model([node("Loop", ["m", ""], ["y"], body=body)],
                                   [tensor("x", [2]), tensor("m", [], INT64)], [y]),
              "has 3 inputs, expected 2")
    step = graph([node("Add", ["s", "e"], ["t"])], [tensor("s", [3]), tensor("e", [3])],
                 [tensor("t", [3]), tensor("t", [3])])
    yield good("scan", model([node("Scan", ["s0", "x"], ["y", "all"], body=step, num_scan_inputs=1)],
                             [tensor("s0", [3]), tensor("x", [4, 3])],
                             [tensor("y", [3]), tensor("all", None)]),
               "gr.loop", "gr.gather %arg1, %arg2 {axis = 0 : i64}")
    batch = [tensor("s0", [2, 3]), tensor("x", [2, 4, 3])]
    for name, lengths, check in (("scan_batch", "", good), ("scan_lengths", "n", bad)):
        yield check(name, model([node("Scan", [lengths, "s0", "x"], ["y", "all"], body=step, num_scan_inputs=1)],
                                [*batch, *([tensor("n", [2], INT64)] if lengths else [])],
                                [tensor("y", [2, 3]), tensor("all", None)], opset=8),
                    "sequence_lens (input 0), which is not supported" if lengths else "gr.loop")


def oddFiles():
    """What exporters write and the specification allows."""
    x, y = tensor("x", [2]), tensor("y", [2])
    w = const("w", [1, 2], np.float32)
    add = node("Add", ["x", "w"], ["y"])
    for ir in range(3, 15):  # the first with opsets, to the newest one
        inputs = [x, tensor("w", [2])] if ir < 4 else [x]
        yield good(f"ir_{ir}", model([add], inputs, [y], [w], opset=13, ir=ir), "gr.add", "not %arg1")
    yield good("no_types", model([add], [x], [onnx.ValueInfoProto(name="y")], [w]), "-> tensor<2xf32>")
    unranked = onnx.ValueInfoProto(name="x")
    unranked.type.tensor_type.elem_type = FLOAT
    yield good("input_without_shape", model([node("Relu", ["x"], ["y"])], [unranked],
                                            [onnx.ValueInfoProto(name="y")]), "tensor<*xf32>")
    yield bad("input_without_type", model([add], [onnx.ValueInfoProto(name="x")], [y], [w]),
              'input "x"')
    yield good("unused_names", model(
        [add, node("Exp", ["x"], ["nobody"], name="dead")], [x, tensor("idle", [3])], [y],
        [w, const("spare", [7], np.float32)], value_info=[tensor("nobody", [2]), tensor("gone", [9])]),
        "gr.add", "%arg1: tensor<3xf32>")
    yield good("duplicate_node_names", model(
        [node("Exp", ["x"], ["t"], name="same"), node("Add", ["t", "w"], ["y"], name="same")], [x], [y],
        [w]), "gr.exp", "gr.add")
    yield good("name_of_node_and_value", model(
        [node("Exp", ["x"], ["t"], name="t"), node("Add", ["t", "w"], ["y"], name="x")], [x], [y], [w]),
        'loc("t")')
    yield good("input_is_output", model([add], [x], [y, x], [w]), "return")
    yield good("initializer_is_output", model([add], [x], [y, tensor("w", [2])], [w]), "return")
    yield good("no_nodes", model([], [x], [x]), "return %arg0")


def brokenGraphs():
    x, y = tensor("x", [2]), tensor("y", [2])
    relu = node("Relu", ["x"], ["y"])
    yield bad("unknown_op", single("FancyOp"), 'node "n" (FancyOp, opset 17)',
              'operation "FancyOp" is not supported')
    yield bad("unknown_domain", model(
        [node("Fused", ["x"], ["y"], domain="com.acme")], [x], [y],
        opsets=[helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]),
        'domain "com.acme" are not supported')
    yield bad("domain_not_imported", model([node("Fused", ["x"], ["y"], domain="com.acme")], [x], [y]),
              'imports no opset of domain "com.acme"')
    made = model([relu], [x], [y])
    del made.opset_import[:]
    yield bad("no_opset", made, 'imports no opset of domain "ai.onnx"')
    yield bad("opset_too_new", model([relu], [x], [y], opset=99), "opset 99", "expected 1 to 28",
              "version_converter")
    yield bad("opset_of_op", model([node("Upsample", ["x", "x"], ["y"])], [x], [y], opset=13),
              "is supported for opsets 1 to 9; convert")
    yield bad("opset_before_op", model([node("Sign", ["x"], ["y"])], [x], [y], opset=5),
              "is supported for opsets 9 to 28")
    yield bad("opset_twice", model([relu], [x], [y], opsets=[
        helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx", 16)]), "is imported twice")
    yield bad("ir_too_new", model([relu], [x], [y], ir=999), "IR version 999 is newer than")
    yield bad("no_ir", model([relu], [x], [y], ir=0), "states no IR version")
    yield bad("undefined_value", model([node("Relu", ["ghost"], ["y"])], [x], [y]),
              'input 0 is "ghost", which no node, input or initializer defines')
    yield bad("duplicate_value", model([relu, node("Exp", ["x"], ["y"], name="m")], [x], [y]),
              'node "m"', 'defines value "y", which exists already')
    yield bad("duplicate_input", model([relu], [x, x], [y]), 'defines value "x"')
    yield bad("duplicate_initializer", model([relu], [x], [y], [const("w", 1), const("w", 2)]),
              'initializer "w": defines value "w"')
    yield bad("cycle", model([node("Add", ["x", "b"], ["a"], name="one"),
                              node("Relu", ["a"], ["b"], name="two"),
                              node("Exp", ["b"], ["y"], name="three")], [x], [y]),
              'nodes form a cycle: "one" -> "two" -> "one"; 3 nodes cannot run', "1 problem")
    yield bad("self_cycle", model([node("Add", ["x", "y"], ["y"])], [x], [y]),
              'cycle: "n" -> "n"')
    yield bad("no_output", model([relu], [x], []), "the graph has no output")
    yield bad("missing_output", model([relu], [x], [tensor("z", [2])]),
              'output "z": no node, input or initializer defines it')
    yield bad("output_twice", model([relu], [x], [y, y]), 'output "y": is listed twice')
    yield bad("all_at_once", model(
        [node("FancyOp", ["x"], ["a"], name="one"), node("Relu", ["a"], ["b"], name="skipped"),
         node("Add", ["b", "ghost"], ["c"], name="three"), node("Conv", ["x"], ["y"], name="four")],
        [x], [y, tensor("b", [2])]), "3 problems", '"one"', '"ghost"', "misses the required input 1",
        'not "skipped"')
    yield bad("control_bytes", single("Evil\x1b[31m\n"), "Evil\\033[31m\\n")


def quantized():
    """Scales and zero points become plain arithmetic; the reduced types are only converted."""
    T = TensorProto
    w8, w4 = const("z", [1, 2, 3], np.uint8), helper.make_tensor("z", T.INT4, [2, 2], [1, -1, 0, 2])
    scales = const("s", [1, 2, 4], np.float32)
    yield good("quantize_10", single("QuantizeLinear", (2, 3), ["s"], opset=10,
                                     initializers=[const("s", 0.5, np.float32)]),
               "gr.div", "gr.round", "high = 2.55", "-> tensor<2x3xui8>", "not gr.add")
    yield good("quantize_13_axis", single("QuantizeLinear", (2, 3, 4), ["s", "z"], opset=13,
                                          axis=-2, initializers=[scales, w8]),
               "gr.unsqueeze", "axes = array<i64: 1>", "gr.add", "tensor<2x3x4xui8>")
    yield good("quantize_19_float8", single(
        "QuantizeLinear", (4,), ["s", "z"], opset=19, saturate=0, initializers=[
            const("s", 2, np.float32), helper.make_tensor("z", T.FLOAT8E4M3FN, [], [0.0])]),
        "saturate = false", "to = f8E4M3FN", "not gr.clip", "not gr.add")
    yield good("quantize_21_blocks", single(
        "QuantizeLinear", (2, 3), ["s", "z"], opset=21, axis=1, block_size=2, initializers=[
            const("s", [[1, 2], [3, 4]], np.float32), w4]),
        "dense<[0, 0, 1]>", "gr.gather", "low = -8.0", "high = 7.0", "-> tensor<2x3xi4>")
    yield good("quantize_23_precision", single(
        "QuantizeLinear", (4,), ["s"], opset=23, dtype=T.FLOAT16, output_dtype=T.UINT16,
        precision=FLOAT, initializers=[const("s", 2, np.float16)]),
        "gr.cast", "tensor<4xf32>", "high = 6.553500e+04", "-> tensor<4xui16>")
    yield good("dequantize_21_int4", single(
        "DequantizeLinear", (2, 2), ["s", "z"], opset=21, dtype=T.INT4, axis=0,
        initializers=[const("s", [1, 2], np.float16),
                      helper.make_tensor("z", T.INT4, [2], [1, -1])]),
        "tensor<2x2xi4>) -> tensor<2x2xf32>", "gr.sub", "gr.mul", "-> tensor<2x2xf16>")
    yield good("dequantize_13_int32", single(
        "DequantizeLinear", (2,), ["s", "z"], opset=13, dtype=T.INT32,
        initializers=[const("s", 0.5, np.float32), const("z", 7, np.int32)]),
        "gr.sub %arg0", "tensor<i32>) -> tensor<2xi32>")
    yield good("dequantize_24_power", single(
        "DequantizeLinear", (2, 4), ["s"], opset=24, dtype=T.FLOAT4E2M1, axis=1, block_size=4,
        output_dtype=T.BFLOAT16, initializers=[helper.make_tensor("s", T.FLOAT8E8M0, [2, 1],
                                                                  [1.0, 2.0])]),
        "!gr.f4e2m1", "!gr.f8e8m0", "-> tensor<2x4xbf16>")
    yield good("dynamic_quantize", model(
        [node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])], [tensor("x", [3, 4])],
        [tensor("y", None, T.UINT8), tensor("s", []), tensor("z", [], T.UINT8)]),
        'kind = "max"', 'kind = "min"', "gr.where", "tensor<3x4xui8>, tensor<f32>, tensor<ui8>")
    yield good("matmul_integer", model(
        [node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])],
        [tensor("a", [2, 3], T.UINT8), tensor("b", [3, 4], T.INT8)], [tensor("y", None, T.INT32)],
        [const("za", [1, 2], np.uint8), const("zb", [0, 0, 0, 0], np.int8)]),
        "tensor<2x1xui8>", "(tensor<2x3xui8>, tensor<3x4xi8>) -> tensor<2x4xi32>", "gr.reduce")
    yield good("matmul_integer_weights", model(
        [node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])],
        [tensor("a", [2, 3], T.INT8)], [tensor("y", None, T.INT32)],
        [const("b", [[100, 200], [120, 130], [7, 90]], np.uint8), const("za", 1, np.int8),
         const("zb", 120, np.uint8)]),
        "(tensor<2x3xui8>, tensor<3x2xi8>) -> tensor<2x2xi32>", "-20, 80", "-133, 60",
        "not gr.reduce")
    yield good("conv_integer", model(
        [node("ConvInteger", ["x", "w", "zx", "zw"], ["y"], pads=[1, 1, 1, 1])],
        [tensor("x", ["n", 1, 4, 4], T.UINT8), tensor("w", [2, 1, 3, 3], T.UINT8)],
        [tensor("y", None, T.INT32)],
        [const("zx", 1, np.uint8), const("zw", [1, 2], np.uint8)]),
        "gr.pad", "gr.conv", "pads = array<i64: 0, 0, 0, 0>", "(s0, 2, 4, 4)",
        "dense<1> : tensor<1x1x3x3xi8>")
    yield good("conv_integer_same", model(
        [node("ConvInteger", ["x", "w", "zx"], ["y"], auto_pad="SAME_UPPER")],
        [tensor("x", ["n", 1, 4, 4], T.UINT8), tensor("w", [2, 1, 3, 3], T.UINT8)],
        [tensor("y", None, T.INT32)], [const("zx", 1, np.uint8)]),
        'padding = "same_upper"', "tensor<2x1x3x3xi32>", "not gr.pad")
    per = [("xs", 0.5, np.float32), ("xz", 3, np.uint8), ("ws", [1, 2], np.float32),
           ("wz", [4, 5], np.uint8), ("ys", 2, np.float32), ("yz", 6, np.uint8)]
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    given = [const(*row) for row in per]
    yield good("qlinear_conv", model(
        [node("QLinearConv", [*names, "b"], ["y"])],
        [tensor("x", [1, 1, 4, 4], T.UINT8), tensor("w", [2, 1, 3, 3], T.UINT8),
         tensor("b", [2], T.INT32)], [tensor("y", None, T.UINT8)], given, opset=10),
        "tensor<2x1x3x3xi8>) -> tensor<1x2x2x2xi32>", "gr.round", "-> tensor<1x2x2x2xui8>")
    yield good("qlinear_matmul", model(
        [node("QLinearMatMul", names, ["y"])],
        [tensor("x", [3, 4], T.UINT8), tensor("w", [4, 2], T.UINT8)],
        [tensor("y", None, T.UINT8)], given, opset=10),
        "-> tensor<3x2xi32>", "gr.round", "-> tensor<3x2xui8>")
    yield good("cast_power", single("Cast", opset=24, to=T.FLOAT8E8M0, round_mode="down",
                                    saturate=0),
               'round_mode = "down"', "saturate = false", "to = !gr.f8e8m0")
    yield good("cast_saturating", single("Cast", opset=19, to=T.FLOAT8E5M2), "to = f8E5M2",
               "not saturate", "not round_mode")
    yield good("bitcast", single("BitCast", opset=26, to=T.INT32), "gr.bitcast", "tensor<2x3xi32>")
    sixes = TensorProto(name="w", dims=[5], data_type=T.FLOAT6E2M3)
    unpacked = TensorProto(int32_data=[0x3F, 0x02, 0x15, 0x2A, 0x01])
    for name, data in (("raw", TensorProto(raw_data=b"\xbf\x50\xa9\x01")), ("typed", unpacked)):
        weight = TensorProto()
        weight.CopyFrom(sixes)
        weight.MergeFrom(data)
        yield good(f"float6_{name}", model(
            [node("Cast", ["w"], ["y"], to=FLOAT)], [], [onnx.ValueInfoProto(name="y")], [weight],
            opset=28, ir=14), "tensor<5x!gr.f6e2m3>", "3F02152A01")
    weight.int32_data.append(0)
    yield bad("float6_count", model(
        [node("Cast", ["w"], ["y"], to=FLOAT)], [], [onnx.ValueInfoProto(name="y")], [weight],
        opset=28, ir=14), "holds 6 bytes of data, but its dims 5 of FLOAT6E2M3 need 5")
    yield good("is_nan_f8", single("IsNaN", opset=20, dtype=T.FLOAT8E5M2), "gr.cast", "gr.equal",
               "tensor<2x3xi1>")
    yield good("scatter_f8", model(
        [node("TensorScatter", ["x", "u"], ["y"])],
        [tensor("x", [2, 4, 5], T.FLOAT8E4M3FN), tensor("u", [2, 1, 5], T.FLOAT8E4M3FN)],
        [tensor("y", None, T.FLOAT8E4M3FN)], opset=24), "gr.scatter_nd", "-> tensor<2x4x5xf8E4M3FN>")
    yield good("fill_f4", model(
        [node("ConstantOfShape", ["s"], ["y"], value=helper.make_tensor("v", T.FLOAT4E2M1, [1], [1.5]))],
        [tensor("s", [2], INT64)], [tensor("y", None, T.FLOAT4E2M1)], opset=25),
        "gr.expand", "x!gr.f4e2m1>")
    yield good("attention_counts", model(
        [node("Attention", ["q", "k", "v", "m"], ["y"])],
        [tensor("q", [1, 2, 3, 4]), tensor("k", [1, 2, 5, 4]), tensor("v", [1, 2, 5, 4]),
         tensor("m", [3, 5], T.INT32)], [tensor("y", None)], opset=24),
        "gr.cast", "(tensor<3x5xi32>) -> tensor<3x5xf32>")
    yield good("move_int2", single("Transpose", opset=25, dtype=T.INT2), "tensor<3x2xi2>")
    yield bad("bitcast_width", single("BitCast", opset=26, to=INT64),
              "cannot take the bits of 'f32' for 'i64'")
    yield bad("cast_mode", single("Cast", opset=24, to=T.FLOAT8E8M0, round_mode="odd"),
              'has round_mode "odd", expected up, down or nearest')
    yield bad("compute_float8", single("Relu", opset=19, dtype=T.FLOAT8E4M3FN),
              "which is only stored and converted; cast it first")
    yield bad("quantize_types", single("QuantizeLinear", (2,), ["s", "z"], opset=21,
                                       output_dtype=T.INT8, initializers=[
                                           const("s", 1, np.float32), const("z", 0, np.uint8)]),
              '"output_dtype" and the zero point')
    yield bad("quantize_wide", single("QuantizeLinear", (2,), ["s"], opset=21,
                                      output_dtype=T.INT32,
                                      initializers=[const("s", 1, np.float32)]),
              "integers of more than 16 bits")
    yield bad("quantize_block_rank", single("QuantizeLinear", (2, 4), ["s"], opset=21, block_size=2,
                                            initializers=[scales]),
              "has blocks of 2 elements and a scale of rank 1, expected the input's rank 2")
    yield bad("quantize_block_size", single("QuantizeLinear", (2, 4), ["s"], opset=21,
                                            block_size=-2, initializers=[scales]),
              "block_size is -2")
    yield bad("quantize_axis", single("QuantizeLinear", (2, 4), ["s"], opset=13, axis=2,
                                      initializers=[scales]), "axis 2 is out of range")
    yield bad("dequantize_power", single("DequantizeLinear", (2,), ["s"], opset=24, dtype=T.INT8,
                                         initializers=[helper.make_tensor("s", T.FLOAT8E8M0, [],
                                                                          [2.0])]),
              '"output_dtype" must say which type')


def brokenNodes():
    yield bad("missing_input", single("Add"), "misses the required input 1")
    yield bad("too_many_inputs", single("Relu", extra=["x"]), "has 2 inputs, expected at most 1")
    yield bad("too_many_outputs", model([node("Relu", ["x"], ["y", "z"])], [tensor("x", [2])],
                                        [tensor("y", [2])]), "has 2 outputs, expected 1")
    yield bad("missing_attribute", single("Concat"), 'misses the required attribute "axis"')
    yield bad("unknown_attribute", single("Softmax", axes=1),
              'has an unknown attribute "axes", expected axis')
    yield bad("wrong_attribute_type", single("Softmax", axis=1.5),
              'attribute "axis" is of type FLOAT, expected INT')
    made = single("Softmax", axis=1)
    made.graph.node[0].attribute.append(helper.make_attribute("axis", 0))
    yield bad("attribute_twice", made, 'has two attributes "axis"')
    made = single("Softmax", axis=1)
    made.graph.node[0].attribute[0].ref_attr_name = "a"
    yield bad("attribute_reference", made, "refers to a function's attribute")
    yield bad("type_mismatch", model(
        [node("Add", ["x", "i"], ["y"])], [tensor("x", [2]), tensor("i", [2], INT64)],
        [tensor("y", [2])]), "element types 'f32' and 'i64'", '"i" i64[2]')
    yield bad("shape_mismatch", model(
        [node("MatMul", ["x", "w"], ["y"], name="fc")], [tensor("x", [1, 64]), tensor("w", [32, 10])],
        [tensor("y", [1, 10])]), 'node "fc" (MatMul, opset 17)', "64", "32",
        '"x" f32[1x64], "w" f32[32x10]')
    yield bad("axis_range", single("Softmax", axis=5), "axis 5 is out of range, expected -2 to 1")
    yield bad("axis_twice", single("ReduceMean", axes=[0, -2]), "names axis 0 twice")
    yield bad("kernel_mismatch", model(
        [node("Conv", ["x", "w"], ["y"], kernel_shape=[5, 5])],
        [tensor("x", [1, 3, 9, 9]), tensor("w", [4, 3, 3, 3])], [tensor("y", None)]),
        '"kernel_shape" holds 5 for spatial dim 0, but the filter is 4x3x3x3')
    yield bad("attribute_length", model(
        [node("Conv", ["x", "w"], ["y"], strides=[1, 1, 1])],
        [tensor("x", [1, 3, 9, 9]), tensor("w", [4, 3, 3, 3])], [tensor("y", None)]),
        '"strides" has 3 values, expected 2')
    yield bad("auto_pad", single("MaxPool", (1, 1, 4, 4), kernel_shape=[2, 2], auto_pad="ODD"),
              'auto_pad is "ODD"')
    yield bad("huge_window", single("MaxPool", (1, 1, 4, 4), kernel_shape=[2**62, 2]),
              '"kernel_shape" holds 4611686018427387904')
    yield bad("negative_pads", single("MaxPool", (1, 1, 4, 4), kernel_shape=[2, 2], pads=[-1, 0, 0, 0]),
              '"pads" holds -1')
    yield bad("window_too_large", single("MaxPool", (1, 1, 4, 4), kernel_shape=[9, 9]),
              "the window does not fit")
    yield bad("norm_statistics", model(
        [node("BatchNormalization", ["x", *"abcd"], ["y", "m"])], [tensor("x", [1, 2])],
        [tensor("y", None), tensor("m", None)],
        [const(c, [1, 2], np.float32) for c in "abcd"]), "a statistic of training")
    yield bad("mod_fmod", single("Mod", extra=["x"], fmod=2), "fmod is 2, expected 0 or 1")
    yield bad("shift_direction", single("BitShift", extra=["x"], dtype=TensorProto.UINT8,
                                        direction="UP"), 'direction is "UP"')
    yield bad("bitwise_bool", single("BitwiseNot", dtype=TensorProto.BOOL, opset=18),
              "expected an integer type; use And, Or, Xor or Not")
    yield bad("celu_zero", single("Celu", alpha=0.0), "alpha is 0")
    yield bad("lp_norm_p", single("LpNormalization", p=3), "p is 3, expected 1 or 2")
    yield bad("group_count", single("GroupNormalization", extra=["s", "s"], opset=21, num_groups=0,
                                    initializers=[const("s", [1, 1, 1], np.float32)]),
              "num_groups is 0")
    yield bad("stash_type", single("LayerNormalization", extra=["s"], stash_type=7, initializers=[
        const("s", [1, 1, 1], np.float32)]), '"stash_type" is INT64')
    yield bad("loss_reduction", model(
        [node("NegativeLogLikelihoodLoss", ["x", "t"], ["y"], reduction="max")],
        [tensor("x", [2, 3]), tensor("t", [2], INT64)], [tensor("y", None)]), 'reduction is "max"')
    yield bad("attention_ranks", model(
        [node("Attention", ["x", "k", "k"], ["y"])], [tensor("x", [1, 2, 3]), tensor("k", [1, 1, 2, 3])],
        [tensor("y", None)], opset=23), "Q, K and V are of ranks 3, 4 and 4")
    yield bad("attention_heads", single("Attention", (1, 2, 4), ["x", "x"], opset=23),
              "need the attributes q_num_heads")
    yield bad("attention_past", model(
        [node("Attention", ["x", "x", "x", "", "x"], ["y"])], [tensor("x", [1, 2, 3, 4])],
        [tensor("y", None)], opset=23), "only one of past_key and past_value")
    yield bad("attention_window", single("Attention", (1, 2, 3, 4), ["x", "x"], opset=25,
                                         left_window_size=-2), "window sizes -2")
    yield bad("rotary_rank", single("RotaryEmbedding", (2, 3, 4), ["x", "x"], opset=23),
              "with num_heads 0")
    yield bad("linear_attention_rule", model(
        [node("LinearAttention", ["q", "q", "q"], ["y", "s"], q_num_heads=2, kv_num_heads=2)],
        [tensor("q", [1, 3, 8])], [tensor("y", None), tensor("s", None)], opset=27),
        "goes with decay (input 4) and with beta (input 5)")
    yield bad("causal_conv_activation", model(
        [node("CausalConvWithState", ["x", "w"], ["y", "s"], activation="relu")],
        [tensor("x", [1, 2, 5]), tensor("w", [2, 1, 3])], [tensor("y", None), tensor("s", None)],
        opset=27), 'activation is "relu"')
    yield bad("uneven_split", model([node("Split", ["x"], ["a", "b"])], [tensor("x", [5])],
                                    [tensor("a", None), tensor("b", None)], opset=13),
              "dim 0 of 5 does not divide into 2 equal parts")
    yield bad("empty_constant", model([node("Constant", [], ["y"])], [], [tensor("y", None)]),
              "has no value")
    yield bad("gelu_form", single("Gelu", opset=20, approximate="fast"), 'approximate is "fast"')
    yield bad("resize_both", single("Resize", (1, 1, 2, 2), ["", "s", "z"], initializers=[
        const("s", [1, 1, 2, 2], np.float32), const("z", [1, 1, 4, 4])]), "both scales and sizes")
    yield bad("resize_crop", single("Resize", (1, 1, 2, 2), ["", "s"], initializers=[
        const("s", [1, 1, 2, 2], np.float32)], coordinate_transformation_mode="tf_crop_and_resize"),
        "roi is left out")
    yield bad("add_6_axis_range", model(
        [node("Add", ["x", "b"], ["y"], broadcast=1, axis=1)], [tensor("x", [2, 3]), tensor("b", [2, 3])],
        [tensor("y", [2, 3])], opset=6), "axis 1 leaves no room")
    yield bad("reshape_count", single("Reshape", extra=["s"], initializers=[const("s", [4, 2])]),
              "cannot reshape 2x3 (6 elements) to 4x2 (8)")
    yield bad("huge_result", single("Tile", extra=["r"], initializers=[const("r", [2**40, 2**40])]),
              "its result would be")


def brokenTypes():
    relu = node("Relu", ["x"], ["y"])
    y = tensor("y", None)
    for name, dtype in (("COMPLEX64", TensorProto.COMPLEX64),):
        yield bad(f"type_{name.lower()}", model([relu], [tensor("x", [2], dtype)], [y]),
                  f'input "x": element type {name} is not supported')
    yield bad("type_77", model([relu], [tensor("x", [2], 77)], [y]), "data type 77")
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, [2])
    yield bad("sequence", model([relu], [sequence], [y]), 'input 0 "x" is a sequence or optional',
              "SequenceAt")
    yield bad("sequence_as_tensor", model(
        [node("SequenceConstruct", ["x", "x"], ["y"])], [tensor("x", [2])], [tensor("y", [2])]),
        'value "y" is declared as tensor, but is a list')
    yield bad("tensor_as_sequence", model(
        [node("SequenceAt", ["x", "i"], ["y"])], [tensor("x", [2]), tensor("i", [], INT64)],
        [tensor("y", [2])]), "input 0 is a tensor, expected a sequence")
    yield bad("empty_parts", model(
        [node("SplitToSequence", ["x", "n"], ["s"]), node("SequenceLength", ["s"], ["y"])],
        [tensor("x", [4])], [tensor("y", [], INT64)], [const("n", 0)]), "parts of 0, expected at least 1")
    yield bad("uneven_parts", model(
        [node("SplitToSequence", ["x", "n"], ["s"]), node("SequenceLength", ["s"], ["y"])],
        [tensor("x", [4])], [tensor("y", [], INT64)], [const("n", [1, 2])]), "add up to 4")
    optional = helper.make_value_info("x", helper.make_optional_type_proto(
        helper.make_tensor_type_proto(FLOAT, [2])))
    yield bad("optional", model([relu], [optional], [y]), 'input 0 "x" is a sequence or optional')
    yield bad("no_type", model([relu], [onnx.ValueInfoProto(name="x")], [y]), "type is missing")
    yield bad("negative_dim", model([relu], [tensor("x", [-5])], [y]), 'shape is -5')
    yield bad("huge_dims", model([relu], [tensor("x", [2**40, 2**40])], [y]), 'input "x": shape is')
    yield bad("many_dims", model([relu], [tensor("x", [1] * 100)], [y]), "at most 64 dims")
    yield bad("output_type", model([relu], [tensor("x", [2])], [tensor("y", [2], INT64)]),
              'value "y" is declared as INT64, but is f32')
    yield bad("value_type", model(
        [node("Relu", ["x"], ["t"]), node("Exp", ["t"], ["y"])], [tensor("x", [2])], [y],
        value_info=[tensor("t", [2], INT64)]), 'value "t" is declared as INT64, but is f32')


def wrongShapes():
    """Declared shapes that are not those of the values: told, and not followed."""
    x, y = tensor("x", [2]), tensor("y", None)
    relu = node("Relu", ["x"], ["y"], name="n")
    yield good("output_dims", model([relu], [x], [tensor("y", [3])]),
               'warning: node "n" (Relu, opset 17): value "y" is declared as 3, but its shape is 2, '
               "which is used", "gr.relu %arg0 : (tensor<2xf32>) -> tensor<2xf32>")
    yield good("output_rank", model([relu], [x], [tensor("y", [1, "length"])]),
               'value "y" is declared as 1xlength, but its shape is 2', "-> tensor<2xf32>")
    yield good("output_scalar", model([relu], [x], [tensor("y", [])]),
               'value "y" is declared as scalar, but its shape is 2')
    yield good("output_constant", model([relu], [x], [y, tensor("w", [3], INT64)], [const("w", [1, 2])]),
               'output "w": value "w" is declared as 3, but its shape is 2')
    yield good("output_input", model([relu], [x], [y, tensor("x", [3, 3])]),
               'output "x": value "x" is declared as 3x3, but its shape is 2')
    for shape, text in (([7], "7"), ([2, 1], "2x1"), (["n", "m"], "nxm")):
        yield good(f"value_shape_{text}", model(
            [node("Relu", ["x"], ["t"], name="m"), node("Exp", ["t"], ["y"])], [x], [y],
            value_info=[tensor("t", shape)]),
            f'node "m" (Relu, opset 17): value "t" is declared as {text}, but its shape is 2',
            "gr.exp %0 : (tensor<2xf32>) -> tensor<2xf32>")
    many = [node("Relu", [f"t{i}" if i else "x"], [f"t{i + 1}"]) for i in range(20)]
    yield good("value_shapes", model(
        many, [x], [tensor("t20", [2])], value_info=[tensor(f"t{i}", [9]) for i in range(1, 20)]),
        'value "t16" is declared', 'not value "t17" is declared',
        "warning: 3 more values have other shapes than the file declares")
    yield good("known_shape", model([relu], [tensor("x", ["n"])], [tensor("y", [5])]), "not warning")


def external(made, location, **entries):
    """The tensor with its data in another file."""
    made.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        made.external_data.add(key=key, value=str(value))
    return made


def externalWeights(withWeight, weight):
    """Weights in files: FILES says what is beside the model."""
    def outside(location, **entries):
        return withWeight(external(weight(), location, **entries))

    digest = hashlib.sha1(FILES["w.bin"]).hexdigest()
    yield good("external", outside("w.bin"), "dense<[1.000000e+00, 2.0")
    yield good("external_part", outside("deep/v.bin", offset=4, length=8, checksum=
                                        hashlib.sha1(FILES["deep/v.bin"]).hexdigest().upper()),
               "dense<[3.000000e+00, 4.0")
    yield good("external_unaligned", outside("./deep/v.bin", offset=12, length=8), "dense<[5.0")
    large = TensorProto(name="w", dims=[8192], data_type=FLOAT)
    yield good("external_large", model([node("Add", ["x", "w"], ["y"])], [tensor("x", [8192])],
                                       [tensor("y", None)], [external(large, "large.bin", offset=64)]),
               "dense_resource<w>")
    yield good("external_huge", outside("huge.bin", offset=3 << 30), "dense<[1.000000e+00, 2.0")
    inside = external(weight(), "w.bin", length=8)
    yield good("external_attribute", model([node("Constant", [], ["y"], value=inside)], [],
                                           [tensor("y", [2])]), "dense<[1.000000e+00, 2.0")
    yield bad("external_attribute_lost", model(
        [node("Constant", [], ["y"], value=external(weight(), "lost.bin"))], [], [tensor("y", [2])]),
        'attribute "value" keeps its data in the file "lost.bin"')
    yield bad("external_nowhere", withWeight(weight(data_location=TensorProto.EXTERNAL)),
              'keeps its data in the file "": expected a name inside the model\'s folder')
    yield bad("external_lost", outside("lost.bin"), 'the file "lost.bin": No such file', "beside the model")
    for name, location in (("absolute", "/etc/passwd"), ("up", "../x.bin"), ("deep_up", "deep/../w.bin"),
                           ("backslash", "deep\\v.bin")):
        yield bad(f"external_{name}", outside(location), "expected a name inside the model's folder")
    yield bad("external_link", outside("link.bin"), "symbolic link")
    yield bad("external_link_folder", outside("link/v.bin"), "symbolic link")
    yield bad("external_folder", outside("deep"), "it is no regular file")
    yield bad("external_pipe", outside("pipe"), "it is no regular file")
    yield bad("external_short", outside("w.bin", offset=4, length=8),
              'keeps 8 bytes at offset 4 of the file "w.bin", which has only 8')
    yield bad("external_behind", outside("w.bin", offset=100), "which has only 8")
    yield bad("external_size", outside("deep/v.bin", length=4), "holds 4 bytes of data", "need 8")
    yield bad("external_number", outside("w.bin", offset="ten"), 'gives offset "ten"')
    yield bad("external_checksum", outside("w.bin", checksum="0" * 40), "expects the SHA-1", digest)


def brokenWeights():
    def withWeight(weight):
        return model([node("Add", ["x", "w"], ["y"])], [tensor("x", [2])], [tensor("y", None)], [weight])

    def weight(**fields):
        made = TensorProto(name="w", dims=[2], data_type=FLOAT)
        for name, value in fields.items():
            if isinstance(value, list):
                getattr(made, name)[:] = value
            else:
                setattr(made, name, value)
        return made

    yield good("float_data", withWeight(weight(float_data=[1, 2])), "dense<[1.0")
    yield bad("short_raw", withWeight(weight(raw_data=b"1234")),
              'initializer "w": holds 4 bytes of data, but its dims 2 of FLOAT need 8')
    yield bad("short_typed", withWeight(weight(float_data=[1])), "holds 4 bytes")
    yield bad("wrong_field", withWeight(weight(int64_data=[1, 2])), "holds 0 bytes")
    yield bad("two_fields", withWeight(weight(float_data=[1, 2], raw_data=b"12345678")),
              "has both raw_data and a typed data field")
    yield bad("weight_negative_dim", withWeight(weight(dims=[-2])), "has dims -2")
    yield bad("weight_huge_dims", withWeight(weight(dims=[2**62, 8])), "has dims 4611686018427387904x8")
    yield from externalWeights(withWeight, weight)
    made = weight(raw_data=b"12345678")
    made.segment.begin = 0
    yield bad("segment", withWeight(made), "is stored in segments")
    sparse = onnx.SparseTensorProto(values=const("w", [1], np.float32), indices=const("i", [0]), dims=[2])
    yield bad("sparse", model([node("Add", ["x", "w"], ["y"])], [tensor("x", [2])], [tensor("y", None)],
                              sparse_initializer=[sparse]), 'initializer "w": is a sparse tensor')
    for name, dtype, values in (("int8", np.int8, [-1, 2]), ("uint16", np.uint16, [1, 65535]),
                                ("float16", np.float16, [1, 2]), ("bool", np.bool_, [True, False])):
        array = np.array(values, dtype=dtype)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        typed = helper.make_tensor("w", kind, [2], array)
        yield good(f"typed_{name}", model([node("Identity", ["w"], ["y"])], [],
                                          [tensor("y", [2], kind)], [typed]), "gr.constant dense<[")


STRING = TensorProto.STRING


def strings():
    """Operations on strings: moved as they are, or computed here."""
    def constant(name, *values, dims=None):
        return helper.make_tensor(name, STRING, dims or [len(values)], [v.encode() for v in values])

    def texts(op, initializers, outputs=1, opset=20, **attributes):
        """One node on constants."""
        return model([node(op, [c.name for c in initializers], [f"y{i}" for i in range(outputs)],
                           **attributes)], [],
                     [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)], initializers, opset)

    yield good("string_input", single("Identity", dtype=STRING), "%arg0: tensor<2x3x!gr.string>")
    yield good("string_equal", single("Equal", ("n",), ["w"], dtype=STRING, opset=19,
                                      initializers=[constant("w", "a", "b", "a")]),
               'dense<["a", "b", "a"]> : tensor<3x!gr.string>', "gr.equal")
    yield good("string_pad", single("Pad", (3,), ["p"], dtype=STRING, initializers=[const("p", [1, 0])]),
               'dense<""> : tensor<!gr.string>', "gr.pad")
    yield good("string_non_zero", single("NonZero", (3,), dtype=STRING), "gr.equal", "gr.not",
               "gr.non_zero")
    yield good("string_constant", model([node("Constant", [], ["y"], value_strings=["a", "b"])], [],
                                        [onnx.ValueInfoProto(name="y")]), 'dense<["a", "b"]>')
    yield good("string_scalar", model([node("Constant", [], ["y"], value_string="a")], [],
                                      [onnx.ValueInfoProto(name="y")]), "tensor<!gr.string>")
    yield good("concat_constant", texts("StringConcat", [constant("a", "x", "y", dims=[2, 1]),
                                                         constant("b", "1", "2")]),
               'dense<[["x1", "x2"], ["y1", "y2"]]>')
    yield good("concat_data", single("StringConcat", (2,), ["x"], dtype=STRING, opset=20), "gr.deferred")
    yield good("regex", texts("RegexFullMatch", [constant("a", "ab", "abc", "b")], pattern="a?b"),
               "dense<[true, false, true]> : tensor<3xi1>")
    yield good("split_space", texts("StringSplit", [constant("a", " a  b ", "", "c")], outputs=2),
               'dense<[["a", "b"], ["", ""], ["c", ""]]>', "dense<[2, 0, 1]>")
    yield good("split_delimiter", texts("StringSplit", [constant("a", "a,,b", "")], outputs=2,
                                        delimiter=",", maxsplit=1),
               'dense<[["a", ",b"], ["", ""]]>', "dense<[2, 1]>")
    yield good("normalize", texts("StringNormalizer", [constant("a", "Ab", "THE", "\u00c4\u00df")],
                                  opset=18, case_change_action="UPPER", stopwords=["the"]),
               '"AB"', "tensor<2x!gr.string>")
    yield good("normalize_nothing", texts("StringNormalizer", [constant("a", "x", dims=[1, 1])], opset=18,
                                          stopwords=["x"], is_case_sensitive=1), 'dense<""> : tensor<1x1x')
    yield good("cast_to_string", texts("Cast", [const("a", [1, 0.25, 1e-7, np.nan], np.float32)], opset=18,
                                       to=STRING), 'dense<["1.0", "0.25", "1e-07", "nan"]>')
    yield good("cast_from_string", texts("Cast", [constant("a", "1e2", "-INF", "3")], opset=18, to=FLOAT),
               "dense<[1.000000e+02, 0xFF800000, 3.000000e+00]> : tensor<3xf32>")
    yield good("cast_from_string_int", texts("Cast", [constant("a", "9223372036854775807", "-2.5")],
                                             opset=18, to=INT64), "dense<[9223372036854775807, -2]>")
    yield good("unique_strings", texts("Unique", [constant("a", "b", "a", "b")], outputs=4, opset=18),
               'dense<["a", "b"]>', "dense<[1, 0]>", "dense<[1, 0, 1]>", "dense<[1, 2]>")
    yield bad("string_add", single("Add", extra=["x"], dtype=STRING), "the operation computes, expected")
    yield bad("string_scatter_add", model(
        [node("ScatterElements", ["x", "i", "x"], ["y"], reduction="add")],
        [tensor("x", [2], STRING), tensor("i", [2], INT64)], [onnx.ValueInfoProto(name="y")], opset=18),
        'reduction is "add", expected none for strings')
    yield bad("bad_utf8", model([node("Identity", ["w"], ["y"])], [], [onnx.ValueInfoProto(name="y")], [
        TensorProto(name="w", dims=[2], data_type=STRING, string_data=[b"a", b"\xff"])]),
        'initializer "w": element 1 is not valid UTF-8')
    yield bad("missing_strings", model([node("Identity", ["w"], ["y"])], [], [onnx.ValueInfoProto(name="y")],
                                       [TensorProto(name="w", dims=[2], data_type=STRING,
                                                    string_data=[b"a"])]),
              "holds 1 strings, but its dims need 2")
    yield bad("bad_regex", texts("RegexFullMatch", [constant("a", "b")], pattern="(a"),
              "its pattern is no RE2 expression: missing )")
    yield bad("bad_case", texts("StringNormalizer", [constant("a", "b")], opset=18,
                                case_change_action="TITLE"), 'case_change_action is "TITLE"')
    yield bad("normalize_matrix", texts("StringNormalizer", [constant("a", *"abcd", dims=[2, 2])], opset=18),
              "takes strings of shape C or 1xC")
    yield bad("no_number", texts("Cast", [constant("a", "1", "Hello")], opset=18, to=FLOAT),
              'element 1 is "Hello", which is no number')
    yield bad("concat_shapes", texts("StringConcat", [constant("a", "x", "y"), constant("b", "1", "2", "3")]),
              "do not broadcast")
    yield bad("concat_numbers", single("StringConcat", (2,), ["x"], opset=20), "expected strings")


def machineLearning():
    """ai.onnx.ml, and TfIdfVectorizer."""
    def ml(op, shape=(4, 3), outputs=1, version=3, dtype=FLOAT, extra=(), domain="ai.onnx.ml", **attributes):
        names = [f"x{i}" for i in range(1 + len(extra))]
        return model([node(op, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)],
                     [tensor(names[0], shape, dtype)] +
                     [tensor(n, *e) for n, e in zip(names[1:], extra)],
                     [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)],
                     opsets=[helper.make_opsetid("", 18), helper.make_opsetid(domain, version)])

    nodes = dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0],
                 nodes_values=[0.5, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
                 nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0])
    leaves = dict(target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
                  target_weights=[1.0, 2.0])
    yield good("array_feature_extractor", ml("ArrayFeatureExtractor", (3,), extra=[((2,), INT64)]),
               "gr.unsqueeze", "axis = 1", "-> tensor<1x2xf32>")
    yield good("binarizer", ml("Binarizer", dtype=INT64, threshold=0.5), "gr.less", "tensor<4x3xi64>")
    yield good("category_mapper", ml("CategoryMapper", (4,), dtype=STRING, cats_strings=["a"],
                                     cats_int64s=[3]), "gr.lookup", "gr.gather",
               "-> tensor<4xi64>")
    yield good("label_encoder_1", ml("LabelEncoder", (4,), version=1, dtype=INT64, classes_strings=["a", "b"]),
               "gr.lookup", "tensor<4x!gr.string>")
    yield good("label_encoder_tensor", ml("LabelEncoder", (4,), version=4, dtype=STRING, keys_strings=["a"],
                                          values_tensor=const("v", [7], np.int16)), "tensor<4xi16>")
    yield good("one_hot_required", ml("OneHotEncoder", (4,), dtype=STRING, cats_strings=["a", "b"], zeros=0),
               "required = true", "-> tensor<4x2xf32>")
    yield good("scaler", ml("Scaler", dtype=INT64, offset=[1.0], scale=[2.0]), "gr.cast", "gr.sub", "gr.mul")
    yield good("normalizer", ml("Normalizer", norm="L2"), "gr.sqrt", "gr.where", "gr.div")
    yield good("imputer", ml("Imputer", imputed_value_floats=[1.0], replaced_value_float=float("nan")),
               "gr.not", "gr.where")
    yield good("feature_vectorizer", ml("FeatureVectorizer", inputdimensions=[5]), "gr.pad",
               "-> tensor<4x5xf32>")
    yield good("linear_regressor", ml("LinearRegressor", coefficients=[1.0] * 6, targets=2), "gr.matmul",
               "-> tensor<4x2xf32>")
    yield good("linear_classifier", ml("LinearClassifier", outputs=2, coefficients=[1.0] * 3, intercepts=[0.0],
                                       classlabels_strings=["a", "b"], post_transform="LOGISTIC"),
               "gr.sigmoid", "tensor<4x!gr.string>", "tensor<4x2xf32>")
    yield good("svm_regressor", ml("SVMRegressor", kernel_type="RBF", kernel_params=[0.5, 0.0, 0.0],
                                   coefficients=[1.0, 2.0], support_vectors=[1.0] * 6, n_supports=2, rho=[0.1]),
               "gr.squared_distance", "gr.exp", "gr.matmul")
    yield good("svm_classifier", ml("SVMClassifier", outputs=2, coefficients=[1.0] * 6,
                                    support_vectors=[1.0] * 9, rho=[0.0] * 3, vectors_per_class=[1, 1, 1],
                                    classlabels_ints=[1, 2, 3], prob_a=[-1.0] * 3, prob_b=[0.0] * 3),
               "gr.couple_probabilities", "gr.arg_reduce", "tensor<4xi64>")
    yield good("tree_regressor", ml("TreeEnsembleRegressor", version=1, n_targets=1, **nodes, **leaves),
               "gr.tree_ensemble", 'aggregate = "sum"', "-> tensor<4x1xf32>")
    yield good("tfidf", model(
        [node("TfIdfVectorizer", ["x"], ["y"], mode="IDF", ngram_counts=[0], ngram_indexes=[1],
              pool_strings=["a"], min_gram_length=1, max_gram_length=1, max_skip_count=0)],
        [tensor("x", [4, 6], STRING)], [tensor("y", None)]), "gr.ngram_count", "gr.min",
        "-> tensor<4x2xf32>")
    for op in ("ZipMap", "CastMap", "DictVectorizer"):
        yield bad(f"map_{op.lower()}", ml(op), "takes or gives maps, which are not supported")
    yield bad("ml_version", ml("TreeEnsemble", version=3), "is supported for opsets 5 to 5")
    yield bad("ml_unknown", ml("Nothing"), 'operation "Nothing" is not supported')
    yield bad("label_lengths", ml("LabelEncoder", (4,), version=2, dtype=STRING, keys_strings=["a"],
                                  values_int64s=[1, 2]), "has 1 keys and 2 values")
    yield bad("label_nothing", ml("LabelEncoder", (4,), version=2, dtype=STRING),
              "has no keys, expected one of keys_strings")
    yield bad("post_transform", ml("LinearRegressor", coefficients=[1.0] * 3, post_transform="CUBE"),
              'post_transform is "CUBE"')
    yield bad("tree_child", ml("TreeEnsembleRegressor", version=1, **{**nodes, "nodes_truenodeids": [9, 0, 0]},
                               **leaves), "leads to node 9, which is not there")
    yield bad("tree_cycle", ml("TreeEnsembleRegressor", version=1,
                               **{**nodes, "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"],
                                  "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 2, 0]},
                               **leaves), "has 0 roots, expected 1")
    yield bad("tree_mode", ml("TreeEnsembleRegressor", version=1,
                              **{**nodes, "nodes_modes": ["BRANCH", "LEAF", "LEAF"]}, **leaves),
              'has the mode "BRANCH"')
    yield bad("tree_lengths", ml("TreeEnsembleRegressor", version=1, **{**nodes, "nodes_values": [1.0]},
                                 **leaves), "has 1 elements, nodes_treeids has 3")
    yield bad("svm_counts", ml("SVMClassifier", outputs=2, coefficients=[1.0], support_vectors=[1.0] * 3,
                               rho=[0.0], vectors_per_class=[1], classlabels_ints=[1, 2]),
              "1 vectors_per_class, 1 coefficients and 1 rho for 2 classes, expected 2, 1 and 1")
    yield bad("both_labels", ml("LinearClassifier", outputs=2, coefficients=[1.0] * 3,
                                classlabels_ints=[1, 2], classlabels_strings=["a", "b"]), "got both")

    def training(op, inputs, outputs, **attributes):
        return model([node(op, ["r", "t", *inputs], outputs, domain="ai.onnx.preview.training", **attributes)],
                     [tensor("r", []), tensor("t", [], INT64)] + [tensor(n, [2]) for n in inputs],
                     [tensor(n, [2]) for n in outputs],
                     opsets=[helper.make_opsetid("", 18),
                             helper.make_opsetid("ai.onnx.preview.training", 1)])

    yield good("adam", training("Adam", ["x", "g", "v", "h"], ["y", "w", "i"]), "gr.pow", "gr.where", "gr.sqrt")
    yield good("adagrad", training("Adagrad", ["x", "g", "h"], ["y", "i"]), "gr.sqrt", "gr.div")
    yield good("nesterov", training("Momentum", ["x", "g", "v"], ["y", "w"], alpha=0.9, beta=0.1,
                                    mode="nesterov", norm_coefficient=0.0), "gr.where")
    yield bad("momentum_mode", training("Momentum", ["x", "g", "v"], ["y", "w"], alpha=0.9, beta=0.1,
                                        mode="heavy", norm_coefficient=0.0), 'mode is "heavy"')
    yield bad("optimizer_counts", training("Adagrad", ["x", "g", "h"], ["y"]),
              "has 3 inputs behind the step and 1 outputs, expected 3 and 2 for each value")


def indexLowerings():
    """Operations that pick, place, select and order."""
    one = lambda op, shapes, outputs=1, opset=17, initializers=(), dtypes=(), **attributes: model(
        [node(op, [f"x{i}" for i in range(len(shapes))] + [c.name for c in initializers],
              [f"y{i}" for i in range(outputs)], **attributes)],
        [tensor(f"x{i}", shape, dict(enumerate(dtypes)).get(i, FLOAT))
         for i, shape in enumerate(shapes)],
        [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)], initializers, opset)
    yield good("size", one("Size", [("n", 3)]), 'kind = "prod"', "keepdims = false", "-> tensor<i64>")
    yield good("range_constant", model(
        [node("Range", ["a", "b", "c"], ["y"])], [], [tensor("y", None, INT64)],
        [const("a", 1), const("b", 8), const("c", 3)]), "dense<[1, 4, 7]>", "not gr.range")
    yield good("range_data", one("Range", [[], [], []], dtypes=[INT64] * 3), "gr.range", "tensor<?xi64>")
    yield good("gather_nd", one("GatherND", [[2, 3, 4], [2, 1]], dtypes=[FLOAT, INT64], batch_dims=1),
               "batch_dims = 1", "-> tensor<2x4xf32>")
    yield good("scatter_elements", one("ScatterElements", [[3, 3], [1, 3], [1, 3]], opset=18,
                                       dtypes=[FLOAT, INT64], axis=-1, reduction="max"),
               "axis = 1", 'reduction = "max"')
    yield good("scatter_9", one("Scatter", [[3, 3], [1, 3], [1, 3]], opset=9, dtypes=[FLOAT, INT64]),
               "gr.scatter_elements")
    yield good("tensor_scatter", one("TensorScatter", [[2, 4, 8, 3], [2, 4, 2, 3], [2]], opset=24,
                                     dtypes=[FLOAT, FLOAT, INT64], mode="circular"),
               "gr.scatter_nd", "permutation = array<i64: 0, 2, 1, 3>", "gr.div")
    yield good("non_zero", one("NonZero", [[2, 3]]), "gr.non_zero", "gr.slice", "tensor<2x?xi64>")
    yield good("unique_flat", one("Unique", [[2, 3]], outputs=4, sorted=0), "gr.unique",
               "sorted = false", "tensor<6xi64>")
    yield good("compress_axis", one("Compress", [[2, 3], [2]], dtypes=[FLOAT, TensorProto.BOOL], axis=1),
               "gr.non_zero", "gr.gather", "-> tensor<2x?xf32>")
    yield good("top_k_1", one("TopK", [[2, 5]], outputs=2, opset=9, k=2), "-> (tensor<2x2xf32>, ")
    yield good("top_k_data", one("TopK", [[2, 5], [1]], outputs=2, dtypes=[FLOAT, INT64], largest=0),
               "largest = false", "tensor<2x?xf32>")
    yield good("arg_min", one("ArgMin", [[2, 5]], axis=-1, keepdims=0, select_last_index=1),
               'kind = "min"', "last = true", "-> tensor<2xi64>")
    yield good("hardmax_1", one("Hardmax", [[2, 3, 4]], opset=11), "gr.arg_reduce", "tensor<2x12xf32>",
               "gr.equal")
    yield good("cum_sum", one("CumSum", [[2, 5]], initializers=[const("a", 1)], reverse=1),
               'kind = "sum"', "reverse = true")
    yield good("nms", one("NonMaxSuppression", [[1, 6, 4], [1, 2, 6]],
                          initializers=[const("m", [3])]), "bound = 3", "tensor<6x3xi64>", "gr.slice")
    yield good("trilu", one("Trilu", [[2, "n", "m"]], upper=0), "gr.less_equal", "gr.where", "(2, s0, s1)")
    yield good("eye_like", one("EyeLike", [["n", 3]], dtype=TensorProto.INT32, k=1), "gr.equal",
               "xi32")
    yield good("one_hot", one("OneHot", [[2, 3]], dtypes=[INT64], axis=1,
                              initializers=[const("d", 5), const("v", [0, 1], np.float32)]),
               "-> tensor<2x5x3xf32>", "gr.equal")
    yield good("reverse_sequence", one("ReverseSequence", [[4, 2, 3], [2]], dtypes=[FLOAT, INT64]),
               "batch_dims = 1", "permutation = array<i64: 1, 0, 2>")
    yield good("space_to_depth", one("SpaceToDepth", [[1, 2, "h", "w"]], blocksize=2),
               "(1, 8, s0 floordiv 2, s1 floordiv 2)")
    yield good("depth_to_space_crd", one("DepthToSpace", [[1, 8, 2, 3]], blocksize=2, mode="CRD"),
               "permutation = array<i64: 0, 1, 4, 2, 5, 3>", "tensor<1x2x4x6xf32>")
    yield good("center_crop_pad", one("CenterCropPad", [[10, 7, 3]], opset=18, axes=[1, 0],
                                      initializers=[const("s", [9, 7])]),
               "dense<[-1, 1, 0, -2, 1, 0]>", "tensor<7x9x3xf32>")
    yield good("tile_1", one("Tile", [[2, 3]], opset=5, initializers=[
        const("t", 2, np.float32), const("a", 1, np.float32)]), "gr.tile", "tensor<2x6xf32>")
    yield good("upsample_1", one("Upsample", [[1, 1, 2, 2]], opset=6, height_scale=2.0, width_scale=3.0),
               "gr.resize", "tensor<1x1x4x6xf32>")
    yield good("split_data", one("Split", [[6], [2]], outputs=2, dtypes=[FLOAT, INT64]), "gr.slice",
               "not gr.split")
    yield good("pad_1", one("Pad", [[2]], opset=1, paddings=[1, 2]), "tensor<5xf32>")
    yield good("det", one("Det", [[2, 3, 3]]), "gr.det", "-> tensor<2xf32>")
    yield good("random_normal", model([node("RandomNormal", [], ["y"], shape=[2, 3], mean=1.0, seed=2.0)],
                                      [], [tensor("y", None)]), "gr.random", 'kind = "normal"',
               "seed = 1073741824", "-> tensor<2x3xf32>")
    yield good("bernoulli", one("Bernoulli", [["n"]], dtype=TensorProto.INT32), "gr.random", "gr.less",
               "to = i32")
    yield good("multinomial", one("Multinomial", [[2, 5]], sample_size=4), "gr.cumulative",
               "tensor<2x4xi32>")
    yield good("dropout_training", one("Dropout", [[2, 5]], outputs=2, opset=13, seed=3, initializers=[
        const("r", 0.25, np.float32), const("t", True, np.bool_)]), "gr.random", "seed = 3", "gr.where",
               "not gr.not")
    yield good("dropout_data", one("Dropout", [[2, 5], [], []], opset=13,
                                   dtypes=[FLOAT, FLOAT, TensorProto.BOOL]), "gr.not", "gr.or")
    for name, equation, shapes, *texts in (
            ("matmul", "bij,bjk->bik", [(2, 3, 4), (2, 4, 5)], "gr.matmul", "not gr.reshape"),
            ("transpose", "ij->ji", [(2, 3)], "gr.transpose"),
            ("implicit", "ba", [(2, 3)], "gr.transpose"),
            ("inner", "i,i", [(3,), (3,)], "gr.matmul", "-> tensor<f32>"),
            ("outer", "i,j->ij", [(3,), (2,)], "gr.mul", "tensor<3x2xf32>"),
            ("diagonal", "...ii->...i", [(2, 3, 3)], "gr.equal", "gr.where", "tensor<2x3xf32>"),
            ("contract", "abcd,cdef->abef", [(2, 3, 4, 5), (4, 5, 6, 7)], "tensor<6x20xf32>",
             "tensor<2x3x6x7xf32>"),
            ("three", "ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], "tensor<2x5xf32>"),
            ("unused", "ij,k->i", [(2, 3), (4,)], 'kind = "sum"', "gr.mul")):
        yield good(f"einsum_{name}", one("Einsum", shapes, equation=equation), *texts)


def visionLowerings():
    """Operations on images, and what else of them depends on the opset."""
    def one(op, shapes, outputs=1, opset=22, initializers=(), dtypes=(), **attributes):
        names = [f"x{i}" for i in range(len(shapes))]
        inputs = [tensor(name, shape, dict(enumerate(dtypes)).get(i, FLOAT))
                  for i, (name, shape) in enumerate(zip(names, shapes))]
        made = [node(op, names + [c.name for c in initializers], [f"y{i}" for i in range(outputs)],
                     **attributes)]
        return model(made, inputs, [onnx.ValueInfoProto(name=f"y{i}") for i in range(outputs)],
                     initializers, opset)

    grid = [[1, 2, 4, 4], [1, 3, "w", 2]]
    yield good("grid_sample_16", one("GridSample", grid, opset=16, mode="bicubic"), 'mode = "cubic"',
               'padding = "zeros"', "(1, 2, 3, s0)")
    yield good("grid_sample_20", one("GridSample", grid, opset=20, align_corners=1,
                                     padding_mode="reflection"), 'mode = "linear"',
               "align_corners = true")
    yield good("affine_grid", one("AffineGrid", [["n", 2, 3]], opset=20,
                                  initializers=[const("s", [4, 3, 5, 6])]),
               "transpose_rhs = true", "(s0, 5, 6, 2)", "not gr.max")
    yield good("affine_grid_corners", one("AffineGrid", [[4, 3, 4], [5]], opset=20, align_corners=1,
                                          dtypes=[TensorProto.DOUBLE, INT64]), "gr.max",
               "gr.matmul")
    regions = [[2, 3, 9, 9], ["r", 4], ["r"]]
    yield good("roi_align_10", one("RoiAlign", regions, opset=10, dtypes=[FLOAT, FLOAT, INT64]),
               "half_pixel = false", 'kind = "mean"')
    yield good("roi_align_16", one("RoiAlign", regions, opset=16, dtypes=[FLOAT, FLOAT, INT64], mode="max",
                                   output_height=2), 'kind = "max"', "not half_pixel = false",
               "(s0, 3, 2, 1)")
    yield good("max_roi_pool", one("MaxRoiPool", [[2, 3, 9, 9], [4, 5]], opset=1, pooled_shape=[2, 3],
                                   spatial_scale=0.5), "gr.roi_max_pool", "tensor<4x3x2x3xf32>")
    yield good("col2im", one("Col2Im", [[1, 10, 5]], opset=18, initializers=[
        const("i", [5, 5]), const("b", [1, 5])]), "tensor<1x2x5x5xf32>", "strides = array<i64: 1, 1>")
    yield good("col2im_data", one("Col2Im", [[1, 10, 5], [2], [2]], opset=18,
                                  dtypes=[FLOAT, INT64, INT64]), "tensor<1x?x?x?xf32>")
    unpool = [[1, 1, 2, 2], [1, 1, 2, 2]]
    yield good("max_unpool", one("MaxUnpool", unpool, opset=9, dtypes=[FLOAT, INT64], kernel_shape=[2, 2],
                                 strides=[2, 2]), "gr.scatter_elements", "tensor<1x1x4x4xf32>", "not gr.pad")
    yield good("max_unpool_shape", one("MaxUnpool", unpool, dtypes=[FLOAT, INT64], kernel_shape=[2, 2],
                                       strides=[2, 2], initializers=[const("s", [1, 1, 5, 5])]),
               "gr.pad", "tensor<1x1x5x5xf32>")
    yield good("deform_conv", model(
        [node("DeformConv", ["x", "w", "o", "", "m"], ["y"], offset_group=2, kernel_shape=[2, 2])],
        [tensor("x", [1, 4, 4, 4]), tensor("w", [3, 4, 2, 2]), tensor("o", [1, 16, 3, 3]),
         tensor("m", [1, 8, 3, 3])], [tensor("y", [1, 3, 3, 3])], opset=19), "mask %arg3",
        "offset_groups = 2", "not bias")
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    yield good("max_pool_indices", one("MaxPool", [[1, 1, 4, 4]], outputs=2, storage_order=1, **window),
               "gr.max_pool_with_indices", "column_major = true", "tensor<1x1x2x2xi64>")
    yield good("max_pool_integers", one("MaxPool", [[1, 1, 4, 4]], dtypes=[TensorProto.UINT8], **window),
               "gr.max_pool ", "ui8")
    yield good("lp_pool_1", one("LpPool", [[1, 1, 4, 4]], opset=1, p=3.0, **window), "gr.lp_pool",
               "p = 3.0")
    yield good("lp_pool_18", one("LpPool", [[1, 1, 5, 5]], opset=18, p=1, ceil_mode=1, **window), "p = 1.0",
               "tensor<1x1x3x3xf32>")
    parameters = [const(c, [1, 2], np.float32) for c in "abcd"]
    yield good("norm_training", one("BatchNormalization", [[3, 2, 4]], outputs=3, training_mode=1,
                                    initializers=parameters), "axes = array<i64: 0, 2>", "gr.reduce",
               "return %", "tensor<3x2x4xf32>, tensor<2xf32>, tensor<2xf32>")
    yield good("norm_training_9", one("BatchNormalization", [[3, 2, 4]], outputs=5, opset=9,
                                      initializers=parameters), "gr.reduce", "tensor<3x2x4xf32>, tensor<2xf32>, tensor<2xf32>")
    yield good("norm_each_element", one("BatchNormalization", [["n", 2]], opset=7, spatial=0,
                                        initializers=parameters), "gr.sqrt", "not gr.batch_norm")
    yield good("dropout_seed", one("Dropout", [[2, 5]], opset=13, seed=3, initializers=[
        const("r", 0.25, np.float32), const("t", True, np.bool_)]), 'generator = "mt19937"', "f64")
    scales = const("s", [1, 1, 0.6, 0.6], np.float32)
    # In f32 10 * 0.7 is 7; the scale itself lies below 0.7.
    yield good("resize_f32", single("Resize", (1, 1, 10, 4), ["", "s"], initializers=[
        const("s", [1, 1, 0.7, 1], np.float32)]), "tensor<1x1x7x4xf32>")
    yield good("resize_antialias", single("Resize", (1, 1, 5, 5), ["", "s"], opset=18, mode="cubic",
                                          antialias=1, initializers=[scales]), "antialias = true")
    yield good("resize_ratio", single("Resize", (1, 1, 4, 6), ["", "", "z"], opset=18, axes=[3, 2],
                                      keep_aspect_ratio_policy="not_smaller",
                                      initializers=[const("z", [9, 8])]), 'policy = "not_smaller"',
               "axes = array<i64: 2, 3>", "tensor<1x1x8x12xf32>")
    yield good("resize_crop_axes", single("Resize", (1, 1, 4, 6), ["r", "", "z"], opset=18, axes=[3, 2],
                                          coordinate_transformation_mode="tf_crop_and_resize",
                                          extrapolation_value=2.0,
                                          initializers=[const("r", [0.1, 0.2, 0.8, 0.9], np.float32),
                                                        const("z", [9, 8])]), "roi %", "extrapolation = 2.0",
               "tensor<1x1x8x9xf32>")


def brokenVision():
    """Each row: a problem of the same operations and how it is reported."""
    yield bad("grid_mode", single("GridSample", (1, 1, 2, 2), ["x"], opset=16, mode="linear"),
              'mode is "linear", expected one of bilinear, nearest, bicubic')
    yield bad("affine_grid_size", single("AffineGrid", (1, 2, 3), ["s"], opset=20,
                                         initializers=[const("s", [1, 1, 2])]), "size has 3 elements")
    yield bad("roi_mode", model(
        [node("RoiAlign", ["x", "r", "b"], ["y"], mode="sum")],
        [tensor("x", [1, 1, 2, 2]), tensor("r", [1, 4]), tensor("b", [1], INT64)], [tensor("y", None)]),
        'mode is "sum", expected one of avg, max')
    yield bad("roi_pooled_shape", single("MaxRoiPool", (1, 1, 2, 2), ["r"], pooled_shape=[2],
                                         initializers=[const("r", [[0, 0, 0, 1, 1]], np.float32)]),
              '"pooled_shape" has 1 values, expected 2')
    yield bad("col2im_matrix", model(
        [node("Col2Im", ["x", "i", "b"], ["y"])],
        [tensor("x", [1, 4, 1]), tensor("i", [1, 2], INT64), tensor("b", [2], INT64)],
        [tensor("y", None)], opset=18), "a shape is of rank 2, expected a vector")
    yield bad("unpool_rank", single("MaxUnpool", (1, 1, 2), ["i"], kernel_shape=[2, 2],
                                    initializers=[const("i", [[[0, 1]]])]), "has an input of rank 3 and 2")
    yield bad("offsets_missing", single("DeformConv", (1, 1, 2, 2), ["w", "o"], opset=19, initializers=[
        const("w", [[[[1]]]], np.float32), const("o", np.zeros((1, 1, 2, 2)), np.float32)]),
              "offsets has shape 1x1x2x2, expected 1x2x2x2")


def brokenIndices():
    """Each row: a problem of the same operations and how it is reported."""
    yield bad("range_zero", model([node("Range", ["a", "b", "c"], ["y"])], [], [tensor("y", None, INT64)],
                                  [const("a", 1), const("b", 8), const("c", 0)]), "delta is 0")
    yield bad("trilu_vector", single("Trilu", (3,)), "input is of rank 1, expected matrices")
    yield bad("eye_like_cube", single("EyeLike", (3, 3, 3)), "input is of rank 3, expected a matrix")
    yield bad("blocks_of_zero", single("SpaceToDepth", (1, 1, 2, 2), blocksize=0), "has blocksize 0")
    yield bad("reverse_axes", single("ReverseSequence", (2, 3), ["l"], batch_axis=1, time_axis=1,
                                     initializers=[const("l", [1, 1, 1])]),
              "batch_axis 1, time_axis 1")
    yield bad("tensor_scatter_batch", single("TensorScatter", (2, 4), ["x"], opset=24, axis=0),
              'has axis 0 and mode "linear"')
    yield bad("multinomial_cube", single("Multinomial", (2, 3, 4)), "has an input of rank 3")
    yield bad("einsum_terms", single("Einsum", equation="ij,jk->ik"), "has 2 terms, expected one for each of 1")
    yield bad("einsum_rank", single("Einsum", equation="ijk->i"), 'has the term "ijk" for an input of rank 2')
    yield bad("einsum_result", single("Einsum", equation="ij->ik"), "a dim in its result that no input has")
    yield bad("einsum_twice", single("Einsum", equation="ij->ii"), "stands there twice")
    yield bad("einsum_signs", single("Einsum", equation="i1->i"), "expected letters and at most one ellipsis")


def writeFiles(folder):
    os.makedirs(os.path.join(folder, "deep"))
    for name, data in FILES.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    os.symlink("w.bin", os.path.join(folder, "link.bin"))
    os.symlink("deep", os.path.join(folder, "link"))
    os.mkfifo(os.path.join(folder, "pipe"))
    with open(os.path.join(folder, "huge.bin"), "wb") as file:  # a hole takes no space
        file.seek(3 << 30)
        file.write(FILES["w.bin"])


def functionCalls():
    """Functions of the model, and what is wrong with them."""
    ours, main = helper.make_opsetid("f", 1), helper.make_opsetid("", 17)

    def calling(nodes, functions, inputs=None, outputs=None, **more):
        made = helper.make_graph(nodes, "g", inputs or [tensor("x", [2])], outputs or [tensor("y", [2])],
                                 **more)
        return helper.make_model(made, opset_imports=[main, ours], ir_version=10, functions=functions)

    def function(name, nodes, inputs=("a",), outputs=("b",), opsets=None, **more):
        return helper.make_function("f", name, list(inputs), list(outputs), nodes, opsets or [main, ours],
                                    **more)

    def reference(op, inputs, outputs, attribute, named, kind):
        made = node(op, inputs, outputs)
        made.attribute.add(name=attribute, ref_attr_name=named, type=kind)
        return made

    call = node("F", ["x"], ["y"], domain="f", name="call")
    relu = function("F", [node("Relu", ["a"], ["b"], name="inside")])
    yield good("function", calling([call], [relu]), "gr.relu %arg0", 'loc("call/inside")')
    nested = function("F", [node("G", ["a"], ["t"], domain="f", name="two"), node("Neg", ["t"], ["b"])])
    yield good("function_nested", calling([call], [nested, function("G", [node("Exp", ["a"], ["b"], name="in")])]),
               "gr.exp", "gr.neg", 'loc("call/two/in")')
    alpha = onnx.AttributeProto.FLOAT
    leaky = [reference("LeakyRelu", ["a"], ["b"], "alpha", "slope", alpha)]
    yield good("function_attribute", calling([node("F", ["x"], ["y"], domain="f", slope=0.25)],
                                             [function("F", leaky, attributes=["slope"])]),
               "alpha = 2.500000e-01")
    default = helper.make_attribute("slope", 0.5)
    yield good("function_default", calling([call], [function("F", leaky, attribute_protos=[default])]),
               "alpha = 5.000000e-01")
    yield good("function_left_out", calling([call], [function("F", leaky, attributes=["slope"])]), "alpha = 0.0099999")
    clip = function("F", [node("Clip", ["a", "low", "high"], ["b"])], ["a", "low", "high"])
    yield good("function_optional_input", calling([call], [clip]), "not gr.max")
    body = helper.make_graph([reference("LeakyRelu", ["a"], ["r"], "alpha", "slope", alpha)], "t", [],
                             [tensor("r", [2])])
    branches = function("F", [node("If", ["c"], ["b"], then_branch=body, else_branch=body)], ["a", "c"],
                        attribute_protos=[default])
    yield good("function_with_subgraph", calling(
        [node("F", ["x", "c"], ["y"], domain="f")], [branches],
        [tensor("x", [2]), tensor("c", [], TensorProto.BOOL)]), "gr.if", "alpha = 5.000000e-01")
    yield good("function_of_older_opset", calling([call], [function("F", [
        node("Squeeze", ["a"], ["b"], axes=[0])], opsets=[helper.make_opsetid("", 11)])],
        [tensor("x", [1, 2])]), "gr.squeeze")
    yield good("function_over_operation", helper.make_model(
        helper.make_graph([node("Relu", ["x"], ["y"])], "g", [tensor("x", [2])], [tensor("y", [2])]),
        opset_imports=[main], ir_version=10, functions=[
            helper.make_function("", "Relu", ["a"], ["b"], [node("Neg", ["a"], ["b"])], [main])]), "gr.neg")
    loop = function("F", [node("G", ["a"], ["b"], domain="f")])
    back = function("G", [node("F", ["a"], ["b"], domain="f")])
    yield bad("function_recursion", calling([call], [loop, back]), 'calls itself: "F" -> "G" -> "F"')
    yield bad("function_twice", calling([call], [relu, relu]), 'function "F" of domain "f" is defined twice')
    yield bad("function_counts", calling([node("F", ["x", "x"], ["y"], domain="f")], [relu]),
              "has 2 inputs and 1 outputs, expected at most 1 and 1")
    yield bad("function_unknown_attribute", calling([node("F", ["x"], ["y"], domain="f", k=1)], [relu]),
              'has an attribute "k", which the function lacks')
    yield bad("function_no_output", calling([call], [function("F", [node("Relu", ["a"], ["t"])])]),
              'no node of the function defines its output "b"')
    yield bad("function_outer_name", calling([call], [function("F", [node("Add", ["a", "x"], ["b"])])]),
              'input 1 is "x", which no node')
    yield bad("function_inside", calling([call], [function("F", [node("Nope", ["a"], ["b"], name="in")])]),
              'node "call/in" (Nope, opset 17)')
    yield bad("function_opset", calling([call], [function("F", [node("Relu", ["a"], ["b"])],
                                                          opsets=[helper.make_opsetid("", 99)])]),
              'node "call" (f.F, opset 1): opset 99')
    chain = [function(f"F{i}", [node(f"F{i + 1}", ["a"], ["b"], domain="f")]) for i in range(80)]
    yield bad("function_depth", calling([node("F0", ["x"], ["y"], domain="f")], chain), "nested 64 deep")
    double = [function(f"F{i}", [node(f"F{i + 1}", ["a"], ["t"], domain="f"),
                                 node(f"F{i + 1}", ["t"], ["b"], domain="f")]) for i in range(30)]
    double.append(function("F30", [node("Relu", ["a"], [f"t{i}"]) for i in range(1 << 16)] +
                           [node("Relu", ["a"], ["b"])]))
    yield bad("function_bomb", calling([node("F0", ["x"], ["y"], domain="f")], double), "nodes, expected at most")


def recurrentLowerings():
    """RNN, GRU, LSTM, and signal processing."""
    def weights(gates, directions=1, hidden=2):
        return [const("w", np.arange(directions * gates * hidden * 3).reshape(directions, gates * hidden, 3), np.float32),
                const("r", np.arange(directions * gates * hidden * hidden).reshape(
                    directions, gates * hidden, hidden), np.float32)]

    def layer(op, gates, extra=(), outputs=("y",), directions=1, opset=14, initializers=(), shape=(4, 5, 3),
              **attributes):
        return model([node(op, ["x", "w", "r", *extra], list(outputs), hidden_size=2, **attributes)],
                     [tensor("x", shape)], [onnx.ValueInfoProto(name=n) for n in outputs if n],
                     [*weights(gates, directions), *initializers], opset)

    yield good("rnn", layer("RNN", 1, outputs=("y", "h")), 'cell = "rnn"', 'activations = ["tanh"]',
               "-> (tensor<4x5x2xf32>, tensor<5x2xf32>)")
    yield good("lstm_gates", layer("LSTM", 4, outputs=("", "", "y")), 'cell = "lstm"',
               # input, forget, cell, output: ONNX's gates 0, 2, 3, 1
               "[[0.000000e+00, 1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00, 5.000000e+00], "
               "[1.200000e+01")
    large = np.arange(4 * 64 * 64, dtype=np.float32).reshape(1, 256, 64)
    yield good("lstm_large", model([node("LSTM", ["x", "w", "r"], ["y"])], [tensor("x", [4, 5, 64])],
                                   [onnx.ValueInfoProto(name="y")],
                                   [numpy_helper.from_array(large, "w"), numpy_helper.from_array(large, "r")]),
               "gr.recurrent", "not gr.slice")
    yield good("gru_linear", layer("GRU", 3, ["b"], initializers=[const("b", [list(range(12))], np.float32)],
                                   linear_before_reset=1), "linear_before_reset = true", "gr.add", "gr.concat")
    yield good("gru_both", layer("GRU", 3, directions=2, direction="bidirectional"),
               "reverse = true", "gr.concat", "-> tensor<4x2x5x2xf32>")
    yield good("lstm_batch_first", layer("LSTM", 4, shape=("n", 5, 3), layout=1), "permutation = array<i64: 1, 0, 2>",
               "5x?x2xf32")
    yield good("lstm_all", layer("LSTM", 4, ["", "l", "h", "c", "p"], initializers=[
        const("l", [4, 1, 2, 3, 4], np.int32), const("h", np.ones((1, 5, 2)), np.float32),
        const("c", np.ones((1, 5, 2)), np.float32), const("p", [list(range(6))], np.float32)],
        input_forget=1, clip=3.0, activations=["HardSigmoid", "Tanh", "Affine"], activation_alpha=[0.5],
        activation_beta=[0.25]), "lengths", "peepholes", "input_forget = true", "clip = 3.000000e+00",
        "alphas = array<f64: 5.000000e-01, 0.000000e+00, 1.000000e+00>", 'activations = ["hardsigmoid", "tanh", "affine"]',
        "dense<[0.000000e+00, 1.000000e+00, 4.000000e+00, 5.000000e+00, 2.000000e+00, 3.0")
    yield good("lstm_open_weights", model(
        [node("LSTM", ["x", "w", "r"], ["y"])],
        [tensor("x", [4, 5, 3]), tensor("w", [1, "g", 3]), tensor("r", [1, 8, 2])],
        [onnx.ValueInfoProto(name="y")]), "gr.deferred")
    yield bad("rnn_direction", layer("RNN", 1, direction="sideways"), 'direction is "sideways"')
    yield bad("rnn_activation", layer("RNN", 1, activations=["Sine"]), 'has the activation "Sine"')
    yield bad("rnn_activations", layer("GRU", 3, activations=["Tanh"]), "names 1 activations, expected 2")
    yield bad("rnn_clip", layer("RNN", 1, clip=-1.0), "clip is -1")
    yield bad("rnn_hidden", layer("LSTM", 3), "recurrent weights (input 2)")
    yield bad("rnn_directions", layer("RNN", 1, direction="bidirectional"), "is for 1 directions, expected 2")
    yield bad("rnn_bias", layer("RNN", 1, ["b"], initializers=[const("b", [[1, 2, 3]], np.float32)]),
              "input 3 has 3 rows, expected 2 times 2")
    yield good("dft", single("DFT", (2, 8, 1), onesided=1), "gr.dft", "-> tensor<2x5x2xf32>")
    yield good("dft_20", single("DFT", (2, 8, 2), ["n", "a"], opset=20, inverse=1,
                                initializers=[const("n", 6), const("a", 1)]), "inverse = true", "length = 6")
    yield good("dft_later", model([node("DFT", ["x", "", "a"], ["y"])], [tensor("x", [2, 8, 1]), tensor("a", [], INT64)],
                                  [onnx.ValueInfoProto(name="y")], opset=20), "gr.deferred")
    yield bad("dft_length", single("DFT", (2, 8, 1), ["n"], initializers=[const("n", 0)]), "dft_length is 0")
    yield bad("dft_axis", single("DFT", (2, 8, 1), axis=2), "axis is 2, expected 0 to 1")
    yield bad("dft_complex", single("DFT", (2, 8, 2), onesided=1), "one side of the spectrum of a real signal")
    yield good("stft", single("STFT", (1, 128, 1), ["s", "", "l"], initializers=[const("s", 8), const("l", 16)]),
               "gr.gather", "-> tensor<1x15x9x2xf32>")
    yield bad("stft_frame", single("STFT", (1, 8, 1), ["s", "", "l"], initializers=[const("s", 8), const("l", 16)]),
              "frames of 16 samples every 8 in 8")
    for name, value in (("HannWindow", "5.000000e-01"), ("HammingWindow", "0.543478"), ("BlackmanWindow", "3.400000e-01")):
        yield good(name, model([node(name, ["n"], ["y"])], [], [onnx.ValueInfoProto(name="y")], [const("n", 4)]),
                   value, "tensor<4xf32>")
    yield bad("window_type", model([node("HannWindow", ["n"], ["y"], output_datatype=TensorProto.BOOL)], [],
                                   [tensor("y", None)], [const("n", 4)]), "output_datatype")
    yield good("mel", model([node("MelWeightMatrix", ["b", "n", "r", "l", "h"], ["y"])], [],
                            [onnx.ValueInfoProto(name="y")],
                            [const("b", 4), const("n", 16), const("r", 8192), const("l", 0, np.float32),
                             const("h", 4096, np.float32)]), "tensor<9x4xf32>")
    yield bad("mel_edges", model([node("MelWeightMatrix", ["b", "n", "r", "l", "h"], ["y"])], [],
                                 [onnx.ValueInfoProto(name="y")],
                                 [const("b", 4), const("n", 16), const("r", 8192), const("l", 8, np.float32),
                                  const("h", 4, np.float32)]), "the lower edge below the upper one")


def flexAttention():
    """Attention with subgraphs."""
    def flex(shapes, **attributes):
        made = node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", **attributes)
        return model([made], [tensor(n, s) for n, s in zip("qkv", shapes)], [onnx.ValueInfoProto(name="y")],
                     opsets=[helper.make_opsetid("", 26), helper.make_opsetid("ai.onnx.preview", 1)], ir=10)

    shapes = [["n", 4, 3, 8], ["n", 2, 5, 8], ["n", 2, 5, 6]]
    change = helper.make_graph([node("Tanh", ["s"], ["t"])], "m", [tensor("s", None)], [tensor("t", None)])
    two = helper.make_graph([node("Tanh", ["s"], ["t"])], "m", [tensor("s", None)],
                            [tensor("t", None), tensor("t", None)])
    yield good("flex_attention", flex(shapes, score_mod=change, scale=0.5), "gr.matmul", "gr.tanh", "gr.softmax")
    yield bad("flex_attention_outputs", flex(shapes, score_mod=two), "score_mod has 2 outputs, expected 1")
    yield bad("flex_attention_precision", flex(shapes, softmax_precision=TensorProto.INT64),
              "softmax_precision is INT64")


def annotated(made, *configurations):
    """Gives a model its configurations: (name, number of devices, *names of devices)."""
    made.ir_version = 11
    for name, count, *devices in configurations:
        made.configuration.add(name=name, num_devices=count, device=devices)
    return made


def placed(made, configuration, *tensors, stage=None, layer=None):
    """Annotates a node; each of `tensors` is (name, *devices)."""
    if configuration:
        own = made.device_configurations.add(configuration_id=configuration)
        for name, *devices in tensors:
            own.sharding_spec.add(tensor_name=name, device=devices)
        if stage is not None:
            own.pipeline_stage = stage
    if layer:
        made.metadata_props.add(key="layer_ann", value=layer)
    return made


def annotations():
    """Where nodes ask to run: in the location, beside the name."""
    x, y, pair = tensor("x", [2]), onnx.ValueInfoProto(name="y"), ("pair", 2, "gpu0", "gpu1")

    def relu(*arguments, **more):
        return placed(node("Relu", ["x"], ["y"]), *arguments, **more)

    def one(made, *configurations):
        return annotated(model([made], [x], [y]), *(configurations or [pair]))

    yield good("annotation", one(relu("pair", ("y", 1))), '<[["pair", "gpu1", ""]]>')
    yield good("annotation_of_input", one(relu("pair", ("x", 0))), '<[["pair", "gpu0", ""]]>')
    yield good("annotation_output_decides", one(relu("pair", ("x", 0), ("y", 1))), '<[["pair", "gpu1", ""]]>')
    yield good("annotation_without_names", one(relu("pair", ("y", 1)), ("pair", 2)), '<[["pair", "pair:1", ""]]>')
    group = relu("pair", ("y", -1))
    group.device_configurations[0].sharding_spec[0].index_to_device_group_map.add(key=-1, value=[1])
    yield good("annotation_group_of_one", one(group), '<[["pair", "gpu1", ""]]>')
    yield good("annotation_sharded", one(relu("pair", ("y", 0, 1))),
               '["pair", "gpu0, gpu1", "a node runs on one device, not on several"]')
    yield good("annotation_no_configuration", one(relu("other", ("y", 1))),
               '["other", "", "the model has no such configuration of devices"]')
    yield good("annotation_no_device", one(relu("pair", ("y", 2))),
               '["pair", "pair:2", "the configuration has 2 devices"]')
    yield good("annotation_no_tensor", one(relu("pair", ("z", 1))),
               '["pair", "z", "the node has no such input or output"]')
    yield good("annotation_says_nothing", one(relu("pair")), "not fused<")
    yield good("annotation_layer", one(relu(None, layer="encoder")), '<[["", "encoder", ""]]>')
    both = placed(relu("pair", ("y", 1), layer="head"), "four", ("y", 3))
    yield good("annotation_order", one(both, ("four", 4), pair),
               '<[["four", "four:3", ""], ["pair", "gpu1", ""], ["", "head", ""]]>')
    chain = [placed(node(op, [a], [b]), "pair", stage=stage)
             for op, a, b, stage in (("Relu", "x", "s", 3), ("Neg", "s", "t", 7), ("Exp", "t", "y", 7))]
    yield good("annotation_stages", annotated(model(chain, [x], [y]), pair),
               '<[["pair", "gpu0", ""]]>', '<[["pair", "gpu1", ""]]>')
    more = [placed(node(op, [a], [b]), "pair", stage=stage)
            for op, a, b, stage in (("Relu", "x", "s", 0), ("Neg", "s", "t", 1), ("Exp", "t", "y", 2))]
    yield good("annotation_too_many_stages", annotated(model(more, [x], [y]), pair),
               '["pair", "pair:2", "the configuration has 2 devices"]')
    inner = [node("Relu", ["a"], ["t"], name="free"), placed(node("Neg", ["t"], ["b"], name="own"), "pair", ("b", 0))]
    call = placed(node("F", ["x"], ["y"], domain="f", name="call"), "pair", ("y", 1))
    called = annotated(model([call], [x], [y], opsets=[helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]), pair)
    called.functions.append(helper.make_function("f", "F", ["a"], ["b"], inner, [helper.make_opsetid("", 17)]))
    yield good("annotation_of_call", called, '<[["pair", "gpu1", ""]]>', '<[["pair", "gpu0", ""]]>')
    then = helper.make_graph([node("Neg", ["x"], ["n"], name="within")], "then", [], [tensor("n", [2])])
    choice = placed(node("If", ["c"], ["y"], name="choice", then_branch=then, else_branch=then), "pair", ("y", 1))
    yield good("annotation_of_branches", annotated(
        model([choice], [x, tensor("c", [], TensorProto.BOOL)], [tensor("y", [2])]), pair),
        'loc("within")', '<[["pair", "gpu1", ""]]>')
    yield good("nodes_of_one_name", model(
        [node("Relu", ["x"], ["s"]), node("Neg", ["s"], ["t"]), node("Exp", ["t"], ["y"], name="")], [x], [y]),
        'loc("n")', 'loc("n#2")', 'loc("Exp_2")')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    out = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    count = 0
    for group in (lowerings, quantized, indexLowerings, visionLowerings, strings, machineLearning,
                  recurrentLowerings, flexAttention, functionCalls, annotations, deferredNodes, lists, controlFlow,
                  brokenGraphs, brokenNodes, brokenIndices, brokenVision, brokenTypes, wrongShapes,
                  brokenWeights):
        for name, made, verdict, texts in group():
            folder = os.path.join(out, name)
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, "model.onnx"), "wb") as file:
                file.write(made.SerializeToString())
            if name.startswith("external"):
                writeFiles(folder)
            with open(os.path.join(folder, "expect.txt"), "w", encoding="utf-8") as file:
                file.write("\n".join([verdict, *texts]) + "\n")
            count += 1
    print(f"wrote {count} cases")


if __name__ == "__main__":
    main()
