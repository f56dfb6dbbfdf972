"""The models of the package: those of issue 7's list, and small graphs that measure one thing."""

import functools
import os
import sys

import onnx
from onnx import helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from models import catalogue, collected, transformers
from models.graph import Graph
from program import CHAIN, ELEMENTS, HEADS, LAYERS, SIDE

ROW = 4096  # elements of a row in the chains' matrix


def gptBlock(width=768, count=12, context=1024):
    """One layer of GPT-2 over hidden states."""
    graph = Graph("gpt2_block")
    x = graph.input("hidden", ["batch", "length", width])
    graph.output(transformers.gptLayer(graph, x, width, count, context), ["batch", "length", width])
    return graph.model()


def tinyBert():
    """For tests of the scripts themselves."""
    return transformers.bert(layers=1, width=64, count=2, vocabulary=1000)


def chain():
    """Additions of scalars, none of which can be folded."""
    graph = Graph("chain")
    x, z = graph.input("x", []), graph.input("z", [])
    value = x
    for i in range(CHAIN):
        value = graph.op("Add", value, x if i % 2 else z)
    graph.output(value, [])
    return graph.model()


def product(scaled):
    """A large matrix times a vector; `scaled`: behind a chain of element-wise operations, whose result
    a product must read from memory. The chain's time is what the two differ by."""
    graph = Graph("elementwise")
    x, v = graph.input("x", [ROW]), graph.input("v", [ROW, 1])
    matrix = graph.weight(ELEMENTS // ROW, ROW, spread=1)
    if scaled:
        matrix = graph.op("Relu", graph.op("Add", graph.op("Mul", matrix, x), x))
    else:
        v = graph.op("Mul", v, graph.op("Reshape", x, graph.ints(ROW, 1)))
    graph.output(graph.op("MatMul", matrix, v), [ELEMENTS // ROW, 1])
    return graph.model()


def largeInput():
    """Nearly nothing but the way of a large tensor to the GPU."""
    graph = Graph("to_gpu")
    x = graph.input("x", [ELEMENTS])
    graph.output(graph.op("ReduceMax", x, keepdims=0), [])
    return graph.model()


def largeOutput():
    """Nearly nothing but the way back."""
    graph = Graph("from_gpu")
    x = graph.input("x", [1])
    graph.output(graph.op("Expand", x, graph.ints(ELEMENTS)), [ELEMENTS])
    return graph.model()


def attentions(count):
    """Attentions of bf16, of queries that the last one gave, over the same keys and values."""
    graph = Graph("attentions")

    def short(value):
        return graph.op("Cast", value, to=onnx.TensorProto.BFLOAT16)
    x, key, value = (short(graph.input(name, HEADS)) for name in ("query", "key", "value"))
    scale = short(graph.number(HEADS[-1] ** -0.5))
    for _ in range(count):
        scores = graph.op("MatMul", x, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
        x = graph.op("MatMul", graph.op("Softmax", graph.op("Mul", scores, scale), axis=-1), value)
    graph.output(graph.op("Cast", x, to=onnx.TensorProto.FLOAT), HEADS)
    return graph.model()


def products(count, isFloat8):
    """Products by one matrix, each of what the last one gave, of bf16; `isFloat8`: quantised to 8-bit floats first."""
    graph = Graph("products")
    zero = helper.make_tensor("zero", onnx.TensorProto.FLOAT8E4M3FN, [], [0.0])

    def short(value):
        return graph.op("Cast", value, to=onnx.TensorProto.BFLOAT16)
    scale = short(graph.number(1 / 64))

    def factor(value):
        codes = graph.op("QuantizeLinear", value, scale, zero.name) if isFloat8 else None
        return graph.op("DequantizeLinear", codes, scale, zero.name) if isFloat8 else value
    x, matrix = (graph.input(name, [SIDE, SIDE]) for name in ("x", "matrix"))
    x, matrix = short(x), short(graph.op("Mul", matrix, graph.number((3 / SIDE) ** 0.5)))  # x keeps its spread
    matrix = graph.op("Transpose", factor(matrix), perm=[1, 0])
    for _ in range(count):
        x = graph.op("MatMul", factor(x), matrix)
    graph.output(graph.op("Cast", x, to=onnx.TensorProto.FLOAT), [SIDE, SIDE])
    graph.tensors.append(zero)
    model = graph.model()
    model.opset_import[0].version, model.ir_version = 21, 10  # the first with 8-bit floats in bf16
    return model


def cached(name, cache):
    """A model of the catalogue, written once."""
    return onnx.load(catalogue.written(catalogue.catalogue()[name], cache))


def models(cache):
    """{name: (function that gives the model, its network in PyTorch, open dimensions)}."""
    found = {name: (functools.partial(cached, name, cache), "graph", {})
             for name in collected.lightNames()}
    text = {"length": 128}
    found |= {"bert_base": (functools.partial(cached, "bert_base", cache), "bert", text),
              "vit_b16": (functools.partial(cached, "vit_b16", cache), "vit", {}),
              "gpt2_block": (gptBlock, "gpt2_block", text),
              "tiny_bert": (tinyBert, "bert", {"length": 16}),
              "chain": (chain, None, {}), "product": (functools.partial(product, False), None, {}),
              "scaled_product": (functools.partial(product, True), None, {}),
              "to_gpu": (largeInput, None, {}), "from_gpu": (largeOutput, None, {})}
    found |= {f"attentions_{count}": (functools.partial(attentions, count), None, {}) for count in LAYERS}
    found |= {f"{kind}_products_{count}": (functools.partial(products, count, kind == "float8"), None, {})
              for count in LAYERS for kind in ("float8", "bf16")}
    return found
