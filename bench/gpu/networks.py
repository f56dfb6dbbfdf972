"""The package's models in PyTorch, written as its users write them, with the weights of weights.bin."""

import os

import numpy as np
import torch
from torch import nn
from torch.nn import functional


class Weights:
    """A model's weights, one after the other in the order in which they were made."""

    def __init__(self, model):
        data = np.memmap(os.path.join(model.folder, "weights.bin"), np.uint8, "c")
        self.tensors = {}
        for each in model.spec["weights"]:
            size = 4 * int(np.prod(each["shape"]))
            bytes_ = data[each["offset"]:each["offset"] + size]
            self.tensors[each["name"]] = torch.from_numpy(bytes_.view(np.float32).reshape(each["shape"]))
        self.order = iter(self.tensors.values())

    def take(self):
        return next(self.order)

    def parameter(self):
        return nn.Parameter(self.take(), requires_grad=False)

    def linear(self, transposed=True):
        """A matrix, as ONNX's MatMul has it unless not `transposed`, and a bias."""
        matrix = self.take()
        matrix = matrix.t().contiguous() if transposed else matrix
        layer = nn.Linear(matrix.shape[1], matrix.shape[0], device="meta")
        layer.weight, layer.bias = nn.Parameter(matrix, requires_grad=False), self.parameter()
        return layer

    def norm(self, epsilon):
        scale, shift = self.parameter(), self.parameter()
        layer = nn.LayerNorm(scale.shape[0], epsilon)
        layer.weight, layer.bias = scale, shift
        return layer


def heads(x, count):
    """[batch, length, width] to [batch, head, length, width of a head]."""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def attention(query, key, value, count, **more):
    mixed = functional.scaled_dot_product_attention(*(heads(x, count) for x in (query, key, value)), **more)
    return mixed.transpose(1, 2).flatten(2)


class BertLayer(nn.Module):
    """Normalised behind each sum."""

    def __init__(self, weights, count):
        super().__init__()
        self.count = count
        self.query, self.key, self.value, self.joined = (weights.linear() for _ in range(4))
        self.norm = weights.norm(1e-12)
        self.inner, self.outer = weights.linear(), weights.linear()
        self.lastNorm = weights.norm(1e-12)

    def forward(self, x, mask):
        mixed = attention(self.query(x), self.key(x), self.value(x), self.count, attn_mask=mask)
        x = self.norm(self.joined(mixed) + x)
        return self.lastNorm(self.outer(functional.gelu(self.inner(x))) + x)


class Bert(nn.Module):
    """Hidden states and the pooled first one."""

    def __init__(self, model):
        super().__init__()
        weights = Weights(model)
        self.words, self.types, self.positions = (weights.parameter() for _ in range(3))
        self.norm = weights.norm(1e-12)
        layers = (len(weights.tensors) - 7) // 16
        count = 12 if self.words.shape[1] == 768 else 2
        self.layers = nn.ModuleList(BertLayer(weights, count) for _ in range(layers))
        self.pool = weights.linear(transposed=False)

    def forward(self, ids, mask, types):
        x = functional.embedding(ids, self.words) + functional.embedding(types, self.types)
        x = self.norm(x + self.positions[:ids.shape[1]])
        seen = mask[:, None, None, :].bool()
        for layer in self.layers:
            x = layer(x, seen)
        return x, torch.tanh(self.pool(x[:, 0]))


class PreNormLayer(nn.Module):
    """Normalised before each branch: GPT-2 (causal, GELU by tanh) and ViT."""

    def __init__(self, weights, count, causal):
        super().__init__()
        self.count, self.causal = count, causal
        self.norm, self.parts, self.joined = weights.norm(1e-5), weights.linear(), weights.linear()
        self.lastNorm, self.inner, self.outer = weights.norm(1e-5), weights.linear(), weights.linear()

    def forward(self, x):
        query, key, value = self.parts(self.norm(x)).chunk(3, -1)
        x = x + self.joined(attention(query, key, value, self.count, is_causal=self.causal))
        inner = self.inner(self.lastNorm(x))
        return x + self.outer(functional.gelu(inner, approximate="tanh" if self.causal else "none"))


class GptBlock(PreNormLayer):
    """One layer of GPT-2."""

    def __init__(self, model):
        super().__init__(Weights(model), 12, True)


class Vit(nn.Module):
    """ViT-B/16."""

    def __init__(self, model):
        super().__init__()
        weights = Weights(model)
        self.patches, self.shift = weights.parameter(), weights.parameter()
        self.first, self.positions = weights.parameter(), weights.parameter()
        self.layers = nn.ModuleList(PreNormLayer(weights, 12, False) for _ in range(12))
        self.norm = weights.norm(1e-5)
        self.head = weights.linear(transposed=False)

    def forward(self, image):
        x = functional.conv2d(image, self.patches, self.shift, stride=16).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


def padded(x, attributes, value):
    """x with ONNX's pads, where they are not the same on both sides; and those for PyTorch's own."""
    pads = attributes.get("pads", [0] * 4)
    if pads[:2] == pads[2:]:
        return x, pads[:2]
    return functional.pad(x, [pads[1], pads[3], pads[0], pads[2]], value=value), [0, 0]


def conv(a, x, weight, bias=None):
    x, pads = padded(x, a, 0)
    return functional.conv2d(x, weight, bias, a.get("strides", 1), pads, a.get("dilations", 1),
                             a.get("group", 1))


def maxPool(a, x):
    x, pads = padded(x, a, float("-inf"))
    return functional.max_pool2d(x, a["kernel_shape"], a.get("strides", 1), pads)


def averagePool(a, x):
    """Pads are counted if the model says so; PyTorch knows that of pads on both sides only."""
    def pooled(x, pads, **more):
        return functional.avg_pool2d(x, a["kernel_shape"], a.get("strides", 1), pads, **more)
    inside, pads = padded(x, a, 0)
    counts = bool(a.get("count_include_pad", 0))
    if inside is x or counts:
        return pooled(inside, pads, count_include_pad=counts)
    ones, _ = padded(torch.ones_like(x[:1, :1]), a, 0)
    return pooled(inside, 0) / pooled(ones, 0)


def batchNorm(a, x, scale, shift, mean, variance):
    return functional.batch_norm(x, mean, variance, scale, shift, eps=a.get("epsilon", 1e-5))


def gemm(a, x, matrix, bias):
    return functional.linear(x, matrix if a.get("transB") else matrix.t(), bias)


def lrn(a, x):
    return functional.local_response_norm(x, a["size"], a["alpha"], a["beta"], a["bias"])


def softmax(a, x):
    """Of old operator sets: over all that lies behind the axis."""
    flat = x.flatten(a.get("axis", 1))
    return functional.softmax(flat, -1).reshape(x.shape)


def reshape(_, x, shape):
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape)])


def unsqueeze(a, x):
    for axis in a["axes"]:
        x = x.unsqueeze(axis)
    return x


OPERATIONS = {
    "Conv": conv, "MaxPool": maxPool, "AveragePool": averagePool, "BatchNormalization": batchNorm,
    "Gemm": gemm, "LRN": lrn, "Softmax": softmax, "Reshape": reshape, "Unsqueeze": unsqueeze,
    "GlobalAveragePool": lambda _, x: functional.adaptive_avg_pool2d(x, 1),
    "Relu": lambda _, x: functional.relu(x), "Dropout": lambda _, x: x,
    "Concat": lambda a, *x: torch.cat(x, a["axis"]), "Sum": lambda _, x, y: x + y,
    "Add": lambda _, x, y: x + y, "Mul": lambda _, x, y: x * y,
    "Transpose": lambda a, x: x.permute(a["perm"]),
}


class Graph(nn.Module):
    """A convolutional network, operation by operation; constants that are no weights are numbers."""

    def __init__(self, model):
        super().__init__()
        self.nodes, self.outputs = model.spec["nodes"], model.spec["outputs"]
        self.inputs = [each["name"] for each in model.spec["inputs"]]
        self.constants = model.spec["constants"]
        tensors = Weights(model).tensors
        self.names = list(tensors)
        self.weights = nn.ParameterList(nn.Parameter(x, requires_grad=False) for x in tensors.values())

    def forward(self, *inputs):
        values = {**self.constants, **dict(zip(self.inputs, inputs)), **dict(zip(self.names, self.weights))}
        for kind, sources, results, attributes in self.nodes:
            values[results[0]] = OPERATIONS[kind](attributes, *(values[name] for name in sources))
        return values[self.outputs[0]]


NETWORKS = {"graph": Graph, "bert": Bert, "gpt2_block": GptBlock, "vit": Vit}
