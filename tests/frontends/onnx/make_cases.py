#!/usr/bin/env python3
"""Writes small ONNX files and what their import must give.

OUT/<case>/model.onnx and expect.txt: the first line is "imports" or "fails"; each other line is a text
that the printed module, or the error, must hold. A line that starts with "not " must be absent.
"""

import argparse
import os
import shutil

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


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
        [helper.make_tensor_sequence_value_info("y", FLOAT, [2])]), "gr.loop", "gr.neg")


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
              "is supported for opsets 1 to 6 and 7 to 8 and 9 to 9")
    yield bad("opset_before_op", model([relu], [x], [y], opset=5), "is supported for opsets 6 to 28")
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
    yield bad("function", helper.make_model(helper.make_graph(
        [node("F", ["x"], ["y"], domain="local")], "g", [x], [y]), ir_version=8, opset_imports=[
            helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], functions=[
                helper.make_function("local", "F", ["a"], ["b"],
                                     [helper.make_node("Relu", ["a"], ["b"])],
                                     [helper.make_opsetid("", 17)])]),
        "is a function of the model", "inline_local_functions")
    yield bad("control_bytes", single("Evil\x1b[31m\n"), "Evil\\033[31m\\n")


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
    yield bad("pool_indices", model(
        [node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2, 2])], [tensor("x", [1, 1, 4, 4])],
        [tensor("y", None), tensor("i", None, INT64)]), "output 1 (the indices")
    yield bad("training_norm", single("BatchNormalization", (1, 2), list("abcd"), initializers=[
        const(c, [1, 2], np.float32) for c in "abcd"], training_mode=1), "training_mode is set")
    yield bad("uneven_split", model([node("Split", ["x"], ["a", "b"])], [tensor("x", [5])],
                                    [tensor("a", None), tensor("b", None)], opset=13),
              "dim 0 of 5 does not divide into 2 equal parts")
    yield bad("cast_to_string", single("Cast", to=TensorProto.STRING), "element type STRING")
    yield bad("string_constant", model([node("Constant", [], ["y"], value_string="a")], [],
                                       [tensor("y", None)]), '"value_string", which is not supported')
    yield bad("empty_constant", model([node("Constant", [], ["y"])], [], [tensor("y", None)]),
              "has no value")
    yield bad("gelu_form", single("Gelu", opset=20, approximate="fast"), 'approximate is "fast"')
    yield bad("resize_both", single("Resize", (1, 1, 2, 2), ["", "s", "z"], initializers=[
        const("s", [1, 1, 2, 2], np.float32), const("z", [1, 1, 4, 4])]), "both scales and sizes")
    yield bad("resize_crop", single("Resize", (1, 1, 2, 2), ["", "s"], initializers=[
        const("s", [1, 1, 2, 2], np.float32)], coordinate_transformation_mode="tf_crop_and_resize"),
        'coordinates is "tf_crop_and_resize", expected one of half_pixel')
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
    for name, dtype in (("STRING", TensorProto.STRING), ("FLOAT8E4M3FN", TensorProto.FLOAT8E4M3FN),
                        ("INT4", TensorProto.INT4), ("COMPLEX64", TensorProto.COMPLEX64)):
        yield bad(f"type_{name.lower()}", model([relu], [tensor("x", [2], dtype)], [y]),
                  f'input "x": element type {name} is not supported')
    yield bad("type_77", model([relu], [tensor("x", [2], 77)], [y]), "data type 77")
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, [2])
    yield bad("sequence", model([relu], [sequence], [y]), 'input 0 "x" is a sequence or optional',
              "SequenceAt")
    yield bad("sequence_as_tensor", model(
        [node("SequenceConstruct", ["x", "x"], ["y"])], [tensor("x", [2])], [tensor("y", [2])]),
        'output "y" is declared as tensor, but is a list')
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
    yield bad("optional", model([relu], [optional], [y]), "type is optional, expected tensor")
    yield bad("no_type", model([relu], [onnx.ValueInfoProto(name="x")], [y]), "type is missing")
    yield bad("negative_dim", model([relu], [tensor("x", [-5])], [y]), 'shape is -5')
    yield bad("huge_dims", model([relu], [tensor("x", [2**40, 2**40])], [y]), 'input "x": shape is')
    yield bad("many_dims", model([relu], [tensor("x", [1] * 100)], [y]), "at most 64 dims")
    yield bad("output_type", model([relu], [tensor("x", [2])], [tensor("y", [2], INT64)]),
              'output "y" is declared as INT64, but is f32')
    yield bad("output_shape", model([relu], [tensor("x", [2])], [tensor("y", [3])]),
              'output "y" is declared as 3, but its shape is 2')
    yield bad("value_info", model(
        [node("Relu", ["x"], ["t"], name="m"), node("Exp", ["t"], ["y"])], [tensor("x", [2])], [y],
        value_info=[tensor("t", [7])]), 'value "t" is declared as 7, but its shape is 2')


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
    yield bad("weight_string", withWeight(TensorProto(name="w", dims=[1], data_type=TensorProto.STRING,
                                                      string_data=[b"a"])), "element type STRING")
    yield bad("external", withWeight(weight(data_location=TensorProto.EXTERNAL)),
              "keeps its data in another file")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True)
    out = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    count = 0
    for group in (lowerings, indexLowerings, deferredNodes, lists, controlFlow, brokenGraphs, brokenNodes,
                  brokenIndices, brokenTypes, brokenWeights):
        for name, made, verdict, texts in group():
            folder = os.path.join(out, name)
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, "model.onnx"), "wb") as file:
                file.write(made.SerializeToString())
            with open(os.path.join(folder, "expect.txt"), "w", encoding="utf-8") as file:
                file.write("\n".join([verdict, *texts]) + "\n")
            count += 1
    print(f"wrote {count} cases")


if __name__ == "__main__":
    main()
