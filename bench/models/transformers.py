"""BERT-base, GPT-2 (small) and ViT-B/16, in the small operations that exporters write."""

import math

import numpy as np
import onnx

from models.graph import Graph, dense, linear, size, view

INT64 = onnx.TensorProto.INT64
LOWEST = float(np.finfo(np.float32).min)


def layerNorm(graph, x, width):
    scale, shift = graph.weight(width, mean=1), graph.weight(width)
    return graph.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5)


def spelledLayerNorm(graph, x, width):
    """Layer normalisation as exporters before opset 17 wrote it."""
    centred = graph.op("Sub", x, graph.op("ReduceMean", x, axes=[-1]))
    variance = graph.op("ReduceMean", graph.op("Pow", centred, graph.number(2)), axes=[-1])
    deviation = graph.op("Sqrt", graph.op("Add", variance, graph.number(1e-12)))
    scaled = graph.op("Mul", graph.op("Div", centred, deviation), graph.weight(width, mean=1))
    return graph.op("Add", scaled, graph.weight(width))


def gelu(graph, x):
    """GELU by Erf."""
    erf = graph.op("Erf", graph.op("Div", x, graph.number(math.sqrt(2))))
    twice = graph.op("Mul", x, graph.op("Add", erf, graph.number(1)))
    return graph.op("Mul", twice, graph.number(0.5))


def tanhGelu(graph, x):
    """GELU by its approximation with Tanh."""
    cubic = graph.op("Mul", graph.op("Pow", x, graph.number(3)), graph.number(0.044715))
    inner = graph.op("Mul", graph.op("Add", x, cubic), graph.number(math.sqrt(2 / math.pi)))
    factor = graph.op("Add", graph.op("Tanh", inner), graph.number(1))
    return graph.op("Mul", graph.op("Mul", x, graph.number(0.5)), factor)


def embed(graph, ids, count, width):
    return graph.op("Gather", graph.weight(count, width, spread=0.5), ids)


def positions(graph, ids, count, width):
    """The embedding of positions 0, 1, … up to the length of `ids`."""
    every = graph.tensor(np.arange(count, dtype=np.int64)[np.newaxis])
    used = graph.op("Slice", every, graph.ints(0), size(graph, ids, 1), graph.ints(1))
    return embed(graph, used, count, width)


def heads(graph, x, count, width, order):
    """[batch, length, width] to one matrix a head, its dimensions in `order`."""
    shaped = view(graph, x, size(graph, x, 0), size(graph, x, 1), count, width // count)
    return graph.op("Transpose", shaped, perm=order)


def joined(graph, x, width):
    """The heads' results side by side again."""
    x = graph.op("Transpose", x, perm=[0, 2, 1, 3])
    return view(graph, x, size(graph, x, 0), size(graph, x, 1), width)


def bertLayer(graph, x, mask, width, count):
    query, key, value = (
        heads(graph, linear(graph, x, width, width), count, width, order)
        for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
    scores = graph.op("Div", graph.op("MatMul", query, key), graph.number(math.sqrt(width // count)))
    weights = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
    mixed = joined(graph, graph.op("MatMul", weights, value), width)
    x = spelledLayerNorm(graph, graph.op("Add", linear(graph, mixed, width, width), x), width)
    inner = gelu(graph, linear(graph, x, width, 4 * width))
    return spelledLayerNorm(graph, graph.op("Add", linear(graph, inner, 4 * width, width), x), width)


def bert(layers=12, width=768, count=12, vocabulary=30522):
    """BERT: layer normalisation, GELU and attention spelled out."""
    graph = Graph("bert")
    ids, mask, types = (graph.input(name, ["batch", "length"], INT64)
                        for name in ("input_ids", "attention_mask", "token_type_ids"))
    wide = graph.op("Unsqueeze", graph.op("Unsqueeze", mask, graph.ints(1)), graph.ints(2))
    hidden = graph.op("Sub", graph.number(1), graph.op("Cast", wide, to=onnx.TensorProto.FLOAT))
    added = graph.op("Mul", hidden, graph.number(LOWEST))
    x = graph.op("Add", embed(graph, ids, vocabulary, width), embed(graph, types, 2, width))
    x = graph.op("Add", x, positions(graph, ids, 512, width))
    x = spelledLayerNorm(graph, x, width)
    for _ in range(layers):
        x = bertLayer(graph, x, added, width, count)
    graph.output(x, ["batch", "length", width])
    first = graph.op("Gather", x, graph.tensor(np.int64(0)), axis=1)
    graph.output(graph.op("Tanh", dense(graph, first, width, width)), ["batch", width])
    return graph.model()


def flatLinear(graph, x, width, out):
    """The convolutions of size 1 of GPT-2's original: Gemm between two changes of shape."""
    rows = graph.op("Reshape", x, graph.ints(-1, width))
    weight = graph.weight(width, out, spread=1 / math.sqrt(width))
    product = graph.op("Gemm", rows, weight, graph.weight(out))
    return view(graph, product, size(graph, x, 0), size(graph, x, 1), out)


def gptLayer(graph, x, width, count, context):
    parts = graph.op("Split", flatLinear(graph, layerNorm(graph, x, width), width, 3 * width),
                     graph.ints(*[width] * 3), outputs=3, axis=2)
    query, key, value = (heads(graph, part, count, width, order) for part, order in
                         zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
    scores = graph.op("Div", graph.op("MatMul", query, key), graph.number(math.sqrt(width // count)))
    length = size(graph, x, 1)
    seen = graph.tensor(np.tril(np.ones((1, 1, context, context), bool)))
    for axis in (2, 3):
        seen = graph.op("Slice", seen, graph.ints(0), length, graph.ints(axis))
    weights = graph.op("Softmax", graph.op("Where", seen, scores, graph.number(LOWEST)), axis=-1)
    mixed = joined(graph, graph.op("MatMul", weights, value), width)
    x = graph.op("Add", flatLinear(graph, mixed, width, width), x)
    inner = tanhGelu(graph, flatLinear(graph, layerNorm(graph, x, width), width, 4 * width))
    return graph.op("Add", x, flatLinear(graph, inner, 4 * width, width))


def gpt2(layers=12, width=768, count=12, vocabulary=50257, context=1024):
    """GPT-2: causal mask by Where, GELU by Tanh, scores over the vocabulary."""
    graph = Graph("gpt2")
    ids = graph.input("input_ids", ["batch", "length"], INT64)
    x = graph.op("Add", embed(graph, ids, vocabulary, width),
                 positions(graph, ids, context, width))
    for _ in range(layers):
        x = gptLayer(graph, x, width, count, context)
    head = graph.weight(width, vocabulary, spread=1 / math.sqrt(width))
    logits = graph.op("MatMul", layerNorm(graph, x, width), head)
    graph.output(logits, ["batch", "length", vocabulary])
    return graph.model()


def vitLayer(graph, x, width, count):
    parts = linear(graph, layerNorm(graph, x, width), width, 3 * width)
    shaped = graph.op("Reshape", parts, graph.ints(0, 0, 3, count, width // count))
    shaped = graph.op("Transpose", shaped, perm=[2, 0, 3, 1, 4])
    query, key, value = (graph.op("Gather", shaped, graph.tensor(np.int64(i)), axis=0)
                         for i in range(3))
    query = graph.op("Mul", query, graph.number(1 / math.sqrt(width // count)))
    scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
    mixed = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
    mixed = graph.op("Transpose", mixed, perm=[0, 2, 1, 3])
    mixed = graph.op("Reshape", mixed, graph.ints(0, 0, width))
    x = graph.op("Add", x, linear(graph, mixed, width, width))
    inner = gelu(graph, linear(graph, layerNorm(graph, x, width), width, 4 * width))
    return graph.op("Add", x, linear(graph, inner, 4 * width, width))


def vit(layers=12, width=768, count=12):
    """ViT-B/16 at 224x224: one matrix for query, key and value."""
    graph = Graph("vit")
    image = graph.input("pixel_values", ["batch", 3, 224, 224])
    patches = graph.op("Conv", image, graph.weight(width, 3, 16, 16, spread=1 / math.sqrt(768)),
                       graph.weight(width), kernel_shape=[16, 16], strides=[16, 16])
    x = graph.op("Transpose", graph.op("Reshape", patches, graph.ints(0, width, -1)), perm=[0, 2, 1])
    shape = graph.op("Concat", size(graph, image, 0), graph.ints(1, width), axis=0)
    first = graph.op("Expand", graph.weight(1, 1, width), shape)
    x = graph.op("Concat", first, x, axis=1)
    x = graph.op("Add", x, graph.weight(1, 197, width))
    for _ in range(layers):
        x = vitLayer(graph, x, width, count)
    x = graph.op("Gather", layerNorm(graph, x, width), graph.tensor(np.int64(0)), axis=1)
    graph.output(dense(graph, x, width, 1000), ["batch", 1000])
    return graph.model()
