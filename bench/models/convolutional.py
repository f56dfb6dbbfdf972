"""ResNet-18 and -50, with their batch normalisations, and U-Net, with transposed convolutions or resizing."""

import math

import numpy as np

from models.graph import LINEAR, RELU, Graph, conv
from models.mobile import classify, relu


def normalised(graph, x, width, out, kernel, stride=1, gain=RELU):
    """A convolution with the batch normalisation behind it."""
    x = conv(graph, x, width, out, kernel, stride, gain=gain, bias=False)
    statistics = (graph.weight(out, spread=0.1, mean=1), graph.weight(out, spread=0.1),
                  graph.weight(out, spread=0.1), graph.weight(out, spread=0.1, mean=1.5))
    return graph.op("BatchNormalization", x, *statistics, epsilon=1e-5, momentum=0.9)


def joined(graph, y, x, width, out, stride):
    """What a block made of x, and x itself."""
    if stride != 1 or width != out:
        x = normalised(graph, x, width, out, 1, stride, gain=LINEAR)
    return relu(graph, graph.op("Add", y, x))


def basicBlock(graph, x, width, out, stride):
    y = relu(graph, normalised(graph, x, width, out, 3, stride))
    y = normalised(graph, y, out, out, 3)
    return joined(graph, y, x, width, out, stride)


def bottleneck(graph, x, width, out, stride):
    y = relu(graph, normalised(graph, x, width, out // 4, 1))
    y = relu(graph, normalised(graph, y, out // 4, out // 4, 3, stride))
    y = normalised(graph, y, out // 4, out, 1)
    return joined(graph, y, x, width, out, stride)


def residual(name, block, stages):
    """`stages`: channels, blocks, and the stride of the first of these."""
    graph = Graph(name)
    x = relu(graph, normalised(graph, graph.input("input", ["batch", 3, 224, 224]), 3, 64, 7, 2))
    x = graph.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    width = 64
    for out, count, stride in stages:
        for i in range(count):
            x = block(graph, x, width, out, 1 if i else stride)
            width = out
    return classify(graph, x, width)


def resnet18():
    return residual("resnet18", basicBlock, ((64, 2, 1), (128, 2, 2), (256, 2, 2), (512, 2, 2)))


def resnet50():
    return residual("resnet50", bottleneck, ((256, 3, 1), (512, 4, 2), (1024, 6, 2), (2048, 3, 2)))


def twice(graph, x, width, out):
    x = relu(graph, conv(graph, x, width, out, 3, gain=RELU))
    return relu(graph, conv(graph, x, out, out, 3, gain=RELU))


def widen(graph, x, width, out):
    """Twice the height and width by a transposed convolution."""
    weight = graph.weight(width, out, 2, 2, spread=RELU / math.sqrt(width))
    return graph.op("ConvTranspose", x, weight, graph.weight(out), kernel_shape=[2, 2],
                    strides=[2, 2])


def resize(graph, x, width, out):
    """The same by repeating every pixel, and a convolution."""
    scales = graph.tensor(np.float32([1, 1, 2, 2]))
    x = graph.op("Resize", x, "", scales, mode="nearest", nearest_mode="floor",
                 coordinate_transformation_mode="asymmetric")
    return conv(graph, x, width, out, 3, gain=RELU)


def unet(up=widen, base=32, side=256):
    graph = Graph("unet")
    x, width, skips = graph.input("input", ["batch", 3, side, side]), 3, []
    for level in range(4):
        x, width = twice(graph, x, width, base << level), base << level
        skips.append(x)
        x = graph.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = twice(graph, x, width, 2 * width)
    for skip in reversed(skips):
        x = graph.op("Concat", skip, up(graph, x, 2 * width, width), axis=1)
        x, width = twice(graph, x, 2 * width, width), width // 2
    graph.output(conv(graph, x, base, 2, gain=LINEAR), ["batch", 2, side, side])
    return graph.model()


def resizedUnet():
    return unet(resize)
